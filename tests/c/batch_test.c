/*
 * Batches without Python: rows equal to those of single fills, many at once from threads of their
 * own over forks of one automaton whose masks nobody has made, helpers shared; statuses; a child
 * of fork().
 */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200112L
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrc/tokfsm.h"

#if defined(_WIN32)
int main(void) { return 0; }
#else
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

enum { N_TOKENS = 256 + 12, N_WORDS = (N_TOKENS + 31) / 32, N = 100, CALLERS = 3 };

static const char SCHEMA[] =
    "{\"$defs\":{\"d\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d\"},\"ab\":{\"enum\":[\"x\","
    "\"xy\",1,null]},\"c\":{\"type\":\"string\",\"pattern\":\"^[a-c]{2,5}-[0-9]+$\"}},\"required\":[\"a\"]},"
    "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/d\"},\"maxItems\":4},{\"type\":\"number\",\"minimum\":-7.5},"
    "{\"type\":\"string\",\"maxLength\":9}]}},\"$ref\":\"#/$defs/d\"}";

static tokfsm_pack *make_pack(void)
{
    static const char *const PIECES[] = {"{\"", "\":", "\":\"", "\",\"", "\"}", "}}", "ab", "[[", "]]", "12", "null", "-1"};
    static uint8_t blob[N_TOKENS * 8];
    static uint64_t offsets[N_TOKENS + 1];
    uint64_t at = 0;
    for (uint32_t id = 0; id < N_TOKENS; id++) {
        offsets[id] = at;
        if (id < 256)
            blob[at++] = (uint8_t)id;
        else {
            memcpy(blob + at, PIECES[id - 256], strlen(PIECES[id - 256]));
            at += strlen(PIECES[id - 256]);
        }
    }
    offsets[N_TOKENS] = at;
    tokfsm_pack *pack = NULL;
    CHECK(tokfsm_pack_build(blob, offsets, N_TOKENS, NULL, NULL, NULL, &pack, NULL) == TOKFSM_OK);
    return pack;
}

static tokfsm_automaton *compile(tokfsm_pack *pack)
{
    tokfsm_automaton *automaton = NULL;
    CHECK(tokfsm_compile((const uint8_t *)SCHEMA, sizeof SCHEMA - 1, NULL, 0, pack, NULL, 0, NULL, NULL, NULL, NULL,
                         &automaton, NULL) == TOKFSM_OK);
    return automaton;
}

static void fill(tokfsm_matcher *m, uint32_t *row)
{
    CHECK(tokfsm_matcher_fill(m, row, N_WORDS, TOKFSM_UNBOUNDED, NULL, NULL) == TOKFSM_OK);
}

/* The tokens of a random walk, chosen by masks; how many. */
static size_t make_path(tokfsm_automaton *automaton, uint32_t seed, uint32_t *path, size_t most)
{
    tokfsm_matcher *m = NULL;
    uint32_t row[N_WORDS];
    size_t n = 0;
    CHECK(tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m, NULL) == TOKFSM_OK);
    while (n < most) {
        fill(m, row);
        uint32_t count = tokfsm_row_count(row, N_WORDS), skip, id = 0;
        if (count == 0)
            break;
        seed = seed * 1664525u + 1013904223u;
        for (skip = (seed >> 8) % count; !(row[id / 32] >> id % 32 & 1u) || skip-- > 0; id++)
            ;
        int32_t accepted = 0;
        CHECK(tokfsm_matcher_accept(m, id, &accepted, NULL) == TOKFSM_OK && accepted);
        path[n++] = id;
    }
    tokfsm_matcher_free(m);
    return n;
}

enum { LONGEST = 24 };
static uint32_t paths[CALLERS][N][LONGEST];
static size_t lengths[CALLERS][N];
static uint32_t expected[CALLERS][N][N_WORDS];

typedef struct caller {
    tokfsm_matcher *matchers[N];
    tokfsm_workers *workers;
    uint32_t rows[N][N_WORDS];
    int number;
} caller;

