/* A machine's compile half: begin, end, and the hooks. */
#include "alike.h"
#include "blame.h"
#include "explore.h"
#include "patterns.h"
#include "unevaluated.h"

#include "../engine/automaton.h"
#include "../engine/cache.h"
#include "../engine/distances.h"
#include "../engine/name_lists.h"
#include "../engine/unique.h"


void *tf_take(tf_build *b, size_t n_bytes, tokfsm_status *status)
{
    if (*status != TOKFSM_OK)
        return NULL;
    void *block = tf_arena_zero(&b->arena, n_bytes);
    if (block == NULL)
        *status = tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    return block;
}

/* ---- hooks: the call's budget and error for the time of the hook ---- */

/* What one hook adds is small; the limit is looked at before it begins. */
static tokfsm_status check_memory(tf_build *b)
{
    if (b->arena.n_bytes > b->machine.limits.automaton_bytes)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "over limits.automaton_bytes = %llu",
                       (unsigned long long)b->machine.limits.automaton_bytes);
    return TOKFSM_OK;
}

#define HOOK(result_type, call_expression)                                     \
    tf_build *b = tf_build_of(m);                                              \
    tf_budget *outer_budget = b->budget;                                       \
    tokfsm_error *outer_err = b->err;                                          \
    b->budget = call->budget;                                                  \
    b->err = call->err;                                                        \
    result_type result = NULL;                                                 \
    tokfsm_status status = check_memory(b);                                    \
    if (status == TOKFSM_OK)                                                   \
        status = (call_expression);                                            \
    b->budget = outer_budget;                                                  \
    b->err = outer_err;                                                        \
    if (status != TOKFSM_OK) {                                                 \
        call->status = status;                                                 \
        return NULL;                                                           \
    }                                                                          \
    return result

static const tf_strings *hook_strings(tf_machine *m, const tf_value *value, tf_call *call)
{
    HOOK(const tf_strings *, tf_build_strings(b, value, &result));
}

static const tf_nstate *hook_number(tf_machine *m, const tf_value *value, tf_call *call)
{
    HOOK(const tf_nstate *, tf_build_number(b, value, &result));
}

static const tf_nstate *hook_number_next(tf_machine *m, const tf_nstate *state, uint32_t class,
                                         tf_call *call)
{
    HOOK(const tf_nstate *, tf_build_number_next(b, state, class, &result));
}

static const tf_kind *hook_kind(tf_machine *m, const tf_value *value, bool object, tf_call *call)
{
    HOOK(const tf_kind *, tf_build_kind(b, value, object, &result));
}

static const tf_edge *hook_edge(tf_machine *m, const tf_kind *kind, uint32_t index, tf_call *call)
{
    HOOK(const tf_edge *, tf_build_edge(b, kind, index, &result));
}

tokfsm_status tf_build_value_cost(tf_build *b, const tf_value *value, const tf_cost **cost)
{
    tokfsm_status status = TOKFSM_OK;
    tf_cost *all = tf_take(b, value->n * sizeof *all, &status);
    for (uint32_t i = 0; i < value->n && status == TOKFSM_OK; i++)
        status = tf_oset_cost(b, tf_value_oset(b, value, i), &all[i]);
    *cost = all;
    return status;
}

static const tf_cost *hook_value_cost(tf_machine *m, const tf_value *value, tf_call *call)
{
    HOOK(const tf_cost *, tf_build_value_cost(b, value, &result));
}

static const uint32_t *hook_number_cost(tf_machine *m, const tf_nstate *state, tf_call *call)
{
    HOOK(const uint32_t *, tf_build_number_cost(b, state, &result));
}

static const uint32_t *hook_literal_cost(tf_machine *m, const tf_strings *strings,
                                         uint32_t literal, bool name, tf_call *call)
{
    HOOK(const uint32_t *, tf_build_literal_cost(b, strings, literal, name, &result));
}

static const tf_items_cost *hook_items_cost(tf_machine *m, const tf_kind *kind, tf_call *call)
{
    HOOK(const tf_items_cost *, tf_build_items_cost(b, kind, &result));
}

static const tf_content_state *hook_content_next(tf_machine *m, const tf_content_state *state,
                                                 uint32_t class, tf_call *call)
{
    HOOK(const tf_content_state *, tf_build_content_next(b, state, class, &result));
}

