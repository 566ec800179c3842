/*
 * A closed machine -> the bytes of an artifact. Parts are renumbered breadth-first from the
 * root position, so the bytes do not depend on the order in which they came into being.
 */
#include "../base/sha256.h"
#include "../engine/counters.h"
#include "put.h"

/* ---- numbering ---- */

typedef struct parts {
    const tokfsm_allocator *a;
    const tf_value **values;
    const tf_kind **kinds;
    const tf_nstate **nstates;
    const tf_content **contents;
    uint32_t *value_number, *kind_number, *nstate_number; /* by id; 0: none, else number + 1 */
    uint32_t n_values, n_kinds, n_nstates, n_contents, n_rules;
} parts;

static void number_value(parts *p, const tf_value *value)
{
    if (p->value_number[value->id] == 0) {
        p->values[p->n_values] = value;
        p->value_number[value->id] = ++p->n_values;
    }
}

static void number_nstate(parts *p, const tf_nstate *state)
{
    if (state != &tf_number_dead && p->nstate_number[state->id] == 0) {
        p->nstates[p->n_nstates] = state;
        p->nstate_number[state->id] = ++p->n_nstates;
    }
}

/* 0: none, else number + 1. There are few, and one that machines share has no id of its own here. */
static uint32_t content_number(const parts *p, const tf_content *content)
{
    uint32_t i = p->n_contents;
    while (i > 0 && p->contents[i - 1] != content)
        i--;
    return i;
}

static void number_content(parts *p, const tf_content *content)
{
    if (content != NULL && content_number(p, content) == 0)
        p->contents[p->n_contents++] = content;
}

static void number_kind(parts *p, const tf_kind *kind)
{
    if (kind == &tf_no_kind)
        return;
    number_content(p, kind->names.content);
    p->kinds[p->n_kinds] = kind;
    p->kind_number[kind->id] = ++p->n_kinds;
    uint32_t n = tf_kind_n_edges(kind);
    for (uint32_t i = 0; i < n; i++) {
        const tf_edge *edge = READ(kind->edges[i]);
        if (edge->value != NULL)
            number_value(p, edge->value);
    }
}

static void number_all(parts *p, const tf_machine *m)
{
    number_value(p, m->root);
    for (uint32_t i = 0; i < p->n_values; i++) {
        tf_value *value = (tf_value *)(uintptr_t)p->values[i];
        uint32_t first = p->n_nstates;
        number_nstate(p, READ(value->number));
        for (uint32_t s = first; s < p->n_nstates; s++)
            for (uint32_t class = 0; class < TF_N_CLASSES; class++)
                number_nstate(p, READ(((tf_nstate *)(uintptr_t)p->nstates[s])->next[class]));
        number_content(p, READ(value->strings)->content);
        number_kind(p, READ(value->object));
        number_kind(p, READ(value->array));
    }
}

/* ---- records ---- */

static void put_cost(buffer *out, tf_cost cost)
{
    tf_put(out, cost.base);
    tf_put(out, cost.per_depth);
}

/* n: obligations of the position. */
static void put_strings(buffer *out, buffer *text, const parts *p, const tf_strings *s, uint32_t n,
                        uint32_t n_words)
{
    tf_put(out, s->n_literals);
    tf_put(out, s->n_breaks);
    tf_put(out, s->hard_names);
    tf_put(out, s->content == NULL ? 0 : content_number(p, s->content));
    for (uint32_t i = 0; i < s->n_literals; i++) {
        const tf_literal *l = &s->literals[i];
        bool name = n_words == 0;
        tf_put(out, l->n_text);
        tf_put_bytes(text, l->text, l->n_text);
        if (!name)
            tf_put_set(out, l->end, n_words);
    }
    /* Costs after all literals, so that the texts can be spelled first. */
    for (uint32_t i = 0; i < s->n_literals; i++) {
        const uint32_t *cost = READ(s->literal_costs[i]);
        for (uint32_t k = 0; k < s->literals[i].n_spelled + (n_words == 0 ? 3u : 2u); k++)
            tf_put(out, cost[k]);
    }
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        tf_put64(out, s->breaks[i].from);
        tf_put_set(out, s->breaks[i].outcome, n_words);
        tf_put(out, s->breaks[i].language != NULL);
        for (uint32_t j = 0; s->breaks[i].language != NULL && j < n; j++)
            tf_put(out, s->breaks[i].language[j]);
    }
}

