/*
 * The slow reference for the vocabulary pack, from the definitions: what a text inside a
 * JSON string may be (RFC 8259 §7, RFC 3629 §4), and a plain parser of JSON texts that may
 * stop anywhere. Contexts are whole texts that lead to them. For tests; recursive.
 */
#ifndef PACK_ORACLE_H
#define PACK_ORACLE_H

#include <stdio.h>
#include <string.h>

#include "csrc/vocab/pack.h"

/* ---- a string from its opening quote on, by the definitions ---- */

typedef struct text_result {
    bool viable;      /* some string goes on like this, or it is closed */
    bool closed;      /* by the quote at `at` */
    size_t at;
    uint32_t n_chars; /* characters started, a surrogate pair as one */
    bool whole;       /* ends between characters, not in a pair */
    bool minimal;     /* every escape is, or can still become, one that is needed */
} text_result;

/* A needed escape is the spelling of a character that cannot be written raw. */
static bool needed_prefix(const uint8_t *escape, size_t n)
{
    static const char SHORT[] = "\"\\\b\f\n\r\t", LETTER[] = "\"\\bfnrt";
    for (unsigned c = 0; c < 0x80; c++) {
        char spelling[8];
        const char *found = c == 0 ? NULL : strchr(SHORT, (int)c);
        if (found != NULL)
            snprintf(spelling, sizeof spelling, "\\%c", LETTER[found - SHORT]);
        else if (c < 0x20)
            snprintf(spelling, sizeof spelling, "\\u%04x", c);
        else
            continue;
        if (n <= strlen(spelling) && memcmp(escape, spelling, n) == 0)
            return true;
    }
    return false;
}

static int hex(uint8_t byte)
{
    const char *digits = "0123456789abcdef", *upper = "0123456789ABCDEF";
    const char *found = byte == 0 ? NULL : strchr(digits, byte);
    if (found != NULL)
        return (int)(found - digits);
    found = byte == 0 ? NULL : strchr(upper, byte);
    return found != NULL ? (int)(found - upper) : -1;
}

static bool overlap(uint32_t low, uint32_t high, uint32_t from, uint32_t to)
{
    return low <= to && from <= high;
}

static text_result read_text(const uint8_t *b, size_t n)
{
    text_result r = {true, false, 0, 0, true, true};
    const text_result dead = {false, false, 0, 0, false, false};
    bool high = false; /* a high surrogate waits for its other half */
    size_t i = 0;
    while (i < n) {
        r.whole = false;
        if (high && b[i] != '\\')
            return dead;
        if (b[i] == '"') {
            r.closed = true;
            r.at = i;
            return r;
        }
        if (b[i] < 0x20)
            return dead;
        if (!high)
            r.n_chars++;
        if (b[i] == '\\') {
            size_t start = i++;
            if (i < n && b[i] == 'u') {
                uint32_t value = 0;
                unsigned n_digits = 0;
                for (i++; n_digits < 4 && i < n; i++, n_digits++) {
                    if (hex(b[i]) < 0)
                        return dead;
                    value = value * 16 + (uint32_t)hex(b[i]);
                }
                uint32_t low = value << 4 * (4 - n_digits);
                uint32_t most = low + ((uint32_t)1 << 4 * (4 - n_digits)) - 1;
                bool can = high ? overlap(low, most, 0xDC00, 0xDFFF)
                                : overlap(low, most, 0, 0xDBFF) ||
                                      overlap(low, most, 0xE000, 0xFFFF);
                if (!can)
                    return dead;
                if (n_digits == 4)
                    high = !high && low >= 0xD800 && low <= 0xDBFF;
                r.whole = n_digits == 4 && !high;
            } else if (i < n) {
                if (high || b[i] == 0 || strchr("\"\\/bfnrt", b[i]) == NULL)
                    return dead;
                i++;
                r.whole = true;
            }
            if (!needed_prefix(b + start, i - start))
                r.minimal = false;
        } else if (b[i] < 0x80) {
            i++;
            r.whole = true;
        } else {
            unsigned n_bytes = b[i] >= 0xF8 ? 0 : b[i] >= 0xF0 ? 4 : b[i] >= 0xE0 ? 3
                             : b[i] >= 0xC0 ? 2 : 0;
            static const uint32_t LEAST[5] = {0, 0, 0x80, 0x800, 0x10000};
            if (n_bytes == 0)
                return dead;
            uint32_t low = b[i] & (0x7Fu >> n_bytes), most = low;
            unsigned k = 1;
            for (i++; k < n_bytes && i < n; i++, k++) {
                if ((b[i] & 0xC0) != 0x80)
                    return dead;
                low = low << 6 | (b[i] & 0x3Fu);
                most = most << 6 | (b[i] & 0x3Fu);
            }
            r.whole = k == n_bytes;
            for (; k < n_bytes; k++) {
                low <<= 6;
                most = most << 6 | 0x3Fu;
            }
            if (low < LEAST[n_bytes])
                low = LEAST[n_bytes];
            if (most > 0x10FFFF)
                most = 0x10FFFF;
            if (low > most || (low >= 0xD800 && most <= 0xDFFF))
                return dead;
        }
    }
    return r;
}

