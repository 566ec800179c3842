/*
 * Numbers of a value position. A state is what the digits so far leave open: the phase of
 * RFC 8259 §6, whether the fraction is zero so far, and the enum values (constants) whose digits
 * agree. Numbers are compared by exact value; spelling rules: docs/spelling.md (d).
 */
#include "number_facts.h"

enum { START, MINUS, ZERO, INTEGER, POINT, FRACTION, EXP, EXP_SIGN, EXP_DIGITS };

typedef struct constant {
    tf_decimal value;
    uint32_t node;
    uint32_t n_integer, n_fraction; /* digits of the plain spelling; fraction without zeros */
    const uint64_t *plain;    /* outcome when spelled without a point */
    const uint64_t *pointed;  /* ... with one */
} constant;

/* What all states of one position share. */
typedef struct numbers {
    tf_number_rules rules;
    const tf_value *value;
    constant *constants;
    uint32_t n_constants;
    tf_number_facts facts;
    const uint64_t *integer, *fraction; /* outcomes of numbers that are no constant; without
                                           bounds and divisors (else each end is evaluated) */
    uint32_t id;
} numbers;

typedef struct state_build {
    const numbers *of;
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

/* Whether bounds or divisors are in place. */
static bool compares(const numbers *of) { return tf_number_facts_words(&of->facts) > 0; }

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling numbers");
}

/* Digit i of the integer or fraction part of a constant's plain spelling. */
static uint32_t constant_digit(const constant *c, bool fraction, uint32_t i)
{
    int64_t at;
    if (fraction)
        at = (int64_t)c->value.point + i;
    else if (c->value.point <= 0)
        return 0;
    else
        at = i;
    return at < 0 || at >= c->value.n_digits ? 0 : c->value.digits[at];
}

static void set_lengths(constant *c)
{
    c->n_integer = c->value.point > 0 ? (uint32_t)c->value.point : 1;
    int64_t fraction = (int64_t)c->value.n_digits - c->value.point;
    c->n_fraction = fraction > 0 ? (uint32_t)fraction : 0;
}

/* ---- the position's constants and outcomes ---- */

typedef struct gathering {
    struct { constant *items; size_t n, capacity; } constants;
} gathering;

static tokfsm_status gather_node(tf_build *b, void *context, uint32_t node)
{
    gathering *g = context;
    const tf_tape_node *n = &b->tape.nodes[node];
    if (n->type != TF_JSON_NUMBER)
        return TOKFSM_OK;
    constant c;
    memset(&c, 0, sizeof c);
    c.node = node;
    TF_TRY(tf_decimal_read(&c.value, n->text, n->n, &b->arena, b->err));
    set_lengths(&c);
    if (!tf_grow(&b->arena.allocator, (void **)&g->constants.items, g->constants.n,
                 &g->constants.capacity, sizeof c))
        return no_memory(b);
    g->constants.items[g->constants.n++] = c;
    return TOKFSM_OK;
}

static tokfsm_status gather_schema(tf_build *b, void *context, const tf_schema *s)
{
    for (uint32_t i = 0; i < s->n_values; i++)
        TF_TRY(gather_node(b, context, s->values[i]));
    return TOKFSM_OK;
}

/* A number of the schema, for evaluation. */
static int compare_decimal(const void *context, const tf_decimal *bound)
{
    return tf_decimal_compare(context, bound);
}

/* By writing the number down digit by digit. */
static bool decimal_divides(const void *context, const tf_decimal *divisor)
{
    const tf_decimal *value = context;
    tf_divisor one;
    if (!tf_divisor_of(divisor, &one))
        return false; /* refused when the position's facts were gathered */
    tf_number_facts facts = {.divisors = &one, .n_divisors = 1};
    uint64_t state = 0;
    constant c = {.value = *value};
    set_lengths(&c);
    for (uint32_t i = 0; i < c.n_integer; i++)
        tf_number_facts_digit(&facts, &state, false, i, constant_digit(&c, false, i));
    for (uint32_t i = 0; i < c.n_fraction; i++)
        tf_number_facts_digit(&facts, &state, true, i, constant_digit(&c, true, i));
    return tf_number_facts_divides(&facts, &state, 0, true, c.n_fraction);
}

