/*
 * Memory, work and cancellation run out at every place where they can. Each call then says so
 * with its own status, leaves what it was given as it was, leaks nothing, and does its work when
 * called again: masks are those of a run in which nothing ran out.
 * Sources: this file and all of csrc; -I at the root of the repository.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrc/tokfsm.h"

static unsigned n_failures;
static unsigned long n_checks;
static char where[160];

static void check_at(int holds, const char *what, int line)
{
    n_checks++;
    if (holds)
        return;
    if (n_failures++ < 20)
        fprintf(stderr, "nomem_test.c:%d: %s: not so: %s\n", line, where, what);
}
#define CHECK(condition) check_at((condition), #condition, __LINE__)

/* ---- an allocator that says no ---- */

typedef struct meter {
    unsigned long n;        /* allocations so far */
    unsigned long fails_at; /* the first that fails; 0: none */
    int for_good;           /* and all after it, until `fails_at` is 0 */
    int failed;             /* one did, since this was cleared */
    long blocks;
} meter;

static void *metered_allocate(void *context, size_t n_bytes)
{
    meter *m = context;
    m->n++;
    if (m->fails_at != 0 && (m->n == m->fails_at || (m->for_good && m->n > m->fails_at))) {
        m->failed = 1;
        return NULL;
    }
    void *block = malloc(n_bytes);
    if (block == NULL)
        exit(2);
    memset(block, 0xA5, n_bytes); /* nothing is cleared by chance */
    m->blocks++;
    return block;
}

static void metered_release(void *context, void *block)
{
    meter *m = context;
    m->blocks--;
    free(block);
}

/* ---- the scenes ---- */

enum { N_STEPS = 12, MAX_WORDS = 16 };

typedef struct scene {
    const char *schema;
    uint32_t whitespace, order, escapes, unsupported;
    int lazy; /* it cannot be made ahead of time */
} scene;

