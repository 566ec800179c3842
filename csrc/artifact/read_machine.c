/*
 * The machine section -> a frozen machine. Verifies as it reads: every reference is in range,
 * every set has only bits that exist, every order that a search relies on holds. What the
 * checks leave open (other outcomes, other costs) can only make masks wrong.
 */
#include "../engine/cache.h"
#include "../engine/counters.h"
#include "../engine/spelling.h"
#include "take.h"

static void take_cost(reader *r, tf_cost *cost)
{
    cost->base = tf_take(r);
    cost->per_depth = tf_take(r);
}

/* ---- strings ---- */

static bool valid_utf8(const uint8_t *text, uint32_t n)
{
    uint8_t state = TF_STR_NORMAL;
    for (uint32_t i = 0; i < n; i++) {
        /* The string table judges characters; what a string must escape is legal in a text. */
        bool escaped = state == TF_STR_NORMAL && (text[i] < 0x20 || text[i] == '"' || text[i] == '\\');
        if (!escaped)
            state = tf_string_table()[state][text[i]];
        if (state == TF_STR_DEAD)
            return false;
    }
    return state == TF_STR_NORMAL;
}

static void take_literal(reader *r, tf_literal *l, uint32_t n, uint32_t n_words)
{
    /* The texts stand in the order in which they are named, so each is read once. */
    l->n_text = tf_take(r);
    if (l->n_text > r->n_text) {
        tf_corrupt(r, "the texts end early");
        return;
    }
    l->text = r->text;
    r->text += l->n_text;
    r->n_text -= l->n_text;
    if (!valid_utf8(l->text, l->n_text)) {
        tf_corrupt(r, "a text is not UTF-8");
        return;
    }
    l->end = n_words == 0 ? NULL : tf_take_set(r, n, n_words);
    size_t n_spelled = tf_spelled_length(l->text, l->n_text);
    l->spelled = l->text;
    l->n_spelled = (uint32_t)n_spelled;
    if (n_spelled == l->n_text)
        return;
    uint8_t *spelled = tf_room(r, n_spelled, 1);
    if (spelled == NULL)
        return;
    tf_spelled_write(l->text, l->n_text, spelled);
    l->spelled = spelled;
}

static bool ascending(const tf_literal *a, const tf_literal *b)
{
    uint32_t n = a->n_spelled < b->n_spelled ? a->n_spelled : b->n_spelled;
    int order = n == 0 ? 0 : memcmp(a->spelled, b->spelled, n);
    return order < 0 || (order == 0 && a->n_spelled < b->n_spelled);
}

static const uint32_t *take_languages(reader *r, const tf_content *content, uint32_t n)
{
    uint32_t *language = tf_room(r, n, sizeof *language);
    for (uint32_t j = 0; language != NULL && j < n; j++) {
        language[j] = tf_take(r);
        if (language[j] != TF_NONE && (content == NULL || language[j] >= content->n_languages))
            tf_corrupt(r, "a language is out of range");
    }
    return language;
}

