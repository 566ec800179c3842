/*
 * The hot path, to be run under `valgrind --tool=callgrind --toggle-collect=FUNCTION`: see
 * tests/instructions.py, which counts the instructions of one call.
 *
 *   hot_path SCENARIO N   set up, then do the scenario's call N times
 *
 * The vocabulary is made here, 32,768 ids in the proportions of a real one, so that no file is
 * needed. Prints the number of calls that wrote a mask or took a token, so that none goes away
 * unseen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrc/tokfsm.h"

#define N_TOKENS 32768u
#define N_WORDS (N_TOKENS / 32)
#define STOP (N_TOKENS - 1)

static const char SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\"},\"city\":{\"enum\":[\"Rome\",\"Paris\",\"Oslo\"]},"
    "\"note\":{\"type\":\"string\",\"maxLength\":200},\"size\":{\"type\":\"integer\"},"
    "\"code\":{\"type\":\"string\",\"pattern\":\"^[A-Z]{2}-[0-9]{1,6}$\"},"
    "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":8},"
    "\"kind\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"properties\":"
    "{\"x\":{\"type\":\"number\"}},\"required\":[\"x\"]}]}},\"required\":[\"name\",\"size\"]}";

/* What stands between quotes of JSON, beside single bytes and words. */
static const char *const FIXED[] = {
    "{\"", "\":", "\": ", "\":\"", "\": \"", "\",", "\", ", "\",\"", "\", \"", "\"}", "\"},", "\"]", "\"],", "}}", "}}}",
    "]}", "},", "},{\"", "[\"", "[{", "[]", "{}", "\n", "\n\n", "  ", "    ", "\n  ", "true", "false", "null",
    "name", "city", "note", "size", "code", "tags", "kind", "Rome", "Paris", "Oslo", "lorem", " ipsum", " dolor", ", ", ",\n"};
#define N_FIXED (sizeof FIXED / sizeof *FIXED)

typedef struct vocabulary {
    uint8_t blob[N_TOKENS * 12];
    uint64_t offsets[N_TOKENS + 1];
} vocabulary;

static void die(const char *what, const tokfsm_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err == NULL ? "" : err->message);
    exit(2);
}

/* Bytes, the fixed ones, numbers up to three digits, then words of letters with and without a space. */
static void make(vocabulary *v)
{
    static const char *const SYLLABLES[] = {"ba", "con", "de", "er", "fo", "gi", "hal", "in", "ju", "ka", "lo", "men",
                                            "nu", "ol", "per", "qui", "ra", "ster", "ti", "un", "vi", "wa", "xe", "yo"};
    uint64_t at = 0;
    char text[32];
    for (uint32_t id = 0; id < N_TOKENS; id++) {
        v->offsets[id] = at;
        if (id < 256) {
            v->blob[at++] = (uint8_t)id;
            continue;
        }
        uint32_t n = id - 256;
        if (id == STOP)
            text[0] = 0;
        else if (n < N_FIXED)
            strcpy(text, FIXED[n]);
        else if (n < N_FIXED + 1000)
            sprintf(text, n - (uint32_t)N_FIXED < 100 ? "%02u" : "%u", n - (uint32_t)N_FIXED);
        else {
            uint32_t w = n - (uint32_t)N_FIXED - 1000;
            sprintf(text, "%s%s%s%s", w & 1 ? " " : "", SYLLABLES[w / 2 % 24], SYLLABLES[w / 48 % 24],
                    w / 1152 != 0 ? SYLLABLES[w / 1152 % 24] : "");
        }
        size_t length = strlen(text);
        memcpy(v->blob + at, text, length);
        at += length;
    }
    v->offsets[N_TOKENS] = at;
}

static uint32_t find(const vocabulary *v, const char *text)
{
    size_t n = strlen(text);
    for (uint32_t id = 0; id < N_TOKENS; id++)
        if (v->offsets[id + 1] - v->offsets[id] == n && memcmp(v->blob + v->offsets[id], text, n) == 0)
            return id;
    die(text, NULL);
    return 0;
}

/* Walk by the tokens that are named, each a token of the vocabulary. */
static void walk(tokfsm_matcher *m, const vocabulary *v, const char *const *texts)
{
    tokfsm_error err;
    for (; *texts != NULL; texts++) {
        int32_t accepted = 0;
        if (tokfsm_matcher_accept(m, find(v, *texts), &accepted, &err) != TOKFSM_OK)
            die("accept", &err);
        if (!accepted)
            die(*texts, NULL);
    }
}

