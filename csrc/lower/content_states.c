/*
 * Content automata: tuples of states of one automaton, one for each language, made on first
 * use. After fork() the automaton is made again, and the tuples with it: each state keeps the
 * way by which it was met.
 */
#include "../engine/content.h"
#include "shelf.h"

typedef struct made_state {
    tf_content_state *state;
    uint32_t parent; /* met from there first, by a byte of this class */
    uint32_t class;
    tf_dfa_state_id tuple[];
} made_state;

typedef struct tf_content_build {
    tf_content content;
    tf_content_spec spec;
    uint32_t epoch;
    tf_dfa_language *language;
    struct { made_state **items; size_t n, capacity; } states;
    uint32_t *slots; /* 1 + state, by tuple */
    uint32_t n_slots;
} tf_content_build;

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for the content of strings");
}

static tf_content_build *build_of(const tf_content *content)
{
    return (tf_content_build *)(uintptr_t)content->build;
}

/* ---- what bytes cost ---- */

static tokfsm_status describe_bytes(tf_build *b, tf_content *content, const tf_dfa *dfa)
{
    tokfsm_status status = TOKFSM_OK;
    content->n_classes = tf_dfa_n_byte_classes(dfa);
    memcpy(content->byte_class, tf_dfa_byte_classes(dfa), 256);
    uint32_t *cost = tf_take(b, content->n_classes * sizeof *cost, &status);
    uint8_t *byte = tf_take(b, content->n_classes, &status);
    content->n_runs = tf_dfa_n_runs(dfa);
    uint32_t *run = tf_take(b, content->n_runs * sizeof *run, &status);
    if (status != TOKFSM_OK)
        return status;
    memset(cost, 0xFF, content->n_classes * sizeof *cost);
    for (uint32_t i = 256; i-- > 0;) {
        uint32_t class = content->byte_class[i], one = tf_byte_cost(&b->machine, i);
        byte[class] = (uint8_t)i;
        if (one < cost[class])
            cost[class] = one;
    }
    for (uint32_t i = 0; i < content->n_runs; i++)
        run[i] = tf_dfa_run(dfa, i);
    content->class_cost = cost;
    content->class_byte = byte;
    content->run = run;
    return TOKFSM_OK;
}

/* ---- states ---- */

static uint32_t slot_of(const tf_content_build *c, const tf_dfa_state_id *tuple)
{
    uint32_t n = c->spec.n, hash = 2166136261u;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ tuple[i]) * 16777619u;
    hash ^= hash >> 15;
    uint32_t at = hash & (c->n_slots - 1);
    while (c->slots[at] != 0 &&
           memcmp(c->states.items[c->slots[at] - 1]->tuple, tuple, n * sizeof *tuple) != 0)
        at = (at + 1) & (c->n_slots - 1);
    return at;
}

static tokfsm_status index_states(tf_build *b, tf_content_build *c, uint32_t n_slots)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t *slots = tf_take(b, n_slots * sizeof *slots, &status);
    if (status != TOKFSM_OK)
        return status;
    c->slots = slots;
    c->n_slots = n_slots;
    for (size_t i = 0; i < c->states.n; i++)
        slots[slot_of(c, c->states.items[i]->tuple)] = (uint32_t)i + 1;
    return TOKFSM_OK;
}

