/*
 * The vocabulary pack against slow recomputation from the definitions (pack_oracle.h).
 * Random small vocabularies; damaged files; every failing allocation; limits.
 * Sources: this file, csrc/vocab, csrc/base; -I at the root of the repository. An argument:
 * the number of random vocabularies.
 */
#include <stdio.h>
#include <stdlib.h>

#include "csrc/base/budget.h"
#include "csrc/base/sha256.h"
#include "csrc/vocab/json_follow.h"
#include "csrc/vocab/pack_layout.h"
#include "pack_oracle.h"

static unsigned n_failures;
static unsigned long n_checks;
static char where[128];

static void check_at(bool holds, const char *what, int line)
{
    n_checks++;
    if (holds)
        return;
    if (n_failures++ < 20)
        fprintf(stderr, "pack_test.c:%d: %s: not so: %s\n", line, where, what);
}
#define CHECK(condition) check_at((condition), #condition, __LINE__)

static uint64_t random_state = 88172645463325252u;
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) % n);
}

/* ---- vocabularies ---- */

enum { MAX_TOKENS = 80 };
typedef struct vocabulary {
    uint8_t blob[MAX_TOKENS * MAX_TOKEN];
    uint64_t offsets[MAX_TOKENS + 1];
    uint32_t n;
} vocabulary;

static const char *const FRAGMENT[] = {
    "\"", "\"", "\\", "\\", "u", "d", "D", "8", "c", "0", "1", "{", "}", "[", "]", ",", ":", " ",
    "\n", "a", "b", "f", "/", "\xC3", "\xA9", "\xED", "\xA0", "\x9F", "\xE0", "\xF0", "\x90",
    "\xF4", "\x80", "\xC1", "\xF5", "\xE1", "\xF1", "\x7F", "\x1F", "\\ud83d", "\\udE00",
    "\\u00", "\\u00", "\\u0041", "\\u000a", "\\u001f", "\\u000b", "\\n", "\\/", "}}", "]}", "\"}",
    "\"]", "\",\"", "\":", "\":\"", "\": {", "},{\"", "true", "null", "alse", "-1", ".5", "e",
    "1e5", "\xF0\x9F\x98\x80", "abcabcabc", "\xC3\xA9\xC3\xA9", "[[", "]]"};

static void add_token(vocabulary *v, const char *bytes, size_t n)
{
    if (n > 0)
        memcpy(v->blob + v->offsets[v->n], bytes, n);
    v->offsets[v->n + 1] = v->offsets[v->n] + n;
    v->n++;
}

static void random_vocabulary(vocabulary *v)
{
    v->n = 0;
    v->offsets[0] = 0;
    uint32_t n = 1 + random_below(MAX_TOKENS);
    bool bytes_only = random_below(8) == 0;
    while (v->n < n) {
        char token[MAX_TOKEN];
        size_t m = 0;
        for (uint32_t k = random_below(random_below(4) == 0 ? 8 : 4); k > 0; k--) {
            const char *piece = FRAGMENT[random_below(sizeof FRAGMENT / sizeof *FRAGMENT)];
            if (bytes_only)
                token[m++] = (char)random_below(256);
            else
                m += (size_t)sprintf(token + m, "%s", piece);
        }
        if (v->n > 0 && random_below(10) == 0) { /* a duplicate, or longer by a quote */
            uint32_t t = random_below(v->n);
            m = (size_t)(v->offsets[t + 1] - v->offsets[t]);
            if (m + 1 < MAX_TOKEN) {
                memcpy(token, v->blob + v->offsets[t], m);
                if (random_below(2) == 0)
                    token[m++] = '"';
            }
        }
        add_token(v, token, m);
    }
}

static tokfsm_pack *build_pack(const vocabulary *v)
{
    tokfsm_pack *pack = NULL;
    tokfsm_error err;
    tokfsm_status status =
        tokfsm_pack_build(v->blob, v->offsets, v->n, NULL, NULL, NULL, &pack, &err);
    if (status != TOKFSM_OK) {
        fprintf(stderr, "build: %s\n", err.message);
        exit(1);
    }
    return pack;
}

