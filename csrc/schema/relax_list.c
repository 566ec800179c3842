/* Causes, and the list of what was loosened for them. See relax.h. */
#include <stdio.h>
#include <stdlib.h>

#include "keywords.h"
#include "relax.h"

void tf_relax_begin(tf_relax *relax, const tokfsm_allocator *a)
{
    memset(relax, 0, sizeof *relax);
    tf_arena_init(&relax->arena, a);
}

void tf_relax_end(tf_relax *relax)
{
    tf_release(&relax->arena.allocator, relax->causes.items);
    tf_release(&relax->arena.allocator, relax->list.items);
    tf_arena_free(&relax->arena);
}

static tokfsm_status keep_text(tf_relax *relax, const char *text, const char **kept, tokfsm_error *err)
{
    size_t n = strlen(text) + 1;
    char *copy = tf_arena_take(&relax->arena, n);
    if (copy == NULL)
        return tf_keyword_no_memory(err);
    memcpy(copy, text, n);
    *kept = copy;
    return TOKFSM_OK;
}

/* ---- causes ---- */

tokfsm_status tf_relax_add(tf_relax *relax, tf_cause cause, tokfsm_error *err)
{
    TF_TRY(keep_text(relax, cause.reason, &cause.reason, err));
    if (!tf_grow(&relax->arena.allocator, (void **)&relax->causes.items, relax->causes.n,
                 &relax->causes.capacity, sizeof cause))
        return tf_keyword_no_memory(err);
    relax->causes.items[relax->causes.n++] = cause;
    return TOKFSM_OK;
}

/* All that is below what turns round. */
static tokfsm_status flood_turned(tf_flood *below, const tf_ir *ir, tf_arena *scratch,
                                  tf_budget *budget, tokfsm_error *err)
{
    tf_flood reached;
    if (!tf_flood_begin(&reached, ir, scratch) || !tf_flood_begin(below, ir, scratch))
        return tf_keyword_no_memory(err);
    tf_flood_add(&reached, ir->root, true);
    TF_TRY(tf_flood_down(&reached, budget, err));
    for (uint32_t i = 0; i < reached.n; i++)
        tf_each_turned(&ir->schemas[reached.queue[i]], tf_flood_add, below);
    return tf_flood_down(below, budget, err);
}