static void *run(void *context)
{
    caller *c = context;
    uint32_t order[N];
    for (uint32_t i = 0; i < N; i++)
        order[i] = (i * 7) % N;
    for (int round = 0; round < 3; round++) {
        tokfsm_error err;
        memset(c->rows, 0xAA, sizeof c->rows);
        CHECK(tokfsm_fill_batch(c->matchers, N, c->rows[0], N, N_WORDS, N_WORDS, round == 1 ? order : NULL, NULL,
                                c->workers, 1 + (uint32_t)round * 2, NULL, &err) == TOKFSM_OK);
        for (uint32_t i = 0; i < N; i++)
            CHECK(memcmp(c->rows[round == 1 ? order[i] : i], expected[c->number][i], sizeof expected[0][0]) == 0);
    }
    return NULL;
}

static void many_at_once(tokfsm_pack *pack, tokfsm_workers *workers)
{
    tokfsm_automaton *automaton = compile(pack);
    tokfsm_matcher *root = NULL;
    static caller callers[CALLERS];
    pthread_t threads[CALLERS];
    CHECK(tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &root, NULL) == TOKFSM_OK);
    for (int k = 0; k < CALLERS; k++) {
        callers[k].workers = workers;
        callers[k].number = k;
        for (int i = 0; i < N; i++) {
            CHECK(tokfsm_matcher_fork(root, &callers[k].matchers[i], NULL) == TOKFSM_OK);
            for (size_t t = 0; t < lengths[k][i]; t++) {
                int32_t accepted = 0;
                CHECK(tokfsm_matcher_accept(callers[k].matchers[i], paths[k][i][t], &accepted, NULL) == TOKFSM_OK);
                CHECK(accepted);
            }
        }
    }
    for (int k = 0; k < CALLERS; k++)
        CHECK(pthread_create(&threads[k], NULL, run, &callers[k]) == 0);
    for (int k = 0; k < CALLERS; k++)
        CHECK(pthread_join(threads[k], NULL) == 0);
    for (int k = 0; k < CALLERS; k++)
        for (int i = 0; i < N; i++)
            tokfsm_matcher_free(callers[k].matchers[i]);
    tokfsm_matcher_free(root);
    tokfsm_automaton_free(automaton);
}

static void *nothing(void *context, size_t n_bytes)
{
    (void)context, (void)n_bytes;
    return NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    CHECK(block == NULL);
}

