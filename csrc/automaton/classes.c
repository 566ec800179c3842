#include "classes.h"

#include <stdlib.h>

#include "../base/bits.h"

static tokfsm_status no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the classes of patterns");
}

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Where a set begins or ends, and where the length of UTF-8 changes. */
static tokfsm_status cut(tf_classes *c, const tf_regex *regex, tf_arena *arena, tokfsm_error *err)
{
    static const uint32_t fixed[] = {0, 0x80, 0x800, 0xD800, 0xE000, 0x10000};
    size_t n = sizeof fixed / sizeof *fixed;
    for (uint32_t s = 0; s < regex->n_sets; s++)
        n += 2 * (size_t)regex->sets[s].n;
    uint32_t *cuts = tf_arena_take(arena, n * sizeof *cuts);
    if (cuts == NULL)
        return no_memory(err);
    memcpy(cuts, fixed, sizeof fixed);
    n = sizeof fixed / sizeof *fixed;
    for (uint32_t s = 0; s < regex->n_sets; s++)
        for (uint32_t i = 0; i < regex->sets[s].n; i++) {
            cuts[n++] = regex->sets[s].ranges[i].low;
            cuts[n++] = regex->sets[s].ranges[i].high + 1;
        }
    qsort(cuts, n, sizeof *cuts, compare_words);
    c->segments = tf_arena_take(arena, n * sizeof *c->segments);
    if (c->segments == NULL)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (cuts[i] <= TF_CODE_POINT_MAX && (i == 0 || cuts[i] != cuts[i - 1]))
            c->segments[c->n_segments++] =
                (tf_segment){cuts[i], cuts[i] == 0xD800 ? TF_CLASS_NONE : 0};
    return TOKFSM_OK;
}

static uint32_t segment_of(const tf_classes *c, uint32_t code_point)
{
    uint32_t low = 0, high = c->n_segments;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->segments[middle].low <= code_point)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t tf_classes_of(const tf_classes *c, uint32_t code_point)
{
    return c->segments[segment_of(c, code_point)].class_id;
}

/* Split classes by one set after the other; a class keeps its number outside the set. */
static tokfsm_status refine(tf_classes *c, const tf_regex *regex, tf_arena *arena,
                            tf_budget *budget, tokfsm_error *err)
{
    uint32_t *inside = tf_arena_take(arena, (c->n_segments + 1) * sizeof *inside);
    uint32_t *outside = tf_arena_take(arena, (c->n_segments + 1) * sizeof *outside);
    if (inside == NULL || outside == NULL)
        return no_memory(err);
    c->n = 1;
    for (uint32_t s = 0; s < regex->n_sets; s++) {
        const tf_charset *set = &regex->sets[s];
        uint32_t before = c->n;
        memset(outside, 0, before * sizeof *outside);
        memset(inside, 0xFF, before * sizeof *inside);
        uint32_t at = 0;
        for (uint32_t pass = 0; pass < 2; pass++) {
            at = 0;
            for (uint32_t i = 0; i < c->n_segments; i++) {
                tf_segment *segment = &c->segments[i];
                while (at < set->n && set->ranges[at].high < segment->low)
                    at++;
                if (segment->class_id == TF_CLASS_NONE)
                    continue;
                bool in = at < set->n && set->ranges[at].low <= segment->low;
                if (pass == 0 && !in && segment->class_id < before) {
                    outside[segment->class_id] = 1;
                } else if (pass == 1 && in && segment->class_id < before &&
                           outside[segment->class_id]) {
                    uint32_t *to = &inside[segment->class_id];
                    if (*to == TF_CLASS_NONE)
                        *to = c->n++;
                    segment->class_id = *to;
                }
            }
        }
        for (uint32_t i = 0; i <= c->n_segments; i += 1024)
            TF_TRY(tf_spend(budget, err));
    }
    return TOKFSM_OK;
}

static tokfsm_status set_rows(tf_classes *c, const tf_regex *regex, tf_arena *arena,
                              tokfsm_error *err)
{
    c->n_set_words = (uint32_t)tf_n_words(c->n);
    c->set_rows = tf_arena_zero(arena, (size_t)regex->n_sets * c->n_set_words * sizeof(uint32_t));
    uint32_t *seen = tf_arena_zero(arena, c->n_set_words * sizeof *seen);
    c->wide = tf_arena_take(arena, c->n * sizeof *c->wide);
    if (c->set_rows == NULL || seen == NULL || c->wide == NULL)
        return no_memory(err);
    for (uint32_t s = 0; s < regex->n_sets; s++) {
        const tf_charset *set = &regex->sets[s];
        uint32_t *row = c->set_rows + s * c->n_set_words;
        for (uint32_t i = 0; i < set->n; i++)
            for (uint32_t k = segment_of(c, set->ranges[i].low);
                 k < c->n_segments && c->segments[k].low <= set->ranges[i].high; k++)
                if (c->segments[k].class_id != TF_CLASS_NONE)
                    tf_set(row, c->segments[k].class_id);
    }
    for (uint32_t i = segment_of(c, 0x80); i < c->n_segments; i++)
        if (c->segments[i].class_id != TF_CLASS_NONE)
            tf_set(seen, c->segments[i].class_id);
    for (uint32_t k = 0; k < c->n; k++)
        if (tf_bit(seen, k))
            c->wide[c->n_wide++] = k;
    return TOKFSM_OK;
}

/* ---- UTF-8 ---- */

typedef struct trie_builder {
    tf_classes *c;
    uint32_t *uniform[4]; /* per depth and class: the node whose block is all of that class */
    uint32_t first;       /* lowest code point of the length at hand */
} trie_builder;