static void free_bytes(uint8_t *bytes) { free(bytes); }

/* ---- the pack against the definitions ---- */

typedef struct string_view {
    const uint8_t *data; /* NULL: not in the trie */
    size_t n;
} string_view;

static bool same(string_view a, string_view b)
{
    return a.n == b.n && memcmp(a.data, b.data, a.n) == 0;
}

/* The node of a string, by children and siblings only; TF_NONE if there is none. */
static uint32_t descend(const tf_trie *trie, string_view s)
{
    uint32_t node = 0;
    for (size_t i = 0; i < s.n; i++) {
        uint32_t child = node + 1;
        while (child < trie->end[node] && trie->byte[child] != s.data[i])
            child = trie->end[child];
        if (child >= trie->end[node])
            return TF_NONE;
        if (i == 0)
            CHECK(trie->root[s.data[0]] == child);
        node = child;
    }
    return node;
}

static void check_trie(const tf_trie *trie, const string_view *strings, uint32_t n)
{
    uint32_t n_nodes = 1, n_ids = 0, n_roots = 0;
    size_t depth = 0;
    for (uint32_t t = 0; t < n; t++) {
        if (strings[t].data == NULL)
            continue;
        n_ids++;
        depth = strings[t].n > depth ? strings[t].n : depth;
        for (size_t m = 1; m <= strings[t].n; m++) { /* prefixes that no earlier one has */
            bool seen = false;
            for (uint32_t k = 0; k < t && !seen; k++)
                seen = strings[k].data != NULL && strings[k].n >= m &&
                       memcmp(strings[k].data, strings[t].data, m) == 0;
            n_nodes += !seen;
            n_roots += !seen && m == 1;
        }
        uint32_t node = descend(trie, strings[t]);
        CHECK(node != TF_NONE);
        if (node == TF_NONE)
            continue;
        uint32_t k = trie->first[node];
        for (uint32_t u = 0; u < n; u++) {
            if (strings[u].data == NULL || !same(strings[u], strings[t]))
                continue;
            CHECK(k < trie->first[node + 1] && trie->ids[k] == u);
            k++;
        }
        CHECK(k == trie->first[node + 1]);
    }
    CHECK(trie->n_nodes == n_nodes);
    CHECK(trie->first[trie->n_nodes] == n_ids && trie->first[0] == 0);
    CHECK(trie->depth == depth);
    for (unsigned b = 0; b < 256; b++)
        n_roots -= trie->root[b] != 0;
    CHECK(n_roots == 0);
    for (uint32_t i = 0; i < trie->n_nodes; i++) {
        CHECK(trie->end[i] > i && trie->end[i] <= trie->n_nodes);
        uint32_t child = i + 1;
        for (int last = -1; child < trie->end[i]; child = trie->end[child]) {
            CHECK(trie->byte[child] > last);
            last = trie->byte[child];
        }
        CHECK(child == trie->end[i]);
    }
}

