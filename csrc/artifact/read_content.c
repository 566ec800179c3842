/* Contents of the machine section: automata of patterns and formats. See read_machine.c. */
#include "take.h"

static const tf_lengths *take_lengths(reader *r)
{
    tf_lengths *l = tf_room(r, 1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->shortest = tf_take64(r);
    l->longest = tf_take64(r);
    l->n_prefix = tf_take(r);
    l->period = tf_take(r);
    uint64_t n_words = ((uint64_t)l->n_prefix + l->period + 31) / 32;
    if (l->period == 0 || n_words > (uint64_t)(r->end - r->at) / 4 ||
        l->n_prefix > INT32_MAX || l->period > INT32_MAX) {
        tf_corrupt(r, "lengths without a period, or with too long a one");
        return NULL;
    }
    uint32_t *bits = tf_room(r, (size_t)n_words, sizeof *bits);
    for (uint64_t i = 0; bits != NULL && i < n_words; i++)
        bits[i] = tf_take(r);
    l->bits = bits;
    return l;
}

static void take_content_state(reader *r, tf_content *content, tf_content_state **states,
                               uint32_t n, uint32_t id)
{
    tf_content_state *state = states[id];
    state->content = content;
    state->id = id;
    state->inside = tf_take(r) != 0;
    state->accepts = tf_take_set(r, content->n_languages, content->language_words);
    state->live = tf_take_set(r, content->n_languages, content->language_words);
    state->universal = tf_take_set(r, content->n_languages, content->language_words);
    uint32_t *cost = tf_room(r, content->n_languages, sizeof *cost);
    const tf_lengths **lengths = NULL;
    uint64_t *counts = NULL;
    if (content->has_lengths)
        lengths = tf_room(r, content->n_languages, sizeof *lengths);
    if (content->has_counts)
        counts = tf_room(r, content->n_languages, sizeof *counts);
    for (uint32_t i = 0; r->status == TOKFSM_OK && i < content->n_languages; i++) {
        cost[i] = tf_take(r);
        if (lengths != NULL)
            lengths[i] = take_lengths(r);
        if (lengths != NULL && lengths[i] != NULL && r->status == TOKFSM_OK)
            tf_content_note(content, lengths[i]);
        if (counts != NULL)
            counts[i] = tf_take64(r);
    }
    atomic_init(&state->cost, cost);
    state->lengths = lengths;
    state->counts = counts;
    for (uint32_t k = 0; k < content->n_classes && r->status == TOKFSM_OK; k++) {
        uint32_t next = tf_take_reference(r, n);
        atomic_init(&state->next[k], next == 0 ? &tf_content_dead : states[next - 1]);
    }
}

static void take_content_bytes(reader *r, tf_content *content)
{
    for (uint32_t i = 0; i < 256; i += 4) {
        uint32_t four = tf_take(r);
        for (uint32_t k = 0; k < 4; k++) {
            content->byte_class[i + k] = (uint8_t)(four >> (8 * k));
            if (content->byte_class[i + k] >= content->n_classes)
                tf_corrupt(r, "a class of bytes is out of range");
        }
    }
    uint32_t *cost = tf_room(r, content->n_classes, sizeof *cost);
    uint8_t *byte = tf_room(r, content->n_classes, 1);
    for (uint32_t k = 0; byte != NULL && k < content->n_classes; k++) {
        cost[k] = tf_take(r);
        byte[k] = (uint8_t)tf_take(r);
        if (cost[k] != TF_COST_NONE && (cost[k] == 0 || cost[k] > 6))
            tf_corrupt(r, "a byte costs nothing, or too much");
    }
    content->class_cost = cost;
    content->class_byte = byte;
    content->n_runs = tf_take_count(r, 1);
    uint32_t *run = tf_room(r, content->n_runs, sizeof *run);
    for (uint32_t i = 0; run != NULL && i < content->n_runs; i++) {
        run[i] = tf_take(r);
        if (i == 0 ? run[i] != 0 : run[i] <= run[i - 1] || run[i] > 0x10FFFF)
            tf_corrupt(r, "runs of code points are out of order");
    }
    if (content->n_runs == 0)
        tf_corrupt(r, "a content has no run of code points");
    content->run = run;
}

uint32_t tf_read_content(reader *r, tf_content *content, uint32_t id)
{
    content->id = id;
    content->n_languages = tf_take_count(r, 1);
    content->language_words = tf_words_for(content->n_languages);
    content->n_classes = tf_take(r);
    uint32_t has_lengths = tf_take(r);
    if (has_lengths > TF_LENGTHS_ALL)
        tf_corrupt(r, "a content knows of its lengths what there is not");
    content->has_lengths = (uint8_t)has_lengths;
    content->has_counts = tf_take(r) != 0;
    if (content->n_languages == 0 || content->n_classes == 0 || content->n_classes > 256) {
        tf_corrupt(r, "a content has too few or too many languages or classes");
        return 0;
    }
    take_content_bytes(r, content);
    uint32_t n = tf_take_count(r, content->n_classes + (uint64_t)content->n_languages);
    tf_content_state **states = tf_room(r, n, sizeof *states);
    for (uint32_t i = 0; i < n && r->status == TOKFSM_OK; i++)
        states[i] = tf_room(r, 1, sizeof **states + content->n_classes * sizeof states[i]->next[0]);
    for (uint32_t i = 0; i < n && r->status == TOKFSM_OK; i++)
        take_content_state(r, content, states, n, i);
    content->start = n == 0 || r->status != TOKFSM_OK ? NULL : states[0];
    return n;
}
