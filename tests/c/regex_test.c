/*
 * Tests of patterns, formats and their automata. A plain program: prints what fails, exits
 * with 1 if anything did. Link with csrc/{base,regex,automaton}/ *.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../csrc/automaton/dfa.h"
#include "../../csrc/base/alloc.h"
#include "../../csrc/regex/formats.h"

static int n_failed, n_checked;

#define CHECK(condition, ...)                                      \
    do {                                                           \
        n_checked++;                                               \
        if (!(condition)) {                                        \
            n_failed++;                                            \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__);                                   \
            printf("\n");                                          \
        }                                                          \
    } while (0)

typedef struct machine {
    tf_dfa *dfa;
    tf_budget budget;
    tokfsm_error err;
    tf_dfa_state_id start;
    tokfsm_status status;
} machine;

static void build(machine *m, const char *pattern, size_t n, const tokfsm_allocator *a)
{
    memset(m, 0, sizeof *m);
    tf_budget_init(&m->budget, NULL, NULL);
    char *copy = malloc(n > 0 ? n : 1); /* of its own length, so that a look past it is seen */
    if (copy == NULL)
        abort();
    memcpy(copy, pattern, n);
    m->status = tf_dfa_of_pattern(&m->dfa, copy, n, a, &m->budget, &m->start, &m->err);
    free(copy);
    CHECK((m->status == TOKFSM_OK) == (m->dfa != NULL), "%s", pattern);
}

static tf_dfa_state_id walk(machine *m, tf_dfa_state_id state, const char *text, size_t n)
{
    for (size_t i = 0; i < n && state != TF_DFA_DEAD; i++) {
        tokfsm_status status = tf_dfa_step(m->dfa, state, (uint8_t)text[i], &m->budget, &state, &m->err);
        CHECK(status == TOKFSM_OK, "step: %s", m->err.message);
        if (status != TOKFSM_OK)
            return TF_DFA_DEAD;
    }
    return state;
}

static bool matches(machine *m, const char *text)
{
    return tf_dfa_accepts(m->dfa, walk(m, m->start, text, strlen(text)));
}

/* ---- patterns ---- */

