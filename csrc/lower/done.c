/* What is settled in the partial at hand, and what its atoms ask of names, each found once. */
#include "expand.h"

struct done_note {
    uint64_t key;
    uint32_t epoch; /* of another partial: free */
};

struct asked_note {
    const char *name;
    uint32_t n_name, epoch;
    tf_oset *oset;
};

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static uint64_t key_of(uint32_t what, uint32_t id) { return (uint64_t)what << 32 | id; }

static size_t done_slot(const expansion *e, uint64_t key)
{
    size_t mask = e->done.n_slots - 1;
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
    while (e->done.items[at].epoch == e->done.epoch && e->done.items[at].key != key)
        at = (at + 1) & mask;
    return at;
}

static tokfsm_status note(expansion *e, uint64_t key)
{
    if (e->done.n * 2 >= e->done.n_slots) {
        uint32_t n_old = e->done.n_slots;
        struct done_note *old = e->done.items;
        struct done_note *items = tf_arena_zero(&e->scratch, 2 * ((size_t)n_old + 16) * sizeof *items);
        if (items == NULL)
            return no_memory(e->b);
        e->done.items = items;
        e->done.n_slots = n_old == 0 ? 32 : 2 * n_old;
        for (uint32_t i = 0; i < n_old; i++)
            if (old[i].epoch == e->done.epoch)
                items[done_slot(e, old[i].key)] = old[i];
    }
    size_t at = done_slot(e, key);
    if (e->done.items[at].epoch != e->done.epoch) {
        e->done.items[at] = (struct done_note){key, e->done.epoch};
        e->done.n++;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_done_note(expansion *e, uint32_t what, uint32_t index)
{
    if (what == DONE_ATOM && tf_obligation_tag(index) == TF_HOLDS)
        TF_TRY(note(e, key_of(DONE_HELD, tf_obligation_index(index))));
    return note(e, key_of(what, index));
}

tokfsm_status tf_done_begin(expansion *e, const partial *p)
{
    e->done.epoch++;
    e->done.n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->tasks[i].what >= DONE_ATOM)
            TF_TRY(tf_done_note(e, p->tasks[i].what, p->tasks[i].index));
    return TOKFSM_OK;
}

bool tf_is_done(const expansion *e, uint32_t what, uint32_t index)
{
    return e->done.n > 0 &&
           e->done.items[done_slot(e, key_of(what, index))].epoch == e->done.epoch;
}

/* ---- names ---- */

static size_t asked_slot(const expansion *e, const char *name, uint32_t n)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    size_t mask = e->asked.n_slots - 1, at = (hash ^ hash >> 15) & mask;
    for (;; at = (at + 1) & mask) {
        const struct asked_note *known = &e->asked.items[at];
        if (known->epoch != e->asked.epoch ||
            (known->n_name == n && (n == 0 || memcmp(known->name, name, n) == 0)))
            return at;
    }
}

void tf_asked_begin(expansion *e)
{
    e->asked.epoch++;
    e->asked.n = 0;
}

tokfsm_status tf_asked_of(expansion *e, const char *name, uint32_t n, tf_oset **oset)
{
    if (e->asked.n * 2 >= e->asked.n_slots) {
        uint32_t n_old = e->asked.n_slots;
        struct asked_note *old = e->asked.items;
        struct asked_note *items = tf_arena_zero(&e->scratch, 2 * ((size_t)n_old + 16) * sizeof *items);
        if (items == NULL)
            return no_memory(e->b);
        e->asked.items = items;
        e->asked.n_slots = n_old == 0 ? 32 : 2 * n_old;
        for (uint32_t i = 0; i < n_old; i++)
            if (old[i].epoch == e->asked.epoch)
                items[asked_slot(e, old[i].name, old[i].n_name)] = old[i];
    }
    struct asked_note *known = &e->asked.items[asked_slot(e, name, n)];
    if (known->epoch != e->asked.epoch) {
        tf_oset *found;
        TF_TRY(tf_member_oset(e->b, &e->view.atoms, name, n, &found));
        *known = (struct asked_note){name, n, e->asked.epoch, found};
        e->asked.n++;
    }
    *oset = known->oset;
    return TOKFSM_OK;
}
