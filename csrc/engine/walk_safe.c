/*
 * The mask inside a string whose content is not settled, where whether a place is live depends on
 * its content state alone. Tokens of safe characters are a row of the pack. What is left
 * has a character by which the content leaves the safe ones, and is walked; tokens that
 * close the string are told apart by what they have before the quote.
 */
#include "cache.h"
#include "emitted.h"
#include "name_content.h"
#include "step.h"
#include "text.h"
#include "walk_safe.h"

/* Most visits are a few reads. */
enum { VISITS_A_UNIT = 16, MANY_IDS = 128 };

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

/* The place after `n` decoded bytes; false: no memory. */
bool tf_safe_place(tf_safe_walk *w, const tf_content_state *state, uint8_t sub, uint64_t chars,
                  const uint8_t *bytes, uint32_t n, tf_configuration *c)
{
    const tf_strings *s = w->from->at;
    *c = *w->from;
    c->content = state;
    c->sub = sub;
    if (c->mode == TF_IN_STRING)
        c->n = chars;
    c->literal = TF_OFF;
    c->low = c->high = 0;
    c->text = w->text;
    if (n == 0 || (c->mode == TF_IN_STRING && (s->n_literals == 0 || s->n_breaks == 0)))
        return true;
    uint8_t *kept = tf_arena_take(w->run->arena, n);
    if (kept == NULL)
        return no_memory(w->run);
    memcpy(kept, bytes, n);
    return tf_text_append(w->run, &c->text, kept, n, true);
}

/* ---- tokens that stay ---- */

/* An escape, by real steps: the backslash, and what more of it `more` has. */
static bool begin_escape(tf_safe_walk *w, const tf_safe_level *at, uint64_t n, const char *more,
                         tf_configuration *c)
{
    if (!tf_safe_place(w, at->state, TF_STR_NORMAL, n, w->path, at->n_path, c))
        return false;
    if (w->from->literal == TF_ON)
        c->literal = TF_MAYBE;
    bool alive = tf_step(w->run, c, '\\');
    for (; alive && *more != '\0'; more++)
        alive = tf_step(w->run, c, (uint8_t)*more);
    return alive;
}

/* Whether an escape may begin at a level. */
static bool may_escape(tf_safe_walk *w, const tf_safe_level *at)
{
    tf_configuration c;
    if (w->asked != at->state || (w->wanted.limited && w->asked_n != at->n)) {
        w->may_escape = begin_escape(w, at, at->n, "", &c);
        w->asked = at->state;
        w->asked_n = at->n;
    }
    return w->may_escape;
}

/* From the node on by real steps; `at` is the place before the escape. */
static bool walk_escape(tf_safe_walk *w, const tf_safe_level *at, uint64_t n, const char *more, uint32_t node)
{
    tf_configuration c;
    if (!begin_escape(w, at, n, more, &c))
        return w->run->call.status == TOKFSM_OK;
    return tf_walk_from(w->run, &w->run->m->pack->all, node, &c, &w->edits->before);
}