static tokfsm_status add_unique(tf_relax *relax, const tf_ir *ir, uint32_t schema,
                                const uint32_t *classes, const char *reason, tf_arena *scratch,
                                tf_budget *budget, size_t *added, tokfsm_error *err)
{
    tf_flood chosen;
    bool failing = schema == TF_NO_SCHEMA;
    uint32_t n_nodes = classes == NULL ? 0 : ir->tape->n_nodes;
    uint8_t *class_chosen = tf_arena_zero(scratch, n_nodes);
    uint8_t *known = tf_arena_zero(scratch, ir->n_schemas); /* causes of the kind */
    if (class_chosen == NULL || known == NULL)
        return tf_keyword_no_memory(err);
    for (size_t i = 0; i < relax->causes.n; i++)
        if ((relax->causes.items[i].what == TF_CAUSE_FAILING && failing) ||
            (relax->causes.items[i].what == TF_CAUSE_UNIQUE && !failing))
            known[relax->causes.items[i].schema] = 1;
    if (failing)
        TF_TRY(flood_turned(&chosen, ir, scratch, budget, err));
    else if (tf_flood_begin(&chosen, ir, scratch))
        tf_flood_add(&chosen, schema, true);
    else
        return tf_keyword_no_memory(err);
    for (uint32_t i = 0; i < chosen.n && classes != NULL; i++)
        if (ir->schemas[chosen.queue[i]].unique_items)
            class_chosen[classes[ir->schemas[chosen.queue[i]].node]] = 1;
    for (uint32_t id = 0; id < ir->true_schema; id++) {
        const tf_schema *s = &ir->schemas[id];
        if (!s->unique_items || !(chosen.in[id] || (classes != NULL && class_chosen[classes[s->node]])))
            continue;
        TF_TRY(tf_spend(budget, err));
        if (known[id])
            continue;
        uint32_t node = tf_tape_get(ir->tape, s->node, "uniqueItems", 11);
        tf_cause cause = {.schema = id, .node = node, .reason = reason};
        cause.what = failing ? TF_CAUSE_FAILING : TF_CAUSE_UNIQUE;
        TF_TRY(tf_relax_add(relax, cause, err));
        ++*added;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_relax_unique(tf_relax *relax, const tf_ir *ir, uint32_t schema,
                              const uint32_t *classes, const char *reason, tf_budget *budget,
                              size_t *added, tokfsm_error *err)
{
    tf_arena scratch;
    tf_arena_init(&scratch, &relax->arena.allocator);
    *added = 0;
    tokfsm_status status =
        add_unique(relax, ir, schema, classes, reason, &scratch, budget, added, err);
    tf_arena_free(&scratch);
    return status;
}

/* ---- the list ---- */

/* A pointer costs a walk through the text: it is counted as work of 32 nodes a unit. */
static tokfsm_status pointer_of(const tf_tape *tape, uint32_t node, char *buffer, size_t n_bytes,
                                tf_budget *budget, tokfsm_error *err)
{
    for (uint32_t i = 0; i <= tape->n_nodes / 32; i++)
        TF_TRY(tf_spend(budget, err));
    tf_tape_pointer(tape, node, buffer, n_bytes);
    return TOKFSM_OK;
}

static tokfsm_status since_of(tf_relax *relax, const tf_tape *tape, tf_cause *cause,
                              tf_budget *budget, tokfsm_error *err)
{
    static const char *const keywords[] = {
        [TF_CAUSE_PATTERN] = "pattern", [TF_CAUSE_FORMAT] = "format",
        [TF_CAUSE_UNIQUE] = "uniqueItems", [TF_CAUSE_NAMES] = "patternProperties",
        [TF_CAUSE_FAILING] = "uniqueItems", [TF_CAUSE_FOREIGN] = "the keyword",
    };
    if (cause->since != NULL)
        return TOKFSM_OK;
    char pointer[1024], text[2200];
    TF_TRY(pointer_of(tape, cause->node, pointer, sizeof pointer, budget, err));
    snprintf(text, sizeof text, "%s at %s %s%s%s", keywords[cause->what], pointer,
             cause->what == TF_CAUSE_FAILING   ? "cannot be made to fail"
             : cause->what == TF_CAUSE_FOREIGN ? "may be of a vocabulary that is not supported"
                                               : "is not honoured",
             cause->reason[0] == '\0' ? "" : ": ", cause->reason);
    return keep_text(relax, text, &cause->since, err);
}

tokfsm_status tf_relax_note(tf_relax *relax, const tf_tape *tape, tf_loosened what, tf_cause *cause,
                            tf_budget *budget, tokfsm_error *err)
{
    char text[2300];
    TF_TRY(tf_spend(budget, err));
    if (what.reason == NULL) {
        what.reason = cause->reason;
    } else {
        TF_TRY(since_of(relax, tape, cause, budget, err));
        snprintf(text, sizeof text, "%s %s", what.reason, cause->since);
        what.reason = text;
    }
    TF_TRY(keep_text(relax, what.reason, &what.reason, err));
    if (!tf_grow(&relax->arena.allocator, (void **)&relax->list.items, relax->list.n,
                 &relax->list.capacity, sizeof what))
        return tf_keyword_no_memory(err);
    what.order = (uint32_t)relax->list.n;
    relax->list.items[relax->list.n++] = what;
    return TOKFSM_OK;
}

static int compare(const void *a_, const void *b_)
{
    const tf_loosened *a = a_, *b = b_;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void tf_relax_settle(tf_relax *relax, const uint8_t *in)
{
    tf_loosened *list = relax->list.items;
    size_t n = 0;
    for (size_t i = 0; i < relax->list.n; i++)
        if (list[i].schema == TF_NO_SCHEMA || in[list[i].schema])
            list[n++] = list[i];
    if (n > 0)
        qsort(list, n, sizeof *list, compare);
    relax->list.n = 0;
    for (size_t i = 0; i < n; i++) {
        /* Under several dynamic scopes a keyword was loosened several times. */
        bool again = false;
        for (size_t k = relax->list.n; k-- > 0 && list[k].node == list[i].node && !again;)
            again = strcmp(list[k].keyword, list[i].keyword) == 0;
        if (!again)
            list[relax->list.n++] = list[i];
    }
}

typedef struct texts {
    const tokfsm_allocator *a;
    char *items;
    size_t n, capacity;
} texts;

/* With its NUL, but without characters that were cut off. */
static bool put(texts *out, const char *text)
{
    size_t length = strlen(text) + 1;
    for (size_t i = 0; i < length;) {
        uint8_t lead = (uint8_t)text[i];
        size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, have = 1;
        while (have < n && ((uint8_t)text[i + have] & 0xC0u) == 0x80)
            have++;
        for (size_t k = 0; have == n && k < n; k++) {
            if (!tf_grow(out->a, (void **)&out->items, out->n, &out->capacity, 1))
                return false;
            out->items[out->n++] = text[i + k];
        }
        i += have;
    }
    return true;
}

tokfsm_status tf_relax_text(const tf_relax *relax, const tf_tape *tape, tf_budget *budget,
                            char **text, size_t *n_bytes, tokfsm_error *err)
{
    texts out = {.a = &relax->arena.allocator};
    tokfsm_status status = TOKFSM_OK;
    for (size_t i = 0; i < relax->list.n && status == TOKFSM_OK; i++) {
        const tf_loosened *one = &relax->list.items[i];
        char pointer[1024];
        status = pointer_of(tape, one->node, pointer, sizeof pointer, budget, err);
        if (status == TOKFSM_OK &&
            !(put(&out, pointer) && put(&out, one->keyword) && put(&out, one->reason)))
            status = tf_keyword_no_memory(err);
    }
    if (status != TOKFSM_OK) {
        tf_release(out.a, out.items);
        return status;
    }
    *text = out.items;
    *n_bytes = out.n;
    return TOKFSM_OK;
}
