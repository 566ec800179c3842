#include "options.h"

#include <string.h>

tokfsm_status tf_options_check(const tokfsm_options *o, tokfsm_error *err)
{
    static const struct {
        size_t offset;
        uint32_t most;
        const char *name;
    } fields[] = {
        {offsetof(tokfsm_options, property_order), TOKFSM_ORDER_SCHEMA, "property_order"},
        {offsetof(tokfsm_options, additional_properties), TOKFSM_ADDITIONAL_CLOSED,
         "additional_properties"},
        {offsetof(tokfsm_options, whitespace), TOKFSM_WHITESPACE_INDENT, "whitespace"},
        {offsetof(tokfsm_options, escapes), TOKFSM_ESCAPES_MINIMAL, "escapes"},
        {offsetof(tokfsm_options, numbers), TOKFSM_NUMBERS_ANY, "numbers"},
        {offsetof(tokfsm_options, format), TOKFSM_FORMAT_ANNOTATE, "format"},
        {offsetof(tokfsm_options, unsupported), TOKFSM_UNSUPPORTED_RELAX, "unsupported"},
        {offsetof(tokfsm_options, draft), TOKFSM_DRAFT_2020_12, "draft"},
        {offsetof(tokfsm_options, indent), 1024, "indent"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint32_t value;
        memcpy(&value, (const char *)o + fields[i].offset, sizeof value);
        if (value > fields[i].most)
            return tf_fail(err, TOKFSM_E_ARGUMENT, "option %s is out of range: %u", fields[i].name,
                           value);
    }
    if (o->draft != TOKFSM_DRAFT_AUTO && (o->draft < TOKFSM_DRAFT_4 || o->draft == 5))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "option draft is out of range: %u", o->draft);
    if (o->max_digits == 0)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "option max_digits must be at least 1");
    return TOKFSM_OK;
}

