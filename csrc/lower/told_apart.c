/*
 * Branches that are told apart by a member: one that each of them requires, among a short list of
 * values. Those without a value in common exclude each other, which is found by hashing all values
 * once, and not by looking at each pair.
 */
#include <stdlib.h>

#include "told_apart.h"

enum { MOST_VALUES = 64 };

typedef struct told {
    uint64_t hash;
    uint32_t branch;
} told;

static const tf_schema *behind(const tf_build *b, uint32_t id)
{
    const tf_schema *s = &b->ir.schemas[id];
    while (s->reference != TF_NO_SCHEMA && tf_is_bare(s))
        s = &b->ir.schemas[s->reference];
    return s;
}

/* The values of the member, if the branch requires it; NULL: it does not, or they are too many. */
static const tf_schema *values_of(const tf_build *b, const tf_schema *branch, const tf_name *name)
{
    bool required = false;
    for (uint32_t i = 0; i < branch->n_required && !required; i++)
        required = branch->required[i].n == name->n &&
                   (name->n == 0 || memcmp(branch->required[i].text, name->text, name->n) == 0);
    uint32_t id = required ? tf_ir_property(&b->ir, branch, name->text, name->n) : TF_NO_SCHEMA;
    if (id == TF_NO_SCHEMA)
        return NULL;
    const tf_schema *s = behind(b, id);
    return s->has_values && s->n_values <= MOST_VALUES ? s : NULL;
}

static int compare_told(const void *a, const void *b)
{
    const told *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1)
                              : (x->branch > y->branch) - (x->branch < y->branch);
}

/* The member by which most of the first branch's rivals are told from it: the first of its own that
   the second has too. */
static const tf_name *discriminator(const tf_build *b, const uint32_t *branches)
{
    const tf_schema *first = behind(b, branches[0]), *second = behind(b, branches[1]);
    for (uint32_t i = 0; i < first->n_required; i++)
        if (values_of(b, first, &first->required[i]) != NULL &&
            values_of(b, second, &first->required[i]) != NULL)
            return &first->required[i];
    return NULL;
}

tokfsm_status tf_told_apart(tf_build *b, tf_arena *arena, const uint32_t *branches, uint32_t n,
                            tf_told_apart_by *by)
{
    *by = (tf_told_apart_by){0};
    const tf_name *name = n < 8 ? NULL : discriminator(b, branches);
    if (name == NULL)
        return TOKFSM_OK;
    size_t n_told = 0;
    for (uint32_t i = 0; i < n; i++) {
        const tf_schema *s = values_of(b, behind(b, branches[i]), name);
        n_told += s == NULL ? 0 : s->n_values;
        TF_TRY(tf_spend(b->budget, b->err));
    }
    told *all = tf_arena_take(arena, n_told * sizeof *all);
    uint64_t *tells = tf_arena_zero(arena, tf_words_for(n) * sizeof *tells);
    uint32_t *group = tf_arena_take(arena, n * sizeof *group);
    if (all == NULL || tells == NULL || group == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    n_told = 0;
    for (uint32_t i = 0; i < n; i++) {
        const tf_schema *s = values_of(b, behind(b, branches[i]), name);
        group[i] = i;
        if (s != NULL)
            tf_word_set(tells, i);
        for (uint32_t k = 0; s != NULL && k < s->n_values; k++)
            all[n_told++] = (told){tf_tape_hash(&b->tape, s->values[k]), i};
    }
    if (n_told > 1)
        qsort(all, n_told, sizeof *all, compare_told);
    /* Branches that share a value, through others too, are one group: by its first branch. */
    for (size_t i = 1; i < n_told; i++) {
        if (all[i].hash != all[i - 1].hash)
            continue;
        uint32_t x = all[i].branch, y = all[i - 1].branch;
        while (group[x] != x)
            x = group[x] = group[group[x]];
        while (group[y] != y)
            y = group[y] = group[group[y]];
        group[x < y ? y : x] = x < y ? x : y;
    }
    for (uint32_t i = 0; i < n; i++)
        group[i] = group[group[i]]; /* a group's branches come after its first */
    *by = (tf_told_apart_by){tells, group};
    return TOKFSM_OK;
}