static void check_pack(const tokfsm_pack *pack, const vocabulary *v)
{
    const uint32_t n = v->n;
    string_view all[MAX_TOKENS], quote[MAX_TOKENS], close[MAX_TOKENS];
    text_result normal[MAX_TOKENS];
    uint32_t byte_token[256], char_token[TF_MAX_CHAR_TOKENS], n_char_tokens = 1;
    uint32_t longest = 0, closes = 0, close_chars = 0;
    memset(byte_token, 0xFF, sizeof byte_token);
    memset(char_token, 0xFF, sizeof char_token);

    CHECK(pack->vocab_size == n && tokfsm_pack_vocab_size(pack) == n);
    CHECK(pack->n_words == (n + 31) / 32);
    CHECK((uintptr_t)pack->image % 64 == 0);
    for (uint32_t t = 0; t < n; t++) {
        const uint8_t *token = v->blob + v->offsets[t];
        uint32_t m = (uint32_t)(v->offsets[t + 1] - v->offsets[t]), n_bytes;
        const uint8_t *own = tf_pack_token(pack, t, &n_bytes);
        CHECK(n_bytes == m && (m == 0 || memcmp(own, token, m) == 0));
        const string_view none = {NULL, 0}, whole = {token, m};
        all[t] = m > 0 ? whole : none;
        quote[t] = m > 0 && memchr(token, '"', m) != NULL ? whole : none;
        normal[t] = read_from(TF_STR_NORMAL, token, m);
        close[t] = none;
        if (normal[t].viable && normal[t].closed && closes_string(token, m)) {
            close[t] = (string_view){token + normal[t].at + 1, m - normal[t].at - 1};
            if (normal[t].n_chars > close_chars)
                close_chars = normal[t].n_chars;
        }
        if (m == 1 && byte_token[*token] == TF_NONE)
            byte_token[*token] = t;
        if (m > longest)
            longest = m;
        unsigned k = max_closes(token, m);
        closes = k > closes ? k : closes;
        uint32_t chars = normal[t].n_chars;
        if (m > 0 && normal[t].viable && !normal[t].closed && normal[t].whole &&
            normal[t].minimal && chars < TF_MAX_CHAR_TOKENS) {
            if (char_token[chars] == TF_NONE)
                char_token[chars] = t;
            if (chars + 1 > n_char_tokens)
                n_char_tokens = chars + 1;
        }
    }
    CHECK(pack->max_token_bytes == longest);
    CHECK(memcmp(pack->byte_token, byte_token, sizeof byte_token) == 0);
    CHECK(pack->max_closes == closes && tokfsm_pack_max_closes(pack) == closes);
    CHECK(pack->n_char_tokens == n_char_tokens);
    CHECK(memcmp(pack->char_token, char_token, n_char_tokens * 4) == 0);
    check_trie(&pack->all, all, n);
    check_trie(&pack->quote, quote, n);
    check_trie(&pack->close, close, n);

    CHECK(pack->max_close_chars == close_chars);
    for (uint32_t k = 0; k < pack->close.first[pack->close.n_nodes]; k++) {
        const text_result *r = &normal[pack->close.ids[k]];
        CHECK(pack->close_chars[k] == r->n_chars);
        CHECK(pack->close_minimal[k] == r->minimal);
    }

    bool has_length[MAX_TOKEN + 1] = {false};
    for (unsigned s = 0; s < TF_N_STR; s++) {
        uint32_t chars = 0;
        for (uint32_t t = 0; t < pack->n_words * 32; t++) {
            bool in = false, minimal = false;
            if (t < n && all[t].data != NULL) {
                text_result r = read_from(s, all[t].data, all[t].n);
                in = r.viable && !r.closed;
                minimal = in && r.minimal;
                if (in && r.n_chars > chars)
                    chars = r.n_chars;
                if (in && s == TF_STR_NORMAL)
                    has_length[r.n_chars] = true;
            }
            CHECK(tf_bit(pack->stay + s * pack->n_words, t) == in);
            if (s == TF_STR_NORMAL)
                CHECK(tf_bit(pack->stay_minimal, t) == minimal);
        }
        CHECK(pack->stay_chars[s] == chars);
    }
    uint32_t k = 0;
    for (uint32_t length = 0; length <= MAX_TOKEN; length++) {
        if (!has_length[length])
            continue;
        CHECK(k < pack->n_lengths && pack->length[k] == length);
        for (uint32_t t = 0; k < pack->n_lengths && t < pack->n_words * 32; t++) {
            bool in = t < n && all[t].data != NULL && normal[t].viable && !normal[t].closed &&
                      normal[t].n_chars <= length;
            CHECK(tf_bit(pack->stay_at_most + k * pack->n_words, t) == in);
        }
        k++;
    }
    CHECK(pack->n_lengths == k);

    uint8_t text[sizeof v->blob + 32 + 4 * MAX_TOKENS], fingerprint[32];
    size_t at = 20;
    tf_sha256 hash;
    memcpy(text, "tokfsm.vocabulary.1", 20);
    text[at++] = (uint8_t)n;
    memset(text + at, 0, 3);
    at += 3;
    for (uint32_t t = 0; t < n; t++) {
        uint64_t m = v->offsets[t + 1] - v->offsets[t];
        text[at++] = (uint8_t)m;
        memset(text + at, 0, 3);
        at += 3;
        memcpy(text + at, v->blob + v->offsets[t], (size_t)m);
        at += (size_t)m;
    }
    tf_sha256_init(&hash);
    tf_sha256_update(&hash, text, at);
    tf_sha256_final(&hash, fingerprint);
    CHECK(memcmp(tokfsm_pack_fingerprint(pack), fingerprint, 32) == 0);
    CHECK(tokfsm_vocabulary_fingerprint(v->blob, v->offsets, n, fingerprint, NULL) == TOKFSM_OK);
    CHECK(memcmp(pack->fingerprint, fingerprint, 32) == 0);
}

