#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(tokfsm_error *err, tokfsm_status code, uint64_t where, const char *keyword,
                 const char *pointer, const char *format, va_list args)
{
    if (err == NULL)
        return;
    memset(err, 0, sizeof *err);
    err->code = code;
    err->where = where;
    if (keyword != NULL)
        snprintf(err->keyword, sizeof err->keyword, "%s", keyword);
    if (pointer != NULL)
        snprintf(err->pointer, sizeof err->pointer, "%s", pointer);
    vsnprintf(err->message, sizeof err->message, format, args);
}

tokfsm_status tf_fail(tokfsm_error *err, tokfsm_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, code, 0, NULL, NULL, format, args);
    va_end(args);
    return code;
}

tokfsm_status tf_fail_at(tokfsm_error *err, tokfsm_status code, uint64_t where,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, code, where, NULL, NULL, format, args);
    va_end(args);
    return code;
}

tokfsm_status tf_fail_schema(tokfsm_error *err, tokfsm_status code, const char *keyword,
                             const char *pointer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, code, 0, keyword, pointer, format, args);
    va_end(args);
    return code;
}

const char *tokfsm_status_name(tokfsm_status status)
{
    switch (status) {
    case TOKFSM_OK: return "TOKFSM_OK";
    case TOKFSM_E_ARGUMENT: return "TOKFSM_E_ARGUMENT";
    case TOKFSM_E_JSON: return "TOKFSM_E_JSON";
    case TOKFSM_E_SCHEMA: return "TOKFSM_E_SCHEMA";
    case TOKFSM_E_UNSUPPORTED: return "TOKFSM_E_UNSUPPORTED";
    case TOKFSM_E_UNSATISFIABLE: return "TOKFSM_E_UNSATISFIABLE";
    case TOKFSM_E_VOCABULARY: return "TOKFSM_E_VOCABULARY";
    case TOKFSM_E_CORRUPT: return "TOKFSM_E_CORRUPT";
    case TOKFSM_E_VERSION: return "TOKFSM_E_VERSION";
    case TOKFSM_E_MISMATCH: return "TOKFSM_E_MISMATCH";
    case TOKFSM_E_PACK_MISSING: return "TOKFSM_E_PACK_MISSING";
    case TOKFSM_E_SIZE: return "TOKFSM_E_SIZE";
    case TOKFSM_E_BUSY: return "TOKFSM_E_BUSY";
    case TOKFSM_E_RANGE: return "TOKFSM_E_RANGE";
    case TOKFSM_E_BUDGET: return "TOKFSM_E_BUDGET";
    case TOKFSM_E_LIMIT: return "TOKFSM_E_LIMIT";
    case TOKFSM_E_CANCELLED: return "TOKFSM_E_CANCELLED";
    case TOKFSM_E_NOMEM: return "TOKFSM_E_NOMEM";
    case TOKFSM_E_INTERNAL: return "TOKFSM_E_INTERNAL";
    default: return "unknown status";
    }
}