static const char *const STATE_TEXT[TF_N_STR] = {
    [TF_STR_NORMAL] = "", [TF_STR_E] = "\\", [TF_STR_U0] = "\\u", [TF_STR_U1] = "\\u0",
    [TF_STR_U1D] = "\\uD", [TF_STR_U2] = "\\u00", [TF_STR_U2H] = "\\ud8",
    [TF_STR_U3] = "\\u000", [TF_STR_U3H] = "\\udB7", [TF_STR_HS] = "\\uD83d",
    [TF_STR_HE] = "\\ud83D\\", [TF_STR_HU0] = "\\ud83D\\u", [TF_STR_HU1] = "\\ud83D\\uD",
    [TF_STR_HU2] = "\\ud83D\\udE", [TF_STR_HU3] = "\\ud83D\\ude0", [TF_STR_C1] = "\xC3",
    [TF_STR_C2] = "\xE1", [TF_STR_C3] = "\xF1", [TF_STR_E0] = "\xE0", [TF_STR_ED] = "\xED",
    [TF_STR_F0] = "\xF0", [TF_STR_F4] = "\xF4"};

enum { MAX_TOKEN = 96, MAX_TEXT = 512 };

static text_result read_from(unsigned state, const uint8_t *token, size_t n)
{
    uint8_t text[MAX_TEXT];
    size_t n_before = strlen(STATE_TEXT[state]);
    memcpy(text, STATE_TEXT[state], n_before);
    if (n > 0)
        memcpy(text + n_before, token, n);
    text_result r = read_text(text, n_before + n);
    r.n_chars -= read_text(text, n_before).n_chars;
    return r;
}

/* ---- a JSON text that may stop anywhere, by recursive descent ---- */

typedef enum { READ, BAD, STOPPED } reading;
typedef struct reader {
    const uint8_t *at, *end;
    const uint8_t *token;  /* where the token begins */
    unsigned n_closed;     /* containers open before the token that it has closed */
} reader;

static void skip_space(reader *r)
{
    while (r->at < r->end && memchr(" \t\r\n", *r->at, 4) != NULL)
        r->at++;
}

static reading read_string(reader *r)
{
    text_result text = read_text(r->at + 1, (size_t)(r->end - r->at) - 1);
    if (!text.viable)
        return BAD;
    if (!text.closed)
        return STOPPED;
    r->at += text.at + 2;
    return READ;
}

static reading read_digits(reader *r)
{
    if (r->at == r->end)
        return STOPPED;
    if (*r->at < '0' || *r->at > '9')
        return BAD;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at == r->end ? STOPPED : READ;
}

static reading read_number(reader *r)
{
    reading got;
    if (*r->at == '-')
        r->at++;
    if (r->at < r->end && *r->at == '0')
        r->at++;
    else if ((got = read_digits(r)) != READ)
        return got;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if ((got = read_digits(r)) != READ)
            return got;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        if ((got = read_digits(r)) != READ)
            return got;
    }
    return r->at == r->end ? STOPPED : READ;
}

static reading read_value(reader *r)
{
    skip_space(r);
    if (r->at == r->end)
        return STOPPED;
    uint8_t first = *r->at;
    if (first == '"')
        return read_string(r);
    if (first == '-' || (first >= '0' && first <= '9'))
        return read_number(r);
    if (first != '{' && first != '[') {
        const char *word = first == 't' ? "true" : first == 'f' ? "false" : "null";
        for (; *word != '\0'; word++, r->at++) {
            if (r->at == r->end)
                return STOPPED;
            if (*r->at != (uint8_t)*word)
                return BAD;
        }
        return READ;
    }
    bool before = r->at < r->token;
    uint8_t close = first == '{' ? '}' : ']';
    reading got;
    r->at++;
    for (bool empty = true;; empty = false) {
        skip_space(r);
        if (r->at == r->end)
            return STOPPED;
        if (*r->at == close && empty)
            break;
        if (first == '{') {
            if (*r->at != '"')
                return BAD;
            if ((got = read_string(r)) != READ)
                return got;
            skip_space(r);
            if (r->at == r->end)
                return STOPPED;
            if (*r->at++ != ':')
                return BAD;
        }
        if ((got = read_value(r)) != READ)
            return got;
        skip_space(r);
        if (r->at == r->end)
            return STOPPED;
        if (*r->at == close)
            break;
        if (*r->at++ != ',')
            return BAD;
    }
    r->n_closed += before && r->at >= r->token;
    r->at++;
    return READ;
}

