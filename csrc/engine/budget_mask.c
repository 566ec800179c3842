/*
 * Masks under a token budget: of the tokens allowed, those after which the completion bound is
 * within what is left. Tokens that keep a free string open are many and alike: their bound
 * depends on the characters that they start and on the string state that they end in.
 */
#include "../base/bits.h"
#include "frames.h"
#include "text.h"
#include "unique.h"

/* Whether closing later, after more characters, can have another outcome than now. */
static bool outcome_varies(const tf_configuration *c)
{
    const tf_strings *s = c->at;
    const uint64_t *only = NULL;
    for (uint32_t b = 0; b < s->n_breaks; b++) {
        const uint64_t *outcome = s->breaks[b].outcome;
        if (!tf_words_any(outcome, c->value->n_words))
            continue;
        if (only != NULL && memcmp(only, outcome, c->value->n_words * sizeof *only) != 0)
            return true;
        only = outcome;
    }
    return only == NULL;
}

/* Bounds of free text: of[k] after k more characters, at a character boundary. */
typedef struct free_bounds {
    uint32_t n; /* the last one holds for more too */
    uint32_t *of;
} free_bounds;

/*
 * Only where what a token writes cannot matter: no name that it could meet, no member counts
 * that a longer name makes dearer, no second kind of outcome.
 */
static bool is_plain(tf_run *run, const tf_configuration *c)
{
    if (!run->m->bytes_complete || run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL ||
        c->literal == TF_MAYBE || run->m->unique == TF_UNIQUE_PLANNED ||
        (c->top != NULL && c->top->collects && !tf_unique_neutral(run, c)))
        return false; /* what is written may matter to items to come */
    if (c->mode == TF_IN_NAME)
        return c->top->emitted == NULL && !c->top->kind->counts &&
               c->top->kind->counting == NULL && c->content == NULL;
    const tf_strings *s = c->at;
    return c->mode == TF_IN_STRING && s->n_breaks > 0 && s->content == NULL && !outcome_varies(c);
}

static bool make_bounds(tf_run *run, const tf_configuration *c, free_bounds *bounds)
{
    uint64_t need = 0;
    tf_configuration off = *c;
    off.sub = TF_STR_NORMAL;
    off.literal = TF_OFF;
    off.low = off.high = 0;
    if (c->mode == TF_IN_STRING) {
        const tf_strings *s = c->at;
        for (uint32_t b = 0; b < s->n_breaks; b++)
            if (tf_words_any(s->breaks[b].outcome, c->value->n_words) && s->breaks[b].from > c->n) {
                need = s->breaks[b].from - c->n;
                break;
            }
    }
    uint64_t most = run->m->pack->stay_chars[c->sub];
    bounds->n = (uint32_t)(need < most ? need : most) + 1;
    bounds->of = tf_arena_take(run->arena, bounds->n * sizeof *bounds->of);
    if (bounds->of == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
        return false;
    }
    for (uint32_t k = 0; k < bounds->n && run->call.status == TOKFSM_OK; k++) {
        off.n = c->n + k;
        bounds->of[k] = tf_bound(run, &off);
    }
    return run->call.status == TOKFSM_OK;
}

/* The bound after a token that keeps the string open. */
static uint32_t bound_of_stay(const tf_run *run, const tf_configuration *c,
                              const free_bounds *bounds, uint32_t id)
{
    const uint8_t(*table)[256] = tf_string_table();
    uint32_t n, chars = 0;
    const uint8_t *bytes = tf_pack_token(run->m->pack, id, &n);
    uint8_t sub = c->sub;
    for (uint32_t i = 0; i < n; i++) {
        chars += sub == TF_STR_NORMAL;
        sub = table[sub][bytes[i]];
    }
    uint32_t k = chars < bounds->n ? chars : bounds->n - 1;
    return tf_cost_add(bounds->of[k], tf_string_rest_cost(run->m, sub, 0));
}

static bool step_token(tf_run *run, tf_configuration *c, uint32_t id)
{
    uint32_t n;
    const uint8_t *bytes = tf_pack_token(run->m->pack, id, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!tf_step(run, c, bytes[i]))
            return false;
    return true;
}

/* Clear the bits of `row` that are in `which` (NULL: all) and too dear, by real steps. */
static void filter_exactly(tf_run *run, const tf_configuration *c, const uint32_t *which,
                           uint32_t *row, uint32_t budget)
{
    uint32_t n_words = run->m->pack->n_words;
    tf_arena scratch, *outer = run->arena;
    tf_arena_init(&scratch, &outer->allocator);
    run->arena = &scratch;
    for (uint32_t w = 0; w < n_words && run->call.status == TOKFSM_OK; w++) {
        uint32_t left = which == NULL ? row[w] : row[w] & which[w];
        for (uint32_t b = 0; left != 0 && run->call.status == TOKFSM_OK; b++, left >>= 1) {
            if (!(left & 1u))
                continue;
            tf_configuration after = *c;
            if (!step_token(run, &after, w * 32 + b) || tf_bound(run, &after) > budget - 1)
                row[w] &= ~((uint32_t)1 << b);
            tf_arena_reset(&scratch);
        }
    }
    tf_arena_free(&scratch);
    run->arena = outer;
}

/* Add the allowed tokens that have a backslash to a set. */
static void add_escapes(const tokfsm_pack *pack, const uint32_t *row, uint32_t *set)
{
    for (uint32_t w = 0; w < pack->n_words; w++) {
        uint32_t left = row[w];
        for (uint32_t b = 0; left != 0; b++, left >>= 1) {
            uint32_t n = 0;
            const uint8_t *bytes = left & 1u ? tf_pack_token(pack, w * 32 + b, &n) : NULL;
            if (n > 0 && memchr(bytes, '\\', n) != NULL)
                tf_set(set, w * 32 + b);
        }
    }
}

bool tf_mask_budget(tf_run *run, const tf_configuration *c, const tf_edits *edits, uint32_t *row,
                    uint32_t budget)
{
    const tokfsm_pack *pack = run->m->pack;
    if (budget == 0) {
        memset(row, 0, pack->n_words * sizeof *row);
        return true;
    }
    free_bounds bounds;
    if (edits->base == NULL || !is_plain(run, c)) {
        filter_exactly(run, c, NULL, row, budget);
        return run->call.status == TOKFSM_OK;
    }
    /* Edits close the string, or keep to its literals: few, and judged by real steps. */
    uint32_t *exact = tf_arena_zero(run->arena, pack->n_words * sizeof *exact);
    if (exact == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
        return false;
    }
    for (uint32_t i = 0; i < edits->before.n; i++)
        tf_set(exact, edits->before.items[i]);
    for (uint32_t i = 0; i < edits->set.n; i++)
        tf_set(exact, edits->set.items[i]);
    for (uint32_t i = 0; i < edits->n_pieces; i++)
        tf_piece_set(edits->pieces[i], exact);
    if (c->mode == TF_IN_NAME && c->literal == TF_ON)
        add_escapes(pack, row, exact); /* an escape may still come to mean a declared name */
    if (!make_bounds(run, c, &bounds))
        return false;
    for (uint32_t w = 0; w < pack->n_words; w++) {
        uint32_t left = row[w] & ~exact[w];
        for (uint32_t b = 0; left != 0; b++, left >>= 1)
            if ((left & 1u) && bound_of_stay(run, c, &bounds, w * 32 + b) > budget - 1)
                row[w] &= ~((uint32_t)1 << b);
    }
    filter_exactly(run, c, exact, row, budget);
    return run->call.status == TOKFSM_OK;
}