static const scene SCENES[] = {
    {"{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\\u0001\":{\"enum\":[\"x\",\"xy\",null,1.5]},"
     "\"c\":{\"$ref\":\"#\"}},\"required\":[\"a\"],\"additionalProperties\":{\"maxLength\":3}}",
     TOKFSM_WHITESPACE_FLEXIBLE, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR, 0},
    {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"string\",\"minLength\":2},{\"type\":\"number\"}],"
     "\"items\":{\"anyOf\":[{\"const\":[1,{\"k\":2}]},{\"type\":\"object\",\"required\":[\"z\"],"
     "\"properties\":{\"z\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}}}]},\"minItems\":3}",
     TOKFSM_WHITESPACE_INDENT, TOKFSM_ORDER_SCHEMA, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR, 0},
    {"{\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"t\":{\"const\":\"leaf\"},"
     "\"v\":{\"type\":[\"boolean\",\"string\"]}},\"required\":[\"t\",\"v\"],\"additionalProperties\":false},"
     "{\"type\":\"object\",\"properties\":{\"t\":{\"const\":\"node\"},\"k\":{\"type\":\"array\","
     "\"items\":{\"$ref\":\"#/$defs/n\"},\"maxItems\":2}},\"required\":[\"t\",\"k\"],"
     "\"additionalProperties\":false}]}},\"allOf\":[{\"$ref\":\"#/$defs/n\"}]}",
     TOKFSM_WHITESPACE_SPACED, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_MINIMAL, TOKFSM_UNSUPPORTED_ERROR, 0},
    {"{\"$id\":\"http://e.x/s\",\"$dynamicAnchor\":\"N\",\"$ref\":\"n\",\"maxProperties\":2,\"$defs\":{\"n\":{"
     "\"$id\":\"n\",\"$dynamicAnchor\":\"N\",\"type\":\"object\",\"properties\":{\"a\":{\"$dynamicRef\":"
     "\"#N\"},\"b\":{\"$ref\":\"other#/x/y\"}},\"additionalProperties\":{\"$ref\":\"inner#\"}}}}",
     TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR, 0},
    {"{\"type\":\"array\",\"contains\":{\"type\":\"array\",\"contains\":{\"const\":1}},\"maxContains\":1,"
     "\"items\":{\"not\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"}}},\"maxItems\":4}",
     TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR, 0},
    {"{\"type\":\"array\",\"uniqueItems\":true,\"prefixItems\":[{\"enum\":[1,null]},{\"enum\":[1]}],"
     "\"items\":{\"items\":{\"type\":\"number\"},\"type\":\"array\",\"not\":{\"uniqueItems\":true},"
     "\"maxItems\":2},\"minItems\":2}",
     TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR, 0},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"uniqueItems\":true,\"contains\":{\"const\":1}},"
     "\"b\":{\"oneOf\":[{\"pattern\":\"(x)\\\\1\"},{\"format\":\"regex\"},{\"type\":\"null\"}],\"anyOf\":[true]},"
     "\"c\":{\"if\":{\"pattern\":\"(x)\\\\1\"},\"then\":{\"maxLength\":2},\"not\":{\"pattern\":\"(x)\\\\1\"}}},"
     "\"patternProperties\":{\"(x)\\\\1\":{\"type\":\"null\"},\"y\":{\"type\":\"number\"}},\"unevaluatedProperties\":false}",
     TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_RELAX, 0},
    {"{\"pattern\":\"^([a-z][0-9])+$\",\"minLength\":90,\"type\":\"string\"}", /* distances are kept */
     TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR,
     0},
    {"{\"type\":\"object\",\"patternProperties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"minimum\":1},\"c\":{},\"d\":{},"
     "\"e\":{},\"f\":false,\"g\":{},\"h\":{},\"i\":{\"type\":\"null\"}},\"properties\":{\"ab\":{},\"x\":{}},"
     "\"additionalProperties\":false,\"required\":[\"ab\"]}", /* classes of names are sets */
     TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR,
     1},
    {"true", TOKFSM_WHITESPACE_COMPACT, TOKFSM_ORDER_ANY, TOKFSM_ESCAPES_ALL, TOKFSM_UNSUPPORTED_ERROR, 0},
};
enum { N_SCENES = sizeof SCENES / sizeof *SCENES };

#define TEXT(literal) (const uint8_t *)(literal), sizeof(literal) - 1
static const tokfsm_resource RESOURCES[] = {
    {"http://e.x/other", 16, TEXT("{\"x\":{\"y\":{\"$id\":\"late\",\"enum\":[\"x\",\"xy\"]}}}")},
    {"http://e.x/more", 15, TEXT("{\"$defs\":{\"a\":{\"$id\":\"inner\",\"maxLength\":2}}}")},
};

static const char *const PIECES[] = {"{\"", "\":", "\"a\":", "\",\"", "\"}", "}}", "]}", "[1", "null", "ab",
                                     "leaf\"", "1.5", "\\u00", "\xC3\xA9", "xy", ", \"", "{\n", "\n  "};
enum { N_PIECES = sizeof PIECES / sizeof *PIECES, N_TOKENS = 256 + N_PIECES + 1 };

static void build_pack(const tokfsm_allocator *a, tokfsm_pack **pack, tokfsm_status *status)
{
    static uint8_t blob[1024];
    static uint64_t offsets[N_TOKENS + 1];
    size_t n = 0;
    for (unsigned i = 0; i < N_TOKENS; i++) {
        offsets[i] = n;
        if (i < 256) {
            blob[n++] = (uint8_t)i;
        } else if (i < 256 + N_PIECES) {
            memcpy(blob + n, PIECES[i - 256], strlen(PIECES[i - 256]));
            n += strlen(PIECES[i - 256]);
        }
    }
    offsets[N_TOKENS] = n;
    *status = tokfsm_pack_build(blob, offsets, N_TOKENS, a, NULL, NULL, pack, NULL);
}

static tokfsm_options options_of(const scene *s)
{
    tokfsm_options o;
    tokfsm_options_default(&o);
    o.whitespace = s->whitespace;
    o.indent = s->whitespace == TOKFSM_WHITESPACE_INDENT ? 2 : 0;
    o.property_order = s->order;
    o.escapes = s->escapes;
    o.unsupported = s->unsupported;
    return o;
}

