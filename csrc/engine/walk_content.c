/*
 * The walk inside a string whose content is not settled: most tokens are raw characters, and for
 * these nothing moves but the content state. Where a quote or an escape comes the generic walk
 * goes on with real steps.
 */
#include "frames.h"
#include "name_content.h"
#include "text.h"
#include "walk.h"

typedef struct level {
    const tf_content_state *state;
    uint64_t n;
    uint32_t end;
    uint8_t sub;
} level;

typedef struct content_walk {
    tf_run *run;
    const tf_configuration *from;
    const tf_trie *trie;
    const tf_text *text; /* at `from` */
    tf_scratch_words wanted;
    bool by_language; /* a place is live where a language of `wanted` is */
    level *levels;
    uint8_t *path; /* bytes on the way to the level */
} content_walk;

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

/* Languages that decide by themselves whether a place is live, if there are such. */
static void find_wanted(content_walk *w)
{
    const tf_configuration *c = w->from;
    const tf_strings *s = c->at;
    const tf_content *content = s->content;
    memset(w->wanted.words, 0, content->language_words * sizeof *w->wanted.words);
    w->by_language = false;
    if (content->language_words > TF_MAX_WORDS)
        return;
    if (c->mode == TF_IN_NAME) {
        tf_scratch_words alive;
        if (c->top->kind->name_sets > 0)
            return;
        w->by_language = !content->has_counts;
        for (uint32_t j = 0; j < content->n_languages; j++)
            if (tf_other_open(w->run, c->top, j, alive.words))
                tf_word_set(w->wanted.words, j);
        return;
    }
    const uint64_t *alive = tf_words(&c->alive, c->value->n_words);
    w->by_language = s->n_breaks == 1 &&
                     !tf_words_meet(s->breaks[0].outcome, alive, c->value->n_words);
    for (uint32_t j = 0; w->by_language && s->breaks[0].language != NULL && j < c->value->n; j++)
        if (tf_word_bit(alive, j) && s->breaks[0].language[j] != TF_NONE)
            tf_word_set(w->wanted.words, s->breaks[0].language[j]);
}

/* The configuration at a level; `byte` comes next. False: no memory. */
static bool place(content_walk *w, uint32_t depth, uint8_t byte, tf_configuration *c)
{
    const level *at = &w->levels[depth];
    const tf_strings *s = w->from->at;
    *c = *w->from;
    c->content = at->state;
    c->n = at->n;
    c->sub = at->sub;
    c->literal = byte == '\\' && c->literal == TF_ON ? TF_MAYBE : TF_OFF;
    c->low = c->high = 0;
    c->text = w->text;
    if (depth == 0 || (c->mode == TF_IN_STRING && (s->n_literals == 0 || s->n_breaks == 0)))
        return true;
    uint8_t *kept = tf_arena_take(w->run->arena, depth);
    if (kept == NULL)
        return no_memory(w->run);
    memcpy(kept, w->path, depth);
    return tf_text_append(w->run, &c->text, kept, depth, true);
}

static bool is_live(content_walk *w, uint32_t depth)
{
    const level *at = &w->levels[depth];
    if (w->by_language)
        return at->state != NULL && tf_words_meet(at->state->live, w->wanted.words,
                                                  at->state->content->language_words);
    tf_configuration c;
    return place(w, depth, 0, &c) && tf_string_is_live(w->run, &c);
}

/* One node; *deeper: it is live, and its children come next. */
static bool visit(content_walk *w, uint32_t node, uint32_t depth, bool *deeper, tf_ids *set)
{
    tf_run *run = w->run;
    const level *here = &w->levels[depth];
    uint8_t byte = w->trie->byte[node];
    *deeper = false;
    if (here->sub == TF_STR_NORMAL && (byte == '"' || byte == '\\')) {
        tf_configuration c;
        if (!place(w, depth, byte, &c))
            return false;
        if (!tf_step(run, &c, byte))
            return run->call.status == TOKFSM_OK;
        return tf_walk_from(run, w->trie, node, &c, set);
    }
    uint8_t sub = tf_string_table()[here->sub][byte];
    if (sub == TF_STR_DEAD)
        return true;
    level *below = &w->levels[depth + 1];
    below->state = tf_content_step(run, here->state, byte);
    below->n = here->n + (here->sub == TF_STR_NORMAL && w->from->mode == TF_IN_STRING);
    below->end = w->trie->end[node];
    below->sub = sub;
    w->path[depth] = byte;
    *deeper = run->call.status == TOKFSM_OK && is_live(w, depth + 1);
    if (!*deeper)
        return run->call.status == TOKFSM_OK;
    uint32_t first = w->trie->first[node], end = w->trie->first[node + 1];
    return first == end ||
           tf_ids_add(set, run->arena, w->trie->ids + first, end - first) || no_memory(run);
}

bool tf_walk_content(tf_run *run, const tf_configuration *c, tf_ids *set)
{
    content_walk w;
    const tf_trie *trie = &run->m->pack->all;
    w.run = run;
    w.from = c;
    w.trie = trie;
    w.text = c->text;
    w.levels = tf_arena_take(run->arena, ((size_t)trie->depth + 2) * sizeof *w.levels);
    w.path = tf_arena_take(run->arena, (size_t)trie->depth + 2);
    if (w.levels == NULL || w.path == NULL)
        return no_memory(run);
    const tf_strings *s = c->at;
    if (c->literal == TF_ON &&
        !tf_text_leave(run, c->low < c->high ? &s->literals[c->low] : NULL, c->pos, &w.text))
        return false;
    find_wanted(&w);
    w.levels[0] = (level){c->content, c->n, trie->n_nodes, TF_STR_NORMAL};
    uint32_t depth = 0, node = 1;
    while (node < trie->n_nodes && run->call.status == TOKFSM_OK) {
        bool deeper;
        while (node >= w.levels[depth].end)
            depth--;
        if (!tf_run_spend(run) || !visit(&w, node, depth, &deeper, set))
            return false;
        if (deeper)
            depth++;
        node = deeper ? node + 1 : trie->end[node];
    }
    return run->call.status == TOKFSM_OK;
}
