/*
 * Tests of the tape: reading, equality, hashes, JSON pointers, exact decimals. A plain
 * program: prints what fails, exits with 1 if anything did. Link with csrc/schema/{tape,
 * tape_names,tape_value,pointer,decimal}.c and csrc/base/{alloc,budget,status}.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../csrc/schema/decimal.h"
#include "../../csrc/schema/tape.h"
#include "../../csrc/schema/tape_hash.h"

static int n_failed, n_checked;

#define CHECK(condition, ...)                                  \
    do {                                                       \
        n_checked++;                                           \
        if (!(condition)) {                                    \
            n_failed++;                                        \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__);                               \
            printf("\n");                                      \
        }                                                      \
    } while (0)

/* ---- an allocator that counts, and fails the n-th request ---- */

typedef struct counter {
    size_t n_taken, n_held, fail_at; /* fail_at 0: never */
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
    counter *c = context;
    c->n_held--;
    free(block);
}

typedef struct reading {
    counter count;
    tokfsm_allocator allocator;
    tf_arena arena;
    tf_tape tape;
    tokfsm_error err;
    tokfsm_status status;
} reading;

/* The text is copied to a block of its own length and freed after reading. */
static void read_with(reading *r, const char *text, size_t n, const tokfsm_limits *limits,
                      const tokfsm_cancel *cancel, size_t fail_at)
{
    memset(r, 0, sizeof *r);
    r->count.fail_at = fail_at;
    r->allocator = (tokfsm_allocator){count_allocate, count_release, &r->count};
    tf_arena_init(&r->arena, &r->allocator);
    tf_budget budget;
    tf_budget_init(&budget, limits, cancel);
    uint8_t *copy = malloc(n > 0 ? n : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, text, n);
    r->tape.n_nodes = 12345;
    r->status = tf_tape_read(&r->tape, copy, n, limits, &budget, &r->arena, &r->err);
    free(copy);
    CHECK(r->status == r->err.code, "status %d, code %d", r->status, r->err.code);
    if (r->status != TOKFSM_OK)
        CHECK(r->tape.n_nodes == 12345 && r->tape.nodes == NULL, "the tape was touched");
}

static void read_text(reading *r, const char *text)
{
    read_with(r, text, strlen(text), NULL, NULL, 0);
}

static void done(reading *r)
{
    tf_arena_free(&r->arena);
    CHECK(r->count.n_held == 0, "%zu blocks left", r->count.n_held);
}

/* ---- texts ---- */

static const char *const accepted[] = {
    "null", "true", "false", "0", "-0", "12", "-12.50e+007", "1E-3", "0e0", "0.0", "\"\"", "[]",
    "{}", " \t\r\n[ ] \n", "{ }", "[1,2 , 3]", "[[],{},[[]]]", "{\"a\":1}",
    "{\"a\" : { \"a\" : [ { \"a\" : null } ] } , \"b\":\"x\"}", "[\"\\u0000\"]",
    "\"\x7F\"", "\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"",
    "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"", "\"\\uFFFF\\ufffe\"", "\"\xEF\xBB\xBF\"",
    "1e99999999999999999999", "\"plain text of more than eight bytes\"",
    "{\"\":0,\"a\":1,\"A\":2,\"\\u0000\":3,\"\\u0000\\u0000\":4}",
    "{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"\":1}",
};

typedef struct refusal {
    const char *text;
    uint64_t where;
    const char *message; /* a part of it */
} refusal;