/* What a run in which nothing runs out says, step by step. */
typedef struct record {
    uint32_t n_words, n_steps;
    uint32_t token[N_STEPS];
    uint32_t mask[N_STEPS + 1][MAX_WORDS], tight[N_STEPS + 1][MAX_WORDS];
    uint32_t bound[N_STEPS + 1];
    uint8_t *artifact;
    size_t n_artifact;
} record;

static void make_record(const scene *s, tokfsm_pack *pack, uint32_t seed, record *r)
{
    tokfsm_automaton *automaton = NULL;
    tokfsm_matcher *m = NULL;
    tokfsm_options o = options_of(s);
    uint32_t stop = N_TOKENS - 1;
    memset(r, 0, sizeof *r);
    CHECK(tokfsm_compile((const uint8_t *)s->schema, strlen(s->schema), RESOURCES, 2, pack, &stop, 1, &o,
                         NULL, NULL, NULL, &automaton, NULL) == TOKFSM_OK);
    size_t n_relaxed = 99;
    const tokfsm_relaxed *relaxed = tokfsm_automaton_relaxed(automaton, &n_relaxed);
    CHECK((n_relaxed > 0) == (s->unsupported == TOKFSM_UNSUPPORTED_RELAX));
    for (size_t i = 0; i < n_relaxed; i++)
        CHECK(relaxed[i].pointer[0] == '/' && relaxed[i].keyword[0] != 0 && relaxed[i].reason[0] != 0);
    CHECK(tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m, NULL) == TOKFSM_OK);
    r->n_words = tokfsm_matcher_mask_words(m);
    CHECK(r->n_words <= MAX_WORDS);
    for (uint32_t step = 0;; step++) {
        int32_t accepted = 0;
        r->n_steps = step;
        CHECK(tokfsm_matcher_fill(m, r->mask[step], r->n_words, TOKFSM_UNBOUNDED, NULL, NULL) == TOKFSM_OK);
        CHECK(tokfsm_matcher_bound(m, &r->bound[step], NULL) == TOKFSM_OK);
        CHECK(tokfsm_matcher_fill(m, r->tight[step], r->n_words, r->bound[step] + 1, NULL, NULL) == TOKFSM_OK);
        uint32_t count = tokfsm_row_count(r->mask[step], r->n_words);
        if (step == N_STEPS || count == 0)
            break;
        seed = seed * 1103515245u + 12345u;
        uint32_t t = 0;
        for (uint32_t k = (seed >> 8) % count;; t++)
            if (r->mask[step][t / 32] >> (t % 32) & 1u && k-- == 0)
                break;
        if (t == stop)
            break; /* nothing is accepted behind it */
        r->token[step] = t;
        CHECK(tokfsm_matcher_accept(m, t, &accepted, NULL) == TOKFSM_OK && accepted);
    }
    tokfsm_matcher_free(m);
    CHECK(tokfsm_automaton_save(automaton, 1, &r->artifact, &r->n_artifact, NULL, NULL) ==
          (s->lazy ? TOKFSM_E_LIMIT : TOKFSM_OK));
    tokfsm_automaton_free(automaton);
}

/* ---- memory ---- */

/*
 * Call; where an allocation failed in it, it must have said so and have left `unchanged` as it
 * was, and must succeed when called again. `cached`: it may do without what could not be kept.
 */
#define CALL(call, unchanged, cached)                   \
    do {                                                \
        meter_->failed = 0;                             \
        tokfsm_status status_ = (call);                 \
        CHECK(status_ == (meter_->failed ? TOKFSM_E_NOMEM : TOKFSM_OK) || \
              ((cached) && status_ == TOKFSM_OK));      \
        if (status_ != TOKFSM_OK) {                     \
            CHECK(unchanged);                           \
            meter_->fails_at = 0;                       \
            status_ = (call);                           \
        }                                               \
        CHECK(status_ == TOKFSM_OK);                    \
    } while (0)