static void put_value(buffer *out, buffer *text, const parts *p, tf_value *value)
{
    tf_put(out, value->n);
    for (uint32_t i = 0; i < TF_N_LITERALS; i++)
        tf_put_set(out, value->literal[i], value->n_words);
    const tf_cost *cost = READ(value->cost);
    for (uint32_t i = 0; i < value->n; i++)
        put_cost(out, cost[i]);
    const tf_nstate *start = READ(value->number);
    tf_put(out, start == &tf_number_dead ? 0 : p->nstate_number[start->id]);
    const tf_kind *object = READ(value->object), *array = READ(value->array);
    tf_put(out, object == &tf_no_kind ? 0 : p->kind_number[object->id]);
    tf_put(out, array == &tf_no_kind ? 0 : p->kind_number[array->id]);
    put_strings(out, text, p, READ(value->strings), value->n, value->n_words);
}

static void put_nstate(buffer *out, const parts *p, tf_nstate *state, const tf_number_rules *last)
{
    const tf_number_rules *rules = state->rules;
    tf_put(out, rules != last); /* rules are written at the first state that has them */
    if (rules != last) {
        tf_put(out, rules->n);
        tf_put_set(out, rules->integers_only, rules->n_words);
        tf_put_set(out, rules->any_number, rules->n_words);
    }
    tf_put_set(out, state->live, rules->n_words);
    tf_put_set(out, state->end, rules->n_words);
    const uint32_t *cost = READ(state->cost);
    for (uint32_t i = 0; i < rules->n; i++)
        tf_put(out, cost[i]);
    for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
        const tf_nstate *next = READ(state->next[class]);
        tf_put(out, next == &tf_number_dead ? 0 : p->nstate_number[next->id]);
    }
}

static void put_edge(buffer *out, const parts *p, const tf_kind *kind, const tf_edge *edge)
{
    tf_put(out, edge->value == NULL ? 0 : p->value_number[edge->value->id]);
    uint32_t n = kind->counting == NULL ? kind->n_alternatives : kind->counting->n_signs;
    for (uint32_t i = 0; edge->value != NULL && i < n; i++)
        tf_put(out, edge->obligation[i]);
}

static void put_kind(buffer *out, buffer *text, const parts *p, tf_kind *kind)
{
    tf_put(out, p->value_number[kind->value->id]);
    tf_put(out, kind->is_object);
    tf_put(out, kind->n_alternatives);
    for (uint32_t a = 0; a < kind->n_alternatives; a++)
        tf_put_set(out, kind->outcome[a], kind->value->n_words);
    for (uint32_t a = 0; a < kind->n_alternatives; a++) {
        tf_put64(out, kind->min_items[a]);
        tf_put64(out, kind->max_items[a]);
    }
    tf_put(out, kind->counting != NULL);
    for (uint32_t a = 0; kind->counting != NULL && a < kind->n_alternatives; a++) {
        const tf_counter *counters = kind->counting->counters + kind->counting->first_counter[a];
        tf_put(out, tf_n_counters(kind, a));
        for (uint32_t i = 0; i < tf_n_counters(kind, a); i++) {
            tf_put64(out, counters[i].min);
            tf_put64(out, counters[i].max);
        }
    }
    if (kind->is_object) {
        put_strings(out, text, p, &kind->names, 0, 0);
        for (size_t i = 0; i < (size_t)kind->n_alternatives * kind->name_words; i++)
            tf_put(out, kind->required[i]);
        for (size_t i = 0; i < (size_t)kind->n_alternatives * kind->name_words; i++)
            tf_put(out, kind->spoken[i]);
        tf_put(out, kind->rank != NULL);
        for (size_t i = 0; kind->rank != NULL && i < (size_t)kind->n_alternatives * kind->n_names; i++)
            tf_put(out, kind->rank[i]);
    } else {
        tf_put(out, kind->n_classes);
        for (uint32_t i = 0; i < kind->n_classes; i++)
            tf_put64(out, kind->first[i]);
        tf_put(out, (kind->unique != NULL) | (kind->matched != NULL) << 1 | (kind->twins != NULL) << 2);
        if (kind->unique != NULL)
            tf_put_set(out, kind->unique, kind->alternative_words);
        if (kind->matched != NULL)
            tf_put_set(out, kind->matched, kind->alternative_words);
        for (uint32_t a = 0; kind->twins != NULL && a < kind->n_alternatives; a++) {
            tf_put(out, kind->twins[a].first);
            tf_put(out, kind->twins[a].second);
            tf_put(out, kind->twins[a].tail);
        }
        const tf_items_cost *items = READ(kind->items_cost);
        for (uint32_t a = 0; a < kind->n_alternatives; a++) {
            tf_put(out, items[a].n_prefix);
            for (uint32_t i = 0; i < items[a].n_prefix; i++)
                put_cost(out, items[a].prefix[i]);
            put_cost(out, items[a].item);
        }
    }
    for (uint32_t i = 0; i < tf_kind_n_edges(kind); i++)
        put_edge(out, p, kind, READ(kind->edges[i]));
}

