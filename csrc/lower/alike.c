#include "alike.h"

#include "../schema/tape_hash.h"

/* What changes no meaning, in any draft. */
static bool is_annotation(const tf_tape_node *name)
{
    static const char *const names[] = {"title", "description", "default", "examples", "$comment",
                                        "deprecated", "readOnly", "writeOnly"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == name->n && memcmp(names[i], name->text, name->n) == 0)
            return true;
    return false;
}

static uint32_t schema_at(const tf_build *b, uint32_t node)
{
    return node < b->ir.n_mapped ? b->ir.schema_of_node[node] : TF_NO_SCHEMA;
}

static bool alike_around(const tf_build *b, uint32_t x, uint32_t y)
{
    uint32_t one = schema_at(b, x), other = schema_at(b, y);
    if (one == TF_NO_SCHEMA || other == TF_NO_SCHEMA)
        return one == other;
    return b->ir.schemas[one].reference == b->ir.schemas[other].reference &&
           b->ir.schemas[one].resource == b->ir.schemas[other].resource;
}

/* The next child that counts: at or after `child` of `node`; nodes[node].next: none. */
static uint32_t next_child(const tf_build *b, uint32_t node, uint32_t child)
{
    const tf_tape_node *nodes = b->tape.nodes;
    while (child < nodes[node].next && nodes[node].type == TF_JSON_OBJECT &&
           schema_at(b, node) != TF_NO_SCHEMA && nodes[child].parent == node &&
           is_annotation(&nodes[child]))
        child = nodes[child + 1].next;
    return child;
}

/* Past a child; in an object a name and its value are two. */
static uint32_t step(const tf_build *b, uint32_t node, uint32_t child, bool *is_name)
{
    uint32_t next = b->tape.nodes[child].next;
    if (b->tape.nodes[node].type != TF_JSON_OBJECT)
        return next;
    *is_name = !*is_name;
    return *is_name ? next_child(b, node, next) : next;
}

static uint64_t hash_of(const tf_build *b, uint32_t node)
{
    const tf_tape_node *n = &b->tape.nodes[node];
    uint64_t hash = tf_hash_step(TF_HASH_MULTIPLIER, n->type * 2u + (schema_at(b, node) != TF_NO_SCHEMA));
    if (n->text != NULL)
        return tf_hash_end(tf_hash_step(hash, tf_hash_bytes(n->text, n->n)));
    bool is_name = true;
    for (uint32_t child = next_child(b, node, node + 1); child < n->next;
         child = step(b, node, child, &is_name))
        hash = tf_hash_step(hash, b->classes[child]);
    return tf_hash_end(hash);
}

static bool alike(const tf_build *b, uint32_t x, uint32_t y)
{
    const tf_tape_node *one = &b->tape.nodes[x], *other = &b->tape.nodes[y];
    if (one->type != other->type || !alike_around(b, x, y))
        return false;
    if (one->text != NULL)
        return one->n == other->n && memcmp(one->text, other->text, one->n) == 0;
    bool is_name = true, other_name = true;
    uint32_t i = next_child(b, x, x + 1), k = next_child(b, y, y + 1);
    while (i < one->next && k < other->next && b->classes[i] == b->classes[k]) {
        i = step(b, x, i, &is_name);
        k = step(b, y, k, &other_name);
    }
    return i >= one->next && k >= other->next;
}

tokfsm_status tf_alike_begin(tf_build *b)
{
    if (b->ir.scopes.n > 1) /* a text means one thing in each */
        return TOKFSM_OK;
    uint32_t n = b->tape.n_nodes, n_slots = 64;
    while (n_slots < n + n / 2)
        n_slots *= 2;
    tokfsm_status status = TOKFSM_OK;
    b->classes = tf_take(b, n * sizeof *b->classes, &status);
    uint32_t *slots = tf_allocate(&b->arena.allocator, n_slots * sizeof *slots);
    if (slots == NULL || status != TOKFSM_OK) {
        tf_release(&b->arena.allocator, slots);
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    }
    memset(slots, 0xFF, n_slots * sizeof *slots);
    for (uint32_t node = n; node-- > 0 && status == TOKFSM_OK;) { /* children before parents */
        uint32_t at = (uint32_t)hash_of(b, node) & (n_slots - 1);
        while (slots[at] != TF_TAPE_NONE && !alike(b, slots[at], node) && status == TOKFSM_OK) {
            status = tf_spend(b->budget, b->err);
            at = (at + 1) & (n_slots - 1);
        }
        if (slots[at] == TF_TAPE_NONE)
            slots[at] = node;
        b->classes[node] = slots[at];
    }
    tf_release(&b->arena.allocator, slots);
    return status;
}