#define AGAIN(call, unchanged) CALL(call, unchanged, 0)
#define FILL(call, unchanged) CALL(call, unchanged, 1)

static int all_are(const uint32_t *row, uint32_t n, uint32_t word)
{
    for (uint32_t i = 0; i < n; i++)
        if (row[i] != word)
            return 0;
    return 1;
}

/* The next tokens as a draft, at once, and what is forced; the matcher is where it was. */
static void drafts(meter *meter_, tokfsm_matcher *m, const record *r, uint32_t step)
{
    uint32_t rows[3][MAX_WORDS], ids[16], lengths[16];
    uint32_t n_draft = r->n_steps - step < 2 ? r->n_steps - step : 2;
    size_t n_legal = 77, n_allowed = 77, n_forced = 77, n_crossing = 77;
    size_t at = tokfsm_matcher_n_accepted(m);
    int32_t accepted = 7;
    uint8_t *forced = NULL;
    tokfsm_allocator a = {metered_allocate, metered_release, meter_};
    memset(rows, 0x5A, sizeof rows);
    FILL(tokfsm_matcher_fill_draft(m, &r->token[step], NULL, n_draft, rows[0], r->n_words, MAX_WORDS,
                                   TOKFSM_UNBOUNDED, NULL, &n_legal, NULL),
         all_are(rows[0], 3 * MAX_WORDS, 0x5A5A5A5Au) && n_legal == 77);
    CHECK(n_legal == n_draft);
    for (uint32_t i = 0; i <= n_draft; i++)
        CHECK(memcmp(rows[i], r->mask[step + i], r->n_words * sizeof **rows) == 0);
    FILL(tokfsm_matcher_validate(m, &r->token[step], n_draft, &n_allowed, NULL), n_allowed == 77);
    CHECK(n_allowed == n_draft);
    FILL(tokfsm_matcher_forced_bytes(m, 100, &forced, &n_forced, NULL), forced == NULL && n_forced == 77);
    CHECK(n_forced <= 100);
    FILL(tokfsm_matcher_crossing(m, forced, n_forced, n_forced, ids, lengths, 16, &n_crossing, NULL),
         n_crossing == 77);
    tokfsm_bytes_free(&a, forced);
    FILL(tokfsm_matcher_accept_all(m, &r->token[step], n_draft, &accepted, NULL),
         accepted == 7 && tokfsm_matcher_n_accepted(m) == at);
    CHECK(accepted == 1 && tokfsm_matcher_n_accepted(m) == at + n_draft);
    CHECK(tokfsm_matcher_rollback(m, n_draft, NULL) == TOKFSM_OK);
}

static void walk(meter *meter_, tokfsm_automaton *automaton, const record *r)
{
    tokfsm_matcher *m = NULL, *copy = NULL;
    AGAIN(tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m, NULL), m == NULL);
    for (uint32_t step = 0; step <= r->n_steps && m != NULL; step++) {
        uint32_t row[MAX_WORDS], allowed[8];
        int32_t accepted = 7, whole = 7;
        uint32_t bound = 77;
        size_t taken = 77, at = tokfsm_matcher_n_accepted(m);
        memset(row, 0x5A, sizeof row);
        FILL(tokfsm_matcher_fill(m, row, r->n_words, TOKFSM_UNBOUNDED, NULL, NULL),
             all_are(row, MAX_WORDS, 0x5A5A5A5Au));
        CHECK(memcmp(row, r->mask[step], r->n_words * sizeof *row) == 0);
        FILL(tokfsm_matcher_bound(m, &bound, NULL), bound == 77);
        CHECK(bound == r->bound[step]);
        memset(row, 0x5A, sizeof row);
        FILL(tokfsm_matcher_fill(m, row, r->n_words, bound + 1, NULL, NULL),
             all_are(row, MAX_WORDS, 0x5A5A5A5Au));
        CHECK(memcmp(row, r->tight[step], r->n_words * sizeof *row) == 0);
        if (step == r->n_steps)
            break;
        AGAIN(tokfsm_matcher_check_bytes(m, (const uint8_t *)"{\"q\\u00e9\":1", 12, &taken, &whole, allowed, NULL),
              taken == 77 && whole == 7);
        if (step % 4 == 1)
            drafts(meter_, m, r, step);
        if (step % 5 == 2) {
            AGAIN(tokfsm_matcher_fork(m, &copy, NULL), copy == NULL);
            if (copy != NULL) {
                tokfsm_matcher_free(m);
                m = copy;
                copy = NULL;
            }
        }
        FILL(tokfsm_matcher_accept(m, r->token[step], &accepted, NULL),
             accepted == 7 && tokfsm_matcher_n_accepted(m) == at);
        CHECK(accepted == 1 && tokfsm_matcher_n_accepted(m) == at + 1);
    }
    if (m != NULL)
        AGAIN(tokfsm_matcher_reset(m, NULL), tokfsm_matcher_n_accepted(m) == r->n_steps);
    tokfsm_matcher_free(m);
}