/* n_words 0: names, whose costs go on through the colon. */
static void take_strings(reader *r, tf_strings *s, uint32_t n, uint32_t n_words)
{
    s->n_literals = tf_take_count(r, 1);
    s->n_breaks = tf_take_count(r, 0);
    s->hard_names = tf_take(r) != 0;
    uint32_t content = tf_take_reference(r, r->n_contents);
    s->content = content == 0 ? NULL : &r->contents[content - 1];
    r->n_string_states += (uint64_t)s->n_literals + s->n_breaks;
    tf_literal *literals = tf_room(r, s->n_literals, sizeof *literals);
    s->literal_costs = tf_room(r, s->n_literals, sizeof *s->literal_costs);
    for (uint32_t i = 0; i < s->n_literals && r->status == TOKFSM_OK; i++) {
        take_literal(r, &literals[i], n, n_words);
        if (r->status == TOKFSM_OK && i > 0 && !ascending(&literals[i - 1], &literals[i]))
            tf_corrupt(r, "literals are out of order");
    }
    s->literals = literals;
    for (uint32_t i = 0; i < s->n_literals && r->status == TOKFSM_OK; i++) {
        size_t n_costs = (size_t)literals[i].n_spelled + (n_words == 0 ? 3 : 2);
        if (n_costs > (size_t)(r->end - r->at) / 4) {
            tf_corrupt(r, "the machine section ends early");
            return;
        }
        uint32_t *costs = tf_room(r, n_costs, sizeof *costs);
        for (size_t k = 0; costs != NULL && k < n_costs; k++)
            costs[k] = tf_take(r);
        atomic_init(&s->literal_costs[i], costs);
    }
    if ((uint64_t)s->n_breaks * 2 > (uint64_t)(r->end - r->at) / 4) {
        tf_corrupt(r, "a count is larger than the section");
        return;
    }
    tf_break *breaks = tf_room(r, s->n_breaks, sizeof *breaks);
    for (uint32_t i = 0; i < s->n_breaks && r->status == TOKFSM_OK; i++) {
        breaks[i].from = tf_take64(r);
        breaks[i].outcome = tf_take_set(r, n, n_words);
        if (tf_take(r) != 0)
            breaks[i].language = take_languages(r, s->content, n);
        if (i == 0 ? breaks[i].from != 0 : breaks[i].from <= breaks[i - 1].from)
            tf_corrupt(r, "lengths are out of order");
    }
    s->breaks = breaks;
}

/* ---- values ---- */

static void take_value(reader *r, tf_value *value, uint32_t id)
{
    value->n = tf_take(r);
    if (value->n == 0 || value->n > TF_MAX_ALTERNATIVES) {
        tf_corrupt(r, "a position has too few or too many obligations");
        return;
    }
    value->n_words = tf_words_for(value->n);
    value->id = id;
    for (uint32_t i = 0; i < TF_N_LITERALS; i++)
        value->literal[i] = tf_take_set(r, value->n, value->n_words);
    tf_cost *cost = tf_room(r, value->n, sizeof *cost);
    for (uint32_t i = 0; cost != NULL && i < value->n; i++)
        take_cost(r, &cost[i]);
    atomic_init(&value->cost, cost);
    uint32_t number = tf_take_reference(r, r->n_nstates);
    atomic_init(&value->number, number == 0 ? &tf_number_dead : &r->nstates[number - 1]);
    uint32_t object = tf_take_reference(r, r->n_kinds), array = tf_take_reference(r, r->n_kinds);
    atomic_init(&value->object, object == 0 ? &tf_no_kind : &r->kinds[object - 1]);
    atomic_init(&value->array, array == 0 ? &tf_no_kind : &r->kinds[array - 1]);
    tf_strings *s = tf_room(r, 1, sizeof *s);
    if (s == NULL)
        return;
    take_strings(r, s, value->n, value->n_words);
    atomic_init(&value->strings, s->n_literals == 0 && s->n_breaks == 0 ? &tf_no_strings : s);
}

/* What can be checked only when all parts are read. */
static void check_value(reader *r, tf_value *value)
{
    const tf_nstate *number = atomic_load(&value->number);
    if (number != &tf_number_dead && number->rules->n != value->n)
        tf_corrupt(r, "a number belongs to another position");
    const tf_kind *object = atomic_load(&value->object), *array = atomic_load(&value->array);
    if ((object != &tf_no_kind && (object->value != value || !object->is_object)) ||
        (array != &tf_no_kind && (array->value != value || array->is_object)))
        tf_corrupt(r, "a container belongs to another position");
}

/* ---- numbers ---- */

