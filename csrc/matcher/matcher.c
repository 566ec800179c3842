/* Matchers begin, fork, go back and end. */
#include "matcher.h"

tf_store *tf_store_new(const tokfsm_allocator *a, tf_store *parent)
{
    tf_store *store = tf_allocate(a, sizeof *store);
    if (store == NULL)
        return NULL;
    atomic_init(&store->references, 1);
    store->parent = parent;
    if (parent != NULL)
        atomic_fetch_add(&parent->references, 1);
    tf_arena_init_small(&store->arena, a);
    return store;
}

void tf_store_release(tf_store *store)
{
    while (store != NULL && atomic_fetch_sub(&store->references, 1) == 1) {
        tf_store *parent = store->parent;
        tokfsm_allocator a = store->arena.allocator;
        tf_arena_free(&store->arena);
        tf_release(&a, store);
        store = parent;
    }
}

static tokfsm_status no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a matcher");
}

/* Nothing is worth a copy below that, and without a max_rollback nothing is ever dead. */
static size_t held_at_first(const tokfsm_matcher *m)
{
    return m->max_rollback == TOKFSM_UNBOUNDED ? SIZE_MAX : TF_LEAST_HELD;
}

static void start(tokfsm_matcher *m)
{
    const tf_node first = {.c = tf_configuration_start(m->automaton->machine)};
    m->floor = 0;
    m->held_most = held_at_first(m);
    tf_matcher_move(m, &first);
}

/* A single-byte stop token takes its byte from the completions that the automaton counts on. */
static tokfsm_status check_stops(tokfsm_matcher *m, tokfsm_error *err)
{
    const tf_machine *machine = m->automaton->machine;
    const tokfsm_pack *pack = machine->pack;
    for (size_t i = 0; i < m->n_stop_ids; i++) {
        uint32_t n, id = m->stop_ids[i];
        const uint8_t *bytes = tf_pack_token(pack, id, &n);
        if (n == 0 || tf_stop_ids_have(m->automaton->stop_ids, m->automaton->n_stop_ids, id))
            continue;
        m->stop_has_bytes = 1;
        if (n != 1 || !tf_has_byte(machine, bytes[0]))
            continue;
        uint32_t node = pack->all.root[bytes[0]];
        bool other = false;
        for (uint32_t k = pack->all.first[node]; k < pack->all.first[node + 1]; k++)
            other |= !tf_matcher_stops(m, pack->all.ids[k]);
        if (!other)
            return tf_fail(err, TOKFSM_E_ARGUMENT,
                           "stop id %u is the only token of the byte 0x%02X; compile with it in "
                           "the vocabulary's stop set",
                           id, bytes[0]);
    }
    return TOKFSM_OK;
}