static const refusal refused[] = {
    {"", 0, "the text is empty"},
    {" \n ", 3, "at byte 3: expected a value, found the end of the text"},
    {"\xEF\xBB\xBF{}", 0, "byte order mark"},
    {" \xEF\xBB\xBF{}", 1, "expected a value, found a byte order mark"},
    {"{\"a\":1,\"b\":{}x", 13, "at byte 13: expected ',' or '}' in an object, found 'x'"},
    {"[1 2]", 3, "at byte 3: expected ',' or ']' in an array, found '2'"},
    {"[1}", 2, "expected ',' or ']' in an array, found '}'"},
    {"{\"a\":1]", 6, "expected ',' or '}' in an object, found ']'"},
    {"[1,]", 3, "expected a value, found ']'"},
    {"[,1]", 1, "expected a value or ']', found ','"},
    {"{\"a\":1,}", 7, "expected a name in an object, found '}'"},
    {"{,}", 1, "expected a name or '}' in an object, found ','"},
    {"{a:1}", 1, "expected a name or '}' in an object, found 'a'"},
    {"{'a':1}", 1, "found \"'\""},
    {"{1:1}", 1, "found '1'"},
    {"{\"a\" 1}", 5, "expected ':' after a name, found '1'"},
    {"{\"a\"", 4, "expected ':' after a name, found the end of the text"},
    {"{\"a\":}", 5, "expected a value, found '}'"},
    {"{\"a\"::1}", 5, "expected a value, found ':'"},
    {"]", 0, "expected a value, found ']'"},
    {"{} {}", 3, "expected the end of the text after the value, found '{'"},
    {"1 2", 2, "expected the end of the text"},
    {"nullx", 4, "expected the end of the text after the value, found 'x'"},
    {"nul", 0, "expected a value, found the word 'nul'"},
    {"True", 0, "expected a value, found the word 'True'"},
    {"NaN", 0, "NaN and Infinity are not JSON"},
    {"Infinity", 0, "NaN and Infinity are not JSON"},
    {"[-Infinity]", 2, "NaN and Infinity are not JSON"},
    {"-", 1, "expected a digit after '-', found the end of the text"},
    {"+1", 0, "expected a value, found '+'"},
    {".5", 0, "expected a value, found '.'"},
    {"01", 1, "leading zero"},
    {"-01", 2, "leading zero"},
    {"1.", 2, "expected a digit after '.'"},
    {"1.e5", 2, "expected a digit after '.', found 'e'"},
    {"1e", 2, "expected a digit in an exponent"},
    {"1e+", 3, "expected a digit in an exponent"},
    {"0x10", 1, "found 'x'"},
    {"1_000", 1, "found '_'"},
    {"// c\n1", 0, "found '/'"},
    {"\v1", 0, "found the byte 0x0B"},
    {"\xC2\xA0" "1", 0, "found the byte 0xC2"},
    {"\"abc", 4, "expected '\"' to end the string that starts at byte 0"},
    {"\"a\nb\"", 2, "expected an escape for a control character in a string"},
    {"\"\x1F\"", 1, "found the byte 0x1F"},
    {"\"\\x\"", 2, "after a backslash, found 'x'"},
    {"\"\\", 2, "after a backslash, found the end of the text"},
    {"\"\\u12g4\"", 5, "expected four hexadecimal digits after \\u, found 'g'"},
    {"\"\\u12\"", 5, "found '\"'"},
    {"\"\\U0041\"", 2, "found 'U'"},
    {"\"\\ud800\"", 1, "\\uD800 is a lone surrogate"},
    {"\"x\\udc00\"", 2, "\\uDC00 is a lone surrogate"},
    {"\"\\ud800\\ud800\"", 1, "\\uD800 is a lone surrogate"},
    {"\"\\ud800\\u0041\"", 1, "lone surrogate"},
    {"\"\\ud800x\"", 1, "lone surrogate"},
    {"\"\\udbff\\n\"", 1, "lone surrogate"},
    {"\"\x80\"", 1, "expected UTF-8 in a string, found the byte 0x80"},
    {"\"a\xC0\x80\"", 2, "expected UTF-8"},
    {"\"\xC2\"", 1, "expected UTF-8"},
    {"\"\xE0\x9F\xBF\"", 1, "expected UTF-8"},
    {"\"\xED\xA0\x80\"", 1, "expected UTF-8"},
    {"\"\xE2\x82\"", 1, "expected UTF-8"},
    {"\"\xF0\x8F\xBF\xBF\"", 1, "expected UTF-8"},
    {"\"\xF4\x90\x80\x80\"", 1, "expected UTF-8"},
    {"\"\xF5\x80\x80\x80\"", 1, "expected UTF-8"},
    {"\"\xFF\"", 1, "expected UTF-8"},
    {"\"\xE2\x82\xAC\xE2\x82", 4, "expected UTF-8"},
    {"{\"a\":1,\"a\":2}", 7, "at byte 7: name \"a\" occurs twice in one object"},
    {"{\"a\":1,\"b\":{\"a\":1},\"\\u0061\":2}", 19, "name \"a\" occurs twice"},
    {"[{\"x\":{},\"y\\n\\\"\":1,\"y\\u000A\\u0022\":2}]", 19, "name \"y\\u000a\\\"\" occurs twice"},
    {"{\"\":1,\"\":2}", 6, "name \"\" occurs twice"},
    {"{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2}", 18, "occurs twice"},
    {"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"\\u0033\":1,\"1\":1}", 55,
     "name \"3\" occurs twice"},
};

static void test_texts(void)
{
    reading r;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        read_text(&r, accepted[i]);
        CHECK(r.status == TOKFSM_OK, "%s: %s", accepted[i], r.err.message);
        done(&r);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const refusal *want = &refused[i];
        read_text(&r, want->text);
        CHECK(r.status == TOKFSM_E_JSON, "%s: status %d", want->text, r.status);
        CHECK(r.err.where == want->where, "%s: %s", want->text, r.err.message);
        CHECK(strstr(r.err.message, want->message) != NULL, "%s: %s", want->text, r.err.message);
        done(&r);
    }
    read_with(&r, "[\0]", 3, NULL, NULL, 0);
    CHECK(r.status == TOKFSM_E_JSON && r.err.where == 1, "%s", r.err.message);
    done(&r);
    read_with(&r, "\"\0\"", 3, NULL, NULL, 0);
    CHECK(r.status == TOKFSM_E_JSON && r.err.where == 1, "%s", r.err.message);
    done(&r);
}

