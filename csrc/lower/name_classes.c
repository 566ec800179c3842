/* Classes of names: the patterns' languages, split until no pattern cuts one, or sets of patterns. */
#include "name_classes.h"

#include <stdlib.h>

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for names");
}

/* ---- which patterns ---- */

typedef struct pattern_visit {
    tokfsm_status (*visit)(void *context, uint32_t pattern);
    tf_name_visitor name;
    void *context;
} pattern_visit;

static tokfsm_status visit_patterns_of(tf_build *b, void *context, const tf_schema *s)
{
    const pattern_visit *v = context;
    uint32_t id = (uint32_t)(s - b->ir.schemas), lengths;
    uint64_t most = s->max_length < b->format_most[id] ? s->max_length : b->format_most[id];
    if (v->name != NULL) {
        for (uint32_t i = 0; i < s->n_values; i++) {
            const tf_tape_node *node = &b->tape.nodes[s->values[i]];
            if (node->type == TF_JSON_STRING)
                TF_TRY(v->name(v->context, node->text, node->n));
        }
    }
    TF_TRY(tf_pattern_of_lengths(b, s->min_length, most, &lengths));
    const uint32_t patterns[3] = {b->pattern_of[id], b->format_of[id], lengths};
    for (int i = 0; i < 3; i++) {
        if (patterns[i] == TF_NO_PATTERN)
            continue;
        TF_TRY(v->name != NULL ? tf_each_spelled(b, patterns[i], v->name, v->context)
                               : v->visit(v->context, patterns[i]));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_each_spelled_name(tf_build *b, uint32_t schema, tf_name_visitor visit,
                                   void *context)
{
    pattern_visit v = {.name = visit, .context = context};
    return tf_visit_schema(b, schema, visit_patterns_of, &v);
}

/* The schema whose patterns an atom asks about, or NULL. */
static const tf_schema *names_schema(const tf_build *b, tf_obligation atom)
{
    uint32_t index = tf_obligation_index(atom);
    if (tf_obligation_tag(atom) == TF_HOLDS)
        return &b->ir.schemas[index];
    if (tf_obligation_tag(atom) == TF_FACT && b->facts.items[index].kind == TF_SOME_MEMBER)
        return &b->ir.schemas[b->facts.items[index].index];
    return NULL;
}

/* Of schemas that a fact lists: what they evaluate is asked about, though they need not hold. */
static tokfsm_status each_listed_pattern(tf_build *b, tf_obligation atom,
                                         tokfsm_status (*visit)(void *context, uint32_t pattern),
                                         void *context)
{
    if (tf_obligation_tag(atom) != TF_FACT)
        return TOKFSM_OK;
    const tf_fact fact = b->facts.items[tf_obligation_index(atom)];
    for (uint32_t i = 0; i < fact.n_list; i++) {
        const tf_schema *s = &b->ir.schemas[fact.list[i]];
        for (uint32_t k = 0; k < s->n_pattern_properties; k++)
            TF_TRY(visit(context, s->pattern_properties[k].number));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_each_name_pattern(tf_build *b, const tf_alternative *alternative,
                                   tokfsm_status (*visit)(void *context, uint32_t pattern),
                                   void *context)
{
    pattern_visit v = {.visit = visit, .context = context};
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        const tf_schema *s = names_schema(b, alternative->atoms[i]);
        if (s == NULL)
            continue;
        TF_TRY(each_listed_pattern(b, alternative->atoms[i], visit, context));
        for (uint32_t k = 0; k < s->n_pattern_properties; k++)
            TF_TRY(visit(context, s->pattern_properties[k].number));
        if (s->property_names != TF_NO_SCHEMA)
            TF_TRY(tf_visit_schema(b, s->property_names, visit_patterns_of, &v));
    }
    return TOKFSM_OK;
}

typedef struct pattern_list {
    tf_build *b;
    struct { uint32_t *items; size_t n, capacity; } all;
} pattern_list;

static tokfsm_status add_pattern(void *context, uint32_t pattern)
{
    pattern_list *list = context;
    if (tf_pattern_is_spelled(list->b, pattern))
        return TOKFSM_OK; /* what it matches is declared: tf_each_name */
    for (size_t i = 0; i < list->all.n; i++)
        if (list->all.items[i] == pattern)
            return TOKFSM_OK;
    if (!tf_grow(&list->b->arena.allocator, (void **)&list->all.items, list->all.n,
                 &list->all.capacity, sizeof *list->all.items))
        return no_memory(list->b);
    list->all.items[list->all.n++] = pattern;
    return tf_spend(list->b->budget, list->b->err);
}

/* ---- what a name is ---- */

tokfsm_status tf_name_matches(tf_build *b, const tf_name_view *name, uint32_t pattern,
                              bool *matches)
{
    if (name->text != NULL)
        return tf_pattern_matches(b, pattern, name->text, name->n, matches);
    const tf_pattern_set *set = name->classes->set;
    *matches = false;
    if (tf_pattern_is_spelled(b, pattern))
        return TOKFSM_OK;
    for (uint32_t i = 0; set != NULL && i < set->n; i++)
        if (set->patterns[i] == pattern) {
            *matches = tf_word_bit(name->classes->items[name->class].matches, i);
            return TOKFSM_OK;
        }
    return tf_fail(b->err, TOKFSM_E_INTERNAL, "a pattern is not among its kind's");
}

tokfsm_status tf_name_meets(tf_build *b, const tf_name_view *name, uint32_t schema, bool *meets)
{
    tf_scalar scalar = {.type = TF_JSON_STRING, .node = TF_TAPE_NONE, .name = name,
                        .lengths_as_patterns = true};
    uint32_t language;
    TF_TRY(tf_evaluate_schema(b, schema, &scalar, &language));
    *meets = language != 0;
    return TOKFSM_OK;
}

/* ---- the classes ---- */

typedef struct splitting {
    tf_build *b;
    tf_pattern_set *set;
    tf_dfa_language *language;
    uint64_t **matches;
    uint64_t *apart; /* see tf_name_classes */
    uint32_t n, n_words;
} splitting;

static tokfsm_status no_empty(splitting *s, tf_dfa_language language, bool *some)
{
    tf_dfa_state_id start;
    TF_TRY(tf_dfa_start(s->set->dfa, language, s->b->budget, &start, s->b->err));
    *some = start != TF_DFA_DEAD;
    return TOKFSM_OK;
}

/*
 * The language of the names that match these of the first n patterns and no other ones. What no name
 * matches together with one of them need not be excluded: so a class of names among hundreds is as
 * simple as its own pattern.
 */
static tokfsm_status language_of(tf_build *b, const tf_pattern_set *set, const uint64_t *apart,
                                 const uint64_t *matches, uint32_t n, tf_dfa_language *language)
{
    uint32_t n_words = tf_words_for(set->n);
    *language = 1;
    for (uint32_t k = 0; k < n; k++) {
        tf_dfa_language both[2] = {*language, set->language[k]};
        if (!tf_word_bit(matches, k)) {
            if (tf_words_meet(apart + (size_t)k * n_words, matches, n_words))
                continue;
            TF_TRY(tf_dfa_not(set->dfa, both[1], b->budget, &both[1], b->err));
        }
        TF_TRY(tf_dfa_and(set->dfa, both, 2, b->budget, language, b->err));
    }
    return TOKFSM_OK;
}

static tokfsm_status split_by(splitting *s, uint32_t pattern)
{
    tf_build *b = s->b;
    const uint64_t *apart = s->apart + (size_t)pattern * s->n_words;
    for (uint32_t i = 0, n = s->n; i < n; i++) {
        tf_dfa_language in, out;
        bool some_in, some_out;
        if (tf_words_meet(apart, s->matches[i], s->n_words))
            continue;
        TF_TRY(language_of(b, s->set, s->apart, s->matches[i], pattern + 1, &out));
        TF_TRY(no_empty(s, out, &some_out));
        tf_word_set(s->matches[i], pattern);
        TF_TRY(language_of(b, s->set, s->apart, s->matches[i], pattern + 1, &in));
        TF_TRY(no_empty(s, in, &some_in));
        if (!some_in) {
            s->matches[i][pattern >> 6] &= ~((uint64_t)1 << (pattern & 63u));
            continue;
        }
        s->language[i] = in;
        if (!some_out)
            continue;
        if (s->n == TF_MAX_NAME_CLASSES)
            return tf_fail(b->err, TOKFSM_E_LIMIT,
                           "the patterns of an object's names tell over %u kinds of names apart",
                           TF_MAX_NAME_CLASSES);
        memcpy(s->matches[s->n], s->matches[i], s->n_words * sizeof **s->matches);
        s->matches[s->n][pattern >> 6] &= ~((uint64_t)1 << (pattern & 63u));
        s->language[s->n++] = out;
    }
    return TOKFSM_OK;
}

/* The language of a class, again from its patterns. */
static tokfsm_status class_language(tf_build *b, const tf_content_spec *spec, uint32_t i,
                                    tf_dfa_language *language)
{
    const tf_name_classes *classes = spec->context;
    const tf_pattern_set *set = spec->set;
    const tf_name_class *class = &classes->items[i];
    TF_TRY(language_of(b, set, classes->apart, class->matches, set->n, language));
    for (uint32_t k = 0; class->ends && k < set->n_literals; k++) {
        tf_dfa_language both[2] = {*language, 0};
        TF_TRY(tf_dfa_not(set->dfa, set->language[set->n + k], b->budget, &both[1], b->err));
        TF_TRY(tf_dfa_and(set->dfa, both, 2, b->budget, language, b->err));
    }
    return TOKFSM_OK;
}

/* Which patterns no name matches together: each pair is looked at. */
static tokfsm_status find_apart(splitting *s)
{
    tf_build *b = s->b;
    uint32_t n = s->set->n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            tf_dfa_language both[2] = {s->set->language[i], s->set->language[k]};
            bool some;
            TF_TRY(tf_spend(b->budget, b->err));
            TF_TRY(tf_dfa_and(s->set->dfa, both, 2, b->budget, &both[0], b->err));
            TF_TRY(no_empty(s, both[0], &some));
            if (some)
                continue;
            tf_word_set(s->apart + (size_t)i * s->n_words, k);
            tf_word_set(s->apart + (size_t)k * s->n_words, i);
        }
    return TOKFSM_OK;
}

static tokfsm_status split_all(splitting *s)
{
    tf_build *b = s->b;
    tokfsm_status status = TOKFSM_OK;
    s->n_words = tf_words_for(s->set->n);
    s->language = tf_take(b, TF_MAX_NAME_CLASSES * sizeof *s->language, &status);
    s->matches = tf_take(b, TF_MAX_NAME_CLASSES * sizeof *s->matches, &status);
    uint64_t *words = tf_take(b, TF_MAX_NAME_CLASSES * s->n_words * sizeof *words, &status);
    if (status != TOKFSM_OK)
        return status;
    s->apart = tf_take(b, (size_t)s->set->n * s->n_words * sizeof *s->apart, &status);
    if (status != TOKFSM_OK)
        return status;
    TF_TRY(find_apart(s));
    for (uint32_t i = 0; i < TF_MAX_NAME_CLASSES; i++)
        s->matches[i] = words + (size_t)i * s->n_words;
    s->language[s->n++] = 1;
    for (uint32_t k = 0; k < s->set->n; k++)
        TF_TRY(split_by(s, k));
    return TOKFSM_OK;
}

/* ---- sets of patterns ---- */

enum { FEW_PATTERNS = 4, MOST_PATTERNS = 12 }; /* the first: those cannot make many classes */
enum { PART = 32 }; /* of the memory, that classes may take: all that follows takes more */

/* Names are looked for byte by byte: each character must be one that can be written raw. */
static bool writes_characters(const tf_machine *m)
{
    for (uint32_t byte = 0x80; byte <= 0xF4; byte++)
        if (byte != 0xC0 && byte != 0xC1 && !tf_has_byte(m, (uint8_t)byte))
            return false;
    return true;
}

/* The patterns' own languages, and that of all names, which keeps every state live. */
static tokfsm_status set_language(tf_build *b, const tf_content_spec *spec, uint32_t i,
                                  tf_dfa_language *language)
{
    (void)b;
    *language = i < spec->set->n ? spec->set->language[i] : 1;
    return TOKFSM_OK;
}

static tokfsm_status make_sets(tf_build *b, tf_pattern_set *set, tf_name_classes *classes)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t n = (uint32_t)1 << set->n;
    tf_name_class *items = tf_take(b, n * sizeof *items, &status);
    uint64_t *matches = tf_take(b, n * sizeof *matches, &status);
    if (status != TOKFSM_OK)
        return status;
    for (uint32_t i = 0; i < n; i++) {
        matches[i] = i;
        items[i] = (tf_name_class){&matches[i], UINT64_MAX, false};
    }
    *classes = (tf_name_classes){.set = set, .n = n, .n_sets = set->n, .items = items};
    tf_content_spec spec = {set, set->n + 1, set_language, NULL};
    return tf_content_of(b, &spec, TF_LENGTHS_NONE, TF_COUNTS_NONE, &classes->content);
}

enum { NOT_TRIED, CAN_BE, TOO_MUCH };

/* Whether splitting makes too much of the patterns: tried on a copy, which is given up. */
static tokfsm_status try_splitting(tf_build *b, tf_pattern_set *set)
{
    tf_pattern_set copy;
    splitting s = {.b = b, .set = &copy};
    tokfsm_error unsaid = {0}, *err = b->err;
    TF_TRY(tf_pattern_set_copy(b, set, &copy));
    tf_dfa_limit_bytes(copy.dfa, (size_t)(b->machine.limits.automaton_bytes / PART));
    b->err = &unsaid;
    tokfsm_status status = split_all(&s);
    b->err = err;
    tf_dfa_free(copy.dfa);
    if (status != TOKFSM_OK && status != TOKFSM_E_LIMIT) {
        if (err != NULL)
            *err = unsaid;
        return status;
    }
    if (status != TOKFSM_OK)
        TF_TRY(tf_spend(b->budget, b->err)); /* or it was the work that went over its limit */
    set->split = status == TOKFSM_OK ? CAN_BE : TOO_MUCH;
    return TOKFSM_OK;
}

static tokfsm_status make_classes(tf_build *b, pattern_list *list, const tf_literal *declared,
                                  uint32_t n_declared, bool counted, tf_name_classes *classes)
{
    tokfsm_status status = TOKFSM_OK;
    splitting s = {.b = b};
    TF_TRY(tf_pattern_set_of(b, list->all.items, (uint32_t)list->all.n, NULL, 0, &s.set));
    if (!counted && s.set->n > FEW_PATTERNS && s.set->n <= MOST_PATTERNS &&
        writes_characters(&b->machine)) {
        if (s.set->split == NOT_TRIED)
            TF_TRY(try_splitting(b, s.set));
        if (s.set->split == TOO_MUCH)
            return make_sets(b, s.set, classes);
    }
    TF_TRY(split_all(&s));
    tf_name_class *items = tf_take(b, s.n * sizeof *items, &status);
    if (status != TOKFSM_OK)
        return status;
    /* A name goes on only where another one is left than those that are there. Of an endless class
       that holds in each state that has no end; where all have none, nothing need be counted. */
    bool counts = false;
    for (uint32_t i = 0; i < s.n; i++) {
        tf_dfa_state_id start;
        items[i].matches = s.matches[i];
        TF_TRY(tf_dfa_start(s.set->dfa, s.language[i], b->budget, &start, b->err));
        TF_TRY(tf_count_strings(b, s.set->dfa, &start, 1, UINT64_MAX, true,
                                &items[i].n_names));
        items[i].ends = items[i].n_names != UINT64_MAX;
        if (!items[i].ends)
            TF_TRY(tf_some_state_ends(b, s.set->dfa, start, TF_COUNTED_STATES, &items[i].ends));
        counts |= items[i].ends;
    }
    classes->set = s.set;
    classes->n = s.n;
    classes->items = items;
    classes->apart = s.apart;
    if (counts && n_declared > 0)
        TF_TRY(tf_pattern_set_of(b, list->all.items, (uint32_t)list->all.n, declared, n_declared,
                                 &classes->set));
    tf_content_spec spec = {classes->set, s.n, class_language, classes};
    TF_TRY(tf_content_of(b, &spec, TF_LENGTHS_NONE,
                         counts ? TF_COUNTS_ALL : TF_COUNTS_NONE, &classes->content));
    for (uint32_t i = 0; i < s.n; i++)
        if (items[i].n_names != UINT64_MAX)
            items[i].n_names = classes->content->start == NULL ? 0
                                                               : classes->content->start->counts[i];
    return TOKFSM_OK;
}

tokfsm_status tf_name_classes_of(tf_build *b, const tf_alternative *const *alternatives,
                                 uint32_t n, const tf_literal *declared, uint32_t n_declared,
                                 bool counted, const tf_name_classes **classes)
{
    static const tf_name_class all_names = {NULL, UINT64_MAX, false};
    pattern_list list = {.b = b};
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t a = 0; a < n && status == TOKFSM_OK; a++)
        status = tf_each_name_pattern(b, alternatives[a], add_pattern, &list);
    tf_name_classes *made = tf_take(b, sizeof *made, &status);
    if (status == TOKFSM_OK) {
        *made = (tf_name_classes){.n = 1, .items = &all_names};
        if (list.all.n > 0)
            status = make_classes(b, &list, declared, n_declared, counted, made);
    }
    if (status == TOKFSM_OK) /* an alternative keeps it */
        *classes = made;
    tf_release(&b->arena.allocator, list.all.items);
    return status;
}

