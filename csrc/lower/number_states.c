/*
 * Numbers of a value position as an automaton over digits. A state is what the digits so far
 * leave open: the phase of RFC 8259 §6, whether the fraction is zero so far, the constants
 * whose digits agree, and how the digits stand to bounds and divisors (number_facts.h). States
 * are made on first use; where something compares, all of a position at once, since what is
 * live is known from the ends alone. Last, the cost of a state: tokens to its nearest ends.
 */
#include "numbers.h"

enum { START, MINUS, ZERO, INTEGER, POINT, FRACTION, EXP, EXP_SIGN, EXP_DIGITS };

typedef struct state_build {
    numbers *of;
    uint32_t phase;
    uint32_t inexact;  /* a non-zero fraction digit came */
    uint32_t digits;   /* of the integer part; then of the fraction; clipped where not needed */
    uint32_t negative; /* a minus came, and something compares */
    uint32_t nonzero;  /* a digit other than 0 came, and something compares */
    const uint64_t *facts; /* see number_facts.h */
    uint32_t n;        /* constants that agree */
    const uint32_t *agreeing;
    uint32_t hash, next;
} state_build;

/* ---- outcomes ---- */

/* The constant that the digits spell, or NULL. */
static const constant *constant_here(const state_build *s)
{
    bool pointed = s->phase == POINT || s->phase == FRACTION;
    for (uint32_t i = 0; i < s->n; i++) {
        const constant *c = &s->of->constants[s->agreeing[i]];
        if (pointed ? s->digits >= c->n_fraction
                    : s->digits == c->n_integer && c->n_fraction == 0)
            return c;
    }
    return NULL;
}

static tf_ending ending_of(const state_build *s)
{
    bool fraction = s->phase == FRACTION;
    return (tf_ending){.facts = s->facts, .digits = s->digits, .is_integer = !s->inexact,
                       .pointed = fraction, .negative = s->negative, .zero = !s->nonzero,
                       .fraction = fraction};
}

/* Where something compares: the outcome of ending here; what is live comes from settle_live. */
static tokfsm_status compared_end(tf_build *b, const state_build *s, const uint64_t **end)
{
    const constant *reached = constant_here(s);
    *end = s->of->nothing;
    if (s->phase != ZERO && s->phase != INTEGER && s->phase != FRACTION)
        return TOKFSM_OK;
    tf_ending e = ending_of(s);
    if (reached == NULL)
        return tf_number_outcome(b, s->of, &e, false, end);
    *end = e.pointed ? reached->pointed : reached->plain;
    return TOKFSM_OK;
}

/* What can still be, and what is if the number ends here. */
static tokfsm_status find_outcomes(tf_build *b, const state_build *s, uint64_t *live,
                                   const uint64_t **end)
{
    const numbers *of = s->of;
    uint32_t n_words = of->rules.n_words;
    if (tf_numbers_compare(of) && s->phase < EXP)
        return compared_end(b, s, end);
    *end = of->nothing;
    if (s->phase >= EXP) {
        memcpy(live, of->rules.any_number, n_words * sizeof *live);
        if (s->phase == EXP_DIGITS)
            *end = of->rules.any_number;
        return TOKFSM_OK;
    }
    bool pointed = s->phase == POINT || s->phase == FRACTION;
    bool integer_left = true;
    for (uint32_t i = 0; i < s->n && pointed; i++) /* the one integer left is a constant */
        integer_left = integer_left && s->of->constants[s->agreeing[i]].n_fraction > 0;
    for (uint32_t w = 0; w < n_words; w++)
        live[w] = of->fraction[w] | (s->inexact || !integer_left ? 0 : of->pointed[w]) |
                  (pointed ? 0 : of->integer[w]);
    for (uint32_t i = 0; i < s->n; i++) {
        const constant *c = &of->constants[s->agreeing[i]];
        for (uint32_t w = 0; w < n_words; w++)
            live[w] |= c->pointed[w] | (pointed ? 0 : c->plain[w]);
    }
    const constant *reached = constant_here(s);
    if (s->phase == ZERO || s->phase == INTEGER)
        *end = reached ? reached->plain : of->integer;
    else if (s->phase == FRACTION)
        *end = reached ? reached->pointed : s->inexact ? of->fraction : of->pointed;
    return TOKFSM_OK;
}

