/*
 * The compile half of a machine: schema records -> the parts of machine.h, made when they are
 * first asked for.
 *
 * An *obligation* is a schema with a polarity, or a value of the schema text that must be
 * equalled. An *obligation set* is a conjunction of them, interned. For objects and arrays it
 * is expanded into *alternatives*: conjunctions of schemas' own object or array keywords
 * (atoms), with anyOf and enum chosen. For scalars nothing is expanded: conjunctions and
 * disjunctions are evaluated as booleans on each end state.
 *
 * Everything here runs under the machine's lock. Arena memory is freed with the machine.
 */
#ifndef TF_BUILD_H
#define TF_BUILD_H

#include "../engine/machine.h"
#include "../schema/relax.h"

typedef uint32_t tf_obligation; /* index * 8 + tag */
enum {
    TF_HOLDS,   /* schema `index` accepts the value */
    TF_FAILS,   /* schema `index` refuses it */
    TF_EQUALS,  /* the value equals tape node `index` */
    TF_DIFFERS, /* it does not */
    TF_FACT     /* atoms only: fact `index` holds */
};
static inline tf_obligation tf_obligation_of(uint32_t index, uint32_t tag) { return index * 8 + tag; }
static inline uint32_t tf_obligation_index(tf_obligation o) { return o / 8; }
static inline uint32_t tf_obligation_tag(tf_obligation o) { return o % 8; }

/* What the negation of a schema's own keywords comes down to, and what dependencies ask. */
typedef struct tf_fact {
    enum {
        TF_MEMBER, /* member `name` is there and meets `obligation` */
        TF_LACKS,  /* it is not there */
        TF_IF_THERE, /* it is not there, or meets `obligation` */
        TF_SOME_MEMBER, /* one whose name is of `names` of schema `index` meets `obligation` */
        TF_COUNT,  /* min to max members */
        TF_ITEM,   /* item `index` is there and meets `obligation` */
        TF_SOME_ITEMS, /* min to max items from `index` on meet `obligation` */
        TF_LENGTH, /* min to max items */
        TF_UNEVALUATED, /* members that no schema of `list` evaluates meet `obligation` */
        TF_ITEMS_FROM,  /* items from `index` on meet `obligation` */
        TF_TWINS,  /* two items are equal */
        TF_TWIN    /* ... items `index` and min - 1, where the first behind the prefix stands for
                      all from there on (and the second for another of them) */
    } kind;
    const char *name;
    uint32_t n_name;
    uint32_t index;
    uint32_t names; /* TF_NAMES_* */
    tf_obligation obligation;
    uint64_t min, max;
    const uint32_t *list; /* of schemas */
    uint32_t n_list;
} tf_fact;

/* Names that a schema speaks of: that it does not evaluate, that its propertyNames refuses, that
   no schema of `list` evaluates, that pattern i of its patternProperties matches. */
enum { TF_NAMES_OUTSIDE, TF_NAMES_REFUSED, TF_NAMES_UNEVALUATED, TF_NAMES_MATCHING };

typedef struct tf_name_classes tf_name_classes;
typedef struct tf_counters tf_counters;

typedef struct tf_alternative {
    uint32_t n_atoms;
    const tf_obligation *atoms; /* in text order */
    const tf_name_classes *name_classes; /* its own; NULL: not looked at yet */
    const tf_counters *counters; /* those among them that count children (witnesses.h), or NULL */
    uint8_t distinct;           /* whether its items can all differ: equal_items.c */
} tf_alternative;

static inline bool tf_same_alternative(const tf_alternative *a, const tf_alternative *b)
{
    return a == b || (a->n_atoms == b->n_atoms &&
                      (a->n_atoms == 0 ||
                       memcmp(a->atoms, b->atoms, a->n_atoms * sizeof *a->atoms) == 0));
}

typedef struct tf_alternatives {
    uint32_t n;
    const tf_alternative *const *items;
} tf_alternatives;

enum { TF_UNKNOWN, TF_PENDING, TF_KNOWN };

typedef struct tf_oset {
    uint32_t id, n;
    const tf_obligation *items; /* in text order, each once */
    uint8_t sat_state, satisfiable;
    uint8_t cost_state;
    uint8_t hope; /* prune.c: TF_UNKNOWN, TF_PENDING for "hopeless", TF_KNOWN for "perhaps not" */
    uint32_t sat_epoch, cost_epoch; /* of what is pending: see tf_build.epoch */
    tf_cost cost;
    const tf_alternatives *object, *array; /* NULL: not expanded yet */
} tf_oset;

typedef struct tf_kind_build { /* beside a kind */
    const tf_alternative *const *alternatives;
    const tf_name_classes *name_classes; /* objects */
} tf_kind_build;