/* The entry of the 64^depth code points from `base`. Depth is at most 3. */
static bool block(trie_builder *b, uint32_t base, uint32_t depth, uint32_t *entry)
{
    tf_classes *c = b->c;
    uint32_t step = 1u << (6 * depth), row[64], id;
    bool fresh;
    if (base > TF_CODE_POINT_MAX || base + step <= b->first) {
        *entry = TF_UTF8_INVALID;
        return true;
    }
    uint32_t segment = segment_of(c, base);
    uint32_t end = segment + 1 < c->n_segments ? c->segments[segment + 1].low : TF_CODE_POINT_MAX + 1;
    bool uniform = end - base >= step && base >= b->first;
    uint32_t class_id = c->segments[segment].class_id;
    if (uniform && (class_id == TF_CLASS_NONE || depth == 0)) {
        *entry = class_id == TF_CLASS_NONE ? TF_UTF8_INVALID : TF_UTF8_CLASS | class_id;
        return true;
    }
    if (uniform && b->uniform[depth][class_id] != TF_UTF8_INVALID) {
        *entry = b->uniform[depth][class_id];
        return true;
    }
    bool any = false;
    for (uint32_t i = 0; i < 64; i++) {
        if (!block(b, base + i * (step >> 6), depth - 1, &row[i]))
            return false;
        any |= row[i] != TF_UTF8_INVALID;
        if (uniform) {
            for (i = 1; i < 64; i++)
                row[i] = row[0];
            break;
        }
    }
    if (!any) {
        *entry = TF_UTF8_INVALID;
        return true;
    }
    if (!tf_intern_row(&c->nodes, row, 64, &id, &fresh))
        return false;
    *entry = TF_UTF8_NODE | id;
    if (uniform)
        b->uniform[depth][class_id] = *entry;
    return true;
}

static bool same_column(const tf_classes *c, uint32_t i, uint32_t k)
{
    for (uint32_t node = 0; node < c->nodes.n; node++)
        if (c->nodes.items[node].words[i] != c->nodes.items[node].words[k])
            return false;
    return true;
}

static uint32_t column_hash(const tf_classes *c, uint32_t i)
{
    uint32_t hash = 2166136261u;
    for (uint32_t node = 0; node < c->nodes.n; node++)
        hash = (hash ^ c->nodes.items[node].words[i]) * 16777619u;
    return hash;
}

/* Number the bytes by what they lead to; entry of `byte` at a character's start: starts[byte]. */
static void number_bytes(tf_classes *c, const uint32_t *starts)
{
    uint32_t hashes[64], n = 0, first[256];
    for (uint32_t i = 0; i < 64; i++)
        hashes[i] = column_hash(c, i);
    for (uint32_t byte = 0; byte < 256; byte++) {
        bool follows = byte >= 0x80 && byte < 0xC0;
        uint32_t k = 0;
        for (; k < n; k++) {
            uint32_t other = first[k];
            bool other_follows = other >= 0x80 && other < 0xC0;
            if (follows != other_follows)
                continue;
            if (follows ? hashes[byte & 63u] == hashes[other & 63u] &&
                              same_column(c, byte & 63u, other & 63u)
                        : starts[byte] == starts[other])
                break;
        }
        if (k == n)
            first[n++] = byte;
        c->byte_class[byte] = (uint8_t)k;
    }
    c->n_byte_classes = n;
    for (uint32_t k = 0; k < n; k++) {
        bool follows = first[k] >= 0x80 && first[k] < 0xC0;
        c->byte_entry[k] = follows ? TF_UTF8_INVALID : starts[first[k]];
        c->continuation[k] = follows ? (first[k] & 63u) + 1 : 0;
    }
}

static tokfsm_status utf8(tf_classes *c, tf_arena *arena, tf_budget *budget, tokfsm_error *err)
{
    trie_builder b = {.c = c};
    uint32_t starts[256] = {0};
    for (uint32_t depth = 1; depth < 4; depth++)
        if ((b.uniform[depth] = tf_arena_zero(arena, c->n * sizeof **b.uniform)) == NULL)
            return no_memory(err);
    tf_intern_init(&c->nodes, arena);
    for (uint32_t byte = 0; byte < 0x80; byte++)
        starts[byte] = TF_UTF8_CLASS | tf_classes_of(c, byte);
    for (uint32_t byte = 0xC2; byte < 0xF5; byte++) {
        uint32_t depth = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
        uint32_t mask = byte < 0xE0 ? 0x1F : byte < 0xF0 ? 0x0F : 0x07;
        b.first = byte < 0xE0 ? 0x80 : byte < 0xF0 ? 0x800 : 0x10000;
        TF_TRY(tf_spend(budget, err));
        if (!block(&b, (byte & mask) << (6 * depth), depth, &starts[byte]))
            return no_memory(err);
    }
    c->byte_entry = tf_arena_take(arena, 256 * sizeof *c->byte_entry);
    c->continuation = tf_arena_take(arena, 256 * sizeof *c->continuation);
    if (c->byte_entry == NULL || c->continuation == NULL)
        return no_memory(err);
    number_bytes(c, starts);
    return TOKFSM_OK;
}

tokfsm_status tf_classes_build(tf_classes *c, const tf_regex *regex, tf_arena *arena,
                               tf_budget *budget, tokfsm_error *err)
{
    memset(c, 0, sizeof *c);
    TF_TRY(cut(c, regex, arena, err));
    TF_TRY(refine(c, regex, arena, budget, err));
    TF_TRY(set_rows(c, regex, arena, err));
    return utf8(c, arena, budget, err);
}