static void test_decoding(void)
{
    static const struct {
        const char *text, *decoded;
        uint32_t n;
    } cases[] = {
        {"\"\"", "", 0},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10},
        {"\"\\ud800\\udc00\\udbff\\udfff\"", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8},
        {"\"0123456\\n\"", "0123456\n", 8},
        {"\"01234567\\n\"", "01234567\n", 9},
        {"\"\xC3\xA9\\u0000\xC3\xA9 seven and more\"", "\xC3\xA9\0\xC3\xA9 seven and more", 20},
        {"-12.50e+007", "-12.50e+007", 11},
        {"7", "7", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reading r;
        read_text(&r, cases[i].text);
        CHECK(r.status == TOKFSM_OK, "%s: %s", cases[i].text, r.err.message);
        if (r.status == TOKFSM_OK) {
            tf_tape_node *node = r.tape.nodes;
            CHECK(node->n == cases[i].n, "%s: %u bytes", cases[i].text, node->n);
            CHECK(memcmp(node->text, cases[i].decoded, cases[i].n + 1) == 0, "%s",
                  cases[i].text);
        }
        done(&r);
    }
}

static void test_shape(void)
{
    reading r;
    read_text(&r, " {\"a\": [1, {}, \"x\"], \"b\" :{\"c\":null}}");
    CHECK(r.status == TOKFSM_OK && r.tape.n_nodes == 10, "%s", r.err.message);
    static const struct {
        uint32_t type, next, n, parent;
        uint64_t where;
    } want[] = {
        {TF_JSON_OBJECT, 10, 2, TF_TAPE_NONE, 1}, {TF_JSON_STRING, 2, 1, 0, 2},
        {TF_JSON_ARRAY, 6, 3, 0, 7}, {TF_JSON_NUMBER, 4, 1, 2, 8},
        {TF_JSON_OBJECT, 5, 0, 2, 11}, {TF_JSON_STRING, 6, 1, 2, 15},
        {TF_JSON_STRING, 7, 1, 0, 21}, {TF_JSON_OBJECT, 10, 1, 0, 26},
        {TF_JSON_STRING, 9, 1, 7, 27}, {TF_JSON_NULL, 10, 0, 7, 31},
    };
    for (uint32_t i = 0; i < 10 && r.status == TOKFSM_OK; i++) {
        const tf_tape_node *node = &r.tape.nodes[i];
        CHECK(node->type == want[i].type && node->next == want[i].next && node->n == want[i].n &&
                  node->parent == want[i].parent && node->where == want[i].where &&
                  node->index == TF_TAPE_NONE,
              "node %u", i);
    }
    CHECK(tf_tape_get(&r.tape, 0, "b", 1) == 7, "b");
    CHECK(tf_tape_get(&r.tape, 0, "c", 1) == TF_TAPE_NONE, "c");
    CHECK(tf_tape_get(&r.tape, 2, "a", 1) == TF_TAPE_NONE, "in an array");
    CHECK(tf_tape_item(&r.tape, 2, 2) == 5, "item 2");
    CHECK(tf_tape_item(&r.tape, 2, 3) == TF_TAPE_NONE, "item 3");
    CHECK(tf_tape_item(&r.tape, 0, 0) == TF_TAPE_NONE, "item of an object");
    done(&r);
}