static const struct { const char *pattern, *text; bool match; } cases[] = {
    {"a", "xax", true}, {"", "q", true}, {"^$", "", true}, {"^$", "a", false},
    {"^a|b$", "acc", true}, {"^a|b$", "ccb", true}, {"^a|b$", "cac", false},
    {"a$b", "a", false}, {"a^b", "ab", false}, {"^^a$$", "a", true}, {"x*^a", "a", true},
    {"^\\d+$", "12", true}, {"^\\d+$", "\xD9\xA3", false}, {"^\\w$", "\xC3\xA9", false},
    {"^\\s$", "\xEF\xBB\xBF", true}, {"^\\s$", "\xC2\x85", false}, {"^\\S$", "[", true},
    {"^.$", "\xE2\x80\xA8", false}, {"^.$", "\n", false}, {"^.$", "\xF0\x9F\x98\x80", true},
    {"^[^]$", "\n", true}, {"[]", "a", false}, {"^[\\w-.]+$", "a-.", true},
    {"^\\/\\-\\_\\@$", "/-_@", true}, {"^a{,3}$", "a{,3}", true}, {"^}]{$", "}]{", true},
    {"^\\cA\\x41\\u0042\\u{1F600}\\ud83d\\ude00\\0$", "\x01" "AB\xF0\x9F\x98\x80\xF0\x9F\x98\x80", false},
    {"^\\cA\\x41\\u0042\\u{1F600}\\ud83d\\ude00$", "\x01" "AB\xF0\x9F\x98\x80\xF0\x9F\x98\x80", true},
    {"^\\101$", "A", true}, {"^[\\101]$", "A", true}, {"^\\ud83d$", "a", false},
    {"^[\\b]$", "\b", true}, {"^\\c$", "\\c", true}, {"^a+?b*?$", "aab", true},
    {"^(?:ab){2,3}$", "ababab", true}, {"^(?:ab){2,3}$", "abababab", false},
    {"^(?<n>a)(?P<m>b)(c)$", "abc", true}, {"\\bfoo\\b", "a foo.", true}, {"\\bfoo\\b", "afoo", false},
    {"^\\Ba", "a", false}, {"a\\Bb", "ab", true}, {"^(?!a)", "b", true}, {"^(?!a)", "ab", false},
    {"^(?=.*\\d)(?=.*[a-z]).{4,8}$", "abc1", true}, {"^(?=.*\\d)(?=.*[a-z]).{4,8}$", "abcd", false},
    {"(?<=a)b", "ab", true}, {"(?<=a)b", "cb", false}, {"(?<!a)b", "cb", true}, {"(?<!^)a", "ba", true},
    {"(?<!^)a", "a", false}, {"(?<=(?<!x)y)z", "yz", true}, {"(?<=(?<!x)y)z", "xyz", false},
    {"^(?:(?=a)[ab])*$", "aa", true}, {"^(?:(?=a)[ab])*$", "ab", false}, {"(?=$)a", "a", false},
    {"^(?:(?!ab)[^])*$", "bacb", true}, {"^(?:(?!ab)[^])*$", "cab", false}, {"(?=a)*b", "b", true},
    {"\\Aa\\z", "a", true}, {"^a\\Z", "ab", false}, {"(?i)STRASSE", "strasse", true}, {"^(?i:k)$", "\xE2\x84\xAA", true},
    {"a(?i)b|C", "aB", true}, {"^(?i)[^a]$", "A", false}, {"^(?s:.)$", "\n", true}, {"(?m)^b$", "a\nb\nc", true},
    {"^b$", "a\nb\nc", false}, {"(?i)\\bk", "\xE2\x84\xAA", true}, {"^[[:alpha:]_]+$", "a_Z", true}, {"^[[:^digit:]]$", "1", false},
    {"^\\p{L}+$", "a\xC3\xB1\xE6\x97\xA5", true}, {"^\\p{Lu}$", "a", false}, {"^\\P{Lu}$", "a", true},
    {"^\\p{Script=Greek}$", "\xCE\xA9", true}, {"^\\p{scx=Hira}$", "\xE3\x83\xBC", true},
    {"^\\p{sc=Hira}$", "\xE3\x83\xBC", false}, {"^\\p{Alphabetic}\\p{ASCII}\\p{Any}$", "aaa", true},
    {"^\\p{Letter}\\p{gc=Nd}\\p{White_Space}\\p{Emoji}$", "a1 \xF0\x9F\x98\x80", true}, {"^\\p{LC}\\p{Assigned}$", "aa", true},
    {"^(\\{[\\w\\-]+\\})$|^([\\w\\-]+)$", "{id}", true}, {"^https:\\/\\/x\\.io\\/$", "https://x.io/", true},
};

static void test_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine m;
        build(&m, cases[i].pattern, strlen(cases[i].pattern), NULL);
        CHECK(m.status == TOKFSM_OK, "%s: %s", cases[i].pattern, m.err.message);
        if (m.status == TOKFSM_OK)
            CHECK(matches(&m, cases[i].text) == cases[i].match, "/%s/ on \"%s\"", cases[i].pattern,
                  cases[i].text);
        tf_dfa_free(m.dfa);
    }
}