static void take_nstate(reader *r, tf_nstate *state, uint32_t id, const tf_number_rules **rules)
{
    state->id = id;
    if (tf_take(r) != 0) {
        tf_number_rules *fresh = tf_room(r, 1, sizeof *fresh);
        if (fresh == NULL)
            return;
        fresh->n = tf_take(r);
        if (fresh->n == 0 || fresh->n > TF_MAX_ALTERNATIVES) {
            tf_corrupt(r, "a number has too few or too many obligations");
            return;
        }
        fresh->n_words = tf_words_for(fresh->n);
        /* Only met with sets that are checked: bits past n do no harm. */
        fresh->integers_only = tf_take_set(r, fresh->n_words * 64, fresh->n_words);
        fresh->any_number = tf_take_set(r, fresh->n_words * 64, fresh->n_words);
        *rules = fresh;
    }
    if (*rules == NULL) {
        tf_corrupt(r, "the first number has no rules");
        return;
    }
    state->rules = *rules;
    state->live = tf_take_set(r, state->rules->n, state->rules->n_words);
    state->end = tf_take_set(r, state->rules->n, state->rules->n_words);
    uint32_t *cost = tf_room(r, state->rules->n, sizeof *cost);
    for (uint32_t i = 0; cost != NULL && i < state->rules->n; i++)
        cost[i] = tf_take(r);
    atomic_init(&state->cost, cost);
    for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
        uint32_t next = tf_take_reference(r, r->n_nstates);
        atomic_init(&state->next[class], next == 0 ? &tf_number_dead : &r->nstates[next - 1]);
    }
}

static void check_nstate(reader *r, tf_nstate *state)
{
    for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
        const tf_nstate *next = atomic_load(&state->next[class]);
        if (next != &tf_number_dead && next->rules != state->rules)
            tf_corrupt(r, "a number goes on in another position");
    }
}

/* ---- objects and arrays ---- */

static void note_sign(const tf_counting *c, uint32_t edge, uint32_t a, uint32_t sign)
{
    uint64_t *possible = (uint64_t *)(uintptr_t)c->possible;
    possible[(size_t)edge * c->n_rows + c->row[a]] |= (uint64_t)1 << sign;
}

/* Counters of an alternative: few, and so narrow that a search over their counts has room. */
static uint32_t take_counters(reader *r, const tf_kind *kind, tf_counter counters[TF_MAX_COUNTERS])
{
    uint32_t k = tf_take(r);
    if (k > TF_MAX_COUNTERS) {
        tf_corrupt(r, "an alternative has too many counters");
        return 0;
    }
    bool one = true;
    for (uint32_t i = 0; i < k; i++) {
        counters[i].min = tf_take64(r);
        counters[i].max = tf_take64(r);
        one &= counters[i].min == 1 && counters[i].max == TF_UNCOUNTED;
    }
    if (kind->is_object ? !one : !tf_counters_fit(counters, k, 0)) {
        tf_corrupt(r, "a counter is too wide");
        return 0;
    }
    return k;
}

static void take_counting(reader *r, tf_kind *kind)
{
    if (tf_take(r) == 0)
        return;
    uint32_t n = kind->n_alternatives;
    if (n > (size_t)(r->end - r->at) / 4) {
        tf_corrupt(r, "the machine section ends early");
        return;
    }
    tf_counting *c = tf_room(r, 1, sizeof *c);
    uint32_t *first_counter = tf_room(r, (size_t)n + 1, sizeof *first_counter);
    uint32_t *first_sign = tf_room(r, (size_t)n + 1, sizeof *first_sign);
    uint32_t *row = tf_room(r, n, sizeof *row);
    tf_counter *counters = tf_room(r, (size_t)n * TF_MAX_COUNTERS, sizeof *counters);
    if (counters == NULL)
        return;
    for (uint32_t a = 0; a < n && r->status == TOKFSM_OK; a++) {
        uint32_t k = take_counters(r, kind, counters + first_counter[a]);
        uint64_t span = 1;
        for (uint32_t i = 0; i < k; i++)
            span += tf_counter_cap(&counters[first_counter[a] + i]);
        c->span = span > c->span ? (uint32_t)span : c->span;
        first_counter[a + 1] = first_counter[a] + k;
        first_sign[a + 1] = first_sign[a] + (1u << k);
        row[a] = k == 0 ? TF_NONE : c->n_rows++;
    }
    c->first_counter = first_counter;
    c->first_sign = first_sign;
    c->row = row;
    c->counters = counters;
    c->n_counters = first_counter[n];
    c->n_signs = first_sign[n];
    if (c->n_rows == 0 || c->n_signs > TF_MAX_ALTERNATIVES)
        tf_corrupt(r, "there are too few or too many counters");
    kind->counting = c;
}

