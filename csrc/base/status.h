/* Status codes into records: one place that formats messages. Needs nothing. */
#ifndef TF_STATUS_H
#define TF_STATUS_H

#include "../tokfsm.h"

#if defined(__GNUC__)
#define TF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TF_PRINTF(fmt, args)
#endif

/* Fill *err (may be NULL) and return `code`, so that `return tf_fail(...)` reads well. */
tokfsm_status tf_fail(tokfsm_error *err, tokfsm_status code, const char *format, ...)
    TF_PRINTF(3, 4);
/* The same with a byte offset. */
tokfsm_status tf_fail_at(tokfsm_error *err, tokfsm_status code, uint64_t where,
                         const char *format, ...) TF_PRINTF(4, 5);
/* The same with the schema keyword and its JSON Pointer (either may be NULL). */
tokfsm_status tf_fail_schema(tokfsm_error *err, tokfsm_status code, const char *keyword,
                             const char *pointer, const char *format, ...)
    TF_PRINTF(5, 6);

#define TF_TRY(call)                                   \
    do {                                               \
        tokfsm_status tf_try_status_ = (call);         \
        if (tf_try_status_ != TOKFSM_OK)               \
            return tf_try_status_;                     \
    } while (0)

#endif