static const char long_text[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"a\\u0000b\":[-0.5e+10,1E-3,"
    "0,true,false,null,{}],\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\ud83d\\ude00\":{\"1\":1,\"2\":"
    "2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"9\":[9,10,11,[],13,14,15,16,17]}}";

static void test_truncated(void)
{
    size_t n = strlen(long_text);
    reading r;
    for (size_t k = 0; k < n; k++) {
        read_with(&r, long_text, k, NULL, NULL, 0);
        CHECK(r.status == TOKFSM_E_JSON && r.err.where <= k, "%zu bytes: %d", k, r.status);
        done(&r);
    }
    /* Each byte replaced by each other: no crash, and an offset within the text. */
    char *copy = malloc(n);
    if (copy == NULL)
        abort();
    for (size_t k = 0; k < n; k++) {
        for (int c = 0; c < 256; c += 1 + (k % 3 != 0)) {
            memcpy(copy, long_text, n);
            copy[k] = (char)c;
            read_with(&r, copy, n, NULL, NULL, 0);
            CHECK(r.status == TOKFSM_OK || (r.status == TOKFSM_E_JSON && r.err.where <= n),
                  "byte %zu as 0x%02X: %d", k, (unsigned)c, r.status);
            done(&r);
        }
    }
    free(copy);
}

static void test_memory(void)
{
    reading r;
    size_t n = 40000, at = 0; /* enough items for several growths of the node array */
    char *items = malloc(2 * n + 2 + sizeof long_text);
    if (items == NULL)
        abort();
    items[at++] = '[';
    for (size_t i = 0; i < n; i++) {
        items[at++] = '1';
        items[at++] = ',';
    }
    memcpy(items + at, long_text, sizeof long_text - 1);
    at += sizeof long_text - 1;
    items[at++] = ']';
    const char *texts[] = {"1", long_text, items};
    size_t lengths[] = {1, sizeof long_text - 1, at};
    for (size_t i = 0; i < 3; i++) {
        size_t fail_at = 1;
        for (;; fail_at++) {
            read_with(&r, texts[i], lengths[i], NULL, NULL, fail_at);
            tokfsm_status status = r.status;
            CHECK(status == TOKFSM_OK || status == TOKFSM_E_NOMEM, "status %d", status);
            bool reached = r.count.n_taken >= fail_at;
            CHECK(reached == (status != TOKFSM_OK), "allocation %zu of text %zu", fail_at, i);
            done(&r);
            if (!reached)
                break;
        }
        CHECK(fail_at > 2, "only %zu allocations", fail_at);
    }
    free(items);
}

/* ---- limits ---- */

static char *repeat(const char *open, const char *middle, const char *close, size_t n,
                    size_t *n_bytes)
{
    size_t o = strlen(open), m = strlen(middle), c = strlen(close), at = 0;
    char *text = malloc(n * (o + c) + m + 1);
    if (text == NULL)
        abort();
    for (size_t i = 0; i < n; i++, at += o)
        memcpy(text + at, open, o);
    memcpy(text + at, middle, m);
    at += m;
    for (size_t i = 0; i < n; i++, at += c)
        memcpy(text + at, close, c);
    text[at] = '\0';
    *n_bytes = at;
    return text;
}

static void test_limits(void)
{
    enum { MILLION = 1000000 };
    tokfsm_limits limits;
    tokfsm_limits_default(&limits);
    reading r, s;
    size_t n;
    char *text = repeat("[", "7", "]", MILLION, &n);
    read_with(&r, text, n, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_E_LIMIT && r.err.where == limits.depth, "%d %s", r.status,
          r.err.message);
    CHECK(strstr(r.err.message, "limits.depth = 100000") != NULL, "%s", r.err.message);
    done(&r);
    limits.depth = MILLION;
    read_with(&r, text, n - 1, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_E_JSON && r.err.where == n - 1, "%s", r.err.message);
    done(&r);
    read_with(&r, text, n, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_OK && r.tape.n_nodes == MILLION + 1, "%s", r.err.message);
    text[MILLION] = '8';
    read_with(&s, text, n, &limits, NULL, 0);
    if (r.status == TOKFSM_OK && s.status == TOKFSM_OK) {
        char buffer[64];
        CHECK(tf_tape_equal(&r.tape, 0, &r.tape, 0), "deep");
        CHECK(!tf_tape_equal(&r.tape, 0, &s.tape, 0), "deep");
        CHECK(tf_tape_hash(&r.tape, 0) != tf_tape_hash(&s.tape, 0), "deep");
        tf_tape_pointer(&r.tape, MILLION, buffer, sizeof buffer);
        CHECK(strlen(buffer) == 63 && strcmp(buffer + 60, "\xE2\x80\xA6") == 0, "%s", buffer);
    }
    done(&r);
    done(&s);
    free(text);

    text = repeat("{\"a\":[0,", "{}", "]}", MILLION / 2, &n);
    limits.depth = MILLION + 1;
    read_with(&r, text, n, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_OK && tf_tape_equal(&r.tape, 0, &r.tape, 0), "%s", r.err.message);
    CHECK(r.status != TOKFSM_OK || tf_tape_hash(&r.tape, 0) != 0, "deep");
    done(&r);
    limits.depth = MILLION;
    read_with(&r, text, n, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_E_LIMIT, "%d", r.status);
    done(&r);
    free(text);

    tokfsm_limits_default(&limits);
    limits.depth = 0;
    read_with(&r, "1", 1, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_OK, "%s", r.err.message);
    done(&r);
    limits.schema_bytes = 3;
    read_with(&r, "1234", 4, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_E_LIMIT, "%d", r.status);
    CHECK(strstr(r.err.message, "limits.schema_bytes = 3") != NULL, "%s", r.err.message);
    done(&r);
    read_with(&r, "123", 3, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_OK, "%s", r.err.message);
    done(&r);

    tokfsm_limits_default(&limits);
    limits.work_units = 4;
    read_with(&r, "[1,2]", 5, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_OK, "%s", r.err.message);
    done(&r);
    read_with(&r, "[1,2,3,4]", 9, &limits, NULL, 0);
    CHECK(r.status == TOKFSM_E_LIMIT && strstr(r.err.message, "limits.work_units") != NULL,
          "%d %s", r.status, r.err.message);
    done(&r);

    tokfsm_cancel *cancel = NULL;
    CHECK(tokfsm_cancel_new(NULL, &cancel, NULL) == TOKFSM_OK, "cancel");
    tokfsm_cancel_set(cancel);
    text = repeat("[", "", "]", 5000, &n);
    read_with(&r, text, n, NULL, cancel, 0);
    CHECK(r.status == TOKFSM_E_CANCELLED, "%d", r.status);
    done(&r);
    free(text);
    tokfsm_cancel_free(cancel);
}

/* ---- many names ---- */

/* Names of 16 ASCII bytes that all have one hash: the second word undoes the first. */
static size_t write_collision(char *out, uint64_t *seed)
{
    uint64_t words[2];
    do {
        words[0] = 0;
        for (uint64_t k = 0, x = (*seed)++; k < 8; k++, x >>= 5)
            words[0] |= ('A' + (x & 31)) << (8 * k);
        words[1] = tf_hash_step(TF_HASH_MULTIPLIER, words[0]) ^ UINT64_C(0x4142434445464748);
    } while ((words[1] & UINT64_C(0x8080808080808080)) != 0);
    size_t at = 0;
    out[at++] = '"';
    for (size_t k = 0; k < 16; k++)
        at += (size_t)snprintf(out + at, 7, "\\u%04x",
                               (unsigned)(words[k / 8] >> (8 * (k % 8)) & 0x7F));
    out[at++] = '"';
    return at;
}

static void test_many_names(bool hostile)
{
    enum { N = 100000, ROOM = 128 };
    reading r;
    char *text = malloc((size_t)N * ROOM);
    size_t last = 0;
    if (text == NULL)
        abort();
    size_t at = 0;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < N; i++) {
        text[at++] = i == 0 ? '{' : ',';
        last = at;
        at += hostile ? write_collision(text + at, &seed)
                      : (size_t)snprintf(text + at, ROOM / 2, "\"name %u\"", i * 7919);
        at += (size_t)snprintf(text + at, 32, ":%u", i);
    }
    text[at++] = '}';
    read_with(&r, text, at, NULL, NULL, 0);
    CHECK(r.status == TOKFSM_OK && r.tape.n_nodes == 2 * N + 1, "%s", r.err.message);
    if (r.status == TOKFSM_OK) {
        uint32_t n_found = 0;
        for (uint32_t name = 1; name < r.tape.n_nodes; name += 2)
            n_found += tf_tape_get(&r.tape, 0, r.tape.nodes[name].text,
                                   r.tape.nodes[name].n) == name + 1;
        CHECK(n_found == N, "%u found", n_found);
        CHECK(tf_tape_get(&r.tape, 0, "name 1", 6) == TF_TAPE_NONE, "found");
        CHECK(tf_tape_equal(&r.tape, 0, &r.tape, 0), "equal");
        if (hostile)
            CHECK(tf_hash_bytes(r.tape.nodes[1].text, 16) ==
                      tf_hash_bytes(r.tape.nodes[3].text, 16), "the names do not collide");
    }
    done(&r);
    /* The first name once more, at the end. */
    size_t n_name = (size_t)(strchr(text, ':') - text) - 1;
    at--;
    text[at++] = ',';
    last = at;
    memcpy(text + at, text + 1, n_name);
    at += n_name;
    memcpy(text + at, ":1}", 3);
    read_with(&r, text, at + 3, NULL, NULL, 0);
    CHECK(r.status == TOKFSM_E_JSON && r.err.where == last, "%d %s", r.status, r.err.message);
    done(&r);
    free(text);
}