static void statuses(tokfsm_automaton *automaton, tokfsm_workers *workers)
{
    tokfsm_matcher *m[3] = {NULL, NULL, NULL};
    uint32_t rows[3][N_WORDS], budgets[3] = {TOKFSM_UNBOUNDED, 0, 0}, twice[3] = {0, 2, 0}, far[3] = {0, 1, 3};
    tokfsm_error err;
    int32_t need = 7;
    for (int i = 0; i < 3; i++)
        CHECK(tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m[i], NULL) == TOKFSM_OK);
    memset(rows, 0xAA, sizeof rows);
    tokfsm_matcher *same[3] = {m[0], m[1], m[0]}, *none[3] = {m[0], NULL, m[2]};
    CHECK(tokfsm_fill_batch(same, 3, rows[0], 3, N_WORDS, N_WORDS, NULL, NULL, workers, 2, &need, &err) == TOKFSM_E_BUSY);
    CHECK(err.where == 2 && strstr(err.message, "row 2, matcher 2") != NULL);
    CHECK(tokfsm_fill_batch(none, 3, rows[0], 3, N_WORDS, N_WORDS, NULL, NULL, workers, 2, &need, &err) == TOKFSM_E_ARGUMENT);
    CHECK(err.where == 1);
    CHECK(tokfsm_fill_batch(m, 3, rows[0], 3, N_WORDS, N_WORDS, twice, NULL, workers, 2, &need, &err) == TOKFSM_E_RANGE);
    CHECK(err.where == 2);
    CHECK(tokfsm_fill_batch(m, 3, rows[0], 3, N_WORDS, N_WORDS, far, NULL, workers, 2, &need, &err) == TOKFSM_E_RANGE);
    CHECK(err.where == 2);
    CHECK(tokfsm_fill_batch(m, 3, rows[0], 2, N_WORDS, N_WORDS, NULL, NULL, workers, 2, &need, &err) == TOKFSM_E_RANGE);
    CHECK(tokfsm_fill_batch(m, 3, rows[0], 3, N_WORDS, N_WORDS - 1, NULL, NULL, workers, 2, &need, &err) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_fill_batch(NULL, 3, rows[0], 3, N_WORDS, N_WORDS, NULL, NULL, workers, 2, &need, &err) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_fill_batch(m, 3, NULL, 3, N_WORDS, N_WORDS, NULL, NULL, workers, 2, &need, &err) == TOKFSM_E_ARGUMENT);
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < N_WORDS; w++)
            CHECK(rows[i][w] == 0xAAAAAAAAu);
    CHECK(need == 7);
    CHECK(tokfsm_fill_batch(m, 3, rows[0], 3, N_WORDS, N_WORDS, NULL, budgets, workers, 2, &need, &err) == TOKFSM_E_BUDGET);
    CHECK(err.where == 1 && strstr(err.message, "row 1, matcher 1 of the batch: a budget of 0") != NULL);
    CHECK(rows[0][0] != 0xAAAAAAAAu && rows[1][0] == 0xAAAAAAAAu && rows[2][0] == 0xAAAAAAAAu && need == 7);
    CHECK(tokfsm_fill_batch(m, 3, rows[0], 3, N_WORDS, N_WORDS, NULL, NULL, NULL, 0, &need, NULL) == TOKFSM_OK && need == 1);
    CHECK(tokfsm_fill_batch(NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 1, &need, NULL) == TOKFSM_OK && need == 0);
    CHECK(tokfsm_workers_new(1, NULL, NULL, &err) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_workers_count(NULL) == 0);
    const tokfsm_allocator none_left = {nothing, release, NULL};
    tokfsm_workers *not_made = NULL;
    CHECK(tokfsm_workers_new(1, &none_left, &not_made, &err) == TOKFSM_E_NOMEM && not_made == NULL);
    tokfsm_mask_view view;
    CHECK(tokfsm_matcher_mask_view(m[0], NULL, &err) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_matcher_mask_view(m[0], &view, &err) == TOKFSM_OK && view.n_words == N_WORDS);
    for (int i = 0; i < 3; i++)
        tokfsm_matcher_free(m[i]);
}

static void in_a_child(tokfsm_pack *pack, tokfsm_workers *workers)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(tokfsm_workers_count(workers) == 0);
        many_at_once(pack, workers);
        tokfsm_workers_free(workers);
        _exit(7);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
    tokfsm_pack *pack = make_pack();
    tokfsm_automaton *alone = compile(pack);
    tokfsm_workers *workers = NULL;
    for (int k = 0; k < CALLERS; k++)
        for (int i = 0; i < N; i++) {
            tokfsm_matcher *m = NULL;
            lengths[k][i] = make_path(alone, (uint32_t)(k * N + i), paths[k][i], (size_t)(i % LONGEST));
            CHECK(tokfsm_matcher_new(alone, NULL, 0, TOKFSM_UNBOUNDED, &m, NULL) == TOKFSM_OK);
            for (size_t t = 0; t < lengths[k][i]; t++) {
                int32_t accepted = 0;
                CHECK(tokfsm_matcher_accept(m, paths[k][i][t], &accepted, NULL) == TOKFSM_OK && accepted);
            }
            fill(m, expected[k][i]);
            tokfsm_matcher_free(m);
        }
    CHECK(tokfsm_workers_new(4, NULL, &workers, NULL) == TOKFSM_OK && tokfsm_workers_count(workers) == 4);
    statuses(alone, workers);
    for (int round = 0; round < 4; round++)
        many_at_once(pack, round == 0 ? NULL : workers);
    in_a_child(pack, workers);
    many_at_once(pack, workers); /* the parent's are there still */
    tokfsm_workers_free(workers);
    tokfsm_automaton_free(alone);
    tokfsm_pack_free(pack);
    return 0;
}
#endif