/* A pattern of the schema, or one that a format or a length stands for. */
typedef struct tf_pattern_record {
    const char *text;
    uint32_t n;
    uint32_t next; /* hash chain */
    uint32_t n_spelled;
    const tf_name *spelled; /* all that it matches, where it spells that out; else NULL */
} tf_pattern_record;

/* index.h */
typedef struct tf_index {
    struct tf_index_slot {
        uint32_t hash, number; /* 1 + number; 0: free */
    } *slots;
    uint32_t n_slots; /* a power of two */
} tf_index;

typedef struct tf_holding tf_holding;

/* What is needed to look a value up in a large enum. */
typedef struct tf_values_index tf_values_index;

typedef struct tf_build {
    tf_machine machine; /* first: a machine is its build */
    tf_arena arena;
    tf_arena text_arena; /* tape and records */
    tf_tape tape;
    tf_ir ir;
    tf_budget *budget; /* of the call in progress */
    tokfsm_error *err;
    uint32_t epoch; /* counts take-overs after fork(): what an earlier epoch left pending is not */

    struct { tf_oset **items; size_t n, capacity; } osets;
    struct { tf_value **items; size_t n, capacity; } values;
    struct { tf_fact *items; size_t n, capacity; } facts;
    struct { tf_kind **items; size_t n, capacity; } kinds;
    struct { tf_nstate **items; size_t n, capacity; } nstates;
    tf_index osets_index, positions_index, facts_index;
    uint32_t *nstate_heads; /* 1 + index, [n_nstate_heads], a power of two: they can be many */
    size_t n_nstate_heads;
    tf_values_index **values_index; /* [n_schemas], NULL where small */
    struct { tf_holding **items; size_t n, capacity; } holding; /* by position; holding.c */
    struct { struct tf_admitted_set *items; size_t n_slots, n; } admitted; /* admitted.c */
    struct { tf_pattern_record *items; size_t n, capacity; } patterns;
    uint32_t pattern_heads[256];    /* 1 + index */
    uint32_t *pattern_of, *format_of; /* [n_schemas] that a string must match, or TF_NO_PATTERN */
    uint64_t *format_most;          /* [n_schemas] the greatest length that the format admits */
    struct tf_pattern_set *pattern_sets;
    struct { struct tf_content_build **items; size_t n, capacity; } contents;
    uint32_t scalar_node[3];        /* a tape node of null, false, true, or TF_TAPE_NONE; indexed
                                       by TF_JSON_* */
    uint32_t *classes;              /* [n_nodes], or NULL: alike.h */
    uint32_t n_records;             /* schemas before any was made while expanding */
    uint8_t *marks;                 /* [n_schemas], or NULL: unevaluated.h */
    const uint32_t *stop_ids;       /* default stop set, sorted */
    size_t n_stop_ids;
    tf_relax *relax;                /* of the compile in progress, with unsupported="relax" */
    bool shares;                    /* contents with other automata of the pack: shelf.h */
    bool refuses;                   /* uniqueItems was refused: of the schema `refused`, or, where
                                       some must fail, TF_NO_SCHEMA */
    uint32_t refused;
} tf_build;

static inline tf_build *tf_build_of(tf_machine *m) { return (tf_build *)(void *)m; }

/* Read the schema, refuse what must be refused, make the root position. With `relax`, which is
   begun and may be NULL, what would be refused is left out instead, and listed there. */
tokfsm_status tf_build_init(tf_build *b, const uint8_t *schema, size_t n_bytes,
                            const tokfsm_resource *resources, size_t n_resources,
                            tokfsm_pack *pack, const uint32_t *stop_ids, size_t n_stop_ids,
                            const tokfsm_options *options, const tokfsm_allocator *allocator,
                            const tokfsm_limits *limits, tf_relax *relax, tf_budget *budget,
                            tokfsm_error *err);
/* An empty one, without a schema; b->budget and b->err are those of the call. */
void tf_build_begin(tf_build *b, tokfsm_pack *pack, const tokfsm_options *options,
                    const tokfsm_allocator *allocator, const tokfsm_limits *limits,
                    tf_relax *relax, tf_budget *budget, tokfsm_error *err);
void tf_build_free(tf_build *b);

/* NULL with *status set on failure; `b->budget` and `b->err` are those of the call. */
void *tf_take(tf_build *b, size_t n_bytes, tokfsm_status *status); /* cleared */

/* obligations.c */
tokfsm_status tf_oset_of(tf_build *b, const tf_obligation *items, uint32_t n, tf_oset **oset);
tokfsm_status tf_expand(tf_build *b, tf_oset *oset, bool object, const tf_alternatives **found);
/* What `alternative` asks of member `name`, of one under a name of a class that it does not
   speak of, or of item i; *oset is NULL where it admits none. */