/* ---- values ---- */

static void test_equality(void)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1.0", "1", true}, {"1", "10e-1", true}, {"0", "-0.00e5", true}, {"0.1", "1e-1", true},
        {"100", "1e2", true}, {"12.340", "1234E-2", true}, {"1", "-1", false}, {"1", "2", false},
        {"1", "10", false}, {"0.1", "0.01", false}, {"1e400000", "10e399999", true},
        {"1e99999999999999999999", "10e99999999999999999998", true},
        {"1e99999999999999999999", "1e99999999999999999998", false},
        {"100e-100000000000000000000", "1e-99999999999999999998", true},
        {"1e99999999999999999999", "1e-99999999999999999999", false},
        {"0e99999999999999999999", "0", true},
        {"9007199254740993", "9007199254740992", false}, {"1", "true", false},
        {"0", "false", false}, {"null", "false", false}, {"\"1\"", "1", false},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false}, {"\"\\u0061\"", "\"a\"", true},
        {"[]", "{}", false}, {"[]", "[[]]", false}, {"[[],[[]]]", "[[[]],[]]", false},
        {"[1,2]", "[2,1]", false}, {"[1,[2.0,{}]]", "[1e0,[2,{}]]", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
        {"{\"a\":1}", "{\"b\":1}", false}, {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":{\"x\":[1,{\"p\":1,\"q\":2}],\"y\":{}},\"b\":[]}",
         "{\"b\":[],\"a\":{\"y\":{},\"x\":[1,{\"q\":2,\"p\":1}]}}", true},
        {"{\"a\":{\"x\":[1,{\"p\":1,\"q\":2}],\"y\":{}},\"b\":[]}",
         "{\"b\":[],\"a\":{\"y\":{},\"x\":[1,{\"q\":1,\"p\":2}]}}", false},
        {"[{\"a\":[1],\"b\":[[2]]},3]", "[{\"b\":[[2]],\"a\":[1]},3]", true},
        {"{\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"9\":[]}",
         "{\"9\":[],\"8\":8,\"7\":7,\"6\":6,\"5\":5,\"4\":4,\"3\":3,\"2\":2,\"1\":1}", true},
        {"{\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"9\":[]}",
         "{\"9\":[],\"8\":8,\"7\":7,\"6\":6,\"5\":5,\"4\":4,\"3\":3,\"2\":2,\"0\":1}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reading r, s;
        read_text(&r, cases[i].a);
        read_text(&s, cases[i].b);
        CHECK(r.status == TOKFSM_OK && s.status == TOKFSM_OK, "%s %s", cases[i].a, cases[i].b);
        bool there = tf_tape_equal(&r.tape, 0, &s.tape, 0);
        bool back = tf_tape_equal(&s.tape, 0, &r.tape, 0);
        bool same_hash = tf_tape_hash(&r.tape, 0) == tf_tape_hash(&s.tape, 0);
        CHECK(there == cases[i].equal && back == there, "%s %s", cases[i].a, cases[i].b);
        if (strstr(cases[i].a, "99999999") == NULL) /* far exponents share hashes */
            CHECK(same_hash == cases[i].equal, "hash of %s %s", cases[i].a, cases[i].b);
        else
            CHECK(same_hash || !cases[i].equal, "hash of %s %s", cases[i].a, cases[i].b);
        done(&r);
        done(&s);
    }
    /* Inner nodes of one tape. */
    reading r;
    read_text(&r, "{\"x\":[{\"a\":1,\"b\":[2]},{\"b\":[2.0],\"a\":1.0},{\"a\":1,\"b\":[3]}]}");
    uint32_t items = tf_tape_resolve(&r.tape, 0, "/x", 2), i[3];
    for (uint32_t k = 0; k < 3; k++)
        i[k] = tf_tape_item(&r.tape, items, k);
    CHECK(tf_tape_equal(&r.tape, i[0], &r.tape, i[1]), "inner");
    CHECK(!tf_tape_equal(&r.tape, i[0], &r.tape, i[2]), "inner");
    CHECK(tf_tape_hash(&r.tape, i[0]) == tf_tape_hash(&r.tape, i[1]), "inner");
    CHECK(tf_tape_hash(&r.tape, i[0]) != tf_tape_hash(&r.tape, i[2]), "inner");
    done(&r);
}

