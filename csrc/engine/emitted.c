#include "emitted.h"

#include "content.h"
#include "text.h"
#include "walk.h"

/* Longer names are taken to be met. */
enum { MOST_BYTES = 256 };
/* With fewer emitted, of so many names there are always some left. */
#define MANY_NAMES ((uint64_t)1 << 20)

static bool is_spelled(const tf_spelled *spelled, const uint8_t *bytes, uint32_t n)
{
    if (n > spelled->most)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!(spelled->bytes[bytes[i] >> 6] >> (bytes[i] & 63u) & 1u))
            return false;
    return true;
}

static uint32_t length_of(const tf_text *text) { return text == NULL ? 0 : text->length; }

/* Whether a token that opens the name can come to a place from where few names are left. */
static bool few_behind(tf_run *run, const tf_content *content, uint32_t class, const uint8_t *bytes, uint32_t n)
{
    const tf_spelled *begun = &run->m->pack->traces->facts.begun;
    const tf_content_state *state = content->start;
    for (uint32_t i = 0; i < n && i < begun->most && state != NULL; i++) {
        if (!is_spelled(begun, bytes + i, 1))
            return false;
        state = tf_content_step(run, state, bytes[i]);
        if (state != NULL && state->counts[class] < 4 * MANY_NAMES)
            return true;
    }
    return false;
}

bool tf_name_whole(tf_run *run, const tf_strings *names, uint32_t class, const tf_text *name)
{
    const tf_spelled *whole = &run->m->pack->traces->whole;
    const tf_content *content = names->content;
    uint8_t bytes[MOST_BYTES];
    uint32_t n = length_of(name);
    bool counted = content != NULL && content->has_counts;
    if (n > whole->most && !counted)
        return false;
    if (n > MOST_BYTES)
        return true;
    if (n > 0)
        tf_text_copy(name, bytes);
    return is_spelled(whole, bytes, n) || (counted && few_behind(run, content, class, bytes, n));
}

bool tf_literal_whole(const tf_machine *m, const tf_strings *strings)
{
    const tf_spelled *whole = &m->pack->traces->whole;
    for (uint32_t i = 0; i < strings->n_literals; i++)
        if (is_spelled(whole, strings->literals[i].text, strings->literals[i].n_text))
            return true;
    return false;
}

/* What the name at hand spells so far; false: not known, or too long. */
static bool spelled_so_far(const tf_configuration *c, uint8_t *bytes, uint32_t *n)
{
    if (c->sub != TF_STR_NORMAL || c->literal == TF_MAYBE)
        return false;
    if (c->literal == TF_OFF) {
        *n = length_of(c->text);
        if (*n > MOST_BYTES)
            return false;
        if (*n > 0)
            tf_text_copy(c->text, bytes);
        return true;
    }
    *n = c->pos;
    if (c->pos == 0)
        return true;
    if (c->pos > MOST_BYTES || c->low == c->high)
        return false;
    const tf_literal *literal = &((const tf_strings *)c->at)->literals[c->low];
    if (memchr(literal->spelled, '\\', c->pos) != NULL)
        return false;
    memcpy(bytes, literal->spelled, c->pos);
    return true;
}

/* By the bytes that are at hand: whether the name can begin so. */
static bool may_begin(const tf_emitted *e, const uint8_t *start, uint32_t n)
{
    return memcmp(e->first, start, n < sizeof e->first ? n : sizeof e->first) == 0;
}

bool tf_emitted_ahead(const tf_machine *m, const tf_configuration *c)
{
    const tf_spelled *before = &m->pack->traces->before;
    uint8_t start[MOST_BYTES], whole[2 * MOST_BYTES];
    uint32_t n = 0;
    if (c->top->emitted == NULL)
        return false;
    if (before->most > MOST_BYTES || !spelled_so_far(c, start, &n))
        return true;
    for (const tf_emitted *e = c->top->emitted; e != NULL; e = e->previous) {
        uint32_t length = length_of(e->name);
        if (length < n || length - n > before->most)
            continue;
        if (!may_begin(e, start, n))
            continue;
        if (length > 0)
            tf_text_copy(e->name, whole);
        if (memcmp(whole, start, n) == 0 && is_spelled(before, whole + n, length - n))
            return true;
    }
    return false;
}

/* ---- as if nothing were emitted ---- */

bool tf_emitted_few(const tf_frame *frame)
{
    const tf_kind *kind = frame->kind;
    const tf_content *content = kind->names.content;
    if (content == NULL || !content->has_counts || content->start == NULL)
        return true;
    for (uint32_t a = 0; a < kind->n_alternatives; a++)
        if (kind->min_items[a] >= MANY_NAMES)
            return false;
    for (uint32_t j = 0; j < content->n_languages; j++) {
        uint64_t n = content->start->counts[j];
        if (n == 0 || (n >= 4 * MANY_NAMES && frame->count < MANY_NAMES))
            continue;
        const tf_edge *edge =
            atomic_load_explicit(&kind->edges[kind->n_names + j], memory_order_acquire);
        if (edge == NULL || tf_words_meet(edge->admits, tf_words(&frame->alive, kind->alternative_words),
                                          kind->alternative_words))
            return false; /* of a class that is open */
    }
    return true;
}

bool tf_emitted_apart(const tf_machine *m, const tf_configuration *c)
{
    uint8_t start[MOST_BYTES];
    uint32_t n;
    const tf_kind *kind = c->top->kind;
    return !tf_names_meet(m, &kind->names) && kind->name_sets == 0 && !kind->names.hard_names &&
           spelled_so_far(c, start, &n);
}