/* What a byte behind a backslash stands for, or 0. */
static uint8_t escaped(uint8_t byte)
{
    switch (byte) {
    case '"':
    case '\\':
    case '/': return byte;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* Whether all tokens from there on are in the row, or dead. */
static bool is_covered(const tf_safe_walk *w, const tf_branch *branch)
{
    return (branch->below & w->safe.leaving) == 0 &&
           (w->safe.hard || w->safe.most >= TF_LONG_CHARS || branch->chars <= w->safe.most);
}

/* Whether all tokens from there on are of characters that are safe since `here`. */
static bool all_safe(const tf_safe_walk *w, const tf_safe_level *here, const tf_branch *branch)
{
    return (branch->below & ~here->safe->inside) == 0 &&
           branch->chars - (here->since - w->from->n) <= here->safe->most;
}

static bool add_ids(tf_safe_walk *w, uint32_t first, uint32_t end)
{
    return first == end ||
           tf_ids_add(&w->edits->before, w->run->arena, w->run->m->pack->all.ids + first, end - first) ||
           no_memory(w->run);
}

/* Many tokens are below: what is safe from there on spares a look at most of them. */
static bool look_ahead(tf_safe_walk *w, tf_safe_level *below)
{
    tf_safe *safe = tf_arena_take(w->run->arena, sizeof *safe);
    if (safe == NULL)
        return no_memory(w->run);
    tf_configuration c = *w->from;
    tf_wanted wanted = w->wanted;
    c.content = below->state;
    c.n = below->n;
    wanted.c = &c;
    if (!tf_safe_of(w->run, &wanted, safe))
        return false;
    below->safe = safe;
    below->since = below->n;
    return true;
}

static uint32_t ids_end(const tf_safe_walk *w, const tf_branch *branch)
{
    return w->run->m->pack->all.first[branch->node + 1];
}

/* A backslash between characters. */
static bool visit_backslash(tf_safe_walk *w, tf_safe_level *here, const tf_branch *branch, bool *deeper)
{
    /* A declared name is spelled in one way: behind an escape that it lacks there are others. */
    if ((w->from->literal == TF_ON && w->from->mode != TF_IN_NAME) || w->minimal)
        return walk_escape(w, here, here->n, "", branch->node);
    if (branch->ids != ids_end(w, branch) && may_escape(w, here) &&
        !add_ids(w, branch->ids, ids_end(w, branch)))
        return false;
    here[1] = *here;
    here[1].next = branch->children;
    here[1].end = branch->children + branch->n_children;
    here[1].sub = TF_STR_E;
    *deeper = true;
    return w->run->call.status == TOKFSM_OK;
}

/* Behind it. */
static bool visit_escaped(tf_safe_walk *w, tf_safe_level *here, const tf_branch *branch, bool *deeper)
{
    if (branch->byte == 'u')
        return walk_escape(w, here, here->n, "u", branch->node);
    uint8_t byte = escaped(branch->byte);
    const tf_content_state *state = byte == 0 ? NULL : tf_step_content(w->run, here->state, byte);
    if (!tf_wanted_live(&w->wanted, state, here->n + 1))
        return w->run->call.status == TOKFSM_OK;
    here[1] = (tf_safe_level){state, here->n + 1, branch->children, branch->children + branch->n_children,
                      here->n_path + 1, TF_STR_NORMAL, false, NULL, 0};
    w->path[here->n_path] = byte;
    *deeper = true;
    return add_ids(w, branch->ids, ids_end(w, branch));
}

/* Whether nothing goes on with a character of the group, none of the safe ones, after so many of
   these: what leaves them is not known for more than were looked at. */
static inline bool leads_nowhere(const tf_safe *safe, uint32_t group, uint64_t n)
{
    return (safe->leaving >> group & 1u) == 0 && (safe->hard || n < safe->most);
}

/* One node; *deeper: its children come next. */
static inline bool visit(tf_safe_walk *w, tf_safe_level *here, const tf_branch *branch, bool *deeper)
{
    tf_run *run = w->run;
    const uint8_t byte = branch->byte, group = tf_byte_group[byte];
    uint8_t sub = TF_STR_NORMAL;
    const tf_safe *safe = here->safe;
    *deeper = false;
    if (here->sub == TF_STR_E) {
        return visit_escaped(w, here, branch, deeper);
    } else if (here->sub != TF_STR_NORMAL || byte >= 0x80) {
        sub = w->strings[here->sub][byte];
        if (sub == TF_STR_DEAD)
            return true;
    } else if (byte == '\\') {
        return visit_backslash(w, here, branch, deeper);
    } else if (byte == '"' || byte < ' ') {
        return true; /* closes, by itself; or no string has it */
    }
    if (safe != NULL && group != TF_GROUP_NONE && (safe->inside >> group & 1u) == 0) {
        if (leads_nowhere(safe, group, here->n - here->since))
            return true;
        safe = NULL;
    }
    if (safe != NULL && here->sub == TF_STR_C1) {
        w->path[here->n_path] = byte;
        uint8_t special = tf_special_group(w->path, here->n_path + 1);
        if (special != TF_GROUP_NONE && (safe->inside >> special & 1u) == 0) {
            if (leads_nowhere(safe, special, here->n - 1 - here->since))
                return true;
            safe = NULL;
        }
    }
    if (safe != NULL && here->in_row && is_covered(w, branch))
        return true;
    const tf_trie *trie = &run->m->pack->all;
    if (safe != NULL && !here->in_row && all_safe(w, here, branch))
        return add_ids(w, branch->ids, trie->first[trie->end[branch->node]]);
    const tf_content_state *state = tf_step_content(run, here->state, byte);
    uint64_t n = here->n + (here->sub == TF_STR_NORMAL);
    if (!tf_wanted_live(&w->wanted, state, n))
        return run->call.status == TOKFSM_OK;
    if (safe != NULL && n - here->since > safe->most)
        safe = NULL;
    tf_safe_level *below = &here[1];
    *below = (tf_safe_level){state, n, branch->children, branch->children + branch->n_children,
                     here->n_path + 1, sub, here->in_row && safe != NULL, safe, here->since};
    w->path[here->n_path] = byte;
    *deeper = true;
    if (below->in_row)
        return true;
    if (safe == NULL && sub == TF_STR_NORMAL &&
        trie->first[trie->end[branch->node]] - branch->ids >= MANY_IDS && !look_ahead(w, below))
        return false;
    return add_ids(w, branch->ids, ids_end(w, branch));
}

static bool walk_stay(tf_safe_walk *w)
{
    const tf_branches *branches = &w->run->m->pack->traces->all;
    uint32_t depth = 0, visits = 0;
    w->levels[0] = (tf_safe_level){w->from->content, w->from->n, branches->first[0], branches->first[1],
                           0, TF_STR_NORMAL, true, &w->safe, w->from->n};
    for (;;) {
        tf_safe_level *at = &w->levels[depth];
        if (at->next == at->end) {
            if (depth-- == 0)
                return true;
            continue;
        }
        const tf_branch *branch = &branches->items[at->next++];
        bool deeper;
        if (++visits % VISITS_A_UNIT == 0 && !tf_run_spend(w->run))
            return false;
        if (!visit(w, at, branch, &deeper))
            return false;
        depth += deeper;
    }
}

/* Tokens of more characters than are known to be safe, and none that is known to leave these. */
static bool walk_long(tf_safe_walk *w)
{
    tf_run *run = w->run;
    const tokfsm_pack *pack = run->m->pack;
    const tf_groups *groups = &pack->traces->groups;
    if (w->safe.hard || w->safe.most < TF_LONG_CHARS || w->safe.most >= pack->max_token_bytes)
        return true;
    for (uint32_t i = 0; i < groups->n_long; i++) {
        uint32_t n, id = groups->long_tokens[i];
        if ((groups->token[id] & w->safe.leaving) != 0)
            continue; /* walked before */
        const uint8_t *bytes = tf_pack_token(pack, id, &n);
        const tf_content_state *state = w->from->content;
        uint64_t chars = w->from->n;
        uint32_t k = 0;
        for (; k < n; k++) {
            chars += tf_byte_group[bytes[k]] != TF_GROUP_NONE;
            state = tf_step_content(run, state, bytes[k]);
            if (!tf_wanted_live(&w->wanted, state, chars))
                break;
        }
        if (!tf_run_spend(run) || run->call.status != TOKFSM_OK)
            return false;
        if (k == n && !tf_ids_add(&w->edits->before, run->arena, &id, 1))
            return no_memory(run);
    }
    return true;
}

/* The row of the tokens of safe characters. */
static bool take_safe(tf_safe_walk *w)
{
    tokfsm_pack *pack = w->run->m->pack;
    uint32_t k = 0;
    while (k < pack->n_lengths && pack->length[k] <= w->safe.most)
        k++;
    if (w->safe.inside == 0 || k == 0)
        return true;
    w->edits->base = tf_group_row_of(pack, w->safe.inside);
    w->edits->groups = w->safe.inside;
    w->edits->narrowed =
        k == pack->n_lengths ? NULL : pack->stay_at_most + (size_t)(k - 1) * pack->n_words;
    if (w->edits->base != NULL)
        return true;
    /* The pack keeps no more of them: it is kept where the mask is. */
    tf_machine *maker = tf_content_maker(w->run->m, w->from->content->content);
    uint32_t *row = tf_cache_block(maker, pack->n_words * sizeof *row);
    w->edits->base = row;
    return row != NULL && tf_group_row_write(pack, w->safe.inside, row);
}

/* ---- what was found for a content state ---- */

typedef struct ending {
    const tf_content_state *state;
    uint32_t one;
    uint64_t befores[TF_BEFORE_WORDS];
} ending;

typedef struct tf_stay_note {
    const uint32_t *base, *narrowed;
    uint64_t groups;
    uint32_t n_ids, n_endings;
    const uint32_t *ids;
    const ending *endings;
    uint64_t words[]; /* the languages asked for */
} tf_stay_note;

static bool recall(tf_safe_walk *w, tf_outcomes *found)
{
    tf_content_state *state = (tf_content_state *)(uintptr_t)w->from->content; /* an atomic is read */
    const tf_stay_note *note = atomic_load_explicit(&state->stay, memory_order_acquire);
    if (!w->by_state || note == NULL ||
        memcmp(note->words, w->wanted.words.words, w->wanted.n_words * sizeof *note->words) != 0)
        return false;
    const tf_before *befores = w->run->m->pack->traces->befores;
    w->edits->base = note->base;
    w->edits->narrowed = note->narrowed;
    w->edits->groups = note->groups;
    /* Nothing writes to them: what is added goes to a copy. */
    w->edits->before = (tf_ids){(uint32_t *)(uintptr_t)note->ids, note->n_ids, note->n_ids};
    found->n = note->n_endings;
    for (uint32_t i = 0; i < note->n_endings; i++) {
        const ending *from = &note->endings[i];
        tf_outcome *at = &found->items[i];
        at->state = from->state;
        at->one = from->one;
        at->n = w->from->n + befores[from->one].chars;
        at->has_place = false;
        memcpy(at->befores, from->befores, sizeof at->befores);
    }
    return true;
}

/* Keep what stays in the string and which of its ends are alike. */
static void remember(const tf_safe_walk *w, const tf_outcomes *found)
{
    tf_content_state *state = (tf_content_state *)(uintptr_t)w->from->content;
    const tf_stay_note *none = NULL;
    if (!w->by_state || atomic_load_explicit(&state->stay, memory_order_relaxed) != NULL)
        return;
    const tf_edits *edits = w->edits;
    size_t n_words = w->wanted.n_words * sizeof(uint64_t), n_endings = found->n * sizeof(ending);
    size_t n_ids = edits->before.n * sizeof *edits->before.items;
    tf_stay_note *note = tf_cache_block(tf_content_maker(w->run->m, state->content),
                                        sizeof *note + n_words + n_endings + n_ids);
    if (note == NULL)
        return;
    ending *endings = (ending *)(void *)((char *)(note + 1) + n_words);
    uint32_t *ids = (uint32_t *)(void *)((char *)endings + n_endings);
    *note = (tf_stay_note){edits->base, edits->narrowed, edits->groups, edits->before.n, found->n, ids, endings};
    memcpy(note->words, w->wanted.words.words, n_words);
    for (uint32_t i = 0; i < found->n; i++) {
        endings[i].state = found->items[i].state;
        endings[i].one = found->items[i].one;
        memcpy(endings[i].befores, found->items[i].befores, sizeof endings[i].befores);
    }
    if (n_ids > 0)
        memcpy(ids, edits->before.items, n_ids);
    /* Another thread may be first: its note stays, and this one goes with the cache. */
    atomic_compare_exchange_strong_explicit(&state->stay, &none, note, memory_order_release,
                                            memory_order_relaxed);
}

/* What stays, by itself: an artifact can bring it along. */
static bool find_stay(tf_safe_walk *w, tf_signature *signature)
{
    signature->n = 0;
    if (!w->by_state || w->run->m->hooks != NULL)
        return false;
    tf_signature_of_stay(w->from->content, w->wanted.words.words, w->wanted.n_words, signature);
    return w->run->m->kept != NULL && tf_cache_find(w->run->m, w->run->arena, signature, w->edits);
}

/* ---- both ---- */

/* `far`: lengths do not matter (tf_content_far). */
static bool walk(tf_run *run, const tf_configuration *c, bool far, bool *done, tf_edits *edits)
{
    const tf_strings *s = c->at;
    tokfsm_pack *pack = run->m->pack;
    tf_safe_walk w = {.run = run, .from = c, .text = c->text, .edits = edits,
                   .strings = tf_string_table(),
                   .minimal = run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL};
    *done = false;
    if ((s->hard_names && c->literal == TF_ON) || pack->traces->n_befores == 0 ||
        (c->mode == TF_IN_NAME && (tf_names_meet(run->m, s) || (!run->settles && tf_emitted_ahead(run->m, c)))) ||
        !tf_wanted_of(run, c, &w.wanted))
        return run->call.status == TOKFSM_OK;
    w.wanted.limited = w.wanted.limited && !far;
    w.by_state = c->mode == TF_IN_STRING && s->n_literals == 0 && !w.wanted.limited;
    tf_outcomes found;
    found.n = 0;
    w.levels = tf_arena_take(run->arena, ((size_t)pack->all.depth + 2) * sizeof *w.levels);
    w.path = tf_arena_take(run->arena, (size_t)pack->all.depth + 2);
    if (w.levels == NULL || w.path == NULL)
        return no_memory(run);
    if (c->literal == TF_ON &&
        !tf_text_leave(run, c->low < c->high ? &s->literals[c->low] : NULL, c->pos, &w.text))
        return false;
    if (recall(&w, &found)) {
        *done = tf_safe_close(&w, &found);
        return *done;
    }
    tf_signature signature;
    const bool stays = find_stay(&w, &signature);
    if (!stays && !tf_safe_of(run, &w.wanted, &w.safe))
        return false;
    if (!stays && !take_safe(&w))
        return true; /* no row to be had: the plain walk does without */
    if (!tf_safe_outcomes(&w, &found))
        return run->call.status == TOKFSM_OK;
    if (!stays && (!walk_stay(&w) || !walk_long(&w)))
        return false;
    if (!stays && run->m->kept == NULL)
        tf_cache_keep(run->m, &signature, 0, false, edits);
    if (far && !tf_content_far(run->m, c)) /* states were made that lie farther */
        return true;
    remember(&w, &found);
    *done = tf_safe_close(&w, &found);
    return *done;
}

bool tf_walk_safe(tf_run *run, const tf_configuration *c, bool *done, tf_edits *edits)
{
    bool far = tf_content_far(run->m, c);
    if (!walk(run, c, far, done, edits))
        return false;
    if (*done || !far)
        return true;
    memset(edits, 0, sizeof *edits);
    return walk(run, c, false, done, edits);
}