/* ---- pointers ---- */

static void test_pointers(void)
{
    static const char text[] = /* RFC 6901 section 5, and more */
        "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
        "\"k\\\"l\":6,\" \":7,\"m~n\":8,\"~1\":{\"/~\":[[],{\"\":9}]},\"z\\u0000\":10,"
        "\"long~name/of~more~than/eight bytes\":11,\"\xC3\xA9\":12,"
        "\"many\":[0,[],2,3,4,5,6,7,8,9,10,{\"x\":13}],\"plain\":[0,1,2,3,4,5,6,7,8,9,10]}";
    static const struct {
        const char *pointer, *value; /* NULL: leads nowhere */
    } cases[] = {
        {"/foo/0", "bar"}, {"/foo/1", "baz"}, {"/", "0"}, {"/a~1b", "1"}, {"/c%d", "2"},
        {"/e^f", "3"}, {"/g|h", "4"}, {"/i\\j", "5"}, {"/k\"l", "6"}, {"/ ", "7"},
        {"/m~0n", "8"}, {"/~01/~1~0/1/", "9"},
        {"/long~0name~1of~0more~0than~1eight bytes", "11"}, {"/\xC3\xA9", "12"},
        {"/many/11/x", "13"}, {"/many/10", "10"}, {"/many/0", "0"}, {"/plain/10", "10"},
        {"foo", NULL}, {"/foo/2", NULL}, {"/foo/-", NULL}, {"/foo/00", NULL}, {"/foo/01", NULL},
        {"/foo/+1", NULL}, {"/foo/1 ", NULL}, {"/foo/", NULL}, {"/foo/0x1", NULL},
        {"/foo/18446744073709551616", NULL}, {"/foo/4294967296", NULL}, {"/foo/0/x", NULL},
        {"/foo/0/", NULL}, {"/m~n", NULL}, {"/m~", NULL}, {"/m~2n", NULL}, {"/a/b", NULL},
        {"//", NULL}, {"/plain/11", NULL}, {"/many/12", NULL}, {"#/foo", NULL},
        {"/long~0name~1of~0more~0than~1eight byte~0", NULL},
    };
    reading r;
    read_text(&r, text);
    CHECK(r.status == TOKFSM_OK, "%s", r.err.message);
    CHECK(tf_tape_resolve(&r.tape, 0, "", 0) == 0, "root");
    CHECK(tf_tape_resolve(&r.tape, r.tape.n_nodes, "", 0) == TF_TAPE_NONE, "past the end");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t node = tf_tape_resolve(&r.tape, 0, cases[i].pointer, strlen(cases[i].pointer));
        CHECK((node != TF_TAPE_NONE) == (cases[i].value != NULL), "%s", cases[i].pointer);
        if (node == TF_TAPE_NONE || cases[i].value == NULL)
            continue;
        CHECK(strcmp(r.tape.nodes[node].text, cases[i].value) == 0, "%s", cases[i].pointer);
        char buffer[64];
        tf_tape_pointer(&r.tape, node, buffer, sizeof buffer);
        CHECK(strcmp(buffer, cases[i].pointer) == 0, "%s: %s", cases[i].pointer, buffer);
    }
    uint32_t foo = tf_tape_get(&r.tape, 0, "foo", 3);
    CHECK(tf_tape_resolve(&r.tape, foo, "/1", 2) == foo + 2, "from an inner node");
    uint32_t zero = tf_tape_resolve(&r.tape, 0, "/z\0", 3);
    CHECK(zero != TF_TAPE_NONE && tf_tape_resolve(&r.tape, 0, "/z", 2) == TF_TAPE_NONE, "z");
    char buffer[64];
    tf_tape_pointer(&r.tape, zero, buffer, sizeof buffer);
    CHECK(strcmp(buffer, "/z\xE2\x90\x80") == 0, "%s", buffer);
    tf_tape_pointer(&r.tape, foo - 1, buffer, sizeof buffer);
    CHECK(strcmp(buffer, "/foo") == 0, "of a name: %s", buffer);
    tf_tape_pointer(&r.tape, 0, buffer, sizeof buffer);
    CHECK(buffer[0] == '\0', "of the root: %s", buffer);
    tf_tape_pointer(&r.tape, 0, buffer, 0);
    /* Every length of buffer: never cut within a code point or an escape. */
    uint32_t deep = tf_tape_resolve(&r.tape, 0, "/~01/~1~0/1/", 12);
    for (size_t n = 1; n <= 14; n++) {
        char *exact = malloc(n);
        if (exact == NULL)
            abort();
        tf_tape_pointer(&r.tape, deep, exact, n);
        static const char *const want[] = {"", "", "", "…", "/…", "/…", "/~0…", "/~01…",
                                           "/~01/…", "/~01/…", "/~01/~1…", "/~01/~1…",
                                           "/~01/~1~0/1/", "/~01/~1~0/1/"};
        CHECK(strcmp(exact, want[n - 1]) == 0, "%zu: %s", n, exact);
        free(exact);
    }
    done(&r);
}