static tokfsm_status compile(const scene *s, tokfsm_pack *pack, const tokfsm_allocator *a,
                             const tokfsm_limits *limits, const tokfsm_cancel *cancel,
                             tokfsm_automaton **automaton)
{
    tokfsm_options o = options_of(s);
    uint32_t stop = N_TOKENS - 1;
    return tokfsm_compile((const uint8_t *)s->schema, strlen(s->schema), RESOURCES, 2, pack, &stop, 1, &o,
                          a, limits, cancel, automaton, NULL);
}

/* One life of an automaton; `ahead`: precompile before the walk, not after it. */
static void live(meter *meter_, const scene *s, tokfsm_pack *pack, const record *r, int ahead)
{
    tokfsm_allocator a = {metered_allocate, metered_release, meter_};
    tokfsm_automaton *automaton = NULL, *opened = NULL;
    uint8_t *bytes = NULL;
    size_t n_bytes = 77;
    /* Masks that compile makes need not be kept. */
    FILL(compile(s, pack, &a, NULL, NULL, &automaton), automaton == NULL);
    if (automaton == NULL)
        return;
    if (ahead)
        AGAIN(tokfsm_automaton_precompile(automaton, NULL, NULL), 1);
    walk(meter_, automaton, r);
    if (s->lazy) {
        tokfsm_automaton_free(automaton);
        return;
    }
    /* What is looked up on the way may be lost; the bytes may not. */
    FILL(tokfsm_automaton_save(automaton, 1, &bytes, &n_bytes, NULL, NULL), bytes == NULL && n_bytes == 77);
    CHECK(n_bytes == r->n_artifact && bytes != NULL && memcmp(bytes, r->artifact, n_bytes) == 0);
    tokfsm_automaton_free(automaton);
    if (bytes == NULL)
        return;
    AGAIN(tokfsm_automaton_open(bytes, n_bytes, NULL, &a, NULL, &opened, NULL), opened == NULL);
    tokfsm_bytes_free(&a, bytes);
    if (opened != NULL)
        walk(meter_, opened, r);
    tokfsm_automaton_free(opened);
}

static void test_memory(void)
{
    tokfsm_pack *pack = NULL;
    tokfsm_status status;
    build_pack(NULL, &pack, &status);
    CHECK(status == TOKFSM_OK);
    for (unsigned i = 0; i < N_SCENES; i++) {
        record r;
        make_record(&SCENES[i], pack, i + 1, &r);
        for (int ahead = 0; ahead < (SCENES[i].lazy ? 1 : 2); ahead++)
            for (unsigned long n = 1, total = 1; n <= total; n += 1 + n / (SCENES[i].lazy ? 8 : 64)) {
                for (int for_good = 0; for_good < 2; for_good++) {
                    meter one = {0, n, for_good, 0, 0};
                    snprintf(where, sizeof where, "scene %u, ahead %d, allocation %lu%s", i, ahead, n,
                             for_good ? " and all after it" : "");
                    live(&one, &SCENES[i], pack, &r, ahead);
                    CHECK(one.blocks == 0);
                    total = one.n > total && !for_good ? one.n : total;
                }
            }
        tokfsm_bytes_free(NULL, r.artifact);
    }
    tokfsm_pack_free(pack);
}