static const uint32_t *hook_content_cost(tf_machine *m, const tf_content_state *state,
                                         tf_call *call)
{
    HOOK(const uint32_t *, tf_build_content_cost(b, state, &result));
}

/*
 * Lists and interned parts are appended to before they are published, so what is reachable is
 * whole. Not whole can be: the arenas' bounds (given up: the next taking opens a block), what was
 * pending in a fixpoint (of an earlier epoch: not known), and the call that was in progress.
 */
static void recover(tf_machine *m)
{
    tf_build *b = tf_build_of(m);
    b->arena.next = b->arena.end = NULL;
    b->text_arena.next = b->text_arena.end = NULL;
    b->budget = NULL;
    b->err = NULL;
    b->epoch++;
}

const tf_hooks tf_build_hooks = {
    recover,
    hook_strings,    hook_number,      hook_number_next,  hook_kind,       hook_edge,
    hook_value_cost, hook_number_cost, hook_literal_cost, hook_items_cost,
    hook_content_next, hook_content_cost,
};

/* ---- what the vocabulary says ---- */

static bool is_stop(const tf_build *b, uint32_t id)
{
    return tf_stop_ids_have(b->stop_ids, b->n_stop_ids, id);
}

/* The bytes that are tokens by themselves, stop tokens left out: mostly those that the pack knows. */
static void find_bytes(tf_build *b)
{
    const tokfsm_pack *pack = b->machine.pack;
    const tf_trie *all = &pack->all;
    memcpy(b->machine.byte_set, pack->traces->facts.byte_set, sizeof b->machine.byte_set);
    for (size_t k = 0; k < b->n_stop_ids; k++) {
        uint32_t n;
        if (b->stop_ids[k] >= pack->vocab_size)
            continue;
        const uint8_t *bytes = tf_pack_token(pack, b->stop_ids[k], &n);
        uint32_t node = n == 1 ? all->root[bytes[0]] : 0;
        if (node == 0)
            continue;
        bool others = false;
        for (uint32_t i = all->first[node]; i < all->first[node + 1]; i++)
            others |= !is_stop(b, all->ids[i]);
        if (!others)
            b->machine.byte_set[bytes[0] >> 6] &= ~((uint64_t)1 << (bytes[0] & 63u));
    }
}

/* Of the usual set of bytes the pack has them. */
static void find_string_costs(tf_machine *m)
{
    const tf_vocab_facts *known = &m->pack->traces->facts;
    bool minimal = m->options.escapes == TOKFSM_ESCAPES_MINIMAL;
    if (memcmp(m->byte_set, known->byte_set, sizeof m->byte_set) == 0)
        memcpy(m->string_rest_cost, known->string_rest_cost[minimal], sizeof m->string_rest_cost);
    else
        tf_string_rest_costs(m->byte_set, minimal, m->string_rest_cost);
}

/* What fills a free string up: see tf_chars_cost. */
static void find_char_costs(tf_build *b)
{
    tf_machine *m = &b->machine;
    const tokfsm_pack *pack = m->pack;
    m->char_tokens = TF_COST_NONE;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint8_t next = tf_string_table()[TF_STR_NORMAL][byte];
        if (next >= TF_N_STR || !tf_has_byte(m, (uint8_t)byte))
            continue;
        uint32_t cost = tf_cost_add(1, m->string_rest_cost[next]);
        if (cost < m->char_tokens)
            m->char_tokens = cost;
    }
    m->char_unit = 1;
    if (m->char_tokens == 1)
        for (uint32_t n = 2; n < pack->n_char_tokens; n++)
            if (pack->char_token[n] != TF_NONE && !is_stop(b, pack->char_token[n]))
                m->char_unit = n;
}

/*
 * Whether what is live over all bytes is live over single-byte tokens: every printable ASCII
 * character, every continuation byte, what the layout writes, and every byte of the schema's
 * own strings is a token by itself.
 */