/* ---- several texts ---- */

static void test_documents(void)
{
    static const char first[] = "{\"a\":[1,{\"b\":2}]}";
    static const char many[] = "{\"k0\":0,\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,"
                               "\"k8\":8,\"k9\":[[],0,1,2,3,4,5,6,7,{\"x\":[1,{\"b\":2}]}]}";
    reading r;
    read_text(&r, first);
    CHECK(r.status == TOKFSM_OK && r.tape.n_documents == 1, "%s", r.err.message);
    tf_budget budget;
    tf_budget_init(&budget, NULL, NULL);
    uint32_t roots[8] = {0}, n_first = r.tape.n_nodes;
    for (uint32_t i = 1; i < 8; i++) {
        tokfsm_status status = tf_tape_append(&r.tape, "u:x", (const uint8_t *)many, strlen(many), NULL,
                                              &budget, &roots[i], &r.err);
        CHECK(status == TOKFSM_OK && r.tape.n_documents == i + 1, "%s", r.err.message);
    }
    CHECK(roots[1] == n_first, "the second root is %u", roots[1]);
    for (uint32_t i = 1; i < 8; i++) {
        char buffer[64];
        uint32_t node = tf_tape_resolve(&r.tape, roots[i], "/k9/9/x/1/b", 11);
        CHECK(node != TF_TAPE_NONE && strcmp(r.tape.nodes[node].text, "2") == 0, "text %u", i);
        tf_tape_pointer(&r.tape, node, buffer, sizeof buffer);
        CHECK(strcmp(buffer, "u:x#/k9/9/x/1/b") == 0, "%s", buffer);
        CHECK(tf_tape_document_of(&r.tape, node) == i, "of text %u", tf_tape_document_of(&r.tape, node));
        CHECK(r.tape.nodes[roots[i]].parent == TF_TAPE_NONE, "a root has a parent");
        CHECK(tf_tape_equal(&r.tape, tf_tape_resolve(&r.tape, roots[i], "/k9/9/x", 7), &r.tape,
                            tf_tape_get(&r.tape, 0, "a", 1)), "equal values of two texts");
    }
    tf_tape before = r.tape;
    uint32_t root = 77;
    tokfsm_status status = tf_tape_append(&r.tape, "u:y", (const uint8_t *)"{\"a\":1,\"a\":2}", 13, NULL,
                                          &budget, &root, &r.err);
    CHECK(status == TOKFSM_E_JSON && root == 77, "status %d", status);
    CHECK(memcmp(&before, &r.tape, sizeof before) == 0, "the tape was touched");
    done(&r);
}

/* ---- decimals ---- */

