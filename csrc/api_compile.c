/* Exported compile functions: check arguments, then call stages. */
#include "engine/automaton.h"
#include "artifact/format.h"
#include "engine/cache.h"
#include "engine/options.h"
#include "lower/explore.h"
#include "lower/patterns.h"
#include "lower/rehearse.h"

static void free_build(tokfsm_automaton *automaton)
{
    tf_build *b = tf_build_of(automaton->machine);
    tf_build_free(b);
    tf_release(&automaton->allocator, b);
}

static tokfsm_statistics statistics_of(const tokfsm_automaton *automaton)
{
    tf_build *b = tf_build_of(automaton->machine);
    tokfsm_statistics s = {0};
    tf_machine_lock(&b->machine); /* the lists move while a hook appends */
    s.values = b->values.n;
    s.frames = b->kinds.n;
    s.number_states = b->nstates.n;
    s.contents = b->contents.n;
    s.string_states = tf_build_n_content_states(b);
    for (size_t i = 0; i < b->values.n; i++) {
        const tf_strings *strings =
            atomic_load_explicit(&b->values.items[i]->strings, memory_order_acquire);
        if (strings != NULL)
            s.string_states += strings->n_literals + strings->n_breaks;
    }
    tf_cache_count(&b->machine, &s.masks, &s.mask_bytes);
    s.bytes = b->arena.n_bytes + b->text_arena.n_bytes;
    s.closed = automaton->closed;
    tf_machine_unlock(&b->machine);
    return s;
}

/* The list of what was loosened, as the automaton hands it out. */
static tokfsm_status keep_relaxed(tokfsm_automaton *automaton, const tf_relax *relax,
                                  tf_budget *budget, tokfsm_error *err)
{
    char *text = NULL;
    size_t n_bytes = 0;
    TF_TRY(tf_relax_text(relax, &tf_build_of(automaton->machine)->tape, budget, &text, &n_bytes, err));
    return n_bytes == 0 ? TOKFSM_OK : tf_automaton_set_relaxed(automaton, text, n_bytes, err);
}

tokfsm_status tokfsm_compile(const uint8_t *schema, size_t n_bytes,
                             const tokfsm_resource *resources, size_t n_resources,
                             tokfsm_pack *pack, const uint32_t *stop_ids, size_t n_stop_ids,
                             const tokfsm_options *options, const tokfsm_allocator *allocator,
                             const tokfsm_limits *limits, const tokfsm_cancel *cancel,
                             tokfsm_automaton **automaton, tokfsm_error *err)
{
    if ((schema == NULL && n_bytes > 0) || (resources == NULL && n_resources > 0) || pack == NULL ||
        automaton == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    tokfsm_options chosen;
    tokfsm_options_default(&chosen);
    if (options != NULL)
        chosen = *options;
    TF_TRY(tf_options_check(&chosen, err));
    tokfsm_limits bounds;
    tokfsm_limits_default(&bounds);
    if (limits != NULL)
        bounds = *limits;
    tokfsm_allocator a = tf_allocator(allocator);
    tf_budget budget;
    tf_budget_init(&budget, &bounds, cancel);
    if (cancel != NULL && tokfsm_cancel_is_set(cancel))
        return tf_fail(err, TOKFSM_E_CANCELLED, "cancelled");

    tokfsm_automaton *made = tf_allocate(&a, sizeof *made);
    if (made == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an automaton");
    memset(made, 0, sizeof *made);
    atomic_init(&made->references, 1);
    made->allocator = a;
    made->pack = pack;
    tokfsm_pack_retain(pack);
    made->statistics = statistics_of;
    tokfsm_status status = tf_stop_ids_copy(&a, pack, stop_ids, n_stop_ids, &made->stop_ids,
                                            &made->n_stop_ids, err);
    tf_build *b = NULL;
    tf_relax relax;
    tf_relax_begin(&relax, &a);
    if (status == TOKFSM_OK) {
        made->schema = tf_allocate(&a, n_bytes);
        b = tf_allocate(&a, sizeof *b);
        if (made->schema == NULL || b == NULL)
            status = tf_fail(err, TOKFSM_E_NOMEM, "no memory for an automaton");
    }
    if (status == TOKFSM_OK) {
        if (n_bytes > 0)
            memcpy(made->schema, schema, n_bytes);
        made->n_schema_bytes = n_bytes;
        status = tf_build_init(b, schema, n_bytes, resources, n_resources, pack, made->stop_ids,
                               made->n_stop_ids, &chosen, &a, &bounds,
                               chosen.unsupported == TOKFSM_UNSUPPORTED_RELAX ? &relax : NULL,
                               &budget, err);
    }
    if (status == TOKFSM_OK) {
        made->machine = &b->machine;
        made->free_machine = free_build;
        status = keep_relaxed(made, &relax, &budget, err);
        if (status == TOKFSM_OK)
            status = tf_explore_some(b, cancel, err);
        if (status == TOKFSM_OK)
            status = tf_rehearse(b, cancel, err);
    } else {
        tf_release(&a, b);
    }
    tf_relax_end(&relax);
    if (status == TOKFSM_OK)
        *automaton = made;
    else
        tf_automaton_release(made);
    return status;
}

tokfsm_status tokfsm_automaton_precompile(tokfsm_automaton *automaton, const tokfsm_cancel *cancel,
                                          tokfsm_error *err)
{
    if (automaton == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "automaton is NULL");
    tf_machine *m = automaton->machine;
    if (m->hooks == NULL)
        return TOKFSM_OK; /* opened: all of it is there */
    tf_budget budget;
    tf_budget_init(&budget, &m->limits, cancel);
    if (cancel != NULL && tokfsm_cancel_is_set(cancel))
        return tf_fail(err, TOKFSM_E_CANCELLED, "cancelled");
    tf_machine_lock(m);
    tokfsm_status status = automaton->closed ? TOKFSM_OK
                                             : tf_explore(tf_build_of(m), &budget, err);
    if (status == TOKFSM_OK)
        automaton->closed = 1;
    tf_machine_unlock(m);
    return status;
}

tokfsm_status tokfsm_automaton_save(tokfsm_automaton *automaton, int32_t embed_pack,
                                    uint8_t **bytes, size_t *n_bytes, const tokfsm_cancel *cancel,
                                    tokfsm_error *err)
{
    if (bytes == NULL || n_bytes == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    TF_TRY(tokfsm_automaton_precompile(automaton, cancel, err));
    return tf_artifact_write(automaton, embed_pack != 0, bytes, n_bytes, cancel, err);
}