static bool bytes_complete(const tf_build *b)
{
    const tf_machine *m = &b->machine;
    for (uint32_t byte = 0x20; byte < 0xC0; byte++)
        if (byte != 0x7F && !tf_has_byte(m, (uint8_t)byte))
            return false;
    if (m->options.whitespace == TOKFSM_WHITESPACE_INDENT && !tf_has_byte(m, '\n'))
        return false;
    /* A pattern can ask for any character; it can be escaped where escapes are free. */
    if (b->patterns.n > 0)
        for (uint32_t byte = 0xC2; byte <= 0xF4; byte++)
            if (m->options.escapes == TOKFSM_ESCAPES_MINIMAL && !tf_has_byte(m, (uint8_t)byte))
                return false;
    for (uint32_t i = 0; i < b->tape.n_nodes; i++) {
        const tf_tape_node *node = &b->tape.nodes[i];
        if (node->type != TF_JSON_STRING)
            continue;
        for (uint32_t k = 0; k < node->n; k++) {
            uint8_t byte = (uint8_t)node->text[k];
            if (byte >= 0x7F && !tf_has_byte(m, byte))
                return false;
        }
    }
    return true;
}

/* ---- begin and end ---- */

static tokfsm_status make_root(tf_build *b)
{
    tf_obligation root = tf_obligation_of(b->ir.root, TF_HOLDS);
    tf_oset *oset;
    TF_TRY(tf_oset_of(b, &root, 1, &oset));
    bool satisfiable;
    TF_TRY(tf_satisfiable(b, oset, &satisfiable));
    if (!satisfiable)
        return tf_blame(b);
    TF_TRY(tf_value_of(b, &oset, 1, &b->machine.root));
    if (b->machine.bytes_complete)
        return TOKFSM_OK;
    tf_cost cost;
    TF_TRY(tf_oset_cost(b, oset, &cost));
    /* Where items must differ, there may be too few values over these bytes: one is written. */
    if (b->machine.unique == TF_UNIQUE_PLANNED) {
        tf_arena arena; /* parts that this makes are in the build's own */
        tf_arena_init(&arena, &b->arena.allocator);
        tf_run run = {.m = &b->machine, .arena = &arena, .call = {b->budget, b->err, TOKFSM_OK}};
        tf_configuration start = tf_configuration_start(&b->machine);
        cost.base = tf_bound(&run, &start);
        tf_arena_free(&arena);
        TF_TRY(run.call.status);
    }
    if (cost.base == TF_COST_NONE)
        return tf_fail_node(b->err, TOKFSM_E_UNSATISFIABLE, &b->tape,
                            b->ir.schemas[b->ir.root].node, "",
                            "every value needs a byte that no token of the vocabulary is by itself");
    return TOKFSM_OK;
}