static const struct { const char *pattern; tokfsm_status status; uint64_t where; } refusals[] = {
    {"(", TOKFSM_E_SCHEMA, 0}, {"ab(c", TOKFSM_E_SCHEMA, 2}, {"a)", TOKFSM_E_SCHEMA, 1}, {"[a", TOKFSM_E_SCHEMA, 0},
    {"x[z-a]", TOKFSM_E_SCHEMA, 2}, {"*a", TOKFSM_E_SCHEMA, 0}, {"a**", TOKFSM_E_SCHEMA, 2}, {"^*", TOKFSM_E_SCHEMA, 1},
    {"(?<=a)*", TOKFSM_E_SCHEMA, 6}, {"a{2,1}", TOKFSM_E_SCHEMA, 1}, {"{1}", TOKFSM_E_SCHEMA, 0}, {"a\\", TOKFSM_E_SCHEMA, 1},
    {"\\u{110000}", TOKFSM_E_SCHEMA, 0}, {"\\p{", TOKFSM_E_SCHEMA, 0}, {"(?<1>a)", TOKFSM_E_SCHEMA, 0}, {"(?", TOKFSM_E_SCHEMA, 0},
    {"(a)\\1", TOKFSM_E_UNSUPPORTED, 3}, {"(?<x>a)\\k<x>", TOKFSM_E_UNSUPPORTED, 7}, {"(?P=x)", TOKFSM_E_UNSUPPORTED, 0},
    {"a++", TOKFSM_E_UNSUPPORTED, 2}, {"(?>a)", TOKFSM_E_UNSUPPORTED, 0}, {"\\Qa\\E", TOKFSM_E_UNSUPPORTED, 0},
    {"\\h", TOKFSM_E_UNSUPPORTED, 0}, {"\\R", TOKFSM_E_UNSUPPORTED, 0}, {"\\pL", TOKFSM_E_UNSUPPORTED, 0},
    {"\\p{Nonsense}", TOKFSM_E_UNSUPPORTED, 0}, {"(?x)a", TOKFSM_E_UNSUPPORTED, 0}, {"(?#c)", TOKFSM_E_UNSUPPORTED, 0},
    {"(?<=(?=a)b)", TOKFSM_E_UNSUPPORTED, 4}, {"(?:a{1,1000}){1,1000}", TOKFSM_E_LIMIT, 0},
    {"(?:(?:(?:a{1,1000}){1,1000}){1,1000}){1,1000}", TOKFSM_E_LIMIT, 0}, {"a{0,4294967295}", TOKFSM_E_LIMIT, 0},
};

static void test_refusals(void)
{
    machine m;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        build(&m, refusals[i].pattern, strlen(refusals[i].pattern), NULL);
        CHECK(m.status == refusals[i].status && m.err.where == refusals[i].where, "/%s/: %d at %llu: %s",
              refusals[i].pattern, m.status, (unsigned long long)m.err.where, m.err.message);
        tf_dfa_free(m.dfa);
    }
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP);
    if (deep == NULL)
        abort();
    memset(deep, '(', DEEP);
    build(&m, deep, DEEP, NULL);
    CHECK(m.status == TOKFSM_E_LIMIT, "%d", m.status);
    free(deep);
    build(&m, "(a|b)*a(a|b){40}$", 17, NULL); /* 2^41 states: made only where one walks */
    CHECK(m.status == TOKFSM_OK && matches(&m, "aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaab"), "%d", m.status);
    tf_dfa_free(m.dfa);
}

/* ---- UTF-8: every scalar value, and nothing else ---- */

static size_t encode(uint32_t c, char *to)
{
    if (c < 0x80)
        return to[0] = (char)c, 1;
    if (c < 0x800)
        return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return to[0] = (char)(0xE0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)),
               to[2] = (char)(0x80 | (c & 63)), 3;
    return to[0] = (char)(0xF0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63)),
           to[2] = (char)(0x80 | (c >> 6 & 63)), to[3] = (char)(0x80 | (c & 63)), 4;
}

static void test_utf8(void)
{
    machine m, letters, others;
    uint32_t n_letters = 0;
    char text[4];
    build(&m, "^[^]$", 5, NULL);
    build(&letters, "^\\p{Ll}$", 8, NULL);
    build(&others, "^\\P{Ll}$", 8, NULL);
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        bool scalar = c < 0xD800 || c > 0xDFFF;
        size_t n = encode(c, text);
        bool all = tf_dfa_accepts(m.dfa, walk(&m, m.start, text, n));
        bool is = tf_dfa_accepts(letters.dfa, walk(&letters, letters.start, text, n));
        bool isnt = tf_dfa_accepts(others.dfa, walk(&others, others.start, text, n));
        n_letters += is;
        if (all != scalar || (is ^ isnt) != scalar)
            CHECK(false, "U+%04X", c);
    }
    CHECK(n_letters == 2283, "%u lower-case letters", n_letters);
    const char *bad[] = {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80",
                         "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5", "\xFF", "\xC3" "a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(walk(&m, m.start, bad[i], strlen(bad[i])) == TF_DFA_DEAD, "ill-formed %zu", i);
    CHECK(!tf_dfa_at_boundary(m.dfa, walk(&m, m.start, "\xE2\x82", 2)), "inside");
    tf_dfa_free(m.dfa);
    tf_dfa_free(letters.dfa);
    tf_dfa_free(others.dfa);
}