typedef struct literal_list {
    tf_build *b;
    tf_literal *items;
    uint32_t n, capacity;
} literal_list;

static tokfsm_status add_literal(void *context, const char *text, uint32_t n)
{
    literal_list *list = context;
    if (!tf_arena_grow(&list->b->arena, (void **)&list->items, list->n, &list->capacity, 8,
                       sizeof *list->items))
        return no_memory(list->b);
    list->items[list->n++] = (tf_literal){.text = (const uint8_t *)text, .n_text = n};
    return tf_spend(list->b->budget, list->b->err);
}

tokfsm_status tf_name_classes_own(tf_build *b, const tf_alternative *alternative,
                                  const tf_name_classes **classes)
{
    tf_alternative *a = (tf_alternative *)(uintptr_t)alternative;
    if (a->name_classes == NULL) {
        literal_list declared = {.b = b};
        bool patterns = false;
        for (uint32_t i = 0; i < a->n_atoms; i++)
            if (names_schema(b, a->atoms[i]) != NULL) {
                const tf_schema *s = names_schema(b, a->atoms[i]);
                patterns |= s->n_pattern_properties > 0 || s->property_names != TF_NO_SCHEMA;
            }
        if (patterns)
            TF_TRY(tf_each_name(b, alternative, add_literal, &declared));
        TF_TRY(tf_name_classes_of(b, &alternative, 1, declared.items, declared.n, true,
                                  &a->name_classes));
    }
    *classes = a->name_classes;
    return TOKFSM_OK;
}
