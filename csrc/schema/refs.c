/*
 * References within one document (Core §8.2): `#`, `#/pointer`, and both behind the
 * identifier of the resource they stand in. What is not found here is an error.
 */
#include "refs.h"

static const char *id_keyword(uint32_t draft) { return draft == TOKFSM_DRAFT_4 ? "id" : "$id"; }

/* The identifier of an object node that begins a resource, or NULL. */
static const tf_tape_node *resource_id(const tf_ir *ir, uint32_t node)
{
    if (ir->tape->nodes[node].type != TF_JSON_OBJECT)
        return NULL;
    const char *keyword = id_keyword(ir->draft);
    uint32_t id = tf_tape_get(ir->tape, node, keyword, strlen(keyword));
    if (id == TF_TAPE_NONE || ir->tape->nodes[id].type != TF_JSON_STRING)
        return NULL;
    const tf_tape_node *value = &ir->tape->nodes[id];
    if (value->n == 0 || value->text[0] == '#') /* a plain-name fragment (drafts 4 to 7) */
        return NULL;
    return value;
}

/* The innermost resource that holds the node: the root, or an object with an identifier. */
static uint32_t resource_of(const tf_ir *ir, uint32_t node)
{
    const tf_tape_node *nodes = ir->tape->nodes;
    uint32_t at = 0, found = 0;
    while (at != node) {
        uint32_t child = at + 1;
        bool object = nodes[at].type == TF_JSON_OBJECT;
        for (;;) {
            if (object)
                child++; /* past the name */
            if (child >= nodes[at].next)
                return found; /* the node is a name: not a schema */
            if (nodes[child].next > node)
                break;
            child = nodes[child].next;
        }
        at = child;
        if (resource_id(ir, at) != NULL)
            found = at;
    }
    return found;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

tokfsm_status tf_refs_resolve(tf_ir *ir, uint32_t holder, uint32_t reference, uint32_t *target,
                              tokfsm_error *err)
{
    const tf_tape *tape = ir->tape;
    const tf_tape_node *text = &tape->nodes[reference];
    if (text->type != TF_JSON_STRING)
        return tf_fail_node(err, TOKFSM_E_SCHEMA, tape, reference, "$ref", "$ref must be a string");
    const char *hash = memchr(text->text, '#', text->n);
    size_t n_base = hash == NULL ? text->n : (size_t)(hash - text->text);
    uint32_t base = resource_of(ir, holder);
    if (n_base > 0) {
        const tf_tape_node *id = resource_id(ir, base);
        size_t n_id = id == NULL ? 0 : id->n;
        if (n_id > 0 && id->text[n_id - 1] == '#')
            n_id--;
        if (id == NULL || n_id != n_base || memcmp(id->text, text->text, n_base) != 0)
            return tf_fail_node(err, TOKFSM_E_UNSUPPORTED, tape, reference, "$ref",
                                "the reference \"%.200s\" leads out of this document",
                                text->text);
    }
    if (hash == NULL || (size_t)(hash - text->text) + 1 == text->n) {
        *target = base;
        return TOKFSM_OK;
    }
    const char *fragment = hash + 1;
    size_t n = text->n - n_base - 1;
    if (fragment[0] != '/')
        return tf_fail_node(err, TOKFSM_E_UNSUPPORTED, tape, reference, "$ref",
                            "the anchor \"#%.200s\" is not supported", fragment);
    char *decoded = tf_arena_take(ir->arena, n + 1);
    if (decoded == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a reference");
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (fragment[i] == '%') {
            int high = i + 2 < n ? hex_value(fragment[i + 1]) : -1;
            int low = i + 2 < n ? hex_value(fragment[i + 2]) : -1;
            if (high < 0 || low < 0)
                return tf_fail_node(err, TOKFSM_E_SCHEMA, tape, reference, "$ref",
                                    "malformed percent-encoding in \"%.200s\"", text->text);
            decoded[m++] = (char)(high * 16 + low);
            i += 2;
        } else {
            decoded[m++] = fragment[i];
        }
    }
    *target = tf_tape_resolve(tape, base, decoded, m);
    if (*target == TF_TAPE_NONE)
        return tf_fail_node(err, TOKFSM_E_SCHEMA, tape, reference, "$ref",
                            "the reference \"%.200s\" leads nowhere", text->text);
    return TOKFSM_OK;
}