/* ---- combinations ---- */

static const char *const parts[] = {"^a{2,5}$", "^(?:aa|bbb)*$", "b", "^(?!.*ba)[ab]*$", "\\bab\\b", "^(?:a|b)?$"};
enum { N_PARTS = sizeof parts / sizeof *parts };

typedef struct combination {
    machine m;
    tf_dfa_language languages[N_PARTS];
} combination;

static void combine(combination *c)
{
    machine *m = &c->m;
    uint32_t numbers[N_PARTS];
    memset(c, 0, sizeof *c);
    tf_budget_init(&m->budget, NULL, NULL);
    m->status = tf_dfa_new(&m->dfa, NULL, &m->err);
    for (size_t i = 0; i < N_PARTS && m->status == TOKFSM_OK; i++)
        m->status = tf_dfa_add_pattern(m->dfa, parts[i], strlen(parts[i]), &m->budget, &numbers[i], &m->err);
    if (m->status == TOKFSM_OK)
        m->status = tf_dfa_seal(m->dfa, &m->budget, &m->err);
    for (size_t i = 0; i < N_PARTS && m->status == TOKFSM_OK; i++)
        m->status = tf_dfa_pattern(m->dfa, numbers[i], &m->budget, &c->languages[i], &m->err);
    CHECK(m->status == TOKFSM_OK, "%s", m->err.message);
}

/* The t-th text over a, b, space of n characters. */
static void spell(uint32_t t, uint32_t n, char *text)
{
    for (uint32_t i = 0; i < n; i++, t /= 3)
        text[i] = "ab "[t % 3];
    text[n] = 0;
}