/* The automaton of now, and the tuples in its numbers. */
static tokfsm_status refresh(tf_build *b, tf_content_build *c)
{
    if (c->epoch == b->epoch && c->language != NULL)
        return TOKFSM_OK;
    tf_pattern_set *set = c->spec.set;
    tokfsm_status status = TOKFSM_OK;
    tf_dfa_language *language = tf_take(b, c->spec.n * sizeof *language, &status);
    if (status != TOKFSM_OK)
        return status;
    TF_TRY(tf_pattern_set_refresh(b, set));
    for (uint32_t i = 0; i < c->spec.n; i++)
        TF_TRY(c->spec.language(b, &c->spec, i, &language[i]));
    for (size_t k = 0; k < c->states.n; k++) {
        made_state *made = c->states.items[k];
        for (uint32_t i = 0; i < c->spec.n; i++) {
            if (k == 0)
                TF_TRY(tf_dfa_start(set->dfa, language[i], b->budget, &made->tuple[i], b->err));
            else
                TF_TRY(tf_dfa_step(set->dfa, c->states.items[made->parent]->tuple[i],
                                   c->content.class_byte[made->class], b->budget,
                                   &made->tuple[i], b->err));
        }
    }
    TF_TRY(index_states(b, c, c->n_slots));
    c->language = language;
    c->epoch = b->epoch;
    return TOKFSM_OK;
}

/* All that is known is the shortest: nothing asks whether longer ones are there. */
static tokfsm_status take_shortest(tf_build *b, tf_dfa *dfa, tf_dfa_state_id id,
                                   const tf_lengths **lengths)
{
    static const uint32_t every_length = 1, none = 0;
    tokfsm_status status = TOKFSM_OK;
    tf_lengths *to = tf_take(b, sizeof *to, &status);
    if (status != TOKFSM_OK)
        return status;
    *to = (tf_lengths){.longest = id == TF_DFA_DEAD ? 0 : TF_UNLIMITED, .period = 1,
                       .bits = id == TF_DFA_DEAD ? &none : &every_length};
    *lengths = to;
    return tf_dfa_shortest(dfa, id, b->budget, &to->shortest, b->err);
}

static tokfsm_status take_lengths(tf_build *b, tf_dfa *dfa, tf_dfa_state_id id,
                                  const tf_lengths **lengths)
{
    const tf_dfa_lengths *from;
    tokfsm_status status = TOKFSM_OK;
    TF_TRY(tf_dfa_lengths_of(dfa, id, b->budget, &from, b->err));
    tf_lengths *to = tf_take(b, sizeof *to, &status);
    if (status == TOKFSM_OK)
        *to = (tf_lengths){from->shortest, from->longest, from->n_prefix, from->period, from->bits};
    *lengths = to;
    return status;
}

static tokfsm_status make_state(tf_build *b, tf_content_build *c, const tf_dfa_state_id *tuple,
                                uint32_t parent, uint32_t class, made_state **made)
{
    tokfsm_status status = TOKFSM_OK;
    const tf_content *content = &c->content;
    tf_dfa *dfa = c->spec.set->dfa;
    uint32_t n = content->n_languages, n_words = content->language_words;
    tf_content_state *state =
        tf_take(b, sizeof *state + content->n_classes * sizeof state->next[0], &status);
    uint64_t *words = tf_take(b, 3 * (size_t)n_words * sizeof *words, &status);
    const tf_lengths **lengths = NULL;
    uint64_t *counts = NULL;
    if (content->has_lengths)
        lengths = tf_take(b, n * sizeof *lengths, &status);
    if (content->has_counts)
        counts = tf_take(b, n * sizeof *counts, &status);
    *made = tf_take(b, sizeof **made + n * sizeof (*made)->tuple[0], &status);
    if (status != TOKFSM_OK)
        return status;
    if (b->arena.n_bytes > b->machine.limits.automaton_bytes)
        return tf_fail(b->err, TOKFSM_E_LIMIT,
                       "the patterns go over limits.automaton_bytes = %llu",
                       (unsigned long long)b->machine.limits.automaton_bytes);
    for (uint32_t i = 0; i < n; i++) {
        if (lengths != NULL)
            TF_TRY(content->has_lengths == TF_LENGTHS_ALL
                       ? take_lengths(b, dfa, tuple[i], &lengths[i])
                       : take_shortest(b, dfa, tuple[i], &lengths[i]));
        if (lengths != NULL)
            tf_content_note(content, lengths[i]);
        if (tuple[i] == TF_DFA_DEAD)
            continue;
        tf_word_set(words + n_words, i);
        if (tf_dfa_accepts(dfa, tuple[i]))
            tf_word_set(words, i);
        if (tf_dfa_is_universal(dfa, tuple[i]))
            tf_word_set(words + 2 * (size_t)n_words, i);
        state->inside |= !tf_dfa_at_boundary(dfa, tuple[i]);
    }
    if (counts != NULL)
        TF_TRY(tf_count_strings(b, dfa, tuple, n,
                                content->has_counts == TF_COUNTS_FROM_BELOW ? TF_COUNTED_STATES : UINT64_MAX, false,
                                counts));
    state->content = content;
    state->accepts = words;
    state->live = words + n_words;
    state->universal = words + 2 * (size_t)n_words;
    state->lengths = lengths;
    state->counts = counts;
    state->id = (uint32_t)c->states.n;
    (*made)->state = state;
    (*made)->parent = parent;
    (*made)->class = class;
    memcpy((*made)->tuple, tuple, n * sizeof *tuple);
    if (!tf_grow(&b->arena.allocator, (void **)&c->states.items, c->states.n, &c->states.capacity,
                 sizeof *c->states.items))
        return no_memory(b);
    c->states.items[c->states.n++] = *made;
    return TOKFSM_OK;
}