/* A state at its end, for evaluation. */
typedef struct ending {
    const numbers *of;
    const state_build *state;
} ending;

static int compare_ending(const void *context, const tf_decimal *bound)
{
    const ending *e = context;
    const tf_number_facts *facts = &e->of->facts;
    uint32_t i = 0;
    while (tf_decimal_compare(&facts->bounds[i].value, bound) != 0)
        i++; /* every bound in place is among them */
    return tf_number_facts_compare(facts, e->state->facts, i, e->state->negative,
                                   !e->state->nonzero, e->state->phase == FRACTION,
                                   e->state->digits);
}

static bool ending_divides(const void *context, const tf_decimal *divisor)
{
    const ending *e = context;
    const tf_number_facts *facts = &e->of->facts;
    uint32_t i = 0;
    while (tf_decimal_compare(&facts->divisors[i].value, divisor) != 0)
        i++;
    return tf_number_facts_divides(facts, e->state->facts, i, e->state->phase == FRACTION,
                                   e->state->digits);
}

static tokfsm_status evaluate_all(tf_build *b, const tf_value *value, const tf_scalar *scalar,
                                  uint64_t *words)
{
    for (uint32_t i = 0; i < value->n; i++) {
        bool holds;
        TF_TRY(tf_evaluate(b, tf_value_oset(b, value, i), scalar, &holds));
        if (holds)
            tf_word_set(words, i);
    }
    return TOKFSM_OK;
}

/* Outcome of the number at a tape node; of one that is no constant, where nothing compares. */
static tokfsm_status outcome_of(tf_build *b, const numbers *of, const constant *c, bool is_integer,
                                const uint64_t **outcome)
{
    tokfsm_status status = TOKFSM_OK;
    uint64_t *words = tf_take(b, of->value->n_words * sizeof *words, &status);
    if (status != TOKFSM_OK)
        return status;
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = TF_TAPE_NONE, .is_integer = is_integer};
    if (c != NULL) {
        scalar.node = c->node;
        scalar.context = &c->value;
        scalar.compare = compare_decimal;
        scalar.divides = decimal_divides;
    }
    *outcome = words;
    return evaluate_all(b, of->value, &scalar, words);
}

static bool within_digits(const tf_build *b, const constant *c)
{
    uint32_t most = b->machine.options.max_digits;
    return c->n_integer <= most && c->n_fraction <= most;
}

static tokfsm_status make_constants(tf_build *b, gathering *g, numbers *of)
{
    const tf_value *value = of->value;
    tokfsm_status status = TOKFSM_OK;
    of->constants = tf_take(b, g->constants.n * sizeof *of->constants, &status);
    const uint64_t *nothing = tf_take(b, value->n_words * sizeof *nothing, &status);
    if (status != TOKFSM_OK)
        return status;
    size_t n_bytes = value->n_words * sizeof(uint64_t);
    bool draft_4 = b->ir.draft == TOKFSM_DRAFT_4;
    for (size_t i = 0; i < g->constants.n; i++) {
        constant c = g->constants.items[i];
        TF_TRY(tf_spend(b->budget, b->err));
        bool known = false;
        for (uint32_t k = 0; k < of->n_constants && !known; k++)
            known = tf_decimal_compare(&of->constants[k].value, &c.value) == 0;
        if (known)
            continue;
        bool is_integer = tf_decimal_is_integer(&c.value);
        TF_TRY(outcome_of(b, of, &c, is_integer, &c.plain));
        /* Draft 4 tells integers by their spelling: 1.0 is none. */
        TF_TRY(outcome_of(b, of, &c, is_integer && !draft_4, &c.pointed));
        if (!within_digits(b, &c) || c.n_fraction > 0)
            c.plain = nothing;
        if (!within_digits(b, &c))
            c.pointed = nothing;
        /* Where something compares, every end is evaluated: a constant is one of them. */
        const uint64_t *plain = c.n_fraction > 0 ? nothing : of->integer;
        const uint64_t *pointed = is_integer && !draft_4 ? of->integer : of->fraction;
        if (!compares(of) && memcmp(c.plain, plain, n_bytes) == 0 && memcmp(c.pointed, pointed, n_bytes) == 0)
            continue; /* like all other numbers */
        of->constants[of->n_constants++] = c;
    }
    return TOKFSM_OK;
}