static void take_edge(reader *r, tf_kind *kind, uint32_t index)
{
    uint32_t value = tf_take_reference(r, r->n_values);
    if (value == 0 && r->nothing_admitted != NULL && r->nothing_of == kind) {
        atomic_init(&kind->edges[index], r->nothing_admitted);
        return;
    }
    tf_edge *edge = tf_room(r, 1, sizeof *edge);
    uint32_t n = kind->counting == NULL ? kind->n_alternatives : kind->counting->n_signs;
    uint32_t *obligation = tf_room(r, n, sizeof *obligation);
    uint64_t *admits = tf_room(r, kind->alternative_words, sizeof *admits);
    if (admits == NULL)
        return;
    if (value == 0) {
        r->nothing_admitted = edge;
        r->nothing_of = kind;
    }
    memset(obligation, 0xFF, n * sizeof *obligation);
    edge->obligation = obligation;
    edge->index = index;
    if (value != 0) {
        edge->value = &r->values[value - 1];
        for (uint32_t a = 0, i = 0; a < kind->n_alternatives; a++)
            for (uint32_t s = 0; s < 1u << tf_n_counters(kind, a); s++, i++) {
                obligation[i] = tf_take(r);
                if (obligation[i] == TF_NONE)
                    continue;
                if (obligation[i] >= edge->value->n)
                    tf_corrupt(r, "an obligation is out of range");
                tf_word_set(admits, a);
                if (tf_n_counters(kind, a) > 0)
                    note_sign(kind->counting, index, a, s);
            }
    }
    edge->admits = admits;
    atomic_init(&kind->edges[index], edge);
}

static void take_object(reader *r, tf_kind *kind)
{
    take_strings(r, &kind->names, 0, 0);
    if (kind->names.n_breaks != 0)
        tf_corrupt(r, "names have lengths");
    kind->n_names = kind->names.n_literals;
    kind->n_others = kind->names.content == NULL ? 1 : kind->names.content->n_languages;
    if (kind->n_others > TF_MAX_NAME_CLASSES)
        tf_corrupt(r, "names of too many kinds");
    kind->name_words = (kind->n_names + 31) / 32;
    size_t n = (size_t)kind->n_alternatives * kind->name_words;
    if (n > (size_t)(r->end - r->at) / 4) {
        tf_corrupt(r, "the machine section ends early");
        return;
    }
    uint32_t *required = tf_room(r, n, sizeof *required);
    for (size_t i = 0; required != NULL && i < n; i++)
        required[i] = tf_take(r);
    for (uint32_t a = 0; required != NULL && kind->n_names % 32 != 0 && a < kind->n_alternatives; a++)
        if (required[(size_t)(a + 1) * kind->name_words - 1] >> (kind->n_names % 32) != 0)
            tf_corrupt(r, "a set has members that do not exist");
    kind->required = required;
    if (n > (size_t)(r->end - r->at) / 4) {
        tf_corrupt(r, "the machine section ends early");
        return;
    }
    uint32_t *spoken = tf_room(r, n, sizeof *spoken);
    for (size_t i = 0; spoken != NULL && i < n; i++)
        spoken[i] = tf_take(r);
    kind->spoken = spoken;
    for (uint32_t a = 0; r->status == TOKFSM_OK && a < kind->n_alternatives; a++)
        kind->counts |= kind->min_items[a] > 0 || kind->max_items[a] != UINT64_MAX;
    if (tf_take(r) != 0) {
        n = (size_t)kind->n_alternatives * kind->n_names;
        if (n > (size_t)(r->end - r->at) / 4) {
            tf_corrupt(r, "the machine section ends early");
            return;
        }
        uint32_t *rank = tf_room(r, n, sizeof *rank);
        for (size_t i = 0; rank != NULL && i < n; i++)
            rank[i] = tf_take(r);
        kind->rank = rank;
    }
}

