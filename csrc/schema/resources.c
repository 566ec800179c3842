/*
 * A document -> its resources: which of its objects begin one, under which URI, in which
 * dialect, and the anchors of each. Walks the places where the dialect's keywords hold schemas,
 * with an explicit stack; a document without identifiers below its root is not walked at all.
 *
 * Source: 2020-12 Core §8.2, §9.3; 2019-09 Core §8.2; draft-07 §8.2 and §8.3; draft-04 §7.2.
 */
#include "resources.h"

#include "ir.h"

/* Where a keyword holds schemas; those of no dialect at hand hold none. */
enum { ONE = 1, LIST = 2, MAP = 4 };
static const struct {
    const char *name;
    uint32_t shape;
    uint32_t from, to; /* drafts */
} holders[] = {
    {"properties", MAP, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"items", ONE | LIST, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"$defs", MAP, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
    {"definitions", MAP, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"allOf", LIST, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"anyOf", LIST, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"oneOf", LIST, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"not", ONE, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"if", ONE, TOKFSM_DRAFT_7, TOKFSM_DRAFT_2020_12},
    {"then", ONE, TOKFSM_DRAFT_7, TOKFSM_DRAFT_2020_12},
    {"else", ONE, TOKFSM_DRAFT_7, TOKFSM_DRAFT_2020_12},
    {"additionalProperties", ONE, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"patternProperties", MAP, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"propertyNames", ONE, TOKFSM_DRAFT_6, TOKFSM_DRAFT_2020_12},
    {"unevaluatedProperties", ONE, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
    {"dependencies", MAP, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"dependentSchemas", MAP, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
    {"prefixItems", LIST, TOKFSM_DRAFT_2020_12, TOKFSM_DRAFT_2020_12},
    {"additionalItems", ONE, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2019_09},
    {"contains", ONE, TOKFSM_DRAFT_6, TOKFSM_DRAFT_2020_12},
    {"unevaluatedItems", ONE, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
    {"contentSchema", ONE, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
};

static bool is_text(const tf_tape_node *node, const char *text)
{
    return node->type == TF_JSON_STRING && node->n == strlen(text) &&
           memcmp(node->text, text, node->n) == 0;
}

static uint32_t get(const tf_documents *d, uint32_t object, const char *name)
{
    return tf_tape_get(d->tape, object, name, strlen(name));
}

/* The string member of an object, or a span with text NULL. */
static tf_span get_text(const tf_documents *d, uint32_t object, const char *name)
{
    uint32_t value = get(d, object, name);
    if (value == TF_TAPE_NONE || d->tape->nodes[value].type != TF_JSON_STRING)
        return (tf_span){NULL, 0};
    return (tf_span){d->tape->nodes[value].text, d->tape->nodes[value].n};
}

/* A walk through (a part of) a document. */
typedef struct walk {
    tf_documents *d;
    struct { struct pending { uint32_t node, resource; } *items; size_t n, capacity; } stack;
    uint32_t silent; /* a resource whose identifiers are not to be named; or TF_NO_RESOURCE */
    bool late;       /* no URI is to be named */
    tokfsm_error *err;
} walk;

static tokfsm_status add_resource(tf_documents *d, tf_resource made, uint32_t *resource,
                                  tokfsm_error *err)
{
    if (!tf_arena_grow(d->arena, (void **)&d->resources, d->n_resources, &d->resources_capacity, 4,
                       sizeof made))
        return tf_documents_no_memory(err);
    *resource = d->n_resources;
    d->resources[d->n_resources++] = made;
    return TOKFSM_OK;
}

/*
 * The identifier of an object within *resource: a new URI begins a resource (at the root of a
 * document it names the one that is there), a plain-name fragment (drafts 4 to 7) is an anchor.
 */
static tokfsm_status identify(walk *w, uint32_t node, uint32_t *resource)
{
    tf_documents *d = w->d;
    tf_resource outer = d->resources[*resource];
    tf_dialect dialect = outer.dialect;
    bool root = outer.node == node;
    /* A dialect of its own is for what the dialect around it knows as a resource. */
    if (!root && get(d, node, "$schema") != TF_TAPE_NONE &&
        get_text(d, node, outer.dialect.draft == TOKFSM_DRAFT_4 ? "id" : "$id").text != NULL)
        TF_TRY(tf_dialect_of(d, node, dialect, &dialect, w->err));
    bool legacy = dialect.draft <= TOKFSM_DRAFT_7;
    const char *keyword = dialect.draft == TOKFSM_DRAFT_4 ? "id" : "$id";
    tf_span id = get_text(d, node, keyword), before, fragment, uri;
    if (id.text == NULL || (legacy && get_text(d, node, "$ref").text != NULL))
        return TOKFSM_OK; /* draft-07 §8.3: nothing counts beside $ref */
    tf_uri_split(id, &before, &fragment);
    bool anchor = legacy && fragment.n > 0 && fragment.text[0] != '/';
    if (before.n > 0) {
        if (!legacy && fragment.n > 0)
            return tf_fail_node(w->err, TOKFSM_E_SCHEMA, d->tape, get(d, node, keyword), keyword,
                                "%s cannot have a fragment", keyword);
        if (!tf_uri_resolve(d->arena, outer.uri, before, &uri))
            return tf_documents_no_memory(w->err);
        if (memchr(uri.text, '\0', uri.n) != NULL)
            return tf_fail_node(w->err, TOKFSM_E_SCHEMA, d->tape, get(d, node, keyword), keyword,
                                "%s cannot have U+0000", keyword);
        if (root)
            d->resources[*resource].uri = uri;
        else if (!(anchor && tf_span_equal(uri, outer.uri)))
            TF_TRY(add_resource(d, (tf_resource){.node = node, .dialect = dialect, .uri = uri},
                                resource, w->err));
        if (!w->late && d->resources[*resource].node == node)
            TF_TRY(tf_documents_name(d, uri, *resource, w->err));
    }
    if (anchor && *resource != w->silent)
        TF_TRY(tf_documents_name_anchor(d, *resource, fragment, node, false, w->err));
    return TOKFSM_OK;
}

static tokfsm_status name_anchors(walk *w, uint32_t node, uint32_t resource)
{
    tf_documents *d = w->d;
    const tf_resource *of = &d->resources[resource];
    if (of->dialect.draft <= TOKFSM_DRAFT_7 || resource == w->silent)
        return TOKFSM_OK;
    tf_span name = get_text(d, node, "$anchor");
    if (name.n > 0)
        TF_TRY(tf_documents_name_anchor(d, resource, name, node, false, w->err));
    if (of->dialect.draft == TOKFSM_DRAFT_2020_12) {
        name = get_text(d, node, "$dynamicAnchor");
        return name.n == 0 ? TOKFSM_OK
                           : tf_documents_name_anchor(d, resource, name, node, true, w->err);
    }
    uint32_t value = get(d, node, "$recursiveAnchor");
    if (of->node != node || value == TF_TAPE_NONE || d->tape->nodes[value].type != TF_JSON_TRUE)
        return TOKFSM_OK;
    return tf_documents_name_anchor(d, resource, (tf_span){"", 0}, node, true, w->err);
}

static tokfsm_status push(walk *w, uint32_t node, uint32_t resource)
{
    if (w->d->tape->nodes[node].type != TF_JSON_OBJECT)
        return TOKFSM_OK;
    if (!tf_grow(&w->d->arena->allocator, (void **)&w->stack.items, w->stack.n, &w->stack.capacity,
                 sizeof *w->stack.items))
        return tf_documents_no_memory(w->err);
    w->stack.items[w->stack.n++] = (struct pending){node, resource};
    return TOKFSM_OK;
}

/* The schemas that the value of a keyword holds. */
static tokfsm_status push_held(walk *w, uint32_t value, uint32_t shape, uint32_t resource)
{
    const tf_tape_node *nodes = w->d->tape->nodes;
    uint32_t end = nodes[value].next;
    if (nodes[value].type == TF_JSON_ARRAY && (shape & LIST)) {
        for (uint32_t item = value + 1; item < end; item = nodes[item].next)
            TF_TRY(push(w, item, resource));
    } else if (nodes[value].type == TF_JSON_OBJECT && (shape & MAP)) {
        for (uint32_t name = value + 1; name < end; name = nodes[name + 1].next)
            TF_TRY(push(w, name + 1, resource));
    } else if (shape & ONE) {
        return push(w, value, resource);
    }
    return TOKFSM_OK;
}

static tokfsm_status visit(walk *w, uint32_t node, uint32_t resource)
{
    tf_documents *d = w->d;
    TF_TRY(tf_spend(d->budget, w->err));
    if (node != d->resources[resource].node)
        TF_TRY(identify(w, node, &resource)); /* the root of a document was looked at before */
    TF_TRY(name_anchors(w, node, resource));
    d->resource_at[node] = resource;
    tf_dialect dialect = d->resources[resource].dialect;
    const tf_tape_node *nodes = d->tape->nodes;
    for (uint32_t name = node + 1; name < nodes[node].next; name = nodes[name + 1].next)
        for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
            if (is_text(&nodes[name], holders[i].name) && dialect.draft >= holders[i].from &&
                dialect.draft <= holders[i].to && tf_dialect_knows(dialect, holders[i].name))
                TF_TRY(push_held(w, name + 1, holders[i].shape, resource));
    return TOKFSM_OK;
}

static tokfsm_status walk_from(walk *w, uint32_t node, uint32_t resource)
{
    tokfsm_status status = push(w, node, resource);
    while (status == TOKFSM_OK && w->stack.n > 0) {
        struct pending next = w->stack.items[--w->stack.n];
        if (w->d->resource_at[next.node] == TF_NO_RESOURCE)
            status = visit(w, next.node, next.resource);
    }
    tf_release(&w->d->arena->allocator, w->stack.items);
    return status;
}

/* Room in resource_at for every node of the tape. */
static tokfsm_status mark_nodes(tf_documents *d, tokfsm_error *err)
{
    uint32_t n = d->tape->n_nodes;
    if (n > d->marked_capacity) {
        d->resource_at = tf_tape_enlarge(d->arena, d->resource_at, d->n_marked, n,
                                         &d->marked_capacity, sizeof *d->resource_at);
        if (d->resource_at == NULL)
            return tf_documents_no_memory(err);
    }
    memset(d->resource_at + d->n_marked, 0xFF, (n - d->n_marked) * sizeof *d->resource_at);
    d->n_marked = n;
    return TOKFSM_OK;
}

/* Whether no object below the root can have an identifier, and none has an anchor. */
static bool is_plain(const tf_tape *tape, uint32_t root)
{
    static const char *const anchors[] = {"$anchor", "$dynamicAnchor", "$recursiveAnchor"};
    const tf_tape_node *nodes = tape->nodes;
    for (uint32_t i = root + 1; i + 1 < nodes[root].next; i++) {
        const tf_tape_node *node = &nodes[i];
        if (node->type != TF_JSON_STRING || node->n < 2 || node->n > 16)
            continue;
        if (node->n <= 3) { /* an identifier is a string; that of the root is known anyway */
            if (node->parent != root && nodes[i + 1].type == TF_JSON_STRING &&
                (is_text(node, "$id") || is_text(node, "id")))
                return false;
        } else if (node->text[0] == '$') {
            for (size_t k = 0; k < 3; k++)
                if (is_text(node, anchors[k]))
                    return false;
        }
    }
    /* In drafts 4 to 7 the root's own identifier may have a plain-name fragment. */
    uint32_t ids[] = {tf_tape_get(tape, root, "$id", 3), tf_tape_get(tape, root, "id", 2)};
    for (size_t k = 0; k < 2; k++)
        if (ids[k] != TF_TAPE_NONE && nodes[ids[k]].type == TF_JSON_STRING && nodes[ids[k]].n > 0 &&
            memchr(nodes[ids[k]].text, '#', nodes[ids[k]].n - 1) != NULL)
            return false;
    return true;
}

tokfsm_status tf_resources_of_document(tf_documents *d, uint32_t document, tf_span uri,
                                       tokfsm_error *err)
{
    uint32_t root = d->tape->documents[document].root, resource;
    tf_dialect dialect = d->dialect;
    if (document > 0) /* one that says nothing speaks as the schema does */
        TF_TRY(tf_dialect_of(d, root, d->dialect, &dialect, err));
    TF_TRY(add_resource(d, (tf_resource){.node = root, .dialect = dialect, .uri = uri}, &resource, err));
    d->states[document] = (struct tf_document_state){resource, is_plain(d->tape, root)};
    walk w = {.d = d, .silent = TF_NO_RESOURCE, .err = err};
    if (d->tape->nodes[root].type == TF_JSON_OBJECT)
        TF_TRY(identify(&w, root, &resource));
    if (d->states[document].plain)
        return TOKFSM_OK;
    TF_TRY(mark_nodes(d, err));
    return walk_from(&w, root, resource);
}

uint32_t tf_documents_resource_of(const tf_documents *d, uint32_t node)
{
    const struct tf_document_state *state = &d->states[tf_tape_document_of(d->tape, node)];
    if (state->plain)
        return state->resource;
    for (; node != TF_TAPE_NONE; node = d->tape->nodes[node].parent)
        if (d->resource_at[node] != TF_NO_RESOURCE)
            return d->resource_at[node];
    return state->resource;
}

/*
 * What stands under a keyword that no dialect knows is no schema until a reference leads there.
 * Its identifiers then change the base of what is in them, but name nothing for others: else
 * what a reference means would depend on what was read before.
 */
tokfsm_status tf_documents_enter(tf_documents *d, uint32_t node, tokfsm_error *err)
{
    if (d->states[tf_tape_document_of(d->tape, node)].plain ||
        d->tape->nodes[node].type != TF_JSON_OBJECT || d->resource_at[node] != TF_NO_RESOURCE)
        return TOKFSM_OK;
    uint32_t resource = tf_documents_resource_of(d, node);
    walk w = {.d = d, .silent = resource, .late = true, .err = err};
    return walk_from(&w, node, resource);
}