typedef struct scenario {
    const char *name;
    const char *before[16]; /* the tokens that lead there */
    const char *token;      /* accepted and rolled back; NULL: fill */
} scenario;

static const scenario SCENARIOS[] = {
    {"fill_at_a_name", {"{", NULL}, NULL},
    {"fill_after_a_value", {"{\"", "size", "\":", "7", NULL}, NULL},
    {"fill_in_a_free_string", {"{\"", "name", "\":\"", "lorem", NULL}, NULL},
    {"fill_in_a_bounded_string", {"{\"", "note", "\":\"", "lorem", NULL}, NULL},
    {"fill_in_a_pattern", {"{\"", "code", "\":\"", "A", NULL}, NULL},
    {"fill_in_an_enum", {"{\"", "city", "\":\"", NULL}, NULL},
    {"accept_in_a_free_string", {"{\"", "name", "\":\"", "lorem", NULL}, " ipsum"},
    {"accept_a_name", {"{\"", NULL}, "name"},
    {"accept_a_value_s_end", {"{\"", "name", "\":\"", "lorem", NULL}, "\","},
    {"accept_an_opener", {"{\"", "tags", "\":", NULL}, "[\""},
};
#define N_SCENARIOS (sizeof SCENARIOS / sizeof *SCENARIOS)

static tokfsm_automaton *compile(tokfsm_pack *pack)
{
    tokfsm_error err;
    tokfsm_options options;
    tokfsm_options_default(&options);
    options.whitespace = TOKFSM_WHITESPACE_FLEXIBLE;
    tokfsm_automaton *automaton = NULL;
    uint32_t stop = STOP;
    if (tokfsm_compile((const uint8_t *)SCHEMA, sizeof SCHEMA - 1, NULL, 0, pack, &stop, 1, &options, NULL, NULL, NULL,
                       &automaton, &err) != TOKFSM_OK)
        die("compile", &err);
    return automaton;
}

static void fill(tokfsm_matcher *m, uint32_t *row)
{
    tokfsm_error err;
    if (tokfsm_matcher_fill(m, row, N_WORDS, TOKFSM_UNBOUNDED, NULL, &err) != TOKFSM_OK)
        die("fill", &err);
}

int main(int argc, char **argv)
{
    static vocabulary v;
    static uint32_t row[N_WORDS];
    tokfsm_error err;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < N_SCENARIOS; i++)
            printf("%s %s\n", SCENARIOS[i].name, SCENARIOS[i].token == NULL ? "tokfsm_matcher_fill" : "tokfsm_matcher_accept");
        printf("compile tokfsm_compile\n");
        return 0;
    }
    if (argc != 3)
        die("usage: hot_path list | SCENARIO N", NULL);
    long n = strtol(argv[2], NULL, 10), done = 0;
    make(&v);
    tokfsm_pack *pack = NULL;
    if (tokfsm_pack_build(v.blob, v.offsets, N_TOKENS, NULL, NULL, NULL, &pack, &err) != TOKFSM_OK)
        die("pack", &err);
    if (strcmp(argv[1], "compile") == 0) {
        for (; done < n; done++)
            tokfsm_automaton_free(compile(pack));
        printf("%ld\n", done);
        return 0;
    }
    const scenario *s = NULL;
    for (size_t i = 0; i < N_SCENARIOS; i++)
        if (strcmp(argv[1], SCENARIOS[i].name) == 0)
            s = &SCENARIOS[i];
    if (s == NULL)
        die("no such scenario", NULL);
    tokfsm_automaton *automaton = compile(pack);
    tokfsm_matcher *m = NULL;
    if (tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m, &err) != TOKFSM_OK)
        die("matcher", &err);
    walk(m, &v, s->before);
    uint32_t id = s->token == NULL ? 0 : find(&v, s->token);
    for (long i = 0; i < n; i++) {
        int32_t accepted = 0;
        if (s->token == NULL) {
            fill(m, row);
            done += tokfsm_row_count(row, N_WORDS) != 0;
            continue;
        }
        if (tokfsm_matcher_accept(m, id, &accepted, &err) != TOKFSM_OK)
            die("accept", &err);
        if (accepted && tokfsm_matcher_rollback(m, 1, &err) != TOKFSM_OK)
            die("rollback", &err);
        done += accepted;
    }
    printf("%ld\n", done);
    tokfsm_matcher_free(m);
    tokfsm_automaton_free(automaton);
    tokfsm_pack_free(pack);
    return 0;
}