static void take_unique(reader *r, tf_kind *kind)
{
    uint32_t parts = tf_take(r);
    if (parts > 7)
        tf_corrupt(r, "a mark is out of range");
    if (parts & 1u)
        kind->unique = tf_take_set(r, kind->n_alternatives, kind->alternative_words);
    if (parts & 2u)
        kind->matched = tf_take_set(r, kind->n_alternatives, kind->alternative_words);
    if (!(parts & 4u) || r->status != TOKFSM_OK)
        return;
    tf_twins *twins = tf_room(r, kind->n_alternatives, sizeof *twins);
    for (uint32_t a = 0; twins != NULL && a < kind->n_alternatives; a++)
        {
        twins[a].first = tf_take(r);
        twins[a].second = tf_take(r);
        twins[a].tail = tf_take(r);
    }
    kind->twins = twins;
}

static void take_array(reader *r, tf_kind *kind)
{
    kind->n_classes = tf_take_count(r, 2);
    uint64_t *first = tf_room(r, kind->n_classes, sizeof *first);
    tf_items_cost *items = tf_room(r, kind->n_alternatives, sizeof *items);
    if (items == NULL)
        return;
    if (kind->n_classes == 0)
        tf_corrupt(r, "an array has no items class");
    for (uint32_t i = 0; i < kind->n_classes; i++) {
        first[i] = tf_take64(r);
        if (i == 0 ? first[i] != 0 : first[i] <= first[i - 1])
            tf_corrupt(r, "item classes are out of order");
    }
    take_unique(r, kind);
    for (uint32_t a = 0; a < kind->n_alternatives && r->status == TOKFSM_OK; a++) {
        items[a].n_prefix = tf_take_count(r, 2);
        tf_cost *prefix = tf_room(r, items[a].n_prefix, sizeof *prefix);
        for (uint32_t i = 0; prefix != NULL && i < items[a].n_prefix; i++)
            take_cost(r, &prefix[i]);
        take_cost(r, &items[a].item);
        items[a].prefix = prefix;
    }
    kind->first = first;
    atomic_init(&kind->items_cost, items);
}

static void take_kind(reader *r, tf_kind *kind, uint32_t id)
{
    uint32_t value = tf_take_reference(r, r->n_values);
    kind->is_object = tf_take(r) != 0;
    kind->n_alternatives = tf_take_count(r, 2);
    if (value == 0 || kind->n_alternatives == 0 || kind->n_alternatives > TF_MAX_ALTERNATIVES) {
        tf_corrupt(r, "a container has no position, or too few or too many alternatives");
        return;
    }
    kind->value = &r->values[value - 1];
    kind->id = id;
    kind->alternative_words = tf_words_for(kind->n_alternatives);
    const uint64_t **outcome = tf_room(r, kind->n_alternatives, sizeof *outcome);
    for (uint32_t a = 0; a < kind->n_alternatives && r->status == TOKFSM_OK; a++)
        outcome[a] = tf_take_set(r, kind->value->n, kind->value->n_words);
    kind->outcome = outcome;
    uint64_t *min = tf_room(r, kind->n_alternatives, sizeof *min);
    uint64_t *max = tf_room(r, kind->n_alternatives, sizeof *max);
    for (uint32_t a = 0; a < kind->n_alternatives && r->status == TOKFSM_OK; a++) {
        min[a] = tf_take64(r);
        max[a] = tf_take64(r);
    }
    kind->min_items = min;
    kind->max_items = max;
    take_counting(r, kind);
    if (r->status != TOKFSM_OK)
        return;
    if (kind->is_object)
        take_object(r, kind);
    else
        take_array(r, kind);
    uint32_t n_edges = tf_kind_n_edges(kind);
    if (n_edges > (size_t)(r->end - r->at) / 4) { /* an edge takes a word at the least */
        tf_corrupt(r, "the machine section ends early");
        return;
    }
    kind->edges = tf_room(r, n_edges, sizeof *kind->edges);
    if (kind->counting != NULL)
        ((tf_counting *)(uintptr_t)kind->counting)->possible =
            tf_room(r, (size_t)n_edges * kind->counting->n_rows, sizeof *kind->counting->possible);
    for (uint32_t i = 0; i < n_edges && r->status == TOKFSM_OK; i++)
        take_edge(r, kind, i);
    if (kind->counting != NULL && r->status == TOKFSM_OK)
        tf_counters_note_endless(kind, (tf_counting *)(uintptr_t)kind->counting);
}