static tokfsm_status intern_state(tf_build *b, tf_content_build *c, const tf_dfa_state_id *tuple,
                                  uint32_t parent, uint32_t class, const tf_content_state **state)
{
    bool live = false;
    for (uint32_t i = 0; i < c->spec.n; i++)
        live |= tuple[i] != TF_DFA_DEAD;
    *state = &tf_content_dead;
    if (!live)
        return TOKFSM_OK;
    uint32_t slot = slot_of(c, tuple);
    if (c->slots[slot] == 0) {
        made_state *made;
        TF_TRY(make_state(b, c, tuple, parent, class, &made));
        if (c->states.n * 2 > c->n_slots)
            TF_TRY(index_states(b, c, c->n_slots * 2));
        else
            c->slots[slot] = (uint32_t)c->states.n;
        *state = made->state;
        return TOKFSM_OK;
    }
    *state = c->states.items[c->slots[slot] - 1]->state;
    return TOKFSM_OK;
}

/*
 * The build in which the states of a content are made: a shared one is locked for the time of it.
 * Its lock is taken inside a machine's, never the other way.
 */
static tf_build *enter(tf_build *b, const tf_content *content)
{
    tf_build *owner = tf_build_of(tf_content_maker(&b->machine, content));
    if (owner == b)
        return b;
    tf_machine_lock_within(&owner->machine, &b->machine);
    owner->budget = b->budget;
    owner->err = b->err;
    return owner;
}

static void leave(const tf_build *b, tf_build *owner)
{
    if (owner == b)
        return;
    owner->budget = NULL;
    owner->err = NULL;
    tf_machine_unlock(&owner->machine);
}

/*
 * What the one step has found out of the other classes: those that lead to the same state and those
 * that lead nowhere. Who asks for one class mostly goes on with the others, and each has its lock.
 */
static void note_others(const tf_content_build *c, tf_content_state *state, tf_dfa_state_id to,
                        const tf_content_state *next)
{
    const tf_dfa_state_id from = c->states.items[state->id]->tuple[0];
    for (uint32_t class = 0; class < c->content.n_classes; class++) {
        tf_dfa_state_id id = tf_dfa_peek(c->spec.set->dfa, from, c->content.class_byte[class]);
        if (id == to || id == TF_DFA_DEAD)
            atomic_store_explicit(&state->next[class], id == to ? next : &tf_content_dead,
                                  memory_order_release);
    }
}