static void test_combinations(void)
{
    combination c;
    combine(&c);
    machine *m = &c.m;
    uint32_t powers[9] = {1, 3, 9, 27, 81, 243, 729, 2187, 6561};
    for (uint32_t i = 0; i < N_PARTS; i++)
        for (uint32_t k = 0; k < N_PARTS; k++)
            for (uint32_t how = 0; how < 4; how++) { /* i and k; i and not k; i or not k; either, not both */
                tf_dfa_language not_i, not_k, l, pair[2], sides[2];
                tf_dfa_state_id starts[2], start;
                tokfsm_status s = tf_dfa_not(m->dfa, c.languages[i], &m->budget, &not_i, &m->err);
                s |= tf_dfa_not(m->dfa, c.languages[k], &m->budget, &not_k, &m->err);
                pair[0] = c.languages[i], pair[1] = how == 0 ? c.languages[k] : not_k;
                s |= how == 2 ? tf_dfa_or(m->dfa, pair, 2, &m->budget, &l, &m->err)
                              : tf_dfa_and(m->dfa, pair, 2, &m->budget, &l, &m->err);
                if (how == 3) {
                    sides[0] = l, pair[0] = not_i, pair[1] = c.languages[k];
                    s |= tf_dfa_and(m->dfa, pair, 2, &m->budget, &sides[1], &m->err);
                    s |= tf_dfa_or(m->dfa, sides, 2, &m->budget, &l, &m->err);
                }
                s |= tf_dfa_start(m->dfa, c.languages[i], &m->budget, &starts[0], &m->err);
                s |= tf_dfa_start(m->dfa, c.languages[k], &m->budget, &starts[1], &m->err);
                s |= tf_dfa_start(m->dfa, l, &m->budget, &start, &m->err);
                CHECK(s == TOKFSM_OK, "%s", m->err.message);
                const tf_dfa_lengths *lengths;
                CHECK(tf_dfa_lengths_of(m->dfa, start, &m->budget, &lengths, &m->err) == TOKFSM_OK, "lengths");
                uint32_t n_wrong = 0, total = 0;
                for (uint32_t n = 0; n < 7; n++) {
                    uint32_t count = 0;
                    for (uint32_t t = 0; t < powers[n]; t++) {
                        char text[9];
                        spell(t, n, text);
                        bool x = tf_dfa_accepts(m->dfa, walk(m, starts[0], text, n));
                        bool y = tf_dfa_accepts(m->dfa, walk(m, starts[1], text, n));
                        bool want = how == 0 ? x && y : how == 1 ? x && !y : how == 2 ? x || !y : x != y;
                        n_wrong += tf_dfa_accepts(m->dfa, walk(m, start, text, n)) != want;
                        count += want;
                    }
                    /* over all characters there may be more, never fewer */
                    CHECK(count == 0 || tf_dfa_lengths_meet(lengths, n, n), "length %u of %u %u %u", n, i, k, how);
                    total += count;
                }
                CHECK(n_wrong == 0, "%s, %s, %u: %u wrong", parts[i], parts[k], how, n_wrong);
                CHECK(start != TF_DFA_DEAD || total == 0, "dead, but not empty");
                if (i == k && (how == 1 || how == 3))
                    CHECK(start == TF_DFA_DEAD, "empty, but not dead");
                bool universal;
                CHECK(tf_dfa_universal(m->dfa, start, &m->budget, &universal, &m->err) == TOKFSM_OK, "universal");
                tf_dfa_language rest;
                s = tf_dfa_not(m->dfa, l, &m->budget, &rest, &m->err);
                s |= tf_dfa_start(m->dfa, rest, &m->budget, &start, &m->err);
                CHECK(s == TOKFSM_OK && universal == (start == TF_DFA_DEAD), "universal %u %u %u", i, k, how);
                CHECK(!(i == k && how == 2) || universal, "universal %u %u %u", i, k, how);
            }
    tf_dfa_free(m->dfa);
}

/* ---- every live state leads to acceptance; lengths by counting ---- */