static uint32_t hash_of(const state_build *s)
{
    uint32_t hash = 2166136261u ^ s->of->id;
    uint32_t words[6] = {s->phase, s->inexact, s->digits, s->n, s->negative, s->nonzero};
    for (int i = 0; i < 6; i++)
        hash = (hash ^ words[i]) * 16777619u;
    for (uint32_t i = 0; i < tf_number_facts_words(&s->of->facts); i++)
        hash = (hash ^ (uint32_t)(s->facts[i] ^ s->facts[i] >> 32)) * 16777619u;
    for (uint32_t i = 0; i < s->n; i++)
        hash = (hash ^ s->agreeing[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static bool same(const state_build *a, const state_build *b)
{
    return a->of == b->of && a->phase == b->phase && a->inexact == b->inexact &&
           a->digits == b->digits && a->n == b->n && a->negative == b->negative &&
           a->nonzero == b->nonzero &&
           (!tf_numbers_compare(a->of) ||
            memcmp(a->facts, b->facts,
                   tf_number_facts_words(&a->of->facts) * sizeof *a->facts) == 0) &&
           (a->n == 0 || memcmp(a->agreeing, b->agreeing, a->n * sizeof *a->agreeing) == 0);
}

/* Room for one more state in chains that stay short. */
static tokfsm_status widen_heads(tf_build *b)
{
    if (b->nstates.n < b->n_nstate_heads)
        return TOKFSM_OK;
    size_t n = b->n_nstate_heads == 0 ? 256 : b->n_nstate_heads * 4;
    uint32_t *heads = tf_allocate(&b->arena.allocator, n * sizeof *heads);
    if (heads == NULL)
        return tf_numbers_no_memory(b);
    memset(heads, 0, n * sizeof *heads);
    for (size_t i = 0; i < b->nstates.n; i++) { /* oldest first, so that chains go back in time */
        state_build *s = (state_build *)(uintptr_t)b->nstates.items[i]->build;
        s->next = heads[s->hash & (n - 1)];
        heads[s->hash & (n - 1)] = (uint32_t)i + 1;
    }
    uint32_t *old = b->nstate_heads;
    b->nstate_heads = heads;
    b->n_nstate_heads = n;
    tf_release(&b->arena.allocator, old);
    return TOKFSM_OK;
}

static tokfsm_status intern(tf_build *b, const state_build *wanted, const tf_nstate **state)
{
    uint32_t hash = hash_of(wanted);
    TF_TRY(widen_heads(b));
    uint32_t *head = &b->nstate_heads[hash & (b->n_nstate_heads - 1)];
    for (uint32_t i = *head; i != 0;) {
        const state_build *known = b->nstates.items[i - 1]->build;
        if (known->hash == hash && same(known, wanted)) {
            *state = b->nstates.items[i - 1];
            return TOKFSM_OK;
        }
        i = known->next;
    }
    tokfsm_status status = TOKFSM_OK;
    tf_nstate *made = tf_take(b, sizeof *made, &status);
    state_build *kept = tf_take(b, sizeof *kept, &status);
    uint32_t *agreeing = tf_take(b, wanted->n * sizeof *agreeing, &status);
    uint64_t *live = tf_take(b, wanted->of->rules.n_words * sizeof *live, &status);
    const uint64_t *end = NULL;
    if (status != TOKFSM_OK)
        return status;
    if (!tf_grow(&b->arena.allocator, (void **)&b->nstates.items, b->nstates.n,
                 &b->nstates.capacity, sizeof *b->nstates.items))
        return tf_numbers_no_memory(b);
    *kept = *wanted;
    if (wanted->n > 0)
        memcpy(agreeing, wanted->agreeing, wanted->n * sizeof *agreeing);
    kept->agreeing = agreeing;
    uint32_t n_facts = tf_number_facts_words(&wanted->of->facts);
    uint64_t *facts = tf_take(b, n_facts * sizeof *facts, &status);
    if (status != TOKFSM_OK)
        return status;
    if (n_facts > 0)
        memcpy(facts, wanted->facts, n_facts * sizeof *facts);
    kept->facts = facts;
    kept->hash = hash;
    kept->next = *head;
    made->build = kept;
    made->rules = &wanted->of->rules;
    TF_TRY(find_outcomes(b, kept, live, &end));
    made->live = live;
    made->end = end;
    made->id = (uint32_t)b->nstates.n;
    if (!tf_numbers_compare(wanted->of) && !tf_words_any(live, wanted->of->rules.n_words)) {
        *state = &tf_number_dead;
        return TOKFSM_OK;
    }
    b->nstates.items[b->nstates.n++] = made;
    *head = (uint32_t)b->nstates.n;
    *state = made;
    return TOKFSM_OK;
}

/* Phase after a class, or START for none. */
static uint32_t next_phase(uint32_t phase, uint32_t class)
{
    bool digit = class < 10;
    switch (phase) {
    case START:
        if (class == TF_N_MINUS)
            return MINUS;
        /* fall through */
    case MINUS: return digit ? (class == 0 ? ZERO : INTEGER) : START;
    case INTEGER:
        if (digit)
            return INTEGER;
        /* fall through */
    case ZERO: return class == TF_N_POINT ? POINT : class == TF_N_EXP ? EXP : START;
    case POINT: return digit ? FRACTION : START;
    case FRACTION: return digit ? FRACTION : class == TF_N_EXP ? EXP : START;
    case EXP:
        if (class == TF_N_PLUS || class == TF_N_MINUS)
            return EXP_SIGN;
        /* fall through */
    default: return digit ? EXP_DIGITS : START;
    }
}

static bool agrees(const state_build *from, uint32_t phase, uint32_t class, const constant *c)
{
    switch (phase) {
    case MINUS: return c->value.negative || c->value.n_digits == 0;
    case ZERO:
    case INTEGER: {
        uint32_t i = from->phase == INTEGER ? from->digits : 0;
        if (from->phase == START && c->value.negative)
            return false;
        return i < c->n_integer && tf_constant_digit(c, false, i) == class &&
               (phase != ZERO || c->n_integer == 1);
    }
    case POINT: return from->digits == c->n_integer;
    case FRACTION:
        return tf_constant_digit(c, true, from->phase == FRACTION ? from->digits : 0) == class;
    default: return false;
    }
}

static void follow_facts(state_build *to, const state_build *from, uint64_t *facts, uint32_t class)
{
    const tf_number_facts *all = &to->of->facts;
    to->negative = from->negative || (all->n_bounds > 0 && to->phase == MINUS);
    to->nonzero = from->nonzero || (all->n_bounds > 0 && class > 0 && class < 10);
    if (to->phase == ZERO || to->phase == INTEGER)
        tf_number_facts_digit(all, facts, to->negative, false, from->phase == INTEGER ? from->digits : 0, class);
    else if (to->phase == POINT)
        tf_number_facts_point(all, facts, from->digits);
    else if (to->phase == FRACTION)
        tf_number_facts_digit(all, facts, to->negative, true, from->phase == FRACTION ? from->digits : 0, class);
}

/* Digits are counted only while a constant, a bound, a divisor or a cap looks at them. */
static tokfsm_status next_state(tf_build *b, state_build *to, const tf_nstate **next)
{
    uint32_t most = b->machine.options.max_digits;
    if (to->phase == START || (most != TOKFSM_UNBOUNDED && to->digits > most)) {
        *next = &tf_number_dead;
        return TOKFSM_OK;
    }
    uint32_t needed = to->phase == FRACTION ? to->of->facts.n_fraction
                      : to->phase < EXP     ? to->of->facts.n_integer[to->negative]
                                            : 0;
    for (uint32_t i = 0; i < to->n; i++) {
        const constant *c = &to->of->constants[to->agreeing[i]];
        uint32_t n = to->phase == FRACTION ? c->n_fraction : c->n_integer;
        needed = n > needed ? n : needed;
    }
    if (most == TOKFSM_UNBOUNDED && to->digits > needed)
        to->digits = needed;
    return intern(b, to, next);
}

tokfsm_status tf_build_number_next(tf_build *b, const tf_nstate *state, uint32_t class,
                                   const tf_nstate **next)
{
    tf_nstate *s = (tf_nstate *)(uintptr_t)state;
    *next = atomic_load_explicit(&s->next[class], memory_order_relaxed);
    if (*next != NULL)
        return TOKFSM_OK;
    TF_TRY(tf_spend(b->budget, b->err));
    const state_build *from = state->build;
    state_build to = {0};
    to.of = from->of;
    to.phase = next_phase(from->phase, class);
    to.inexact = from->inexact || (to.phase == FRACTION && class != 0);
    bool same_part = to.phase == from->phase;
    to.digits = to.phase == POINT || to.phase >= EXP ? 0 : same_part ? from->digits + 1 : 1;
    if (to.phase == MINUS)
        to.digits = 0;
    if (to.phase == EXP_DIGITS)
        to.digits = same_part ? from->digits + 1 : 1;
    uint32_t n_facts = tf_number_facts_words(&to.of->facts);
    uint32_t small[64], *agreeing = small;
    uint64_t few[16], *facts = few;
    if (from->n > 64)
        agreeing = tf_allocate(&b->arena.allocator, from->n * sizeof *agreeing);
    if (n_facts > 16)
        facts = tf_allocate(&b->arena.allocator, n_facts * sizeof *facts);
    tokfsm_status status = agreeing == NULL || facts == NULL ? tf_numbers_no_memory(b) : TOKFSM_OK;
    if (status == TOKFSM_OK) {
        for (uint32_t i = 0; i < from->n; i++)
            if (agrees(from, to.phase, class, &to.of->constants[from->agreeing[i]]))
                agreeing[to.n++] = from->agreeing[i];
        to.agreeing = agreeing;
        if (n_facts > 0)
            memcpy(facts, from->facts, n_facts * sizeof *facts);
        to.facts = facts;
        follow_facts(&to, from, facts, class);
        status = next_state(b, &to, next);
    }
    if (agreeing != small)
        tf_release(&b->arena.allocator, agreeing);
    if (facts != few)
        tf_release(&b->arena.allocator, facts);
    if (status == TOKFSM_OK)
        atomic_store_explicit(&s->next[class], *next, memory_order_release);
    return status;
}

/* ---- where something compares: the whole automaton at once ---- */

enum { MAX_EXPLORED = 200000 };

/* Make all states from `first` on; exponents wait for the rules. */
static tokfsm_status explore(tf_build *b, const numbers *of, size_t first)
{
    for (size_t i = first; i < b->nstates.n; i++) {
        if (b->nstates.n - first > MAX_EXPLORED ||
            b->arena.n_bytes > b->machine.limits.automaton_bytes)
            return tf_fail(b->err, TOKFSM_E_LIMIT,
                           "numbers with these bounds and divisors need over %d states or "
                           "limits.automaton_bytes = %llu",
                           MAX_EXPLORED, (unsigned long long)b->machine.limits.automaton_bytes);
        const state_build *state = b->nstates.items[i]->build;
        if (state->of != of || state->phase >= EXP)
            continue;
        for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
            const tf_nstate *next;
            if (class != TF_N_EXP)
                TF_TRY(tf_build_number_next(b, b->nstates.items[i], class, &next));
        }
    }
    return TOKFSM_OK;
}

/* live: what ends here or after some digit; backwards until nothing changes. */
static void settle_live(tf_build *b, const numbers *of, size_t first)
{
    uint32_t n_words = of->rules.n_words;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = b->nstates.n; i-- > first;) {
            tf_nstate *state = b->nstates.items[i];
            uint64_t *live = (uint64_t *)(uintptr_t)state->live;
            for (uint32_t w = 0; w < n_words; w++) {
                uint64_t all = live[w] | state->end[w];
                for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
                    const tf_nstate *next =
                        atomic_load_explicit(&state->next[class], memory_order_relaxed);
                    if (next != NULL && next != &tf_number_dead)
                        all |= next->live[w];
                }
                changed |= all != live[w];
                live[w] = all;
            }
        }
    }
}