tokfsm_status tf_member_oset(tf_build *b, const tf_alternative *alternative, const char *name,
                             uint32_t n_name, tf_oset **oset);
tokfsm_status tf_other_oset(tf_build *b, const tf_alternative *alternative,
                            const tf_name_classes *classes, uint32_t class, tf_oset **oset);
tokfsm_status tf_item_oset(tf_build *b, const tf_alternative *alternative, uint64_t i,
                           tf_oset **oset);
/* Intern a fact: equal ones have one index. */
tokfsm_status tf_fact_of(tf_build *b, const tf_fact *fact, uint32_t *index);
/* Members that it must and may have. */
void tf_member_counts(const tf_build *b, const tf_alternative *alternative, uint64_t *min,
                      uint64_t *max);
uint32_t tf_prefix_length(const tf_build *b, const tf_alternative *alternative);
void tf_item_counts(const tf_build *b, const tf_alternative *alternative, uint64_t *min,
                    uint64_t *max);
/* Names that the alternative requires, in text order: fn(context, text, n). */
typedef tokfsm_status (*tf_name_visitor)(void *context, const char *text, uint32_t n);
tokfsm_status tf_each_required(const tf_build *b, const tf_alternative *alternative,
                               tf_name_visitor visit, void *context);
/* All names that it declares: properties, then required ones that none declares. */
tokfsm_status tf_each_declared(tf_build *b, const tf_alternative *alternative,
                               tf_name_visitor visit, void *context);
/* All names that it speaks of: those, and the ones that a pattern spells out. */
tokfsm_status tf_each_name(tf_build *b, const tf_alternative *alternative,
                           tf_name_visitor visit, void *context);

/* evaluate.c: scalars */
typedef struct tf_scalar {
    uint32_t type;     /* TF_JSON_* but array and object */
    uint32_t node;     /* tape node of the value, or TF_TAPE_NONE: equal to no enum value */
    uint64_t n_chars;  /* strings */
    const char *text;  /* strings that are known: n bytes; else NULL */
    uint32_t n;
    struct tf_pattern_set *set; /* strings that are not: patterns are languages of this set */
    const struct tf_name_view *name; /* names of members */
    bool lengths_as_patterns;   /* lengths are patterns too; n_chars says nothing */
    bool is_integer;   /* numbers: by value */
    bool pointed;      /* numbers: spelled with a point, which some schemas take for no integer */
    /* numbers: the value against a bound or divisor of the position. NULL: `node` decides. */
    int (*compare)(const void *context, const tf_decimal *bound);
    bool (*divides)(const void *context, const tf_decimal *divisor);
    const void *context;
} tf_scalar;
tokfsm_status tf_evaluate(tf_build *b, const tf_oset *oset, const tf_scalar *scalar, bool *holds);
/* holding.c: set the bits of the obligations of a position that the scalar meets. */
tokfsm_status tf_value_holding(tf_build *b, const tf_value *value, const tf_scalar *scalar,
                               uint64_t *words);
/* Whether the scalar at a tape node meets the obligations. True too for a number that is refused
   where it is written down (too many digits, too large a divisor). */
tokfsm_status tf_may_equal(tf_build *b, const tf_oset *oset, uint32_t node, bool *may);
tokfsm_status tf_numbers_may_equal(tf_build *b, const tf_oset *oset, uint32_t node, bool *may);
/* Of strings with scalar->set: which of them do. The same of a schema. */
tokfsm_status tf_evaluate_language(tf_build *b, const tf_oset *oset, const tf_scalar *scalar,
                                   uint32_t *language);
tokfsm_status tf_evaluate_schema(tf_build *b, uint32_t id, const tf_scalar *scalar,
                                 uint32_t *language);
/* Visit the schemas that apply in place to values of the obligations. */
typedef tokfsm_status (*tf_schema_visitor)(tf_build *b, void *context, const tf_schema *schema);
typedef tokfsm_status (*tf_node_visitor)(tf_build *b, void *context, uint32_t node);
tokfsm_status tf_visit_schema(tf_build *b, uint32_t id, tf_schema_visitor schema, void *context);
tokfsm_status tf_visit_in_place(tf_build *b, const tf_value *value, tf_schema_visitor schema,
                                tf_node_visitor equals, void *context);

/* satisfiable.c, cost.c */
tokfsm_status tf_satisfiable(tf_build *b, tf_oset *oset, bool *satisfiable);
tokfsm_status tf_oset_cost(tf_build *b, tf_oset *oset, tf_cost *cost);
tokfsm_status tf_alternative_satisfiable(tf_build *b, const tf_alternative *alternative,
                                         bool object, bool *satisfiable);

