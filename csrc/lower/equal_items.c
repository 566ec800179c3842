/*
 * uniqueItems and its negation: which alternatives of an array look at equal items, whether
 * items can all differ, and what two equal ones can be.
 *
 * Two equal items are somewhere: a pair of places, those behind the prefix being one place. Each
 * pair is an alternative of its own, whose first item must be what both places admit. The second
 * is then equal to it, or there is no such array.
 */
#include "domain.h"

static bool is_fact(const tf_build *b, tf_obligation atom, int kind)
{
    return tf_obligation_tag(atom) == TF_FACT &&
           (int)b->facts.items[tf_obligation_index(atom)].kind == kind;
}

/* Whether two items of an array of the schema text are equal. */
static tokfsm_status has_equal_items(tf_build *b, uint32_t array, bool *equal)
{
    const tf_tape_node *nodes = b->tape.nodes;
    *equal = false;
    uint64_t *hashes = tf_allocate(&b->arena.allocator, nodes[array].n * sizeof *hashes);
    if (hashes == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    tokfsm_status status = TOKFSM_OK;
    uint32_t n = 0;
    for (uint32_t at = array + 1; at < nodes[array].next && status == TOKFSM_OK && !*equal;
         at = nodes[at].next) {
        hashes[n] = tf_tape_hash(&b->tape, at);
        for (uint32_t i = 0; i < n && !*equal; i++)
            *equal = hashes[i] == hashes[n] &&
                     tf_tape_equal(&b->tape, tf_tape_item(&b->tape, array, i), &b->tape, at);
        n++;
        status = tf_spend(b->budget, b->err);
    }
    tf_release(&b->arena.allocator, hashes);
    return status;
}

tokfsm_status tf_unique_facts_of(tf_build *b, const tf_alternative *alternative,
                                 tf_unique_facts *facts)
{
    *facts = (tf_unique_facts){.twins = {0, TF_NONE, 0}};
    bool constant = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        constant |= tf_obligation_tag(atom) == TF_EQUALS;
        if (tf_obligation_tag(atom) == TF_HOLDS)
            facts->unique |= b->ir.schemas[tf_obligation_index(atom)].unique_items;
        if (is_fact(b, atom, TF_TWIN)) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            facts->twins = (tf_twins){fact->index, (uint32_t)fact->min - 1,
                                      tf_prefix_length(b, alternative)};
        }
    }
    if (constant) /* decided when the alternative was made */
        facts->unique = false;
    return TOKFSM_OK;
}

tokfsm_status tf_unique_alternatives(tf_build *b, const tf_alternative *alternative,
                                     tf_alternative_visitor visit, void *context)
{
    uint32_t twins = TF_NONE, constant = TF_TAPE_NONE;
    bool unique = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (is_fact(b, atom, TF_TWINS))
            twins = i;
        if (tf_obligation_tag(atom) == TF_EQUALS)
            constant = tf_obligation_index(atom);
        if (tf_obligation_tag(atom) == TF_HOLDS)
            unique |= b->ir.schemas[tf_obligation_index(atom)].unique_items;
    }
    if (!unique && twins == TF_NONE)
        return visit(context, alternative);
    if (unique && twins != TF_NONE)
        return TOKFSM_OK; /* both: no array */
    tokfsm_status status = TOKFSM_OK;
    tf_obligation *atoms = tf_take(b, alternative->n_atoms * sizeof *atoms, &status);
    if (status != TOKFSM_OK)
        return status;
    memcpy(atoms, alternative->atoms, alternative->n_atoms * sizeof *atoms);
    tf_alternative one = {.n_atoms = alternative->n_atoms, .atoms = atoms};
    if (constant != TF_TAPE_NONE) {
        bool equal;
        TF_TRY(has_equal_items(b, constant, &equal));
        if (equal == unique)
            return TOKFSM_OK;
        if (unique)
            return visit(context, alternative);
        memmove(atoms + twins, atoms + twins + 1,
                (alternative->n_atoms - twins - 1) * sizeof *atoms);
        one.n_atoms--;
        return visit(context, &one);
    }
    if (unique)
        return visit(context, alternative);
    uint32_t n_prefix = tf_prefix_length(b, alternative);
    for (uint32_t first = 0; first <= n_prefix; first++)
        for (uint32_t second = first + 1; second <= n_prefix + 1; second++) {
            if (second == n_prefix + 1 && first < n_prefix)
                continue; /* n_prefix stands for all places from there on */
            uint32_t index;
            tf_fact fact = {.kind = TF_TWIN, .index = first, .min = (uint64_t)second + 1};
            TF_TRY(tf_fact_of(b, &fact, &index));
            atoms[twins] = tf_obligation_of(index, TF_FACT);
            TF_TRY(visit(context, &one));
        }
    return TOKFSM_OK;
}

