/* Patterns, interned by their text, and the automata of sets of them. See patterns.h. */
#include "patterns.h"

#include <stdio.h>
#include <stdlib.h>

#include "../regex/formats.h"
#include "../regex/parse.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for a pattern");
}

tokfsm_status tf_pattern_intern(tf_build *b, const char *text, uint32_t n, uint32_t *pattern)
{
    TF_TRY(tf_spend(b->budget, b->err));
    uint32_t hash = 2166136261u ^ n;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    hash ^= hash >> 15;
    uint32_t *head = &b->pattern_heads[hash % 256];
    for (uint32_t i = *head; i != 0; i = b->patterns.items[i - 1].next) {
        const tf_pattern_record *known = &b->patterns.items[i - 1];
        if (known->n == n && (n == 0 || memcmp(known->text, text, n) == 0)) {
            *pattern = i - 1;
            return TOKFSM_OK;
        }
    }
    if (!tf_grow(&b->arena.allocator, (void **)&b->patterns.items, b->patterns.n,
                 &b->patterns.capacity, sizeof *b->patterns.items))
        return no_memory(b);
    tf_pattern_record *made = &b->patterns.items[b->patterns.n];
    *made = (tf_pattern_record){text, n, *head, 0, NULL};
    TF_TRY(tf_pattern_spell(b, made));
    *pattern = (uint32_t)b->patterns.n++;
    *head = (uint32_t)b->patterns.n;
    return TOKFSM_OK;
}

/* ---- what the schema says ---- */

static tokfsm_status check_syntax(tf_build *b, const tf_name *text, tokfsm_error *err)
{
    tf_regex regex = {0};
    tf_arena scratch;
    tf_arena_init(&scratch, &b->arena.allocator);
    tokfsm_status status = tf_parse_regex(&regex, text->text, text->n, &scratch, b->budget, err);
    tf_arena_free(&scratch);
    return status;
}

static const char no_regex[] =
    "the format regex is not supported: the regular expressions are not a regular language";

static bool is_regex(const tf_schema *s)
{
    return s->format.text != NULL && s->format.n == 5 && memcmp(s->format.text, "regex", 5) == 0;
}

/* Its syntax is looked at here, so that a refusal names keyword and pointer. */
static tokfsm_status read_pattern(tf_build *b, const tf_name *text, uint32_t node,
                                  const char *keyword, uint32_t *pattern)
{
    size_t n_before = b->patterns.n;
    TF_TRY(tf_pattern_intern(b, text->text, text->n, pattern));
    if (b->patterns.n == n_before)
        return TOKFSM_OK;
    tokfsm_error err = {0};
    tokfsm_status status = check_syntax(b, text, &err);
    if (status == TOKFSM_OK)
        return TOKFSM_OK;
    b->patterns.items[*pattern].n = UINT32_MAX; /* never met again */
    return tf_fail_node(b->err, status, &b->tape, node, keyword, "%.900s", err.message);
}

/* A cause if the pattern is one that is not supported. */
static tokfsm_status look_at(tf_build *b, const tf_name *text, tf_cause cause)
{
    tokfsm_error err = {0};
    tokfsm_status status = check_syntax(b, text, &err);
    if (status == TOKFSM_E_UNSUPPORTED) {
        cause.reason = err.message;
        return tf_relax_add(b->relax, cause, b->err);
    }
    if (status == TOKFSM_OK || status == TOKFSM_E_SCHEMA)
        return TOKFSM_OK; /* tf_patterns_read will say that it is invalid */
    *b->err = err;
    return status;
}

tokfsm_status tf_patterns_unsupported(tf_build *b)
{
    for (uint32_t id = 0; id < b->ir.n_schemas && !b->relax->looked; id++) {
        const tf_schema *s = &b->ir.schemas[id];
        for (uint32_t i = 0; i < s->n_pattern_properties; i++) {
            const tf_pattern_property *p = &s->pattern_properties[i];
            TF_TRY(look_at(b, &p->pattern, (tf_cause){TF_CAUSE_NAMES, id, p->node, i, NULL, NULL}));
        }
        if (s->foreign_node != TF_TAPE_NONE)
            TF_TRY(tf_relax_add(b->relax, (tf_cause){TF_CAUSE_FOREIGN, id, s->foreign_node, 0, "", NULL},
                                b->err));
        if (!(s->types & TF_TYPE_STRING))
            continue;
        if (s->pattern.text != NULL)
            TF_TRY(look_at(b, &s->pattern,
                           (tf_cause){TF_CAUSE_PATTERN, id, s->pattern_node, 0, NULL, NULL}));
        if (is_regex(s))
            TF_TRY(tf_relax_add(b->relax, (tf_cause){TF_CAUSE_FORMAT, id, s->format_node, 0, no_regex, NULL},
                                b->err));
    }
    b->relax->looked = true;
    return TOKFSM_OK;
}