/* Obligation by obligation: an admitted number that the schema writes with a point, as 2.0, does
   not want an integer. */
typedef struct pointing {
    const tf_oset *oset;
    bool pointed;
} pointing;

static tokfsm_status point_node(tf_build *b, void *context, uint32_t node)
{
    pointing *p = context;
    const tf_tape_node *n = &b->tape.nodes[node];
    if (p->pointed || n->type != TF_JSON_NUMBER || memchr(n->text, '.', n->n) == NULL)
        return TOKFSM_OK;
    tf_decimal value;
    TF_TRY(tf_decimal_read(&value, n->text, n->n, &b->arena, b->err));
    constant spelled = {.value = value};
    set_lengths(&spelled);
    if (!within_digits(b, &spelled))
        return TOKFSM_OK;
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = node,
                        .is_integer = tf_decimal_is_integer(&value), .context = &value,
                        .compare = compare_decimal, .divides = decimal_divides};
    return tf_evaluate(b, p->oset, &scalar, &p->pointed);
}

static tokfsm_status point_schema(tf_build *b, void *context, const tf_schema *s)
{
    for (uint32_t i = 0; i < s->n_values; i++)
        TF_TRY(point_node(b, context, s->values[i]));
    return TOKFSM_OK;
}

static tokfsm_status find_pointed(tf_build *b, const tf_value *value, uint64_t *integers_only)
{
    for (uint32_t i = 0; i < value->n; i++) {
        tf_value one = {.n = 1, .build = &value->build[i]};
        pointing p = {tf_value_oset(b, value, i), false};
        if (tf_word_bit(integers_only, i))
            TF_TRY(tf_visit_in_place(b, &one, point_schema, point_node, &p));
        if (p.pointed)
            integers_only[i >> 6] &= ~((uint64_t)1 << (i & 63u));
    }
    return TOKFSM_OK;
}

static tokfsm_status make_numbers(tf_build *b, const tf_value *value, gathering *g, numbers **made)
{
    TF_TRY(tf_visit_in_place(b, value, gather_schema, gather_node, g));
    tokfsm_status status = TOKFSM_OK;
    numbers *of = tf_take(b, sizeof *of, &status);
    uint64_t *integers_only = tf_take(b, value->n_words * sizeof(uint64_t), &status);
    uint64_t *any_number = tf_take(b, value->n_words * sizeof(uint64_t), &status);
    if (status != TOKFSM_OK)
        return status;
    of->value = value;
    TF_TRY(tf_number_facts_of(b, value, &of->facts));
    if (compares(of)) {
        /* The rules come from the whole automaton: see explore. */
        of->rules = (tf_number_rules){value->n, value->n_words, integers_only, any_number};
        *made = of;
        return make_constants(b, g, of);
    }
    TF_TRY(outcome_of(b, of, NULL, true, &of->integer));
    TF_TRY(outcome_of(b, of, NULL, false, &of->fraction));
    TF_TRY(make_constants(b, g, of));
    for (uint32_t w = 0; w < value->n_words; w++) {
        integers_only[w] = ~of->fraction[w];
        any_number[w] = of->fraction[w] & of->integer[w];
    }
    for (uint32_t k = 0; k < of->n_constants; k++) {
        const constant *c = &of->constants[k];
        for (uint32_t w = 0; w < value->n_words; w++) {
            if (c->n_fraction > 0)
                integers_only[w] &= ~c->pointed[w];
            if (within_digits(b, c)) /* what has no spelling cannot be missed */
                any_number[w] &= c->pointed[w];
        }
    }
    if (g->constants.n > 0)
        TF_TRY(find_pointed(b, value, integers_only));
    of->rules = (tf_number_rules){value->n, value->n_words, integers_only, any_number};
    *made = of;
    return TOKFSM_OK;
}