static bool no_memory(tf_run *run)
{
    run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

static bool clear(tf_run *run, uint32_t first, uint32_t end, tf_edits *edits)
{
    return tf_ids_add(&edits->cleared, run->arena, run->m->pack->all.ids + first, end - first) ||
           no_memory(run);
}

/* Clear those of the tokens at and below a node that are not allowed. */
static bool settle_below(tf_run *run, const tf_configuration *c, uint32_t node, uint32_t end,
                         tf_edits *edits)
{
    const tf_trie *trie = &run->m->pack->all;
    for (uint32_t i = trie->first[node]; i < trie->first[end]; i++) {
        bool allowed = tf_is_allowed(run, c, trie->ids[i]);
        if (run->call.status != TOKFSM_OK)
            return false;
        if (!allowed && !clear(run, i, i + 1, edits))
            return false;
    }
    return true;
}

/* Tokens that go on with an escape of this byte; *any: those of any character are done. */
static bool settle_escapes(tf_run *run, const tf_configuration *c, uint32_t backslash,
                           uint8_t byte, bool *any, tf_edits *edits)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const tf_branches *branches = &run->m->pack->traces->all;
    const tf_trie *trie = &run->m->pack->all;
    uint32_t node = tf_trie_child(branches, backslash, 'u');
    if (!*any && !settle_below(run, c, backslash, backslash + 1, edits))
        return false;
    if (node != 0 && !*any && !settle_below(run, c, node, trie->end[node], edits))
        return false;
    *any = true;
    const char *at = byte == 0 ? NULL : strchr(bytes, byte);
    node = at == NULL ? 0 : tf_trie_child(branches, backslash, (uint8_t)letters[at - bytes]);
    return node == 0 || settle_below(run, c, node, trie->end[node], edits);
}

/*
 * Tokens that come to an emitted name, or so near that no other one is left: from byte `from` of the
 * rest on, what is before was done with another name. *begun: those that begin with \u are done,
 * whatever the name. nodes[0 .. from] are those of the trie on the way; then nodes[0 .. *n_known] are.
 */
static bool settle_name(tf_run *run, const tf_configuration *c, const uint8_t *rest, uint32_t n,
                        uint32_t from, uint32_t *nodes, uint32_t *n_known, bool *begun, tf_edits *edits)
{
    const tf_content *content = c->top->kind->names.content;
    const tf_branches *branches = &run->m->pack->traces->all;
    const tf_trie *trie = &run->m->pack->all;
    bool counted = content != NULL && content->has_counts;
    for (uint32_t k = from; k < n; k++) {
        *n_known = k;
        uint32_t backslash = tf_trie_child(branches, nodes[k], '\\');
        bool any = k == 0 && *begun;
        if (backslash != 0 && !settle_escapes(run, c, backslash, rest[k], &any, edits))
            return false;
        *begun |= any && k == 0;
        if (rest[k] < ' ' || rest[k] == '"' || rest[k] == '\\')
            return true; /* not raw */
        uint32_t node = tf_trie_child(branches, nodes[k], rest[k]);
        if (node == 0)
            return true;
        nodes[k + 1] = node;
        if (counted && !settle_below(run, c, node, node + 1, edits))
            return false;
        if (!tf_run_spend(run))
            return false;
    }
    *n_known = n;
    uint32_t quote = tf_trie_child(branches, nodes[n], '"');
    /* The name is there: no token may close it, whatever follows. */
    return quote == 0 || clear(run, trie->first[quote], trie->first[trie->end[quote]], edits);
}

/* Bytes in common from the start on. */
static uint32_t in_common(const uint8_t *a, uint32_t n_a, const uint8_t *b, uint32_t n_b)
{
    uint32_t n = 0;
    while (n < n_a && n < n_b && a[n] == b[n])
        n++;
    return n;
}

bool tf_emitted_settle(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    uint8_t start[MOST_BYTES];
    const uint8_t *done = NULL; /* what was settled last */
    uint32_t n, n_done = 0, n_known = 0;
    bool begun = false;
    if (!spelled_so_far(c, start, &n))
        return true; /* tf_emitted_apart says so before */
    uint32_t *nodes = tf_arena_take(run->arena, ((size_t)run->m->pack->all.depth + 2) * sizeof *nodes);
    if (nodes == NULL)
        return no_memory(run);
    nodes[0] = 0;
    for (const tf_emitted *e = c->top->emitted; e != NULL; e = e->previous) {
        uint32_t length = length_of(e->name);
        if (length < n || !may_begin(e, start, n))
            continue;
        tf_arena_mark mark = tf_arena_here(run->arena);
        uint8_t *whole = tf_arena_take(run->arena, length);
        if (whole == NULL)
            return no_memory(run);
        if (length > 0)
            tf_text_copy(e->name, whole);
        if (n > 0 && memcmp(whole, start, n) != 0) {
            tf_arena_back(run->arena, mark);
            continue;
        }
        uint32_t common = in_common(whole + n, length - n, done, n_done);
        if (common > n_known)
            continue; /* no token goes on so far */
        if (!settle_name(run, c, whole + n, length - n, common, nodes, &n_known, &begun, edits))
            return false;
        done = whole + n;
        n_done = length - n;
    }
    return true;
}