static void put_machine(buffer *out, buffer *text, const parts *p, const tf_machine *m)
{
    tf_put_set(out, m->byte_set, 4);
    tf_put(out, m->bytes_complete);
    tf_put(out, m->unique);
    tf_put(out, m->char_tokens);
    tf_put(out, m->char_unit);
    for (uint32_t s = 0; s <= TF_N_STR; s++)
        tf_put(out, m->string_rest_cost[s]);
    tf_put(out, p->n_values);
    tf_put(out, p->n_kinds);
    tf_put(out, p->n_nstates);
    tf_put(out, p->n_contents);
    for (uint32_t i = 0; i < p->n_contents; i++)
        tf_write_content(out, p->contents[i]);
    for (uint32_t i = 0; i < p->n_values; i++)
        put_value(out, text, p, (tf_value *)(uintptr_t)p->values[i]);
    const tf_number_rules *last = NULL;
    for (uint32_t i = 0; i < p->n_nstates; i++) {
        put_nstate(out, p, (tf_nstate *)(uintptr_t)p->nstates[i], last);
        last = p->nstates[i]->rules;
    }
    for (uint32_t i = 0; i < p->n_kinds; i++)
        put_kind(out, text, p, (tf_kind *)(uintptr_t)p->kinds[i]);
}

/* ---- the file ---- */

typedef struct section {
    uint32_t id;
    const uint8_t *bytes;
    size_t n_bytes;
} section;

static void put_header(buffer *out, const tokfsm_automaton *automaton, uint32_t n_sections,
                       size_t n_file_bytes)
{
    tf_put_bytes(out, TF_FORMAT_MAGIC, 8);
    tf_put(out, TOKFSM_FORMAT_VERSION);
    tf_put(out, TF_FORMAT_ENDIAN);
    tf_put(out, n_sections);
    tf_put(out, automaton->pack->vocab_size);
    tf_put64(out, n_file_bytes);
    tf_put_bytes(out, automaton->pack->fingerprint, 32);
    static const uint8_t zeros[TF_HEADER_BYTES];
    tf_put_bytes(out, zeros, 32);
    uint32_t options[sizeof(tokfsm_options) / 4];
    memcpy(options, &automaton->machine->options, sizeof options);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        tf_put(out, options[i]);
    tf_put_bytes(out, zeros, TF_HEADER_BYTES - TF_H_END);
}

static size_t aligned(size_t n) { return (n + TF_SECTION_ALIGN - 1) & ~(size_t)(TF_SECTION_ALIGN - 1); }