static tokfsm_status begin(tf_build *b, const uint8_t *schema, size_t n_bytes,
                           const tokfsm_resource *resources, size_t n_resources,
                           const uint32_t *stop_ids, size_t n_stop_ids)
{
    tf_machine *m = &b->machine;
    uint32_t *stops = tf_arena_take(&b->arena, n_stop_ids * sizeof *stops);
    if (stops == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    if (n_stop_ids > 0)
        memcpy(stops, stop_ids, n_stop_ids * sizeof *stops);
    b->stop_ids = stops;
    b->n_stop_ids = n_stop_ids;
    TF_TRY(tf_tape_read(&b->tape, schema, n_bytes, &m->limits, b->budget, &b->text_arena, b->err));
    TF_TRY(tf_ir_read(&b->ir, &b->tape, resources, n_resources, &m->options, &m->limits, b->budget,
                      &b->text_arena, b->err));
    if (b->relax != NULL) {
        TF_TRY(tf_patterns_unsupported(b));
        TF_TRY(tf_relax_apply(b->relax, &b->ir, b->budget, b->err));
    }
    if (b->ir.negates)
        TF_TRY(tf_alike_begin(b));
    TF_TRY(tf_unevaluated_begin(b));
    tokfsm_status status = TOKFSM_OK;
    b->values_index = tf_take(b, b->ir.capacity * sizeof *b->values_index, &status);
    if (status != TOKFSM_OK)
        return status;
    memset(b->scalar_node, 0xFF, sizeof b->scalar_node);
    for (uint32_t i = 0; i < b->tape.n_nodes; i++)
        if (b->tape.nodes[i].type <= TF_JSON_TRUE)
            b->scalar_node[b->tape.nodes[i].type] = i;
    TF_TRY(tf_patterns_read(b));
    find_bytes(b);
    find_string_costs(m);
    find_char_costs(b);
    m->bytes_complete = bytes_complete(b);
    m->unique = tf_unique_mode(&b->ir);
    if (m->unique != TF_UNIQUE_NEVER && !tf_unique_pairs(m, &b->arena))
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    TF_TRY(make_root(b));
    bool may_refuse = b->ir.negates || m->unique == TF_UNIQUE_PLANNED || tf_unique_beside_counts(&b->ir);
    if (!may_refuse)
        return TOKFSM_OK;
    TF_TRY(tf_explore_containers(b));
    if (m->unique == TF_UNIQUE_PLANNED)
        m->unique = tf_unique_mode_of_kinds(b);
    return TOKFSM_OK;
}

void tf_build_begin(tf_build *b, tokfsm_pack *pack, const tokfsm_options *options,
                    const tokfsm_allocator *allocator, const tokfsm_limits *limits,
                    tf_relax *relax, tf_budget *budget, tokfsm_error *err)
{
    memset(b, 0, sizeof *b);
    tf_arena_init(&b->arena, allocator);
    tf_arena_init(&b->text_arena, allocator);
    b->machine.pack = pack;
    b->machine.options = *options;
    b->machine.limits = *limits;
    b->machine.allocator = *allocator;
    b->machine.names_pair = pack->traces->facts.names_pair;
    b->machine.names_begun = pack->traces->facts.names_begun;
    b->machine.hooks = &tf_build_hooks;
    b->relax = relax;
    b->budget = budget;
    b->err = err;
}

/* After a refusal: whether it is known now what to leave out; *status if that fails. */
static bool may_go_on(tf_build *b, tokfsm_status *status)
{
    if (b->relax == NULL || *status != TOKFSM_E_UNSUPPORTED || !b->refuses)
        return false;
    char reason[sizeof b->err->message];
    memcpy(reason, b->err->message, sizeof reason);
    size_t added;
    tokfsm_status found = tf_relax_unique(b->relax, &b->ir, b->refused, b->classes, reason,
                                          b->budget, &added, b->err);
    *status = found == TOKFSM_OK ? *status : found;
    return found == TOKFSM_OK && added > 0;
}

tokfsm_status tf_build_init(tf_build *b, const uint8_t *schema, size_t n_bytes,
                            const tokfsm_resource *resources, size_t n_resources,
                            tokfsm_pack *pack, const uint32_t *stop_ids, size_t n_stop_ids,
                            const tokfsm_options *options, const tokfsm_allocator *allocator,
                            const tokfsm_limits *limits, tf_relax *relax, tf_budget *budget,
                            tokfsm_error *err)
{
    tokfsm_error refusal = {0}; /* err is written only on failure */
    for (;;) { /* once more after each refusal of uniqueItems: the records of each reading are alike */
        tf_build_begin(b, pack, options, allocator, limits, relax, budget, &refusal);
        b->shares = true;
        tokfsm_status status =
            begin(b, schema, n_bytes, resources, n_resources, stop_ids, n_stop_ids);
        bool again = may_go_on(b, &status);
        b->relax = NULL;
        b->budget = NULL;
        b->err = NULL;
        if (status == TOKFSM_OK)
            return TOKFSM_OK;
        tf_build_free(b);
        if (again)
            continue;
        if (err != NULL)
            *err = refusal;
        return status;
    }
}

void tf_build_free(tf_build *b)
{
    tokfsm_allocator *a = &b->arena.allocator;
    tf_cache_free(&b->machine, a);
    tf_distances_free(&b->machine, a);
    tf_name_lists_free(&b->machine, a);
    tf_contents_free(b);
    tf_patterns_free(b);
    tf_release(a, b->osets.items);
    tf_release(a, b->values.items);
    tf_release(a, b->facts.items);
    tf_release(a, b->kinds.items);
    tf_release(a, b->nstates.items);
    tf_release(a, b->nstate_heads);
    tf_release(a, b->holding.items);
    tf_release(a, b->osets_index.slots);
    tf_release(a, b->positions_index.slots);
    tf_release(a, b->facts_index.slots);
    tf_ir_free(&b->ir);
    tf_arena_free(&b->arena);
    tf_arena_free(&b->text_arena);
}