/* Whether the token can come after the text `before`; *closed as in reader. */
static bool can_follow(const char *before, size_t n_before, const uint8_t *token, size_t n,
                       unsigned *closed)
{
    uint8_t text[MAX_TEXT];
    memcpy(text, before, n_before);
    if (n > 0)
        memcpy(text + n_before, token, n);
    reader r = {text, text + n_before + n, text + n_before, 0};
    reading got = read_value(&r);
    *closed = r.n_closed;
    return got == STOPPED || (got == READ && r.at == r.end);
}

/* What a JSON text can hold before a token, within the innermost container. */
static const char *const IN_ARRAY[] = {"", "1,", "-", "0", "1", "1.", "1.5", "1e", "1e+", "1e5",
                                       "t", "tr", "tru", "true", "f", "fa", "fal", "fals", "n",
                                       "nu", "nul", "1 "};
static const char *const IN_OBJECT[] = {"", "\"k\"", "\"k\":", "\"k\":1,"};

/*
 * Try all positions in all nestings, one deeper than the token has closers. Returns the
 * most containers closed.
 */
static unsigned max_closes(const uint8_t *token, size_t n)
{
    unsigned depth = 1, most = 0, closed;
    for (size_t i = 0; i < n; i++)
        depth += token[i] == '}' || token[i] == ']';
    if (depth == 1)
        return 0;
    if (depth > 7)
        depth = 7;
    for (unsigned kinds = 0; kinds < 1u << depth; kinds++) {
        char before[MAX_TEXT];
        size_t n_outer = 0;
        for (unsigned i = 0; i < depth; i++) {
            bool object = (kinds >> i & 1u) != 0;
            const char *open = !object ? "[" : i + 1 < depth ? "{\"k\":" : "{";
            n_outer += (size_t)sprintf(before + n_outer, "%s", open);
        }
        bool object = (kinds >> (depth - 1) & 1u) != 0;
        for (unsigned i = 0; object && i < sizeof IN_OBJECT / sizeof *IN_OBJECT; i++) {
            size_t m = n_outer + (size_t)sprintf(before + n_outer, "%s", IN_OBJECT[i]);
            if (can_follow(before, m, token, n, &closed) && closed > most)
                most = closed;
        }
        const char *key = object ? "\"k\":" : "";
        for (unsigned i = 0; i < sizeof IN_ARRAY / sizeof *IN_ARRAY; i++) {
            if (object && (i == 0 || i == 1))
                continue;
            size_t m = n_outer + (size_t)sprintf(before + n_outer, "%s%s", key, IN_ARRAY[i]);
            if (can_follow(before, m, token, n, &closed) && closed > most)
                most = closed;
        }
        for (unsigned as_key = 0; as_key <= object; as_key++)
            for (unsigned s = 0; s < TF_N_STR; s++) {
                size_t m = n_outer + (size_t)sprintf(before + n_outer, "%s\"%s",
                                                     as_key ? "" : key, STATE_TEXT[s]);
                if (can_follow(before, m, token, n, &closed) && closed > most)
                    most = closed;
            }
    }
    return most;
}

/* Whether the token, begun inside a string, closes it and goes on as JSON can. */
static bool closes_string(const uint8_t *token, size_t n)
{
    unsigned depth = 1, closed;
    for (size_t i = 0; i < n; i++)
        depth += token[i] == '}' || token[i] == ']';
    if (depth > 7)
        depth = 7;
    for (unsigned kinds = 0; kinds < 1u << depth; kinds++) {
        char before[MAX_TEXT];
        size_t m = 0;
        for (unsigned i = 0; i < depth; i++)
            m += (size_t)sprintf(before + m, "%s", (kinds >> i & 1u) == 0 ? "[" : "{\"k\":");
        before[m] = '"';
        if (can_follow(before, m + 1, token, n, &closed))
            return true;
        if ((kinds >> (depth - 1) & 1u) != 0) { /* {" in place of {"k":" */
            before[m - 4] = '"';
            if (can_follow(before, m - 3, token, n, &closed))
                return true;
        }
    }
    return false;
}

#endif