static void test_live_and_lengths(void)
{
    static const char *const patterns[] = {
        "^a{2,5}$", "^(?:aaa|aaaaa)*$", "^(?:ab|c){3}", "^(?!.*x).{3,7}$", "^\\d{2}(?!5)\\d*$", "(?<=a)b$",
        "^(?=.*b)(?!.*c)[a-d]{2,4}$", "^\\w+\\b.\\B$", "^(?:\xC3\xA9{3}|\xF0\x9F\x98\x80{5})*$", "^(?=a)(?=b)", "x$y",
        "^(?:a{6})*$|^(?:a{10})*$|^(?:a{15})*$", "", "^[^]{0,3}$", "^(?:(?=a{3}|b)[ab])+$"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        machine m;
        enum { MOST = 64, ROUNDS = 70 };
        build(&m, patterns[p], strlen(patterns[p]), NULL);
        CHECK(m.status == TOKFSM_OK, "%s", m.err.message);
        /* Explore by bytes; count characters at bytes that do not continue one. */
        uint32_t n_known = 0, known = 20000;
        const tf_dfa_state_id *row;
        uint32_t n_classes = tf_dfa_n_byte_classes(m.dfa);
        for (; n_known < tf_dfa_n_states(m.dfa) && n_known < known; n_known++)
            CHECK(tf_dfa_row(m.dfa, n_known, &m.budget, &row, &m.err) == TOKFSM_OK, "row");
        CHECK(n_known < known, "too many states");
        uint8_t *now = calloc(n_known, 1), *next = calloc(n_known, 1);
        if (now == NULL || next == NULL)
            abort();
        for (uint32_t s = 0; s < n_known; s++)
            now[s] = tf_dfa_accepts(m.dfa, s);
        uint8_t *ever = calloc(n_known, 1);
        if (ever == NULL)
            abort();
        for (uint64_t t = 0; t < ROUNDS; t++) {
            /* states inside a character: one character more than where they lead */
            for (uint32_t s = 0; s < n_known; s++) {
                const tf_dfa_lengths *l;
                if (!tf_dfa_at_boundary(m.dfa, s))
                    continue;
                CHECK(tf_dfa_lengths_of(m.dfa, s, &m.budget, &l, &m.err) == TOKFSM_OK, "lengths");
                if (tf_dfa_lengths_meet(l, t, t) != (now[s] != 0))
                    CHECK(false, "/%s/ state %u length %u: counted %d", patterns[p], s, (unsigned)t, now[s]);
                if (now[s])
                    CHECK(l->shortest <= t && t <= l->longest, "/%s/ shortest, longest", patterns[p]);
                ever[s] |= now[s];
            }
            memset(next, 0, n_known);
            for (uint32_t round = 0; round < 4; round++) /* inner states first, then the others */
                for (uint32_t s = 0; s < n_known; s++) {
                    tf_dfa_row(m.dfa, s, &m.budget, &row, &m.err);
                    for (uint32_t k = 0; k < n_classes; k++) {
                        bool inside = !tf_dfa_at_boundary(m.dfa, row[k]);
                        if (inside ? next[row[k]] : now[row[k]])
                            next[s] = 1;
                    }
                }
            uint8_t *swap = now;
            now = next;
            next = swap;
        }
        for (uint32_t s = 1; s < n_known; s++)
            if (tf_dfa_at_boundary(m.dfa, s))
                CHECK(ever[s], "/%s/ state %u is a dead end", patterns[p], s);
        CHECK(!ever[0], "the dead state accepts");
        free(now);
        free(next);
        free(ever);
        tf_dfa_free(m.dfa);
    }
}

/* ---- formats ---- */

static const struct { const char *format, *text; bool valid; } formatted[] = {
    {"date", "2024-02-29", true}, {"date", "2023-02-29", false}, {"date", "1900-02-29", false}, {"date", "2000-02-29", true},
    {"date", "2023-04-31", false}, {"date", "2023-12-31", true}, {"time", "23:59:60Z", true}, {"time", "22:59:60Z", false},
    {"time", "01:29:60+01:30", true}, {"time", "01:28:60+01:30", false}, {"time", "15:59:60-08:00", true}, {"time", "16:59:60-08:00", false},
    {"date-time", "1998-12-31T15:59:60.123-08:00", true}, {"date-time", "1998-12-31T23:58:60Z", false}, {"date-time", "2020-01-01t00:00:00z", true},
    {"duration", "P4DT12H30M5S", true}, {"duration", "P1YT", false}, {"duration", "P2W", true}, {"duration", "P1Y2W", false},
    {"email", "a.b@example.com", true}, {"email", "a..b@example.com", false}, {"email", "\"a b\"@[127.0.0.1]", true},
    {"hostname", "a--b.com", true}, {"hostname", "-a", false}, {"hostname", "xn--x", false}, {"idn-hostname", "\xC3\xA9t\xC3\xA9.fr", true},
    {"idn-hostname", "l\xC2\xB7l", true}, {"idn-hostname", "a\xC2\xB7l", false}, {"idn-hostname", "a\xD7\x90", false}, {"ipv4", "1.2.3.256", false}, {"ipv4", "01.2.3.4", false}, {"ipv6", "::1.2.3.4", true},
    {"ipv6", "1::2::3", false}, {"uri", "http://[::1]:80/a?b#c", true}, {"uri", "/a", false}, {"uri-reference", "a:b/c", true},
    {"uri-reference", "//a b", false}, {"iri", "http://\xC6\x92.org/?q", true}, {"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", true},
    {"uri-template", "a{?x,y*}", true}, {"uri-template", "a{?x", false}, {"json-pointer", "/a~0b/~1", true}, {"json-pointer", "/~2", false},
    {"relative-json-pointer", "1#", true}, {"relative-json-pointer", "01", false},
};