tokfsm_status tf_patterns_read(tf_build *b)
{
    tokfsm_status status = TOKFSM_OK;
    b->pattern_of = tf_take(b, b->ir.capacity * sizeof *b->pattern_of, &status);
    b->format_of = tf_take(b, b->ir.capacity * sizeof *b->format_of, &status);
    b->format_most = tf_take(b, b->ir.capacity * sizeof *b->format_most, &status);
    if (status != TOKFSM_OK)
        return status;
    for (size_t id = 0; id < b->ir.capacity; id++) { /* schemas that are made later have none */
        b->pattern_of[id] = b->format_of[id] = TF_NO_PATTERN;
        b->format_most[id] = TF_UNLIMITED;
    }
    for (uint32_t id = 0; id < b->ir.n_schemas; id++) {
        const tf_schema *s = &b->ir.schemas[id];
        for (uint32_t i = 0; i < s->n_pattern_properties; i++) {
            tf_pattern_property *p =
                (tf_pattern_property *)(uintptr_t)&s->pattern_properties[i];
            TF_TRY(read_pattern(b, &p->pattern, p->node, "patternProperties", &p->number));
        }
        if (!(s->types & TF_TYPE_STRING))
            continue; /* neither can speak of a value */
        if (s->pattern.text != NULL)
            TF_TRY(read_pattern(b, &s->pattern, s->pattern_node, "pattern", &b->pattern_of[id]));
        if (s->format.text == NULL)
            continue;
        if (is_regex(s))
            return tf_fail_node(b->err, TOKFSM_E_UNSUPPORTED, &b->tape, s->format_node, "format",
                                no_regex);
        const tf_format *format = tf_format_find(s->format.text, s->format.n);
        if (format == NULL)
            continue; /* unknown formats are annotations */
        TF_TRY(tf_pattern_intern(b, format->pattern, (uint32_t)strlen(format->pattern),
                                 &b->format_of[id]));
        if (format->max_length != TF_FORMAT_ANY_LENGTH)
            b->format_most[id] = format->max_length;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_pattern_of_lengths(tf_build *b, uint64_t least, uint64_t most, uint32_t *pattern)
{
    char text[80];
    *pattern = TF_NO_PATTERN;
    if (least == 0 && most == TF_UNLIMITED)
        return TOKFSM_OK;
    int n;
    if (least > most)
        n = snprintf(text, sizeof text, "[^\\s\\S]");
    else if (most == TF_UNLIMITED)
        n = snprintf(text, sizeof text, "^[\\s\\S]{%llu,}$", (unsigned long long)least);
    else
        n = snprintf(text, sizeof text, "^[\\s\\S]{%llu,%llu}$", (unsigned long long)least,
                     (unsigned long long)most);
    char *kept = tf_arena_take(&b->arena, (size_t)n);
    if (kept == NULL)
        return no_memory(b);
    memcpy(kept, text, (size_t)n);
    return tf_pattern_intern(b, kept, (uint32_t)n, pattern);
}

/* ---- sets ---- */

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The automaton of the set, from its patterns and literals. */
static tokfsm_status make(tf_build *b, tf_pattern_set *set)
{
    tf_dfa *dfa;
    TF_TRY(tf_dfa_new(&dfa, &b->arena.allocator, b->err));
    tf_dfa_limit_bytes(dfa, b->machine.limits.automaton_bytes);
    tokfsm_status status = TOKFSM_OK;
    uint32_t number;
    for (uint32_t i = 0; i < set->n && status == TOKFSM_OK; i++) {
        const tf_pattern_record *p = &b->patterns.items[set->patterns[i]];
        status = tf_dfa_add_pattern(dfa, p->text, p->n, b->budget, &number, b->err);
    }
    for (uint32_t i = 0; i < set->n_literals && status == TOKFSM_OK; i++)
        status = tf_dfa_add_literal(dfa, (const char *)set->literals[i].text,
                                    set->literals[i].n_text, b->budget, &number, b->err);
    if (status == TOKFSM_OK)
        status = tf_dfa_seal(dfa, b->budget, b->err);
    for (uint32_t i = 0; i < set->n + set->n_literals && status == TOKFSM_OK; i++)
        status = tf_dfa_pattern(dfa, i, b->budget, &set->language[i], b->err);
    if (status != TOKFSM_OK) {
        tf_dfa_free(dfa);
        return status;
    }
    set->dfa = dfa;
    set->epoch = b->epoch;
    return TOKFSM_OK;
}

tokfsm_status tf_pattern_set_of(tf_build *b, uint32_t *patterns, uint32_t n,
                                const tf_literal *literals, uint32_t n_literals,
                                tf_pattern_set **found)
{
    qsort(patterns, n, sizeof *patterns, compare_ids);
    tf_pattern_set *set = b->pattern_sets;
    for (; set != NULL; set = set->next) {
        TF_TRY(tf_spend(b->budget, b->err));
        if (n_literals == 0 && set->n_literals == 0 && set->n == n &&
            (n == 0 || memcmp(set->patterns, patterns, n * sizeof *patterns) == 0))
            break;
    }
    if (set == NULL) {
        tokfsm_status status = TOKFSM_OK;
        set = tf_take(b, sizeof *set, &status);
        uint32_t *kept = tf_take(b, n * sizeof *kept, &status);
        tf_literal *kept_literals = tf_take(b, n_literals * sizeof *kept_literals, &status);
        tf_dfa_language *language = tf_take(b, (n + n_literals) * sizeof *language, &status);
        if (status != TOKFSM_OK)
            return status;
        if (n > 0)
            memcpy(kept, patterns, n * sizeof *kept);
        if (n_literals > 0)
            memcpy(kept_literals, literals, n_literals * sizeof *kept_literals);
        *set = (tf_pattern_set){.next = b->pattern_sets, .n = n, .patterns = kept,
                                .n_literals = n_literals, .literals = kept_literals,
                                .language = language};
        b->pattern_sets = set;
    }
    *found = set;
    return tf_pattern_set_refresh(b, set);
}

tokfsm_status tf_pattern_set_refresh(tf_build *b, tf_pattern_set *set)
{
    /* What another process had half made is given up, not freed. */
    return set->dfa == NULL || set->epoch != b->epoch ? make(b, set) : TOKFSM_OK;
}

tokfsm_status tf_pattern_set_copy(tf_build *b, const tf_pattern_set *set, tf_pattern_set *copy)
{
    tokfsm_status status = TOKFSM_OK;
    *copy = *set;
    copy->next = NULL;
    copy->dfa = NULL;
    copy->language = tf_take(b, (set->n + set->n_literals) * sizeof *copy->language, &status);
    return status == TOKFSM_OK ? make(b, copy) : status;
}

tf_dfa_language tf_pattern_set_language(const tf_pattern_set *set, uint32_t pattern)
{
    uint32_t low = 0, high = set->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (set->patterns[middle] <= pattern)
            low = middle;
        else
            high = middle;
    }
    return set->language[low];
}

tokfsm_status tf_pattern_matches(tf_build *b, uint32_t pattern, const char *text, uint32_t n,
                                 bool *matches)
{
    tf_pattern_set *set;
    tf_dfa_state_id state;
    TF_TRY(tf_pattern_set_of(b, &pattern, 1, NULL, 0, &set));
    TF_TRY(tf_dfa_start(set->dfa, set->language[0], b->budget, &state, b->err));
    for (uint32_t i = 0; i < n && state != TF_DFA_DEAD; i++) {
        TF_TRY(tf_spend(b->budget, b->err));
        TF_TRY(tf_dfa_step(set->dfa, state, (uint8_t)text[i], b->budget, &state, b->err));
    }
    *matches = state != TF_DFA_DEAD && tf_dfa_accepts(set->dfa, state);
    return TOKFSM_OK;
}

void tf_patterns_free(tf_build *b)
{
    for (tf_pattern_set *set = b->pattern_sets; set != NULL; set = set->next)
        if (set->epoch == b->epoch)
            tf_dfa_free(set->dfa);
    tf_release(&b->arena.allocator, b->patterns.items);
}
