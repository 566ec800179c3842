/*
 * Values of the tape: equality and hash as of JSON Schema, by value and without the order
 * of members. Both walk the subtree in order and climb by `parent`, with no stack and no
 * memory. Linear in the nodes, times the lookup of a name in an object of many members.
 */
#include "decimal.h"
#include "tape.h"
#include "tape_hash.h"

static bool equal_here(const tf_tape_node *x, const tf_tape_node *y)
{
    if (x->type != y->type)
        return false;
    switch (x->type) {
    case TF_JSON_NUMBER: return tf_decimal_text_equal(x->text, x->n, y->text, y->n);
    case TF_JSON_STRING: return x->n == y->n && memcmp(x->text, y->text, x->n) == 0;
    default: return x->n == y->n;
    }
}

/* The value under `container` of b that stands against the child `*child` of a (an item, or
   a name: then *child moves on to its value). */
static uint32_t counterpart(const tf_tape *a, uint32_t *child, const tf_tape *b,
                            uint32_t container, uint32_t item)
{
    if (b->nodes[container].type == TF_JSON_ARRAY)
        return item;
    const tf_tape_node *name = &a->nodes[(*child)++];
    return tf_tape_get(b, container, name->text, name->n);
}

bool tf_tape_equal(const tf_tape *a, uint32_t i, const tf_tape *b, uint32_t j)
{
    const tf_tape_node *nodes = a->nodes;
    uint32_t root = i;
    for (;;) {
        /* Equal values have equally many nodes, so a difference shows without descending. */
        if (nodes[i].next - i != b->nodes[j].next - j || !equal_here(&nodes[i], &b->nodes[j]))
            return false;
        if (nodes[i].next - i > 1) {
            uint32_t child = i + 1;
            j = counterpart(a, &child, b, j, j + 1);
            i = child;
        } else {
            while (i != root && nodes[i].next == nodes[nodes[i].parent].next) {
                i = nodes[i].parent;
                j = b->nodes[j].parent;
            }
            if (i == root)
                return true;
            uint32_t child = nodes[i].next;
            j = counterpart(a, &child, b, b->nodes[j].parent, b->nodes[j].next);
            i = child;
        }
        if (j == TF_TAPE_NONE)
            return false;
    }
}

static uint64_t hash_here(const tf_tape_node *node)
{
    uint64_t value = node->type == TF_JSON_NUMBER   ? tf_decimal_text_hash(node->text, node->n)
                     : node->type == TF_JSON_STRING ? tf_hash_bytes(node->text, node->n)
                                                    : node->n;
    return tf_hash_step(tf_hash_step(TF_HASH_MULTIPLIER, node->type), value);
}

/* What leads from a container to its child: the name, or the distance to the item, which is
   the same in equal arrays. */
static uint64_t hash_edge(const tf_tape_node *nodes, uint32_t child)
{
    if (nodes[nodes[child].parent].type == TF_JSON_OBJECT)
        return tf_hash_bytes(nodes[child - 1].text, nodes[child - 1].n);
    return tf_hash_end(child - nodes[child].parent);
}

/*
 * A sum over the nodes, each mixed with its path from i, so that the order of members does
 * not show. Paths are polynomials of the edges in an odd multiplier: going up is undone by
 * its inverse.
 */
uint64_t tf_tape_hash(const tf_tape *tape, uint32_t i)
{
    const tf_tape_node *nodes = tape->nodes;
    uint32_t root = i;
    uint64_t sum = 0, path = 0;
    for (;;) {
        sum += tf_hash_end(tf_hash_step(path, hash_here(&nodes[i])));
        bool down = nodes[i].next - i > 1;
        uint32_t child = i + 1, container = i;
        if (!down) {
            for (; i != root; i = container) {
                container = nodes[i].parent;
                path = (path - hash_edge(nodes, i)) * TF_HASH_INVERSE;
                if (nodes[i].next != nodes[container].next)
                    break;
            }
            if (i == root)
                return tf_hash_end(sum);
            child = nodes[i].next;
        }
        i = nodes[container].type == TF_JSON_OBJECT ? child + 1 : child;
        path = path * TF_HASH_MULTIPLIER + hash_edge(nodes, i);
    }
}