static tokfsm_status content_next(tf_build *b, tf_content_state *state, uint32_t class,
                                  const tf_content_state **next)
{
    *next = atomic_load_explicit(&state->next[class], memory_order_relaxed);
    if (*next != NULL)
        return TOKFSM_OK;
    tf_content_build *c = build_of(state->content);
    TF_TRY(tf_spend(b->budget, b->err));
    TF_TRY(refresh(b, c));
    tf_dfa_state_id small[16], *tuple = small;
    if (c->spec.n > 16 &&
        (tuple = tf_allocate(&b->arena.allocator, c->spec.n * sizeof *tuple)) == NULL)
        return no_memory(b);
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t i = 0; i < c->spec.n && status == TOKFSM_OK; i++)
        status = tf_dfa_step(c->spec.set->dfa, c->states.items[state->id]->tuple[i],
                             c->content.class_byte[class], b->budget, &tuple[i], b->err);
    if (status == TOKFSM_OK)
        status = intern_state(b, c, tuple, state->id, class, next);
    if (status == TOKFSM_OK) {
        atomic_store_explicit(&state->next[class], *next, memory_order_release);
        if (c->spec.n == 1)
            note_others(c, state, tuple[0], *next);
    }
    if (tuple != small)
        tf_release(&b->arena.allocator, tuple);
    return status;
}

tokfsm_status tf_build_content_next(tf_build *b, const tf_content_state *state, uint32_t class,
                                    const tf_content_state **next)
{
    tf_content_state *s = (tf_content_state *)(uintptr_t)state;
    *next = atomic_load_explicit(&s->next[class], memory_order_acquire);
    if (*next != NULL)
        return TOKFSM_OK;
    tf_build *owner = enter(b, state->content);
    tokfsm_status status = content_next(owner, s, class, next);
    leave(b, owner);
    return status;
}

/* ---- contents ---- */

static bool same_spec(const tf_content_build *c, const tf_content_spec *spec,
                      const tf_dfa_language *language, uint8_t has_lengths, uint8_t has_counts)
{
    return c->spec.set == spec->set && c->spec.n == spec->n &&
           c->content.has_lengths == has_lengths && c->content.has_counts == has_counts &&
           memcmp(c->language, language, spec->n * sizeof *language) == 0;
}

/* The start, if it is not there: nothing is live in it, or memory ran out when it was to be made. */
static tokfsm_status make_start(tf_build *b, tf_content_build *c)
{
    tokfsm_status status = TOKFSM_OK;
    if (c->content.start != NULL)
        return TOKFSM_OK;
    tf_dfa_state_id *tuple = tf_take(b, c->spec.n * sizeof *tuple, &status);
    for (uint32_t i = 0; i < c->spec.n && status == TOKFSM_OK; i++)
        status = tf_dfa_start(c->spec.set->dfa, c->language[i], b->budget, &tuple[i], b->err);
    const tf_content_state *start = NULL;
    if (status == TOKFSM_OK)
        status = intern_state(b, c, tuple, 0, 0, &start);
    if (status == TOKFSM_OK)
        c->content.start = start == &tf_content_dead ? NULL : start;
    return status;
}

static tokfsm_status make_content(tf_build *b, const tf_content_spec *spec,
                                  tf_dfa_language *language, uint8_t has_lengths, uint8_t has_counts,
                                  tf_content_build **made)
{
    tokfsm_status status = TOKFSM_OK;
    tf_content_build *c = *made = tf_take(b, sizeof *c, &status);
    if (status != TOKFSM_OK)
        return status;
    c->spec = *spec;
    c->language = language;
    c->epoch = b->epoch;
    c->content = (tf_content){.n_languages = spec->n, .language_words = tf_words_for(spec->n),
                              .has_lengths = has_lengths, .has_counts = has_counts,
                              .id = (uint32_t)b->contents.n, .build = c};
    TF_TRY(describe_bytes(b, &c->content, spec->set->dfa));
    TF_TRY(index_states(b, c, 16));
    if (!tf_grow(&b->arena.allocator, (void **)&b->contents.items, b->contents.n,
                 &b->contents.capacity, sizeof *b->contents.items))
        return no_memory(b);
    b->contents.items[b->contents.n++] = c; /* before it has memory of its own */
    return make_start(b, c);
}

