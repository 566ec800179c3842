/* How a literal is spelled, and what a spelling costs in tokens. docs/spelling.md (b). */
#include "../engine/automaton.h"
#include "../engine/spelling.h"
#include "build.h"

tokfsm_status tf_spell(tf_build *b, const char *text, uint32_t n, const uint8_t **spelled,
                       uint32_t *n_spelled)
{
    size_t m = tf_spelled_length((const uint8_t *)text, n);
    if (m > UINT32_MAX)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "a literal of over 4 GiB");
    *n_spelled = (uint32_t)m;
    *spelled = (const uint8_t *)text; /* on the tape, which lives as long */
    if (m == n)
        return TOKFSM_OK;
    uint8_t *bytes = tf_arena_take(&b->arena, m);
    if (bytes == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for a literal");
    tf_spelled_write((const uint8_t *)text, n, bytes);
    *spelled = bytes;
    return TOKFSM_OK;
}

/* A stop token has no bytes. */
static bool usable(const tf_build *b, uint32_t id)
{
    return !tf_stop_ids_have(b->stop_ids, b->n_stop_ids, id);
}

tokfsm_status tf_spelling_cost(tf_build *b, const uint8_t *bytes, uint32_t n,
                               const uint32_t **cost)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t *tokens = tf_take(b, ((size_t)n + 1) * sizeof *tokens, &status);
    if (status != TOKFSM_OK)
        return status;
    const tf_trie *trie = &b->machine.pack->all;
    for (uint32_t p = n; p-- > 0;) {
        tokens[p] = TF_COST_NONE;
        /* A place that single bytes cannot lead out of is no completion (design: over B). */
        if (!tf_has_byte(&b->machine, bytes[p]) || tokens[p + 1] == TF_COST_NONE)
            continue;
        tokens[p] = tokens[p + 1] + 1;
        uint32_t node = trie->n_nodes > 0 ? trie->root[bytes[p]] : 0;
        for (uint32_t q = p + 1; node != 0; q++) {
            for (uint32_t i = trie->first[node]; i < trie->first[node + 1]; i++)
                if (tokens[q] != TF_COST_NONE && tokens[q] + 1 < tokens[p] &&
                    usable(b, trie->ids[i]))
                    tokens[p] = tokens[q] + 1;
            if (q == n)
                break;
            uint32_t child = node + 1, end = trie->end[node];
            while (child < end && trie->byte[child] < bytes[q])
                child = trie->end[child];
            node = child < end && trie->byte[child] == bytes[q] ? child : 0;
        }
        TF_TRY(tf_spend(b->budget, b->err));
    }
    *cost = tokens;
    return TOKFSM_OK;
}

tokfsm_status tf_build_literal_cost(tf_build *b, const tf_strings *strings, uint32_t literal,
                                    bool name, const uint32_t **cost)
{
    const tf_literal *l = &strings->literals[literal];
    bool gap = name && (b->machine.options.whitespace == TOKFSM_WHITESPACE_SPACED ||
                        b->machine.options.whitespace == TOKFSM_WHITESPACE_INDENT);
    const char *after = gap ? "\": " : name ? "\":" : "\"";
    uint32_t n_after = (uint32_t)strlen(after);
    uint8_t *bytes = tf_allocate(&b->arena.allocator, (size_t)l->n_spelled + n_after);
    if (bytes == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for a literal");
    memcpy(bytes, l->spelled, l->n_spelled);
    memcpy(bytes + l->n_spelled, after, n_after);
    tokfsm_status status = tf_spelling_cost(b, bytes, l->n_spelled + n_after, cost);
    tf_release(&b->arena.allocator, bytes);
    return status;
}

bool tf_has_escaped_closer(const tf_build *b, const char *text, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (b->machine.pack->traces->facts.escaped_closer[byte >> 3] >> (byte & 7u) & 1u)
            return true;
    }
    return false;
}

int tf_compare_literals(const void *a, const void *b)
{
    const tf_literal *x = a, *y = b;
    uint32_t n = x->n_spelled < y->n_spelled ? x->n_spelled : y->n_spelled;
    int order = n == 0 ? 0 : memcmp(x->spelled, y->spelled, n);
    if (order != 0)
        return order;
    return x->n_spelled < y->n_spelled ? -1 : x->n_spelled > y->n_spelled;
}