/* ---- single parts ---- */

static void test_sums(void)
{
    static const char *const WANT[] = {
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"};
    static const char *const TEXT[] = {
        "", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
    snprintf(where, sizeof where, "sums");
    for (unsigned i = 0; i < 4; i++) {
        tf_sha256 hash;
        uint8_t digest[32];
        char got[65];
        tf_sha256_init(&hash);
        if (i < 3) {
            tf_sha256_update(&hash, TEXT[i], strlen(TEXT[i]));
        } else { /* a million times 'a', in odd pieces */
            char piece[200];
            memset(piece, 'a', sizeof piece);
            for (size_t left = 1000000, n; left > 0; left -= n) {
                n = 1 + random_below(200);
                n = n > left ? left : n;
                tf_sha256_update(&hash, piece, n);
            }
        }
        tf_sha256_final(&hash, digest);
        for (unsigned k = 0; k < 32; k++)
            sprintf(got + 2 * k, "%02x", digest[k]);
        CHECK(strcmp(got, WANT[i]) == 0);
    }
    /* The processor's instructions, where it has them, and without: all lengths of the last block. */
    uint8_t bytes[200];
    for (size_t n = 0; n < sizeof bytes; n++)
        bytes[n] = (uint8_t)random_below(256);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        tf_sha256 hash, portable;
        uint8_t digest[32], same[32];
        size_t cut = random_below((uint32_t)n + 1);
        tf_sha256_init(&hash);
        tf_sha256_init_portable(&portable);
        tf_sha256_update(&hash, bytes, cut);
        tf_sha256_update(&hash, bytes + cut, n - cut);
        tf_sha256_update(&portable, bytes, n);
        tf_sha256_final(&hash, digest);
        tf_sha256_final(&portable, same);
        CHECK(memcmp(digest, same, sizeof digest) == 0);
    }
    /* Every changed byte shows, and so does every length. */
    for (size_t n = 0; n < sizeof bytes; n++) {
        uint32_t sum = tf_pack_checksum(bytes, n);
        CHECK(tf_pack_checksum(bytes, n + 1) != sum);
        for (size_t i = 0; i < n; i++) {
            bytes[i] ^= 1;
            CHECK(tf_pack_checksum(bytes, n) != sum);
            bytes[i] ^= 1;
        }
    }
}

static void test_string_table(void)
{
    const uint8_t(*table)[256] = tf_string_table();
    const uint8_t(*minimal)[256] = tf_string_minimal_table();
    snprintf(where, sizeof where, "string table");
    for (unsigned s = 0; s < TF_N_STR; s++) {
        unsigned at = TF_STR_NORMAL;
        for (const char *c = STATE_TEXT[s]; *c != '\0'; c++)
            at = table[at][(uint8_t)*c];
        CHECK(at == s);
    }
    /* All texts of two bytes from each state, and random ones. */
    for (unsigned s = 0; s < TF_N_STR; s++) {
        for (unsigned round = 0; round < 65536 + 20000; round++) {
            uint8_t text[8] = {(uint8_t)round, (uint8_t)(round >> 8)};
            unsigned n = 2;
            if (round >= 65536) {
                n = 1 + random_below(8);
                for (unsigned i = 0; i < n; i++)
                    text[i] = (uint8_t)FRAGMENT[random_below(46)][0];
            }
            text_result want = read_from(s, text, n);
            unsigned at = s, i = 0;
            for (; i < n && at < TF_N_STR; i++)
                at = table[at][text[i]];
            CHECK(want.viable == (at != TF_STR_DEAD));
            CHECK(want.closed == (at == TF_STR_CLOSE));
            if (want.closed)
                CHECK(want.at + 1 == i + strlen(STATE_TEXT[s]));
            else if (want.viable)
                CHECK(want.whole == (at == TF_STR_NORMAL));
            if (s != TF_STR_NORMAL)
                continue;
            for (at = s, i = 0; i < n && at < TF_N_STR_MINIMAL; i++)
                at = minimal[at][text[i]];
            CHECK((want.viable && want.minimal) == (at != TF_STR_DEAD));
        }
    }
    for (uint32_t v = 0; v < 0x20000; v++) { /* every \uXXXX, both cases */
        char text[8];
        sprintf(text, v < 0x10000 ? "\\u%04x" : "\\u%04X", v & 0xFFFF);
        text_result want = read_text((const uint8_t *)text, 6);
        unsigned at = TF_STR_NORMAL, narrow = TF_STR_NORMAL;
        for (unsigned i = 0; i < 6; i++) {
            at = at < TF_N_STR ? table[at][(uint8_t)text[i]] : TF_STR_DEAD;
            narrow = narrow < TF_N_STR_MINIMAL ? minimal[narrow][(uint8_t)text[i]] : TF_STR_DEAD;
        }
        CHECK(want.viable == (at < TF_N_STR));
        CHECK((want.viable && want.minimal) == (narrow == TF_STR_NORMAL));
    }
}

/* Token by token, as the most of a vocabulary hides the rest. */
static void test_follow(unsigned n_rounds)
{
    static const char *const PIECE[] = {"\"", "\"", "\"", ",", ",", ":", ":", "{", "}", "}", "]",
                                        "]", "[", " ", "\n", "1", "0", "-", ".", "e", "E", "+",
                                        "a", "true", "ull", "\\", "\":", ",1E5", "1.5", "1}", "1]",
                                        "{}", "[]"};
    const uint32_t n_pieces = sizeof PIECE / sizeof *PIECE;
    uint8_t scratch[MAX_TOKEN];
    unsigned n_follow = 0, n_close = 0;
    for (unsigned round = 0; round < n_rounds; round++) {
        char token[MAX_TOKEN];
        size_t n = 0;
        for (uint32_t k = 1 + random_below(6); k > 0; k--)
            n += (size_t)sprintf(token + n, "%s", PIECE[random_below(n_pieces)]);
        snprintf(where, sizeof where, "follow <%.*s>", (int)n, token);
        const uint8_t *bytes = (const uint8_t *)token;
        unsigned want = max_closes(bytes, n);
        CHECK(tf_json_max_closes(bytes, (uint32_t)n, scratch) == want);
        n_close += want > 0;
        char quoted[MAX_TOKEN + 1] = "\"";
        memcpy(quoted + 1, token, n);
        bool follows = closes_string((const uint8_t *)quoted, n + 1);
        CHECK(tf_json_follows_string(bytes, (uint32_t)n, scratch) == follows);
        n_follow += follows;
    }
    printf("follow: of %u tokens %u follow a string, %u close\n", n_rounds, n_follow, n_close);
}

/* ---- files ---- */

static void touch(const tokfsm_pack *pack)
{
    uint64_t sum = 0;
    const tf_trie *tries[3] = {&pack->all, &pack->quote, &pack->close};
    for (unsigned i = 0; i < 3; i++) {
        const tf_trie *trie = tries[i];
        for (uint32_t node = 0; node < trie->n_nodes; node++) {
            sum += trie->end[node] + trie->byte[node];
            for (uint32_t k = trie->first[node]; k < trie->first[node + 1]; k++) {
                uint32_t n_bytes;
                const uint8_t *token = tf_pack_token(pack, trie->ids[k], &n_bytes);
                sum += n_bytes > 0 ? token[n_bytes - 1] : 0u;
            }
        }
    }
    for (size_t i = 0; i < (size_t)TF_N_STR * pack->n_words; i++)
        sum += pack->stay[i];
    for (size_t i = 0; i < (size_t)pack->n_lengths * pack->n_words; i++)
        sum += pack->stay_at_most[i];
    CHECK(sum != 1); /* so that the reads stay */
}

static void fix_checksum(uint8_t *bytes, size_t n)
{
    uint32_t sum = tf_pack_checksum(bytes + 32, n - 32);
    memcpy(bytes + 28, &sum, sizeof sum);
}

static void test_files(void)
{
    static vocabulary v;
    snprintf(where, sizeof where, "files");
    v.n = 0;
    v.offsets[0] = 0;
    add_token(&v, "\"", 1);
    add_token(&v, "ab", 2);
    add_token(&v, "", 0);
    add_token(&v, "a\"}", 3);
    add_token(&v, "ab", 2);
    add_token(&v, "a\"x", 3);
    add_token(&v, "\\", 1);
    tokfsm_pack *pack = build_pack(&v), *other = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    tokfsm_error err;
    check_pack(pack, &v);
    CHECK(tokfsm_pack_save(pack, &bytes, &n, NULL) == TOKFSM_OK);
    uint8_t *copy = malloc(n + 1);
    memcpy(copy, bytes, n);
    copy[n] = 0;

    for (size_t m = 0; m <= n + 1; m++) {
        if (m == n)
            continue;
        uint8_t *cut = malloc(m == 0 ? 1 : m);
        memcpy(cut, copy, m);
        CHECK(tokfsm_pack_open(cut, m, NULL, &other, &err) == TOKFSM_E_CORRUPT);
        if (m >= sizeof(tf_pack_header)) { /* that says how long it is, with a right sum */
            uint64_t said = m;
            memcpy(cut + 16, &said, sizeof said);
            fix_checksum(cut, m);
            CHECK(tokfsm_pack_open(cut, m, NULL, &other, &err) == TOKFSM_E_CORRUPT);
        }
        free(cut);
    }
    copy[8] = 3;
    CHECK(tokfsm_pack_open(copy, n, NULL, &other, &err) == TOKFSM_E_VERSION);
    copy[8] = bytes[8];
    memcpy(copy + 12, "\1\2\3\4\5", 5);
    copy[16] = bytes[16];
    if (bytes[12] != 1)
        CHECK(tokfsm_pack_open(copy, n, NULL, &other, &err) == TOKFSM_E_VERSION);
    memcpy(copy, bytes, n);
    copy[0] = 't';
    CHECK(tokfsm_pack_open(copy, n, NULL, &other, &err) == TOKFSM_E_CORRUPT);
    copy[0] = 'T';

    /* Every byte, each time with a right checksum: refused, or safe to read. */
    unsigned long n_opened = 0;
    for (size_t i = 16; i < n; i++) {
        for (unsigned kind = 0; kind < 4; kind++) {
            static const uint8_t FLIP[4] = {1, 0x80, 0xFF, 2};
            copy[i] ^= FLIP[kind];
            CHECK(tokfsm_pack_open(copy, n, NULL, &other, &err) == TOKFSM_E_CORRUPT);
            CHECK(err.code == TOKFSM_E_CORRUPT && strncmp(err.message, "pack: ", 6) == 0);
            fix_checksum(copy, n);
            tokfsm_status status = tokfsm_pack_open(copy, n, NULL, &other, &err);
            CHECK(status == TOKFSM_E_CORRUPT || status == TOKFSM_OK);
            if (status == TOKFSM_OK) {
                n_opened++;
                touch(other);
                tokfsm_pack_free(other);
            }
            copy[i] ^= FLIP[kind];
        }
    }
    fix_checksum(copy, n);
    CHECK(memcmp(copy, bytes, n) == 0);
    printf("files: %lu of %lu changed ones open\n", n_opened, 4 * (unsigned long)(n - 16));

    other = NULL;
    CHECK(tokfsm_pack_open(bytes, n, NULL, &other, NULL) == TOKFSM_OK);
    free_bytes(bytes);
    check_pack(other, &v);
    tokfsm_pack_retain(other);
    tokfsm_pack_free(other);
    check_pack(other, &v);
    tokfsm_pack_free(other);
    tokfsm_pack_free(pack);
    tokfsm_pack_free(NULL);
    free(copy);
}

static void test_random(unsigned n_rounds)
{
    static vocabulary v;
    for (unsigned round = 0; round < n_rounds; round++) {
        snprintf(where, sizeof where, "random vocabulary %u", round);
        random_vocabulary(&v);
        tokfsm_pack *pack = build_pack(&v), *again = build_pack(&v), *opened = NULL;
        uint8_t *bytes = NULL;
        size_t n = 0;
        check_pack(pack, &v);
        CHECK(pack->n_image_bytes == again->n_image_bytes &&
              memcmp(pack->image, again->image, pack->n_image_bytes) == 0);
        CHECK(tokfsm_pack_save(pack, &bytes, &n, NULL) == TOKFSM_OK);
        CHECK(tokfsm_pack_open(bytes, n, NULL, &opened, NULL) == TOKFSM_OK);
        free_bytes(bytes);
        if (opened != NULL) {
            check_pack(opened, &v);
            CHECK(memcmp(pack->image, opened->image, pack->n_image_bytes) == 0);
        }
        tokfsm_pack_free(opened);
        tokfsm_pack_free(again);
        tokfsm_pack_free(pack);
    }
}

/* ---- failures ---- */

typedef struct meter {
    long left; /* allocations that still succeed; negative: all */
    long live;
} meter;

static void *meter_allocate(void *context, size_t n_bytes)
{
    meter *m = context;
    if (m->left == 0)
        return NULL;
    m->left -= m->left > 0;
    m->live++;
    return malloc(n_bytes);
}

static void meter_release(void *context, void *block)
{
    ((meter *)context)->live--;
    free(block);
}

static void test_failures(void)
{
    static vocabulary v;
    meter m = {-1, 0};
    const tokfsm_allocator allocator = {meter_allocate, meter_release, &m};
    tokfsm_pack *pack = NULL;
    tokfsm_error err;
    tokfsm_status status;
    snprintf(where, sizeof where, "failures");
    random_vocabulary(&v);
    while (v.n < 40)
        random_vocabulary(&v);

    long n_allocations = 0;
    do {
        m.left = n_allocations++;
        pack = NULL;
        status = tokfsm_pack_build(v.blob, v.offsets, v.n, &allocator, NULL, NULL, &pack, &err);
        CHECK(status == TOKFSM_OK || (status == TOKFSM_E_NOMEM && pack == NULL && m.live == 0));
    } while (status == TOKFSM_E_NOMEM);
    uint8_t *bytes = NULL;
    size_t n = 0;
    m.left = 0;
    CHECK(tokfsm_pack_save(pack, &bytes, &n, &err) == TOKFSM_E_NOMEM && bytes == NULL && n == 0);
    m.left = -1;
    CHECK(tokfsm_pack_save(pack, &bytes, &n, &err) == TOKFSM_OK);
    tokfsm_pack_free(pack);
    CHECK(m.live == 1);
    long n_open = 0;
    do {
        m.left = n_open++;
        pack = NULL;
        status = tokfsm_pack_open(bytes, n, &allocator, &pack, &err);
        CHECK(status == TOKFSM_OK || (status == TOKFSM_E_NOMEM && pack == NULL && m.live == 1));
    } while (status == TOKFSM_E_NOMEM);
    tokfsm_pack_free(pack);
    meter_release(&m, bytes);
    CHECK(m.live == 0);
    printf("failures: %ld allocations to build, %ld to open\n", n_allocations - 1, n_open - 1);

    /* Limits of work: refused up to some number, then never again. */
    m.left = -1;
    uint64_t work = 0;
    tokfsm_limits limits;
    tokfsm_limits_default(&limits);
    for (;; work++) {
        limits.work_units = work;
        pack = NULL;
        status = tokfsm_pack_build(v.blob, v.offsets, v.n, &allocator, &limits, NULL, &pack, &err);
        if (status == TOKFSM_OK)
            break;
        CHECK(status == TOKFSM_E_LIMIT && pack == NULL && m.live == 0);
        if (status != TOKFSM_E_LIMIT)
            break;
    }
    tokfsm_pack_free(pack);
    tokfsm_cancel *cancel = NULL;
    CHECK(tokfsm_cancel_new(NULL, &cancel, NULL) == TOKFSM_OK);
    tokfsm_cancel_set(cancel);
    static uint8_t blob[4000];
    static uint64_t offsets[4001];
    for (uint32_t t = 0; t < 4000; t++) {
        blob[t] = (uint8_t)random_below(256);
        offsets[t + 1] = t + 1;
    }
    pack = NULL;
    CHECK(tokfsm_pack_build(blob, offsets, 4000, &allocator, NULL, cancel, &pack, &err) ==
              TOKFSM_E_CANCELLED && pack == NULL);
    tokfsm_cancel_free(cancel);
    CHECK(m.live == 0);
    printf("failures: %llu units of work for %u tokens\n", (unsigned long long)work, v.n);

    const uint64_t falling[3] = {0, 2, 1}, shifted[2] = {1, 2}, none[2] = {0, 0};
    const uint64_t huge[2] = {0, (uint64_t)1 << 33};
    uint8_t fingerprint[32];
    CHECK(tokfsm_pack_build(blob, falling, 2, NULL, NULL, NULL, &pack, &err) ==
              TOKFSM_E_ARGUMENT && err.where == 1);
    CHECK(tokfsm_pack_build(blob, shifted, 1, NULL, NULL, NULL, &pack, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_build(blob, NULL, 1, NULL, NULL, NULL, &pack, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_build(NULL, offsets, 1, NULL, NULL, NULL, &pack, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_build(blob, offsets, 1, NULL, NULL, NULL, NULL, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_build(blob, offsets, 0, NULL, NULL, NULL, &pack, NULL) ==
          TOKFSM_E_VOCABULARY);
    CHECK(tokfsm_pack_build(blob, huge, 1, NULL, NULL, NULL, &pack, NULL) == TOKFSM_E_VOCABULARY);
    CHECK(tokfsm_vocabulary_fingerprint(blob, falling, 2, fingerprint, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_vocabulary_fingerprint(blob, offsets, 1, NULL, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_save(NULL, &bytes, &n, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_open(NULL, 0, NULL, &pack, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_open(blob, 0, NULL, NULL, NULL) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_pack_open(blob, 0, NULL, &pack, NULL) == TOKFSM_E_CORRUPT);
    CHECK(pack == NULL);
    /* Only tokens without bytes; no blob at all. */
    CHECK(tokfsm_pack_build(NULL, none, 1, NULL, NULL, NULL, &pack, NULL) == TOKFSM_OK);
    CHECK(pack->all.n_nodes == 1 && pack->n_lengths == 0 && pack->stay[0] == 0);
    bytes = NULL;
    CHECK(tokfsm_pack_save(pack, &bytes, &n, NULL) == TOKFSM_OK);
    tokfsm_pack_free(pack);
    CHECK(tokfsm_pack_open(bytes, n, NULL, &pack, NULL) == TOKFSM_OK);
    tokfsm_pack_free(pack);
    free_bytes(bytes);
}

/* More than 255 characters before a quote; more characters than char_token counts. */
static void test_long(void)
{
    enum { LONG = 1000 };
    static uint8_t blob[2 * LONG];
    const uint64_t offsets[3] = {0, LONG, 2 * LONG};
    tokfsm_pack *pack = NULL;
    snprintf(where, sizeof where, "long tokens");
    memset(blob, 'a', sizeof blob);
    blob[2 * LONG - 1] = '"';
    CHECK(tokfsm_pack_build(blob, offsets, 2, NULL, NULL, NULL, &pack, NULL) == TOKFSM_OK);
    CHECK(pack->close.n_nodes == 1 && pack->close_chars[0] == LONG - 1);
    CHECK(pack->max_close_chars == LONG - 1 && pack->n_char_tokens == 1);
    CHECK(pack->n_lengths == 1 && pack->length[0] == LONG);
    tokfsm_pack_free(pack);
}

int main(int argc, char **argv)
{
    unsigned n_rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 150;
    test_sums();
    test_string_table();
    test_follow(40 * n_rounds);
    test_long();
    test_files();
    test_failures();
    test_random(n_rounds);
    printf("pack_test: %lu checks, %u failed\n", n_checks, n_failures);
    return n_failures == 0 ? 0 : 1;
}