/* Who takes a fraction, divisors left aside: a multiple of 1 that is a number may be 2.0. */
static tokfsm_status mark_fractional(tf_build *b, const state_build *s, uint64_t *integers_only)
{
    const uint64_t *holds;
    tf_ending e = ending_of(s);
    e.is_integer = e.pointed = false;
    TF_TRY(tf_number_outcome(b, s->of, &e, true, &holds));
    for (uint32_t w = 0; w < s->of->rules.n_words; w++)
        integers_only[w] &= ~holds[w];
    return TOKFSM_OK;
}

/* Who takes 2.0, but not 2: some schema of the text tells integers by their spelling. */
static tokfsm_status mark_pointed(tf_build *b, const state_build *s, const uint64_t *end,
                                  uint64_t *integers_only)
{
    const constant *reached = constant_here(s);
    const uint64_t *holds;
    tf_ending e = ending_of(s);
    e.is_integer = true;
    e.pointed = false;
    if (reached != NULL)
        holds = reached->plain;
    else
        TF_TRY(tf_number_outcome(b, s->of, &e, false, &holds));
    for (uint32_t w = 0; w < s->of->rules.n_words; w++)
        integers_only[w] &= ~(end[w] & ~holds[w]);
    return TOKFSM_OK;
}

/* The spelling rules, from which ends are satisfied; and no way into what is dead. */
static tokfsm_status settle_rules(tf_build *b, const numbers *of, size_t first)
{
    uint32_t n_words = of->rules.n_words;
    uint64_t *integers_only = (uint64_t *)(uintptr_t)of->rules.integers_only;
    uint64_t *any_number = (uint64_t *)(uintptr_t)of->rules.any_number;
    memset(integers_only, 0xFF, n_words * sizeof *integers_only);
    memset(any_number, 0xFF, n_words * sizeof *any_number);
    for (size_t i = first; i < b->nstates.n; i++) {
        tf_nstate *state = b->nstates.items[i];
        const state_build *build = state->build;
        bool end = build->phase == ZERO || build->phase == INTEGER || build->phase == FRACTION;
        for (uint32_t w = 0; w < n_words; w++) {
            if (end)
                any_number[w] &= state->end[w];
            if (build->phase == FRACTION && build->inexact)
                integers_only[w] &= ~state->end[w]; /* a divisor may be one to miss */
        }
        if (build->phase == FRACTION && build->inexact)
            TF_TRY(mark_fractional(b, build, integers_only));
        else if (build->phase == FRACTION && b->ir.pointed_is_no_integer)
            TF_TRY(mark_pointed(b, build, state->end, integers_only));
        for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
            const tf_nstate *next = atomic_load_explicit(&state->next[class], memory_order_relaxed);
            if (next != NULL && next != &tf_number_dead && !tf_words_any(next->live, n_words))
                atomic_store_explicit(&state->next[class], &tf_number_dead, memory_order_relaxed);
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status settle(tf_build *b, const numbers *of, size_t first)
{
    TF_TRY(explore(b, of, first));
    settle_live(b, of, first);
    TF_TRY(settle_rules(b, of, first));
    if (b->machine.options.max_digits != TOKFSM_UNBOUNDED)
        TF_TRY(tf_numbers_constrained(b, of));
    if (of->n_constants > 0)
        TF_TRY(tf_numbers_pointed(b, of->value, (uint64_t *)(uintptr_t)of->rules.integers_only));
    for (size_t i = first; i < b->nstates.n; i++) {
        tf_nstate *state = b->nstates.items[i];
        if (!tf_words_any(of->rules.any_number, of->rules.n_words))
            atomic_store_explicit(&state->next[TF_N_EXP], &tf_number_dead, memory_order_relaxed);
    }
    return tf_spend(b->budget, b->err);
}

/* Take back the states from `first` on: unsettled, they would be found again. */
static void forget(tf_build *b, size_t first)
{
    for (size_t i = 0; i < b->n_nstate_heads; i++) {
        uint32_t *head = &b->nstate_heads[i];
        while (*head > first)
            *head = ((const state_build *)b->nstates.items[*head - 1]->build)->next;
    }
    b->nstates.n = first;
}

tokfsm_status tf_number_start(tf_build *b, numbers *of, const tf_nstate **start)
{
    tokfsm_status status = TOKFSM_OK;
    state_build first = {0};
    first.of = of;
    first.phase = START;
    first.n = of->n_constants;
    uint32_t *all = tf_take(b, first.n * sizeof *all, &status);
    if (status != TOKFSM_OK)
        return status;
    for (uint32_t i = 0; i < first.n; i++)
        all[i] = i;
    first.agreeing = all;
    of->nothing = tf_take(b, of->rules.n_words * sizeof *of->nothing, &status);
    first.facts = tf_take(b, tf_number_facts_words(&of->facts) * sizeof *first.facts, &status);
    if (status != TOKFSM_OK)
        return status;
    size_t n_before = b->nstates.n;
    TF_TRY(intern(b, &first, start));
    if (tf_numbers_compare(of)) {
        status = settle(b, of, n_before);
        if (status != TOKFSM_OK) {
            forget(b, n_before);
            return status;
        }
        if (!tf_words_any((*start)->live, of->rules.n_words))
            *start = &tf_number_dead;
    }
    return TOKFSM_OK;
}

/*
 * Breadth-first over the bytes that are tokens by themselves, exponents left out, until every
 * obligation that is live has an end.
 */
tokfsm_status tf_build_number_cost(tf_build *b, const tf_nstate *state, const uint32_t **cost)
{
    const numbers *of = ((const state_build *)state->build)->of;
    uint32_t n = of->value->n, left = 0;
    tokfsm_status status = TOKFSM_OK;
    uint32_t *costs = tf_take(b, n * sizeof *costs, &status);
    if (status != TOKFSM_OK)
        return status;
    memset(costs, 0xFF, n * sizeof *costs);
    for (uint32_t i = 0; i < n; i++)
        left += tf_word_bit(state->live, i);
    struct { const tf_nstate **items; size_t n, capacity; } queue = {0};
    uint8_t *seen = tf_allocate(&b->arena.allocator, 1);
    size_t n_seen = 0;
    if (seen == NULL)
        return tf_numbers_no_memory(b);
    if (!tf_grow(&b->arena.allocator, (void **)&queue.items, 0, &queue.capacity,
                 sizeof *queue.items)) {
        tf_release(&b->arena.allocator, seen);
        return tf_numbers_no_memory(b);
    }
    queue.items[queue.n++] = state;
    size_t level_end = 1;
    uint32_t depth = 0;
    static const char bytes[] = "0123456789-.";
    for (size_t i = 0; i < queue.n && left > 0 && status == TOKFSM_OK; i++) {
        if (i == level_end) {
            depth++;
            level_end = queue.n;
        }
        const tf_nstate *at = queue.items[i];
        for (uint32_t k = 0; k < n; k++)
            if (costs[k] == TF_COST_NONE && tf_word_bit(at->end, k)) {
                costs[k] = depth;
                left--;
            }
        for (uint32_t class = 0; bytes[class] != '\0' && left > 0; class++) {
            if (!tf_has_byte(&b->machine, (uint8_t)bytes[class]))
                continue;
            const tf_nstate *next;
            status = tf_build_number_next(b, at, class, &next);
            if (status != TOKFSM_OK)
                break;
            if (next == &tf_number_dead)
                continue;
            if (next->id >= n_seen) {
                size_t wider = b->nstates.n * 2;
                uint8_t *marks = tf_allocate(&b->arena.allocator, wider);
                if (marks == NULL) {
                    status = tf_numbers_no_memory(b);
                    break;
                }
                memset(marks, 0, wider);
                memcpy(marks, seen, n_seen);
                tf_release(&b->arena.allocator, seen);
                seen = marks;
                n_seen = wider;
            }
            if (seen[next->id])
                continue;
            seen[next->id] = 1;
            if (!tf_grow(&b->arena.allocator, (void **)&queue.items, queue.n, &queue.capacity,
                         sizeof *queue.items)) {
                status = tf_numbers_no_memory(b);
                break;
            }
            queue.items[queue.n++] = next;
        }
    }
    tf_release(&b->arena.allocator, queue.items);
    tf_release(&b->arena.allocator, seen);
    if (status == TOKFSM_OK)
        *cost = costs;
    return status;
}