static void test_decimals(void)
{
    static const struct {
        const char *text;
        uint32_t negative;
        const char *digits;
        int32_t point;
        bool integer;
        const char *u64; /* NULL: none */
    } cases[] = {
        {"0", 0, "", 0, true, "0"}, {"-0", 0, "", 0, true, "0"}, {"0.000e-99", 0, "", 0, true, "0"},
        {"1", 0, "1", 1, true, "1"}, {"-1", 1, "1", 1, true, NULL}, {"5.0", 0, "5", 1, true, "5"},
        {"10e-1", 0, "1", 1, true, "1"}, {"1200", 0, "12", 4, true, "1200"},
        {"0.5", 0, "5", 0, false, NULL}, {"-0.00123", 1, "123", -2, false, NULL},
        {"12.340", 0, "1234", 2, false, NULL}, {"1.05E+2", 0, "105", 3, true, "105"},
        {"1.05e1", 0, "105", 2, false, NULL}, {"100.001", 0, "100001", 3, false, NULL},
        {"1e400000", 0, "1", 400001, true, NULL}, {"1e-400000", 0, "1", -399999, false, NULL},
        {"1e1000000", 0, "1", 1000001, true, NULL}, {"1e-0001000000", 0, "1", -999999, false, NULL},
        {"18446744073709551615", 0, "18446744073709551615", 20, true, "18446744073709551615"},
        {"18446744073709551616", 0, "18446744073709551616", 20, true, NULL},
        {"1844674407370955161.5e1", 0, "18446744073709551615", 20, true, "18446744073709551615"},
        {"99999999999999999999", 0, "99999999999999999999", 20, true, NULL},
        {"1e19", 0, "1", 20, true, "10000000000000000000"}, {"2e19", 0, "2", 20, true, NULL},
        {"1e20", 0, "1", 21, true, NULL},
    };
    tokfsm_allocator a = tf_allocator(NULL);
    tf_arena arena;
    tf_arena_init(&arena, &a);
    tokfsm_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        tf_decimal d;
        CHECK(tf_decimal_read(&d, text, strlen(text), &arena, &err) == TOKFSM_OK, "%s", text);
        size_t n = strlen(cases[i].digits);
        bool same = d.n_digits == n;
        for (size_t k = 0; k < n && same; k++)
            same = d.digits[k] == cases[i].digits[k] - '0';
        CHECK(same && d.point == cases[i].point && d.negative == cases[i].negative,
              "%s: point %d", text, d.point);
        CHECK(tf_decimal_is_integer(&d) == cases[i].integer, "%s", text);
        uint64_t value = 77;
        char shown[24] = "";
        bool fits = tf_decimal_to_u64(&d, &value);
        if (fits)
            snprintf(shown, sizeof shown, "%llu", (unsigned long long)value);
        CHECK(fits == (cases[i].u64 != NULL) && (fits || value == 77), "%s", text);
        CHECK(!fits || cases[i].u64 == NULL || strcmp(shown, cases[i].u64) == 0, "%s: %s", text,
              shown);
        CHECK(tf_decimal_hash(&d) == tf_decimal_text_hash(text, strlen(text)), "%s", text);
    }

    /* Ascending; equal ones side by side after '='. */
    static const char *const order[] = {
        "-1e400000", "-1e399999", "-100", "=-1e2", "-99.5", "-1.05", "-1", "-0.1", "=-1e-1",
        "-0.01", "-1e-400000", "0", "=-0", "=0e5", "1e-400000", "0.01", "0.0999", "0.1", "0.10001",
        "0.11", "=11e-2", "1", "=1.0", "=10e-1", "=0.1E1", "1.0000000000000000000000001", "9", "10",
        "99", "100", "9007199254740992", "9007199254740993", "1e399999", "1e400000", "1.1e400000",
    };
    enum { N = sizeof order / sizeof *order };
    tf_decimal d[N];
    const char *texts[N];
    int rank[N];
    for (int i = 0; i < N; i++) {
        bool same = order[i][0] == '=';
        texts[i] = order[i] + same;
        rank[i] = i == 0 ? 0 : rank[i - 1] + !same;
        CHECK(tf_decimal_read(&d[i], texts[i], strlen(texts[i]), &arena, &err) == TOKFSM_OK,
              "%s", texts[i]);
    }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            int want = (rank[i] > rank[k]) - (rank[i] < rank[k]);
            CHECK(tf_decimal_compare(&d[i], &d[k]) == want, "%s %s", texts[i], texts[k]);
            CHECK((tf_decimal_hash(&d[i]) == tf_decimal_hash(&d[k])) == (want == 0), "%s %s",
                  texts[i], texts[k]);
            CHECK(tf_decimal_text_equal(texts[i], strlen(texts[i]), texts[k],
                                        strlen(texts[k])) == (want == 0),
                  "%s %s", texts[i], texts[k]);
        }
    }

    static const char *const far[] = {"1e1000001", "1e-1000001", "1e18446744073709551617",
                                      "-1E-99999999999999999999999"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        tf_decimal kept = d[0];
        CHECK(tf_decimal_read(&kept, far[i], strlen(far[i]), &arena, &err) == TOKFSM_E_LIMIT,
              "%s", far[i]);
        CHECK(kept.point == d[0].point && kept.digits == d[0].digits, "%s", far[i]);
    }
    enum { MILLION = 1000000 };
    char *digits = malloc(MILLION + 2);
    if (digits == NULL)
        abort();
    memset(digits, '7', MILLION + 2);
    digits[1] = '.';
    tf_decimal big;
    CHECK(tf_decimal_read(&big, digits, MILLION + 1, &arena, &err) == TOKFSM_OK, "%s", err.message);
    CHECK(big.n_digits == MILLION && big.point == 1, "%u digits", big.n_digits);
    CHECK(tf_decimal_read(&big, digits, MILLION + 2, &arena, &err) == TOKFSM_E_LIMIT, "long");
    free(digits);
    tf_arena_free(&arena);

    counter c = {0, 0, 1};
    tokfsm_allocator failing = {count_allocate, count_release, &c};
    tf_arena_init(&arena, &failing);
    CHECK(tf_decimal_read(&big, "12", 2, &arena, &err) == TOKFSM_E_NOMEM, "memory");
    CHECK(tf_decimal_read(&big, "12", 2, &arena, NULL) == TOKFSM_OK, "memory");
    tf_arena_free(&arena);
}

int main(void)
{
    test_texts();
    test_decoding();
    test_shape();
    test_truncated();
    test_memory();
    test_limits();
    test_many_names(false);
    test_many_names(true);
    test_equality();
    test_pointers();
    test_documents();
    test_decimals();
    printf("tape_test: %d checks, %d failed\n", n_checked, n_failed);
    return n_failed != 0;
}