/* ---- work and cancellation ---- */

/* The automaton, whatever ran out in it, still gives the masks of the record or E_LIMIT. */
static void walk_limited(tokfsm_automaton *automaton, const record *r)
{
    tokfsm_matcher *m = NULL;
    CHECK(tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m, NULL) == TOKFSM_OK);
    for (uint32_t step = 0; step < r->n_steps && m != NULL; step++) {
        uint32_t row[MAX_WORDS];
        int32_t accepted = 7;
        memset(row, 0x5A, sizeof row);
        tokfsm_status status = tokfsm_matcher_fill(m, row, r->n_words, TOKFSM_UNBOUNDED, NULL, NULL);
        CHECK(status == TOKFSM_OK || status == TOKFSM_E_LIMIT);
        CHECK(status == TOKFSM_OK ? memcmp(row, r->mask[step], r->n_words * sizeof *row) == 0
                                  : all_are(row, MAX_WORDS, 0x5A5A5A5Au));
        status = tokfsm_matcher_accept(m, r->token[step], &accepted, NULL);
        CHECK(status == TOKFSM_OK ? accepted == 1 : status == TOKFSM_E_LIMIT && accepted == 7);
        CHECK(tokfsm_matcher_n_accepted(m) == step + (status == TOKFSM_OK));
        if (status != TOKFSM_OK)
            break;
    }
    tokfsm_matcher_free(m);
}

static void test_work(void)
{
    tokfsm_pack *pack = NULL;
    tokfsm_status status;
    build_pack(NULL, &pack, &status);
    for (unsigned i = 0; i < N_SCENES; i++) {
        record r;
        make_record(&SCENES[i], pack, i + 1, &r);
        int enough = 0, opened_enough = 0;
        for (uint64_t units = 1; !enough && units < 1000000; units += units < 1500 ? 1 : units / 50) {
            meter one = {0, 0, 0, 0, 0};
            tokfsm_allocator a = {metered_allocate, metered_release, &one};
            tokfsm_automaton *automaton = NULL;
            tokfsm_limits limits;
            tokfsm_limits_default(&limits);
            limits.work_units = units;
            snprintf(where, sizeof where, "scene %u, %lu work units", i, (unsigned long)units);
            status = compile(&SCENES[i], pack, &a, &limits, NULL, &automaton);
            CHECK(status == TOKFSM_OK || (status == TOKFSM_E_LIMIT && automaton == NULL));
            if (status == TOKFSM_OK) {
                uint8_t *bytes = NULL;
                size_t n_bytes = 0;
                walk_limited(automaton, &r);
                status = tokfsm_automaton_precompile(automaton, NULL, NULL);
                CHECK(!SCENES[i].lazy || status == TOKFSM_E_LIMIT);
                CHECK(status == TOKFSM_OK || status == TOKFSM_E_LIMIT);
                walk_limited(automaton, &r);
                status = tokfsm_automaton_save(automaton, 1, &bytes, &n_bytes, NULL, NULL);
                CHECK(status == TOKFSM_OK || (status == TOKFSM_E_LIMIT && bytes == NULL));
                if (status == TOKFSM_OK)
                    CHECK(n_bytes == r.n_artifact && memcmp(bytes, r.artifact, n_bytes) == 0);
                enough = status == TOKFSM_OK || SCENES[i].lazy;
                tokfsm_bytes_free(&a, bytes);
            }
            tokfsm_automaton_free(automaton);
            CHECK(one.blocks == 0);
            if (opened_enough || units > 3000 || SCENES[i].lazy)
                continue;
            automaton = NULL;
            CHECK(tokfsm_automaton_open(r.artifact, r.n_artifact, pack, &a, &limits, &automaton, NULL) ==
                  TOKFSM_OK);
            walk_limited(automaton, &r);
            tokfsm_automaton_free(automaton);
        }
        CHECK(enough);
        tokfsm_bytes_free(NULL, r.artifact);
    }
    tokfsm_pack_free(pack);
}