/* What is asked for is a pattern of the schema as it stands. */
static bool can_be_shared(const tf_build *b, const tf_content_spec *spec,
                          const tf_dfa_language *language, uint8_t has_counts)
{
    return b->shares && spec->n == 1 && spec->set->n == 1 && spec->set->n_literals == 0 &&
           has_counts == TF_COUNTS_NONE && language[0] == spec->set->language[0];
}

static tokfsm_status take_shared(tf_build *b, const tf_pattern_record *pattern,
                                 uint8_t has_lengths, const tf_content **content)
{
    tf_shared *shared;
    TF_TRY(tf_shelf_take(b, pattern, has_lengths, &shared));
    *content = shared->content;
    bool known = false;
    for (size_t i = 0; i < b->contents.n && !known; i++)
        known = &b->contents.items[i]->content == shared->content;
    if (!known && tf_grow(&b->arena.allocator, (void **)&b->contents.items, b->contents.n,
                          &b->contents.capacity, sizeof *b->contents.items)) {
        b->contents.items[b->contents.n++] = build_of(shared->content);
        return TOKFSM_OK; /* held by the list */
    }
    tf_shared_release(shared);
    return known ? TOKFSM_OK : no_memory(b);
}

tokfsm_status tf_content_of(tf_build *b, const tf_content_spec *spec, uint8_t has_lengths,
                            uint8_t has_counts, const tf_content **content)
{
    tokfsm_status status = TOKFSM_OK;
    tf_dfa_language *language = tf_take(b, spec->n * sizeof *language, &status);
    for (uint32_t i = 0; i < spec->n && status == TOKFSM_OK; i++)
        status = spec->language(b, spec, i, &language[i]);
    if (status != TOKFSM_OK)
        return status;
    if (can_be_shared(b, spec, language, has_counts))
        return take_shared(b, &b->patterns.items[spec->set->patterns[0]], has_lengths, content);
    for (size_t i = 0; i < b->contents.n; i++) {
        tf_content_build *known = b->contents.items[i];
        TF_TRY(tf_spend(b->budget, b->err));
        if (known->spec.set != spec->set)
            continue;
        TF_TRY(refresh(b, known));
        if (same_spec(known, spec, language, has_lengths, has_counts)) {
            *content = &known->content;
            return make_start(b, known);
        }
    }
    tf_content_build *made;
    TF_TRY(make_content(b, spec, language, has_lengths, has_counts, &made));
    *content = &made->content;
    return TOKFSM_OK;
}

tf_content_state *tf_build_content_state(tf_build *b, uint32_t i, uint32_t k)
{
    const tf_content_build *c = b->contents.items[i];
    tf_build *owner = enter(b, &c->content);
    tf_content_state *state = k < c->states.n ? c->states.items[k]->state : NULL;
    leave(b, owner);
    return state;
}

uint64_t tf_build_n_content_states(tf_build *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->contents.n; i++) {
        tf_build *owner = enter(b, &b->contents.items[i]->content);
        n += b->contents.items[i]->states.n;
        leave(b, owner);
    }
    return n;
}

void tf_contents_free(tf_build *b)
{
    for (size_t i = 0; i < b->contents.n; i++) {
        tf_content_build *c = b->contents.items[i];
        if (tf_content_maker(&b->machine, &c->content) == &b->machine)
            tf_release(&b->arena.allocator, c->states.items);
        else
            tf_shared_release(tf_shared_of(c->content.owner));
    }
    tf_release(&b->arena.allocator, b->contents.items);
}

/* ---- walks while compiling ---- */

typedef struct build_walk {
    tf_build *b;
    tokfsm_status status;
} build_walk;