/* ---- states ---- */

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

/* Where something compares: the outcome of ending here; what is live comes from explore. */
static tokfsm_status fill_compared(tf_build *b, const state_build *s, uint64_t *end)
{
    if (s->phase != ZERO && s->phase != INTEGER && s->phase != FRACTION)
        return TOKFSM_OK;
    const constant *reached = constant_here(s);
    bool pointed = s->phase == FRACTION;
    if (reached != NULL) {
        memcpy(end, pointed ? reached->pointed : reached->plain, s->of->rules.n_words * sizeof *end);
        return TOKFSM_OK;
    }
    ending e = {s->of, s};
    bool is_integer = !s->inexact && !(pointed && b->ir.draft == TOKFSM_DRAFT_4);
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = TF_TAPE_NONE, .is_integer = is_integer,
                        .compare = compare_ending, .divides = ending_divides, .context = &e};
    return evaluate_all(b, s->of->value, &scalar, end);
}

/* What can still be, and what is if the number ends here. */
static tokfsm_status fill_outcomes(tf_build *b, const state_build *s, uint64_t *live, uint64_t *end)
{
    const numbers *of = s->of;
    uint32_t n_words = of->rules.n_words;
    bool draft_4 = b->ir.draft == TOKFSM_DRAFT_4;
    if (compares(of) && s->phase < EXP)
        return fill_compared(b, s, end);
    if (s->phase >= EXP) {
        memcpy(live, of->rules.any_number, n_words * sizeof *live);
        if (s->phase == EXP_DIGITS)
            memcpy(end, of->rules.any_number, n_words * sizeof *end);
        return TOKFSM_OK;
    }
    bool pointed = s->phase == POINT || s->phase == FRACTION;
    bool integer_left = !s->inexact && !(pointed && draft_4);
    for (uint32_t w = 0; w < n_words; w++)
        live[w] = of->fraction[w] | (integer_left ? of->integer[w] : 0);
    for (uint32_t i = 0; i < s->n; i++) {
        const constant *c = &of->constants[s->agreeing[i]];
        for (uint32_t w = 0; w < n_words; w++)
            live[w] |= c->pointed[w] | (pointed ? 0 : c->plain[w]);
    }
    const constant *reached = constant_here(s);
    if (s->phase == ZERO || s->phase == INTEGER)
        memcpy(end, reached ? reached->plain : of->integer, n_words * sizeof *end);
    else if (s->phase == FRACTION)
        memcpy(end, reached ? reached->pointed : integer_left ? of->integer : of->fraction,
               n_words * sizeof *end);
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
           (!compares(a->of) || memcmp(a->facts, b->facts, tf_number_facts_words(&a->of->facts) *
                                                              sizeof *a->facts) == 0) &&
           (a->n == 0 || memcmp(a->agreeing, b->agreeing, a->n * sizeof *a->agreeing) == 0);
}

static tokfsm_status intern(tf_build *b, const state_build *wanted, const tf_nstate **state)
{
    uint32_t hash = hash_of(wanted);
    uint32_t *head = &b->nstate_heads[hash % 1024];
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
    size_t n_bytes = wanted->of->rules.n_words * sizeof(uint64_t);
    uint64_t *live = tf_take(b, n_bytes, &status), *end = tf_take(b, n_bytes, &status);
    if (status != TOKFSM_OK)
        return status;
    if (!tf_grow(&b->arena.allocator, (void **)&b->nstates.items, b->nstates.n,
                 &b->nstates.capacity, sizeof *b->nstates.items))
        return no_memory(b);
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
    TF_TRY(fill_outcomes(b, kept, live, end));
    made->live = live;
    made->end = end;
    made->id = (uint32_t)b->nstates.n;
    if (!compares(wanted->of) && !tf_words_any(live, wanted->of->rules.n_words)) {
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
        return i < c->n_integer && constant_digit(c, false, i) == class &&
               (phase != ZERO || c->n_integer == 1);
    }
    case POINT: return from->digits == c->n_integer;
    case FRACTION:
        return constant_digit(c, true, from->phase == FRACTION ? from->digits : 0) == class;
    default: return false;
    }
}

