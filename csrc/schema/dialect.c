/* Which draft a schema speaks (Core §8.1.1; the drafts' own metaschema identifiers). */
#include <stdarg.h>
#include <stdio.h>

#include "ir.h"

static const struct {
    const char *name; /* without scheme and without an empty fragment */
    uint32_t draft;
} metaschemas[] = {
    {"json-schema.org/draft-04/schema", TOKFSM_DRAFT_4},
    {"json-schema.org/draft-06/schema", TOKFSM_DRAFT_6},
    {"json-schema.org/draft-07/schema", TOKFSM_DRAFT_7},
    {"json-schema.org/draft/2019-09/schema", TOKFSM_DRAFT_2019_09},
    {"json-schema.org/draft/2020-12/schema", TOKFSM_DRAFT_2020_12},
    /* "the latest draft", as it was used while draft 4 was the latest */
    {"json-schema.org/schema", TOKFSM_DRAFT_2020_12},
};

tokfsm_status tf_dialect_choose(const tf_tape *tape, uint32_t option, uint32_t *draft,
                                tokfsm_error *err)
{
    if (option != TOKFSM_DRAFT_AUTO) {
        *draft = option;
        return TOKFSM_OK;
    }
    *draft = TOKFSM_DRAFT_2020_12;
    if (tape->nodes[0].type != TF_JSON_OBJECT)
        return TOKFSM_OK;
    uint32_t node = tf_tape_get(tape, 0, "$schema", 7);
    if (node == TF_TAPE_NONE)
        return TOKFSM_OK;
    const tf_tape_node *value = &tape->nodes[node];
    if (value->type != TF_JSON_STRING)
        return tf_fail_node(err, TOKFSM_E_SCHEMA, tape, node, "$schema", "$schema must be a string");
    const char *text = value->text;
    size_t n = value->n;
    if (n > 0 && text[n - 1] == '#')
        n--;
    if (n >= 8 && memcmp(text, "https://", 8) == 0)
        text += 8, n -= 8;
    else if (n >= 7 && memcmp(text, "http://", 7) == 0)
        text += 7, n -= 7;
    for (size_t i = 0; i < sizeof metaschemas / sizeof *metaschemas; i++)
        if (strlen(metaschemas[i].name) == n && memcmp(metaschemas[i].name, text, n) == 0)
            *draft = metaschemas[i].draft;
    for (char early = '0'; early <= '3'; early++) {
        char name[] = "json-schema.org/draft-00/schema";
        name[sizeof "json-schema.org/draft-0" - 1] = early;
        if (strlen(name) == n && memcmp(name, text, n) == 0)
            return tf_fail_node(err, TOKFSM_E_UNSUPPORTED, tape, node, "$schema",
                                "draft %c is not supported; draft 4 is the first that is", early);
    }
    /* Any other identifier names a metaschema that adds annotations, or none: the default. */
    return TOKFSM_OK;
}

tokfsm_status tf_fail_node(tokfsm_error *err, tokfsm_status code, const tf_tape *tape,
                           uint32_t node, const char *keyword, const char *format, ...)
{
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    char pointer[sizeof err->pointer];
    tf_tape_pointer(tape, node, pointer, sizeof pointer);
    tf_fail_schema(err, code, keyword, pointer, "%s", message);
    if (err != NULL)
        err->where = tape->nodes[node].where;
    return code;
}