static const tf_content_state *walk_next(void *context, const tf_content_state *state,
                                         uint32_t class)
{
    build_walk *w = context;
    const tf_content_state *next = NULL;
    w->status = tf_build_content_next(w->b, state, class, &next);
    return w->status == TOKFSM_OK ? next : NULL;
}

static const uint32_t *walk_cost(void *context, const tf_content_state *state)
{
    build_walk *w = context;
    tf_content_state *s = (tf_content_state *)(uintptr_t)state;
    const uint32_t *cost = atomic_load_explicit(&s->cost, memory_order_relaxed);
    if (cost != NULL)
        return cost;
    w->status = tf_build_content_cost(w->b, state, &cost);
    if (w->status != TOKFSM_OK)
        return NULL;
    atomic_store_explicit(&s->cost, cost, memory_order_release);
    return cost;
}

static bool walk_spend(void *context)
{
    build_walk *w = context;
    w->status = tf_spend(w->b->budget, w->b->err);
    return w->status == TOKFSM_OK;
}

tokfsm_status tf_build_content_distance(tf_build *b, const tf_content_state *state,
                                        uint32_t language, uint64_t least, uint64_t most,
                                        uint32_t *cost)
{
    build_walk w = {b, TOKFSM_OK};
    tf_arena scratch;
    tf_arena_init(&scratch, &b->arena.allocator);
    tf_content_walker walker = {&b->machine, &scratch, &w, walk_next, walk_cost, walk_spend, NULL, false};
    *cost = tf_content_distance(&walker, state, language, least, most);
    tf_arena_free(&scratch);
    if (walker.failed)
        return w.status != TOKFSM_OK ? w.status : no_memory(b);
    return TOKFSM_OK;
}

tokfsm_status tf_build_name_cheapest(tf_build *b, const tf_content_state *state, uint32_t language,
                                     tf_name_used used, void *context, uint64_t n_used,
                                     uint32_t n_wanted, uint32_t *costs, uint32_t *n_found)
{
    build_walk w = {b, TOKFSM_OK};
    tf_arena scratch;
    tf_arena_init(&scratch, &b->arena.allocator);
    tf_content_walker walker = {&b->machine, &scratch, &w, walk_next, walk_cost, walk_spend, NULL, false};
    const uint8_t *text;
    uint32_t n_text;
    *n_found = tf_name_cheapest(&walker, state, language, used, context, n_used, n_wanted, costs,
                                &text, &n_text);
    tf_arena_free(&scratch);
    if (walker.failed)
        return w.status != TOKFSM_OK ? w.status : no_memory(b);
    return TOKFSM_OK;
}

static tokfsm_status content_cost(tf_build *b, const tf_content_state *state,
                                  const uint32_t **cost)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t *all = tf_take(b, state->content->n_languages * sizeof *all, &status);
    for (uint32_t i = 0; i < state->content->n_languages && status == TOKFSM_OK; i++) {
        all[i] = TF_COST_NONE;
        if (tf_word_bit(state->live, i))
            status = tf_build_content_distance(b, state, i, 0, TF_UNLIMITED, &all[i]);
    }
    *cost = all;
    return status;
}

tokfsm_status tf_build_content_cost(tf_build *b, const tf_content_state *state,
                                    const uint32_t **cost)
{
    tf_build *owner = enter(b, state->content);
    tokfsm_status status = content_cost(owner, state, cost);
    leave(b, owner);
    return status;
}

tokfsm_status tf_build_content_walk(tf_build *b, const tf_content *content, const char *text,
                                    uint32_t n, const tf_content_state **state)
{
    *state = content->start;
    for (uint32_t i = 0; i < n && *state != NULL; i++) {
        TF_TRY(tf_build_content_next(b, *state, content->byte_class[(uint8_t)text[i]], state));
        if (*state == &tf_content_dead)
            *state = NULL;
    }
    return TOKFSM_OK;
}