static tokfsm_status init(tokfsm_matcher *m, const uint32_t *stop_ids, size_t n_stop_ids,
                          tokfsm_error *err)
{
    const tokfsm_automaton *automaton = m->automaton;
    if (stop_ids == NULL) {
        stop_ids = automaton->stop_ids;
        n_stop_ids = automaton->n_stop_ids;
    }
    TF_TRY(tf_stop_ids_copy(&m->allocator, automaton->pack, stop_ids, n_stop_ids, &m->stop_ids,
                            &m->n_stop_ids, err));
    TF_TRY(check_stops(m, err));
    m->store = tf_store_new(&m->allocator, NULL);
    if (m->store == NULL)
        return no_memory(err);
    start(m);
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_new(tokfsm_automaton *automaton, const uint32_t *stop_ids,
                                 size_t n_stop_ids, uint32_t max_rollback,
                                 tokfsm_matcher **matcher, tokfsm_error *err)
{
    if (automaton == NULL || matcher == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    tokfsm_matcher *m = tf_allocate(&automaton->allocator, sizeof *m);
    if (m == NULL)
        return no_memory(err);
    memset(m, 0, sizeof *m);
    atomic_init(&m->busy, 0);
    m->allocator = automaton->allocator;
    m->automaton = automaton;
    tf_arena_init(&m->scratch, &m->allocator);
    atomic_fetch_add(&automaton->references, 1);
    m->max_rollback = max_rollback;
    tokfsm_status status = init(m, stop_ids, n_stop_ids, err);
    if (status != TOKFSM_OK)
        tokfsm_matcher_free(m);
    else
        *matcher = m;
    return status;
}

void tokfsm_matcher_free(tokfsm_matcher *matcher)
{
    if (matcher == NULL)
        return;
    tokfsm_allocator a = matcher->allocator;
    tf_store_release(matcher->store);
    tf_history_free(&matcher->history, &a);
    tf_automaton_release(matcher->automaton);
    tf_release(&a, matcher->stop_ids);
    tf_arena_free(&matcher->scratch);
    tf_release(&a, matcher);
}

static tokfsm_status fork_into(const tokfsm_matcher *from, tokfsm_matcher *m, tokfsm_error *err)
{
    TF_TRY(tf_stop_ids_copy(&m->allocator, m->automaton->pack, from->stop_ids, from->n_stop_ids,
                            &m->stop_ids, &m->n_stop_ids, err));
    m->store = tf_store_new(&m->allocator, from->store);
    if (m->store == NULL)
        return no_memory(err);
    m->history = tf_history_share(&from->history);
    m->held_most = held_at_first(m);
    tf_matcher_move(m, from->at);
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_fork(tokfsm_matcher *matcher, tokfsm_matcher **copy, tokfsm_error *err)
{
    if (copy == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "copy is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tokfsm_matcher *m = tf_allocate(&matcher->allocator, sizeof *m);
    tokfsm_status status = TOKFSM_OK;
    if (m == NULL) {
        status = no_memory(err);
    } else {
        memset(m, 0, sizeof *m);
        atomic_init(&m->busy, 0);
        m->allocator = matcher->allocator;
        m->automaton = matcher->automaton;
        tf_arena_init(&m->scratch, &m->allocator);
        atomic_fetch_add(&m->automaton->references, 1);
        m->max_rollback = matcher->max_rollback;
        m->floor = matcher->floor;
        m->padded = matcher->padded;
        m->stop_has_bytes = matcher->stop_has_bytes;
        status = fork_into(matcher, m, err);
        if (status != TOKFSM_OK)
            tokfsm_matcher_free(m);
        else
            *copy = m;
    }
    tf_matcher_leave(matcher);
    return status;
}

static tokfsm_status reset(tokfsm_matcher *matcher, tokfsm_error *err)
{
    tf_store *fresh = tf_store_new(&matcher->allocator, NULL);
    if (fresh == NULL)
        return no_memory(err);
    tf_store_release(matcher->store);
    tf_history_free(&matcher->history, &matcher->allocator);
    matcher->store = fresh;
    start(matcher);
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_reset(tokfsm_matcher *matcher, tokfsm_error *err)
{
    TF_TRY(tf_matcher_enter(matcher, err));
    tokfsm_status status = reset(matcher, err);
    tf_matcher_leave(matcher);
    return status;
}

tokfsm_status tokfsm_matcher_rollback(tokfsm_matcher *matcher, size_t n_tokens, tokfsm_error *err)
{
    TF_TRY(tf_matcher_enter(matcher, err));
    tokfsm_status status = TOKFSM_OK;
    size_t most = matcher->at->n_accepted - matcher->floor;
    if (n_tokens > most)
        status = tf_fail(err, TOKFSM_E_RANGE, "cannot roll back %zu tokens of %zu", n_tokens, most);
    else {
        tf_node to = *matcher->at;
        char *before = matcher->store->arena.next;
        for (size_t i = 0; i < n_tokens; i++)
            tf_history_pop(&matcher->history, &matcher->allocator, &to, &before);
        tf_matcher_move(matcher, &to);
        /* What came after is not reachable any more, but by forks. */
        if (before != matcher->store->arena.next && atomic_load(&matcher->store->references) == 1)
            tf_arena_back_to(&matcher->store->arena, before);
    }
    tf_matcher_leave(matcher);
    return status;
}

uint32_t tokfsm_matcher_state(const tokfsm_matcher *matcher)
{
    return atomic_load_explicit(&((tokfsm_matcher *)(uintptr_t)matcher)->state,
                                memory_order_relaxed);
}

uint32_t tokfsm_matcher_mask_words(const tokfsm_matcher *matcher)
{
    return matcher->automaton->pack->n_words;
}

size_t tokfsm_matcher_n_accepted(const tokfsm_matcher *matcher)
{
    return atomic_load_explicit(&((tokfsm_matcher *)(uintptr_t)matcher)->n_undoable,
                                memory_order_relaxed);
}
