/* Contents of the machine section: automata of patterns and formats. See write.c. */
#include "put.h"

/* States in the order in which they are met, breadth-first from the start. */
static bool number_states(const tf_content *content, tf_arena *arena,
                          const tf_content_state ***states, uint32_t **number, uint32_t *n)
{
    uint32_t capacity = 0, n_most = 0;
    *n = 0;
    *states = NULL;
    *number = NULL;
    if (content->start == NULL)
        return true;
    /* A state's id is below the number of states made: find the largest on the way. */
    for (uint32_t i = 0; i <= *n; i++) {
        const tf_content_state *from = i == 0 ? content->start : (*states)[i - 1];
        for (uint32_t k = 0; k < (i == 0 ? 1 : content->n_classes); k++) {
            const tf_content_state *to =
                i == 0 ? from : READ(((tf_content_state *)(uintptr_t)from)->next[k]);
            if (to == &tf_content_dead)
                continue;
            if (to->id >= n_most) {
                uint32_t wider = to->id * 2 + 64;
                uint32_t *moved = tf_arena_zero(arena, wider * sizeof *moved);
                if (moved == NULL)
                    return false;
                if (n_most > 0)
                    memcpy(moved, *number, n_most * sizeof *moved);
                *number = moved;
                n_most = wider;
            }
            if ((*number)[to->id] != 0)
                continue;
            if (!tf_arena_grow(arena, (void **)states, *n, &capacity, 64, sizeof **states))
                return false;
            (*states)[(*n)++] = to;
            (*number)[to->id] = *n;
        }
    }
    return true;
}

static void put_lengths(buffer *out, const tf_lengths *l)
{
    tf_put64(out, l->shortest);
    tf_put64(out, l->longest);
    tf_put(out, l->n_prefix);
    tf_put(out, l->period);
    for (uint32_t i = 0; i < (l->n_prefix + l->period + 31) / 32; i++)
        tf_put(out, l->bits[i]);
}

static void put_content_state(buffer *out, const tf_content_state *state, const uint32_t *number)
{
    const tf_content *content = state->content;
    tf_put(out, state->inside);
    tf_put_set(out, state->accepts, content->language_words);
    tf_put_set(out, state->live, content->language_words);
    tf_put_set(out, state->universal, content->language_words);
    const uint32_t *cost = READ(((tf_content_state *)(uintptr_t)state)->cost);
    for (uint32_t i = 0; i < content->n_languages; i++) {
        tf_put(out, cost[i]);
        if (content->has_lengths)
            put_lengths(out, state->lengths[i]);
        if (content->has_counts)
            tf_put64(out, state->counts[i]);
    }
    for (uint32_t k = 0; k < content->n_classes; k++) {
        const tf_content_state *next = READ(((tf_content_state *)(uintptr_t)state)->next[k]);
        tf_put(out, next == &tf_content_dead ? 0 : number[next->id]);
    }
}

void tf_write_content(buffer *out, const tf_content *content)
{
    const tf_content_state **states;
    uint32_t *number, n;
    tf_arena arena;
    tf_arena_init(&arena, out->a);
    if (!number_states(content, &arena, &states, &number, &n))
        out->failed = true;
    tf_put(out, content->n_languages);
    tf_put(out, content->n_classes);
    tf_put(out, content->has_lengths);
    tf_put(out, content->has_counts);
    tf_put_bytes(out, content->byte_class, 256);
    for (uint32_t k = 0; k < content->n_classes; k++) {
        tf_put(out, content->class_cost[k]);
        tf_put(out, content->class_byte[k]);
    }
    tf_put(out, content->n_runs);
    for (uint32_t i = 0; i < content->n_runs; i++)
        tf_put(out, content->run[i]);
    tf_put(out, out->failed ? 0 : n);
    for (uint32_t i = 0; i < n && !out->failed; i++)
        put_content_state(out, states[i], number);
    tf_arena_free(&arena);
}