/* ---- distinct values ---- */

static tokfsm_status refuse(tf_build *b, const tf_alternative *alternative, const char *why)
{
    b->refuses = true;
    b->refused = TF_NO_SCHEMA;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        uint32_t id = tf_obligation_index(atom);
        if (tf_obligation_tag(atom) != TF_HOLDS || !b->ir.schemas[id].unique_items)
            continue;
        b->refused = id;
        return tf_fail_node(b->err, TOKFSM_E_UNSUPPORTED, &b->tape, b->ir.schemas[id].node,
                            "uniqueItems", "uniqueItems is not supported here: %s", why);
    }
    /* Two items that must be equal: some schema with uniqueItems fails. */
    return tf_fail_node(b->err, TOKFSM_E_UNSUPPORTED, &b->tape, b->ir.schemas[b->ir.root].node,
                        "uniqueItems", "uniqueItems is not supported where it must fail: %s", why);
}

typedef struct places {
    tf_domain *items; /* of item i, the last one of all behind */
    uint32_t n;
    bool tight;       /* some place has fewer values than the array must have items */
} places;

/* The values of the first `min` places, as many as count. */
static tokfsm_status list_places(tf_build *b, tf_run *run, const tf_alternative *alternative,
                                 uint64_t min, places *p)
{
    uint32_t n_prefix = tf_prefix_length(b, alternative);
    p->n = min <= n_prefix ? (uint32_t)min : n_prefix + 1;
    p->items = tf_arena_zero(run->arena, p->n * sizeof *p->items);
    if (p->items == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    bool large = min > TF_MAX_LISTED;
    uint32_t most = large ? TF_MAX_LISTED : (uint32_t)min;
    for (uint32_t i = 0; i < p->n; i++) {
        tf_oset *oset;
        TF_TRY(tf_item_oset(b, alternative, i, &oset));
        if (oset == NULL)
            return TOKFSM_OK; /* an empty list */
        TF_TRY(tf_domain_of(b, run, oset, most, &p->items[i]));
        const tf_domain *d = &p->items[i];
        if (d->unknown)
            return refuse(b, alternative, "the values of an item cannot be counted");
        if (large && d->many && d->n >= most)
            return refuse(b, alternative, "over 4096 values would have to be matched");
        p->tight |= !d->many;
    }
    return TOKFSM_OK;
}

static tokfsm_status places_differ(tf_build *b, tf_run *run, const places *p, uint64_t min, bool *met)
{
    /* Places with as many values as there are items are left out: the others leave them one. */
    *met = true;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->items[i].n == 0)
            *met = false;
    const tf_domain *last = &p->items[p->n - 1];
    if (*met && !last->many && min > p->n - 1 && last->n < min - (p->n - 1))
        *met = false; /* all those behind the prefix have one list */
    if (!*met || !p->tight)
        return TOKFSM_OK;
    tf_item_list *lists = tf_arena_take(run->arena, (size_t)min * sizeof *lists);
    if (lists == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    uint32_t n = 0;
    for (uint32_t i = 0; i < min; i++) {
        const tf_domain *d = &p->items[i < p->n ? i : p->n - 1];
        if (!d->many)
            lists[n++] = (tf_item_list){d->items, d->n};
    }
    *met = tf_match_lists(run, lists, n, NULL);
    return run->call.status;
}

static tokfsm_status decide(tf_build *b, const tf_alternative *alternative, uint64_t min,
                            bool *met, bool *tight)
{
    tf_arena arena;
    tf_arena_init(&arena, &b->arena.allocator);
    tf_run run = {.m = &b->machine, .arena = &arena, .call = {b->budget, b->err, TOKFSM_OK}};
    places p = {0};
    tokfsm_status status = list_places(b, &run, alternative, min, &p);
    if (status == TOKFSM_OK)
        status = places_differ(b, &run, &p, min, met);
    *tight = p.tight;
    tf_arena_free(&arena);
    return status;
}

enum { UNDECIDED, NOT_MET, MET, MET_TIGHTLY };

tokfsm_status tf_unique_met(tf_build *b, const tf_alternative *alternative, bool *met, bool *tight)
{
    tf_unique_facts facts;
    uint64_t min, max;
    *met = true;
    *tight = false;
    TF_TRY(tf_unique_facts_of(b, alternative, &facts));
    tf_item_counts(b, alternative, &min, &max);
    if (!facts.unique || min < 2)
        return TOKFSM_OK;
    tf_alternative *a = (tf_alternative *)(uintptr_t)alternative;
    if (a->distinct == UNDECIDED) {
        TF_TRY(decide(b, alternative, min, met, tight));
        a->distinct = !*met ? NOT_MET : *tight ? MET_TIGHTLY : MET;
    }
    *met = a->distinct != NOT_MET;
    *tight = a->distinct == MET_TIGHTLY;
    return TOKFSM_OK;
}

/* An item of a longer token may hold a byte that no second one can be written with. */
static tokfsm_status refuse_missing_bytes(tf_build *b)
{
    if (b->machine.bytes_complete)
        return TOKFSM_OK;
    b->refuses = true;
    b->refused = TF_NO_SCHEMA;
    uint32_t id = 0;
    while (id + 1 < b->ir.n_schemas && !b->ir.schemas[id].unique_items)
        id++;
    return tf_fail_node(b->err, TOKFSM_E_UNSUPPORTED, &b->tape, b->ir.schemas[id].node,
                        "uniqueItems", "uniqueItems is not supported where the schema must fail "
                        "and the vocabulary has no tokens for some single bytes");
}

tokfsm_status tf_unique_kind(tf_build *b, const tf_alternative *const *alternatives, tf_kind *kind)
{
    tokfsm_status status = TOKFSM_OK;
    uint64_t *unique = NULL, *matched = NULL;
    tf_twins *twins = NULL;
    for (uint32_t a = 0; a < kind->n_alternatives && status == TOKFSM_OK; a++) {
        tf_unique_facts facts;
        TF_TRY(tf_unique_facts_of(b, alternatives[a], &facts));
        if (facts.unique && unique == NULL)
            unique = tf_take(b, kind->alternative_words * sizeof *unique, &status);
        if (facts.unique && status == TOKFSM_OK)
            tf_word_set(unique, a);
        bool met, tight;
        TF_TRY(tf_unique_met(b, alternatives[a], &met, &tight));
        tight = tight && tf_prefix_length(b, alternatives[a]) > 0; /* else counting will do */
        if (tight && matched == NULL)
            matched = tf_take(b, kind->alternative_words * sizeof *matched, &status);
        if (tight && status == TOKFSM_OK)
            tf_word_set(matched, a);
        if (facts.twins.second == TF_NONE)
            continue;
        TF_TRY(refuse_missing_bytes(b));
        if (twins == NULL) {
            twins = tf_take(b, kind->n_alternatives * sizeof *twins, &status);
            for (uint32_t k = 0; status == TOKFSM_OK && k < kind->n_alternatives; k++)
                twins[k].second = TF_NONE;
        }
        if (status == TOKFSM_OK)
            twins[a] = facts.twins;
    }
    kind->unique = unique;
    kind->matched = matched;
    kind->twins = twins;
    return status;
}

tokfsm_status tf_unique_uncounted(tf_build *b, const tf_alternative *alternative)
{
    tf_unique_facts facts;
    TF_TRY(tf_unique_facts_of(b, alternative, &facts));
    if (alternative->counters == NULL || (!facts.unique && facts.twins.second == TF_NONE))
        return TOKFSM_OK;
    return refuse(b, alternative, "which of its items meet contains decides whether they can differ");
}

/* Before there are kinds: whether the schema's words can mean such arrays at all. */
uint32_t tf_unique_mode(const tf_ir *ir)
{
    bool unique = false, several = ir->negates != 0;
    for (uint32_t i = 0; i < ir->n_schemas; i++) {
        unique |= ir->schemas[i].unique_items != 0;
        several |= ir->schemas[i].min_items > 1;
    }
    return !unique ? TF_UNIQUE_NEVER : several ? TF_UNIQUE_PLANNED : TF_UNIQUE_FREE;
}

bool tf_unique_beside_counts(const tf_ir *ir)
{
    bool unique = false, counts = false;
    for (uint32_t i = 0; i < ir->n_schemas; i++) {
        unique |= ir->schemas[i].unique_items != 0;
        counts |= ir->schemas[i].contains != TF_NO_SCHEMA;
    }
    return unique && counts;
}

uint32_t tf_unique_mode_of_kinds(const tf_build *b)
{
    for (size_t i = 0; i < b->kinds.n; i++) {
        const tf_kind *kind = b->kinds.items[i];
        if (kind->is_object)
            continue;
        if (kind->twins != NULL)
            return TF_UNIQUE_PLANNED;
        for (uint32_t a = 0; kind->unique != NULL && a < kind->n_alternatives; a++)
            if (tf_word_bit(kind->unique, a) && kind->min_items[a] > 1)
                return TF_UNIQUE_PLANNED;
    }
    return TF_UNIQUE_FREE;
}