/* ---- all of it ---- */

static void take_machine(reader *r, tf_machine *m)
{
    for (int i = 0; i < 4; i++)
        m->byte_set[i] = tf_take64(r);
    m->bytes_complete = tf_take(r) != 0;
    m->unique = tf_take(r);
    if (m->unique > TF_UNIQUE_PLANNED)
        tf_corrupt(r, "a mark is out of range");
    m->char_tokens = tf_take(r);
    m->char_unit = tf_take(r);
    if (m->char_tokens == 0 || m->char_unit == 0)
        tf_corrupt(r, "a character costs nothing");
    for (uint32_t s = 0; s <= TF_N_STR; s++)
        m->string_rest_cost[s] = tf_take(r);
    r->n_values = tf_take_count(r, 8);
    r->n_kinds = tf_take_count(r, 4);
    r->n_nstates = tf_take_count(r, TF_N_CLASSES);
    r->n_contents = tf_take_count(r, 64);
    r->values = tf_room(r, r->n_values, sizeof *r->values);
    r->kinds = tf_room(r, r->n_kinds, sizeof *r->kinds);
    r->nstates = tf_room(r, r->n_nstates, sizeof *r->nstates);
    r->contents = tf_room(r, r->n_contents, sizeof *r->contents);
    for (uint32_t i = 0; i < r->n_contents && r->status == TOKFSM_OK; i++)
        r->n_string_states += tf_read_content(r, &r->contents[i], i);
    for (uint32_t i = 0; i < r->n_values && r->status == TOKFSM_OK; i++)
        take_value(r, &r->values[i], i);
    const tf_number_rules *rules = NULL;
    for (uint32_t i = 0; i < r->n_nstates && r->status == TOKFSM_OK; i++)
        take_nstate(r, &r->nstates[i], i, &rules);
    for (uint32_t i = 0; i < r->n_kinds && r->status == TOKFSM_OK; i++)
        take_kind(r, &r->kinds[i], i);
    for (uint32_t i = 0; i < r->n_values && r->status == TOKFSM_OK; i++)
        check_value(r, &r->values[i]);
    for (uint32_t i = 0; i < r->n_nstates && r->status == TOKFSM_OK; i++)
        check_nstate(r, &r->nstates[i]);
    if (r->status == TOKFSM_OK && (r->n_values == 0 || r->values[0].n != 1))
        tf_corrupt(r, "the root position is not one");
    if (r->status == TOKFSM_OK && r->n_text != 0)
        tf_corrupt(r, "the text section has bytes to spare");
    if (r->status == TOKFSM_OK && r->at != r->end)
        tf_corrupt(r, "the machine section has bytes to spare");
}

tokfsm_status tf_machine_read(tf_machine *m, const uint8_t *words, size_t n_bytes,
                              const uint8_t *text, size_t n_text, tf_arena *arena,
                              tokfsm_statistics *statistics, tokfsm_error *err)
{
    reader r = {.at = words, .end = words + n_bytes, .text = text, .n_text = n_text,
                .arena = arena, .err = err, .status = TOKFSM_OK};
    take_machine(&r, m);
    if (r.status != TOKFSM_OK)
        return r.status;
    m->root = &r.values[0];
    for (uint32_t i = 0; i < r.n_kinds; i++)
        tf_cache_kind(m, &r.kinds[i]);
    statistics->values = r.n_values;
    statistics->frames = r.n_kinds;
    statistics->number_states = r.n_nstates;
    statistics->string_states = r.n_string_states;
    statistics->contents = r.n_contents;
    return TOKFSM_OK;
}