/* Visit what an object's required members, or an array's first items, must be; NULL where it
   cannot be met. */
tokfsm_status tf_each_need(tf_build *b, const tf_alternative *alternative, bool object,
                           tokfsm_status (*visit)(void *context, tf_oset *oset), void *context);

/* Visit what more members can be, where an object needs some beyond the required ones. */
tokfsm_status tf_each_choice(tf_build *b, const tf_alternative *alternative,
                             tokfsm_status (*visit)(void *context, tf_oset *oset), void *context);
tokfsm_status tf_counts_met(tf_build *b, const tf_alternative *alternative,
                            tokfsm_status (*satisfiable)(tf_build *, tf_oset *, bool *),
                            bool *met);

/* equal_items.c */
typedef struct tf_unique_facts {
    bool unique;    /* no two items may be equal */
    tf_twins twins; /* these two must be; second TF_NONE: none */
} tf_unique_facts;
tokfsm_status tf_unique_facts_of(tf_build *b, const tf_alternative *alternative,
                                 tf_unique_facts *facts);
typedef tokfsm_status (*tf_alternative_visitor)(void *context, const tf_alternative *alternative);
/* The alternatives that this one comes down to once equal items are looked at. */
tokfsm_status tf_unique_alternatives(tf_build *b, const tf_alternative *alternative,
                                     tf_alternative_visitor visit, void *context);
/* Whether the items that it must have can all differ, if they must; *tight: not whatever the
   first of them are. */
tokfsm_status tf_unique_met(tf_build *b, const tf_alternative *alternative, bool *met, bool *tight);
tokfsm_status tf_unique_kind(tf_build *b, const tf_alternative *const *alternatives, tf_kind *kind);
/* Refuse an alternative that both counts its items and compares them. */
tokfsm_status tf_unique_uncounted(tf_build *b, const tf_alternative *alternative);
uint32_t tf_unique_mode(const tf_ir *ir); /* TF_UNIQUE_* */
/* Whether some array may be of the kind that tf_unique_uncounted refuses. */
bool tf_unique_beside_counts(const tf_ir *ir);
/* The same once all kinds are there: PLANNED only if some array must have items that differ, or
   two that are equal. */
uint32_t tf_unique_mode_of_kinds(const tf_build *b);

/* values.c */
tokfsm_status tf_value_of(tf_build *b, tf_oset *const *osets, uint32_t n, const tf_value **value);
static inline tf_oset *tf_value_oset(const tf_build *b, const tf_value *value, uint32_t i)
{
    return b->osets.items[value->build[i]];
}

/* strings.c, numbers.c, number_states.c, kinds.c, cost.c: the hooks' insides; publish like
   tf_value_strings does */
tokfsm_status tf_build_strings(tf_build *b, const tf_value *value, const tf_strings **strings);
tokfsm_status tf_build_number(tf_build *b, const tf_value *value, const tf_nstate **start);
tokfsm_status tf_build_number_next(tf_build *b, const tf_nstate *state, uint32_t class,
                                   const tf_nstate **next);
tokfsm_status tf_build_number_cost(tf_build *b, const tf_nstate *state, const uint32_t **cost);
tokfsm_status tf_build_kind(tf_build *b, const tf_value *value, bool object, const tf_kind **kind);
tokfsm_status tf_build_edge(tf_build *b, const tf_kind *kind, uint32_t index, const tf_edge **edge);
tokfsm_status tf_build_literal_cost(tf_build *b, const tf_strings *strings, uint32_t literal,
                                    bool name, const uint32_t **cost);
tokfsm_status tf_build_value_cost(tf_build *b, const tf_value *value, const tf_cost **cost);
tokfsm_status tf_build_items_cost(tf_build *b, const tf_kind *kind, const tf_items_cost **cost);

/* literals.c */
int tf_compare_literals(const void *a, const void *b); /* for qsort: by spelling */
/* The JSON spelling of a literal (docs/spelling.md (b)), without quotes, in the arena. */
tokfsm_status tf_spell(tf_build *b, const char *text, uint32_t n, const uint8_t **spelled,
                       uint32_t *n_spelled);
/* Tokens from each position of these bytes to their end: cost[n + 1]. */
tokfsm_status tf_spelling_cost(tf_build *b, const uint8_t *bytes, uint32_t n,
                               const uint32_t **cost);
bool tf_has_escaped_closer(const tf_build *b, const char *text, uint32_t n);

extern const tf_hooks tf_build_hooks;

#endif