static void put_file(buffer *out, const tokfsm_automaton *automaton, const section *sections,
                     uint32_t n_sections)
{
    size_t at = aligned(TF_HEADER_BYTES + (size_t)n_sections * TF_SECTION_BYTES);
    size_t end = at;
    for (uint32_t i = 0; i < n_sections; i++)
        end = aligned(end + sections[i].n_bytes);
    put_header(out, automaton, n_sections, end);
    for (uint32_t i = 0; i < n_sections; i++) {
        tf_put(out, sections[i].id);
        tf_put(out, 0);
        tf_put64(out, at);
        tf_put64(out, sections[i].n_bytes);
        at = aligned(at + sections[i].n_bytes);
    }
    static const uint8_t zeros[TF_SECTION_ALIGN];
    tf_put_bytes(out, zeros, aligned(out->n) - out->n);
    for (uint32_t i = 0; i < n_sections; i++) {
        tf_put_bytes(out, sections[i].bytes, sections[i].n_bytes);
        tf_put_bytes(out, zeros, aligned(out->n) - out->n);
    }
    if (out->failed)
        return;
    tf_sha256 hash;
    tf_sha256_init(&hash);
    tf_sha256_update(&hash, out->bytes, out->n);
    tf_sha256_final(&hash, out->bytes + TF_H_CHECKSUM);
}

tokfsm_status tf_artifact_write(const tokfsm_automaton *automaton, bool embed_pack,
                                uint8_t **bytes, size_t *n_bytes, const tokfsm_cancel *cancel,
                                tokfsm_error *err)
{
    const tokfsm_allocator *a = &automaton->allocator;
    tokfsm_statistics s = automaton->statistics(automaton);
    parts p = {.a = a};
    tf_arena arena;
    tf_arena_init(&arena, a);
    p.values = tf_arena_take(&arena, s.values * sizeof *p.values);
    p.kinds = tf_arena_take(&arena, s.frames * sizeof *p.kinds);
    p.nstates = tf_arena_take(&arena, s.number_states * sizeof *p.nstates);
    p.contents = tf_arena_take(&arena, s.contents * sizeof *p.contents);
    p.value_number = tf_arena_zero(&arena, s.values * sizeof *p.value_number);
    p.kind_number = tf_arena_zero(&arena, s.frames * sizeof *p.kind_number);
    p.nstate_number = tf_arena_zero(&arena, s.number_states * sizeof *p.nstate_number);
    bool ok = p.contents != NULL && p.values != NULL && p.kinds != NULL && p.nstates != NULL && p.value_number != NULL &&
              p.kind_number != NULL && p.nstate_number != NULL;
    buffer stops = {.a = a}, machine = {.a = a}, text = {.a = a}, out = {.a = a};
    buffer masks = {.a = a};
    tokfsm_status status = TOKFSM_OK;
    if (ok) {
        number_all(&p, automaton->machine);
        put_machine(&machine, &text, &p, automaton->machine);
        ok = !machine.failed && !text.failed;
    }
    if (ok)
        status = tf_write_masks(&masks, automaton, &machine, &text, cancel, err);
    if (ok && status == TOKFSM_OK) {
        for (size_t i = 0; i < automaton->n_stop_ids; i++)
            tf_put(&stops, automaton->stop_ids[i]);
        section sections[7] = {
            {TF_S_STOP_IDS, stops.bytes, stops.n},
            {TF_S_MACHINE, machine.bytes, machine.n},
            {TF_S_TEXT, text.bytes, text.n},
        };
        uint32_t n = 3;
        if (automaton->schema != NULL)
            sections[n++] = (section){TF_S_SCHEMA, automaton->schema, automaton->n_schema_bytes};
        if (embed_pack)
            sections[n++] =
                (section){TF_S_PACK, automaton->pack->image, automaton->pack->n_image_bytes};
        if (automaton->n_relaxed > 0)
            sections[n++] = (section){TF_S_RELAXED, (const uint8_t *)automaton->relaxed_text,
                                      automaton->n_relaxed_bytes};
        if (masks.n > 0)
            sections[n++] = (section){TF_S_MASKS, masks.bytes, masks.n};
        put_file(&out, automaton, sections, n);
        ok = !stops.failed && !machine.failed && !text.failed && !masks.failed && !out.failed;
    }
    tf_arena_free(&arena);
    tf_release(a, stops.bytes);
    tf_release(a, machine.bytes);
    tf_release(a, text.bytes);
    tf_release(a, masks.bytes);
    if (status != TOKFSM_OK)
        return status;
    if (!ok) {
        tf_release(a, out.bytes);
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    }
    *bytes = out.bytes;
    *n_bytes = out.n;
    return TOKFSM_OK;
}