/* Memory for what is cached runs out: an error, or the right masks. */
static void test_automaton_bytes(void)
{
    tokfsm_pack *pack = NULL;
    tokfsm_status status;
    build_pack(NULL, &pack, &status);
    for (unsigned i = 0; i < N_SCENES; i++) {
        record r;
        make_record(&SCENES[i], pack, i + 1, &r);
        for (uint64_t bytes = 0; bytes < 40000; bytes += 500) {
            tokfsm_automaton *automaton = NULL;
            tokfsm_limits limits;
            tokfsm_limits_default(&limits);
            limits.automaton_bytes = bytes;
            snprintf(where, sizeof where, "scene %u, %lu automaton bytes", i, (unsigned long)bytes);
            status = compile(&SCENES[i], pack, NULL, &limits, NULL, &automaton);
            CHECK(status == TOKFSM_OK || (status == TOKFSM_E_LIMIT && automaton == NULL));
            if (status == TOKFSM_OK)
                walk_limited(automaton, &r);
            tokfsm_automaton_free(automaton);
        }
        tokfsm_bytes_free(NULL, r.artifact);
    }
    tokfsm_pack_free(pack);
}

static void test_cancel(void)
{
    meter one = {0, 0, 0, 0, 0};
    tokfsm_allocator a = {metered_allocate, metered_release, &one};
    tokfsm_pack *pack = NULL;
    tokfsm_cancel *cancel = NULL, *other = NULL;
    tokfsm_automaton *automaton = NULL;
    tokfsm_status status;
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    record r;
    snprintf(where, sizeof where, "cancel");
    build_pack(&a, &pack, &status);
    make_record(&SCENES[1], pack, 2, &r);
    one.fails_at = one.n + 1;
    CHECK(tokfsm_cancel_new(&a, &cancel, NULL) == TOKFSM_E_NOMEM && cancel == NULL);
    CHECK(tokfsm_cancel_new(&a, &cancel, NULL) == TOKFSM_OK && !tokfsm_cancel_is_set(cancel));
    CHECK(tokfsm_cancel_new(&a, &other, NULL) == TOKFSM_OK);
    tokfsm_cancel_set(cancel);
    CHECK(tokfsm_cancel_is_set(cancel) && !tokfsm_cancel_is_set(other));
    CHECK(compile(&SCENES[1], pack, &a, NULL, cancel, &automaton) == TOKFSM_E_CANCELLED && automaton == NULL);
    CHECK(compile(&SCENES[1], pack, &a, NULL, other, &automaton) == TOKFSM_OK);
    CHECK(tokfsm_automaton_precompile(automaton, cancel, NULL) == TOKFSM_E_CANCELLED);
    CHECK(tokfsm_automaton_save(automaton, 1, &bytes, &n_bytes, cancel, NULL) == TOKFSM_E_CANCELLED &&
          bytes == NULL);
    walk_limited(automaton, &r);
    CHECK(tokfsm_automaton_save(automaton, 1, &bytes, &n_bytes, other, NULL) == TOKFSM_OK);
    CHECK(n_bytes == r.n_artifact && memcmp(bytes, r.artifact, n_bytes) == 0);
    tokfsm_bytes_free(&a, bytes);
    tokfsm_automaton_free(automaton);
    tokfsm_cancel_free(cancel);
    tokfsm_cancel_free(other);
    tokfsm_pack_free(pack);
    CHECK(one.blocks == 0);
    tokfsm_bytes_free(NULL, r.artifact);
}

int main(void)
{
    test_cancel();
    test_work();
    test_automaton_bytes();
    test_memory();
    printf("nomem_test: %lu checks, %u failed\n", n_checks, n_failures);
    return n_failures == 0 ? 0 : 1;
}