static void test_formats(void)
{
    for (size_t i = 0; i < sizeof formatted / sizeof *formatted; i++) {
        const tf_format *f = tf_format_find(formatted[i].format, strlen(formatted[i].format));
        machine m;
        CHECK(f != NULL, "%s", formatted[i].format);
        build(&m, f->pattern, strlen(f->pattern), NULL);
        CHECK(m.status == TOKFSM_OK && matches(&m, formatted[i].text) == formatted[i].valid, "%s \"%s\" %s",
              f->name, formatted[i].text, m.err.message);
        tf_dfa_free(m.dfa);
    }
    CHECK(tf_format_find("regex", 5) == NULL, "regex");
}

/* ---- budgets and memory ---- */

typedef struct counter {
    size_t n_taken, n_held, fail_at;
} counter;

static void *count_allocate(void *context, size_t n_bytes)
{
    counter *c = context;
    if (++c->n_taken == c->fail_at)
        return NULL;
    c->n_held++;
    return malloc(n_bytes);
}

static void count_release(void *context, void *block)
{
    ((counter *)context)->n_held--;
    free(block);
}

static tokfsm_status use(machine *m)
{
    tf_dfa_state_id state = m->start;
    const tf_dfa_lengths *lengths;
    const char *text = "ab-\xC3\xA9 1\xF0\x9F\x98\x80";
    for (size_t i = 0; text[i] != 0; i++)
        TF_TRY(tf_dfa_step(m->dfa, state, (uint8_t)text[i], &m->budget, &state, &m->err));
    TF_TRY(tf_dfa_lengths_of(m->dfa, m->start, &m->budget, &lengths, &m->err));
    return tf_dfa_lengths_of(m->dfa, state, &m->budget, &lengths, &m->err);
}

static void test_limits(void)
{
    static const char *const patterns[] = {"^[^]{0,70}$", "(?i)(?!.*x)\\b[^\\d]{1,30}\\p{L}?", "(?<=a|\\bb)[^c]+"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        bool done = false;
        for (size_t fail_at = 1; !done; fail_at++) {
            counter c = {0, 0, fail_at};
            tokfsm_allocator a = {count_allocate, count_release, &c};
            machine m;
            build(&m, patterns[p], strlen(patterns[p]), &a);
            tokfsm_status status = m.status == TOKFSM_OK ? use(&m) : m.status;
            done = c.n_taken < fail_at;
            CHECK(status == (done ? TOKFSM_OK : TOKFSM_E_NOMEM), "/%s/ at %zu: %d", patterns[p], fail_at, status);
            if (m.status == TOKFSM_OK && !done) /* what failed may be tried again */
                CHECK(use(&m) == TOKFSM_OK, "again: %s", m.err.message);
            tf_dfa_free(m.dfa);
            CHECK(c.n_held == 0, "%zu blocks kept", c.n_held);
        }
        for (uint64_t units = 0;; units += 37) {
            machine m = {.budget = {units, units, NULL}};
            m.status = tf_dfa_of_pattern(&m.dfa, patterns[p], strlen(patterns[p]), NULL, &m.budget, &m.start, &m.err);
            tokfsm_status status = m.status == TOKFSM_OK ? use(&m) : m.status;
            CHECK(status == TOKFSM_OK || status == TOKFSM_E_LIMIT, "%d", status);
            if (m.status == TOKFSM_OK) {
                tf_budget_init(&m.budget, NULL, NULL);
                CHECK(use(&m) == TOKFSM_OK, "after a limit: %s", m.err.message);
            }
            tf_dfa_free(m.dfa);
            if (status == TOKFSM_OK)
                break;
        }
    }
}

int main(void)
{
    test_cases();
    test_refusals();
    test_utf8();
    test_combinations();
    test_live_and_lengths();
    test_formats();
    test_limits();
    printf("%d checked, %d failed\n", n_checked, n_failed);
    return n_failed != 0;
}