static void follow_facts(state_build *to, const state_build *from, uint64_t *facts, uint32_t class)
{
    const tf_number_facts *all = &to->of->facts;
    to->negative = from->negative || (all->n_bounds > 0 && to->phase == MINUS);
    to->nonzero = from->nonzero || (all->n_bounds > 0 && class > 0 && class < 10);
    if (to->phase == ZERO || to->phase == INTEGER)
        tf_number_facts_digit(all, facts, false, from->phase == INTEGER ? from->digits : 0, class);
    else if (to->phase == POINT)
        tf_number_facts_point(all, facts, from->digits);
    else if (to->phase == FRACTION)
        tf_number_facts_digit(all, facts, true, from->phase == FRACTION ? from->digits : 0, class);
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
                      : to->phase < EXP     ? to->of->facts.n_integer
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
    tokfsm_status status = agreeing == NULL || facts == NULL ? no_memory(b) : TOKFSM_OK;
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

static bool divides_anything(const void *context, const tf_decimal *divisor)
{
    (void)context, (void)divisor;
    return true;
}

/* Who takes a fraction, divisors left aside: a multiple of 1 that is a number may be 2.0. */
static tokfsm_status mark_fractional(tf_build *b, const state_build *s, uint64_t *integers_only)
{
    uint64_t holds[TF_MAX_WORDS] = {0};
    ending e = {s->of, s};
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = TF_TAPE_NONE, .compare = compare_ending,
                        .divides = divides_anything, .context = &e};
    TF_TRY(evaluate_all(b, s->of->value, &scalar, holds));
    for (uint32_t w = 0; w < s->of->rules.n_words; w++)
        integers_only[w] &= ~holds[w];
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
        }
        if (build->phase == FRACTION && build->inexact)
            TF_TRY(mark_fractional(b, build, integers_only));
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
    if (of->n_constants > 0)
        TF_TRY(find_pointed(b, of->value, (uint64_t *)(uintptr_t)of->rules.integers_only));
    for (size_t i = first; i < b->nstates.n; i++) {
        tf_nstate *state = b->nstates.items[i];
        if (!tf_words_any(of->rules.any_number, of->rules.n_words))
            atomic_store_explicit(&state->next[TF_N_EXP], &tf_number_dead, memory_order_relaxed);
    }
    return tf_spend(b->budget, b->err);
}

tokfsm_status tf_build_number(tf_build *b, const tf_value *value, const tf_nstate **start)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    *start = atomic_load_explicit(&v->number, memory_order_relaxed);
    if (*start != NULL)
        return TOKFSM_OK;
    gathering g = {0};
    numbers *of = NULL;
    tokfsm_status status = make_numbers(b, value, &g, &of);
    tf_release(&b->arena.allocator, g.constants.items);
    if (status != TOKFSM_OK)
        return status;
    of->id = value->id;
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
    first.facts = tf_take(b, tf_number_facts_words(&of->facts) * sizeof *first.facts, &status);
    if (status != TOKFSM_OK)
        return status;
    size_t n_before = b->nstates.n;
    TF_TRY(intern(b, &first, start));
    if (compares(of)) {
        TF_TRY(settle(b, of, n_before));
        if (!tf_words_any((*start)->live, of->rules.n_words))
            *start = &tf_number_dead;
    }
    atomic_store_explicit(&v->number, *start, memory_order_release);
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
        return no_memory(b);
    if (!tf_grow(&b->arena.allocator, (void **)&queue.items, 0, &queue.capacity,
                 sizeof *queue.items)) {
        tf_release(&b->arena.allocator, seen);
        return no_memory(b);
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
                    status = no_memory(b);
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
                status = no_memory(b);
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
