/* Escapes and classes: ECMA-262 22.2.1 ClassEscape, CharacterClass; Annex B.1.2. */
#include <stdio.h>

#include "reader.h"
#include "unicode.h"

tokfsm_status tf_reader_invalid(const tf_reader *r, size_t where, const char *what)
{
    return tf_fail_at(r->err, TOKFSM_E_SCHEMA, where, "invalid pattern at offset %zu: %s", where,
                      what);
}

tokfsm_status tf_reader_unsupported(const tf_reader *r, size_t where, const char *what)
{
    return tf_fail_at(r->err, TOKFSM_E_UNSUPPORTED, where, "pattern at offset %zu: %s", where,
                      what);
}

tokfsm_status tf_reader_no_memory(const tf_reader *r)
{
    return tf_fail(r->err, TOKFSM_E_NOMEM, "no memory for a pattern");
}

uint32_t tf_reader_take(tf_reader *r)
{
    const uint8_t *s = (const uint8_t *)r->text + r->at;
    size_t left = r->n - r->at;
    uint32_t c = s[0], length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (length == 1 || c < 0xC0 || length > left) {
        r->at++;
        return c;
    }
    c &= 0x7Fu >> length;
    for (uint32_t i = 1; i < length; i++)
        c = c << 6 | (s[i] & 0x3Fu);
    r->at += length;
    return c;
}

/* ---- shorthand sets ---- */

static const tf_range digits[] = {{'0', '9'}};
static const tf_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const tf_range spaces[] = {{9, 13}, {32, 32}, {0xA0, 0xA0}, {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
    {0xFEFF, 0xFEFF}};
static const tf_range within_lines[] = {{0, 9}, {11, 12}, {14, 0x2027}, {0x202A, TF_CODE_POINT_MAX}};

#define TABLE(name) table = name, n = sizeof name / sizeof *name

bool tf_reader_shorthand(tf_reader *r, char name, tf_charset *set)
{
    const tf_range *table;
    size_t n;
    switch (name) {
    case 'd': TABLE(digits); break;
    case 'w': TABLE(words); break;
    case 's': TABLE(spaces); break;
    default: TABLE(within_lines); break;
    }
    for (size_t i = 0; i < n; i++)
        if (!tf_charset_add(r->arena, set, table[i].low, table[i].high))
            return false;
    tf_charset_settle(set);
    return !(r->ignore_case && name == 'w') || tf_charset_close_case(r->arena, set);
}

static tokfsm_status shorthand(tf_reader *r, char letter, tf_charset *set)
{
    bool inverted = letter < 'a';
    bool fine = tf_reader_shorthand(r, inverted ? (char)(letter + 32) : letter, set);
    if (fine && inverted)
        fine = tf_charset_invert(r->arena, set);
    return fine ? TOKFSM_OK : tf_reader_no_memory(r);
}

/* ---- numbers ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Exactly n digits at `at`; false: not there. */
static bool hex(const tf_reader *r, size_t at, size_t n, uint32_t *value)
{
    *value = 0;
    if (at > r->n || r->n - at < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_value(r->text[at + i]);
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* After `\u`: one of XXXX, a pair of them, {X...}; else the letter u (Annex B). */
static tokfsm_status unicode_escape(tf_reader *r, uint32_t *c)
{
    uint32_t low;
    size_t from = r->at;
    if (hex(r, r->at, 4, c)) {
        r->at += 4;
        if (*c >= 0xD800 && *c < 0xDC00 && tf_reader_sees(r, "\\u") && hex(r, r->at + 2, 4, &low) &&
            low >= 0xDC00 && low < 0xE000) {
            r->at += 6;
            *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
        }
        return TOKFSM_OK;
    }
    if (tf_reader_skip(r, "{")) {
        size_t start = r->at;
        uint32_t value = 0;
        while (!tf_reader_end(r) && hex_value(r->text[r->at]) >= 0 && value <= TF_CODE_POINT_MAX)
            value = value << 4 | (uint32_t)hex_value(r->text[r->at++]);
        if (r->at == start || value > TF_CODE_POINT_MAX || !tf_reader_skip(r, "}"))
            return tf_reader_invalid(r, from - 2, "\\u{ needs a code point and }");
        *c = value;
        return TOKFSM_OK;
    }
    *c = 'u';
    return TOKFSM_OK;
}

/* Digits: a back-reference outside a class; else the octal escapes of Annex B. */
static tokfsm_status digit_escape(tf_reader *r, bool in_class, uint32_t *c)
{
    size_t from = r->at, at = r->at;
    if (!in_class && r->text[from] != '0') {
        uint64_t number = 0;
        while (at < r->n && r->text[at] >= '0' && r->text[at] <= '9' && number < 1000000)
            number = number * 10 + (uint64_t)(r->text[at++] - '0');
        if (number <= r->n_groups)
            return tf_reader_unsupported(r, from - 1, "back-references are not regular");
    }
    if (r->text[from] >= '8') {
        *c = (uint8_t)r->text[r->at++];
        return TOKFSM_OK;
    }
    uint32_t most = r->text[from] <= '3' ? 3 : 2;
    *c = 0;
    for (uint32_t i = 0; i < most && !tf_reader_end(r) && r->text[r->at] >= '0' &&
                         r->text[r->at] <= '7'; i++)
        *c = *c * 8 + (uint32_t)(r->text[r->at++] - '0');
    return TOKFSM_OK;
}

static tokfsm_status property(tf_reader *r, size_t from, bool inverted, tf_charset *set)
{
    const char *name = r->text + r->at;
    const char *end = memchr(name, '}', r->n - r->at);
    size_t length = end == NULL ? 0 : (size_t)(end - name);
    if (length == 0 || length > 60)
        return tf_reader_invalid(r, from, "\\p{ needs the name of a Unicode property and }");
    r->at += length + 1;
    tf_charset got = {NULL, 0, 0};
    char message[160];
    switch (tf_unicode_add(r->arena, &got, name, length)) {
    case TF_UNICODE_FOUND:
        break;
    case TF_UNICODE_NO_MEMORY:
        return tf_reader_no_memory(r);
    default:
        snprintf(message, sizeof message, "the Unicode property \\p{%.*s} is not known here",
                 (int)length, name);
        return tf_reader_unsupported(r, from, message);
    }
    tf_charset_settle(&got);
    if (inverted && !tf_charset_invert(r->arena, &got))
        return tf_reader_no_memory(r);
    *set = got;
    return TOKFSM_OK;
}

/* Letters that mean something in other dialects: never taken for themselves. */
static const char *foreign(uint32_t c)
{
    switch (c) {
    case 'a': return "\\a (bell) is not ECMA-262; write \\x07";
    case 'e': return "\\e (escape) is not ECMA-262; write \\x1B";
    case 'h': case 'H': return "\\h and \\H (horizontal space) are not ECMA-262";
    case 'V': return "\\V (vertical space) is not ECMA-262";
    case 'N': return "\\N is not ECMA-262";
    case 'R': return "\\R (any line break) is not ECMA-262; write (?:\\r\\n|\\s)";
    case 'X': return "\\X (grapheme cluster) is not ECMA-262";
    case 'C': case 'i': case 'I': return "\\i, \\I and \\C (XML Schema) are not ECMA-262";
    case 'G': return "\\G is not ECMA-262";
    case 'K': return "\\K is not ECMA-262";
    case 'Q': case 'E': return "\\Q...\\E is not ECMA-262; escape each character";
    case 'g': return "\\g (back-reference) is not ECMA-262";
    default: return NULL;
    }
}

tokfsm_status tf_reader_escape(tf_reader *r, bool in_class, tf_escape *kind, uint32_t *c,
                               tf_charset *set)
{
    size_t from = r->at - 1;
    if (tf_reader_end(r))
        return tf_reader_invalid(r, from, "a backslash at the end");
    *kind = TF_ESCAPE_CHARACTER;
    char letter = r->text[r->at];
    if (letter >= '0' && letter <= '9')
        return digit_escape(r, in_class, c);
    *c = tf_reader_take(r);
    switch (*c) {
    case 'd': case 'D': case 'w': case 'W': case 's': case 'S':
        *kind = TF_ESCAPE_SET;
        return shorthand(r, letter, set);
    case 'p': case 'P':
        if (tf_reader_skip(r, "{")) {
            *kind = TF_ESCAPE_SET;
            return property(r, from, letter == 'P', set);
        }
        return tf_reader_unsupported(r, from, "\\p without braces is not ECMA-262");
    case 'b':
        if (in_class)
            *c = 8;
        else
            *kind = TF_ESCAPE_WORD;
        return TOKFSM_OK;
    case 't': *c = 9; return TOKFSM_OK;
    case 'n': *c = 10; return TOKFSM_OK;
    case 'v': *c = 11; return TOKFSM_OK;
    case 'f': *c = 12; return TOKFSM_OK;
    case 'r': *c = 13; return TOKFSM_OK;
    case 'c': {
        char next = tf_reader_end(r) ? 0 : r->text[r->at];
        bool is_letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
        bool in_class_too = in_class && ((next >= '0' && next <= '9') || next == '_');
        if (is_letter || in_class_too) {
            *c = (uint32_t)next & 31u;
            r->at++;
        } else { /* Annex B: the backslash stands for itself, the c comes next */
            *c = '\\';
            r->at--;
        }
        return TOKFSM_OK;
    }
    case 'x': {
        uint32_t value;
        if (hex(r, r->at, 2, &value)) {
            r->at += 2;
            *c = value;
        } else if (tf_reader_sees(r, "{")) {
            return tf_reader_unsupported(r, from, "\\x{...} is not ECMA-262; write \\u{...}");
        }
        return TOKFSM_OK;
    }
    case 'u':
        return unicode_escape(r, c);
    case 'k':
        if (r->named && !in_class)
            return tf_reader_unsupported(r, from, "back-references are not regular");
        return TOKFSM_OK;
    default:
        break;
    }
    if (!in_class && *c == 'B') {
        *kind = TF_ESCAPE_NOT_WORD;
        return TOKFSM_OK;
    }
    if (!in_class && (*c == 'A' || *c == 'Z' || *c == 'z')) {
        *kind = *c == 'A' ? TF_ESCAPE_BEGIN : TF_ESCAPE_END;
        return TOKFSM_OK;
    }
    const char *what = foreign(*c);
    return what == NULL ? TOKFSM_OK : tf_reader_unsupported(r, from, what);
}

/* ---- classes ---- */

static const struct { const char *name; const char *members; } posix[] = {
    {"alpha", "AZaz"}, {"digit", "09"}, {"alnum", "09AZaz"}, {"upper", "AZ"}, {"lower", "az"},
    {"space", "\t\r  "}, {"blank", "\t\t  "}, {"punct", "!/:@[`{~"}, {"xdigit", "09AFaf"},
    {"word", "09AZ__az"}, {"cntrl", "\x01\x1F\x7F\x7F"}, {"print", " ~"}, {"graph", "!~"},
};

/* At `[:name:]` or `[:^name:]`: adds it. */
static tokfsm_status posix_class(tf_reader *r, tf_charset *set, bool *found)
{
    *found = false;
    if (!tf_reader_sees(r, "[:"))
        return TOKFSM_OK;
    size_t at = r->at + 2;
    bool inverted = at < r->n && r->text[at] == '^';
    at += inverted;
    for (size_t i = 0; i < sizeof posix / sizeof *posix; i++) {
        size_t length = strlen(posix[i].name);
        if (r->n - at < length + 2 || memcmp(r->text + at, posix[i].name, length) != 0 ||
            memcmp(r->text + at + length, ":]", 2) != 0)
            continue;
        tf_charset got = {NULL, 0, 0};
        const char *members = posix[i].members;
        bool fine = posix[i].name[0] != 'c' || tf_charset_add(r->arena, &got, 0, 0);
        for (size_t k = 0; fine && members[k] != 0; k += 2)
            fine = tf_charset_add(r->arena, &got, (uint8_t)members[k], (uint8_t)members[k + 1]);
        tf_charset_settle(&got);
        if (fine && inverted)
            fine = tf_charset_invert(r->arena, &got);
        if (!fine || !tf_charset_add_all(r->arena, set, &got))
            return tf_reader_no_memory(r);
        r->at = at + length + 2;
        *found = true;
        return TOKFSM_OK;
    }
    return TOKFSM_OK;
}

/* One member: a character, or a set that is added to *set. */
static tokfsm_status class_atom(tf_reader *r, tf_charset *set, bool *single, uint32_t *c)
{
    bool found;
    *single = false;
    TF_TRY(posix_class(r, set, &found));
    if (found)
        return TOKFSM_OK;
    *c = tf_reader_take(r);
    *single = true;
    if (*c != '\\')
        return TOKFSM_OK;
    tf_escape kind;
    tf_charset got = {NULL, 0, 0};
    TF_TRY(tf_reader_escape(r, true, &kind, c, &got));
    if (kind == TF_ESCAPE_SET) {
        *single = false;
        if (!tf_charset_add_all(r->arena, set, &got))
            return tf_reader_no_memory(r);
    }
    return TOKFSM_OK;
}

tokfsm_status tf_reader_class(tf_reader *r, tf_charset *set)
{
    size_t from = r->at - 1;
    bool inverted = tf_reader_skip(r, "^"), fine = true;
    for (;;) {
        TF_TRY(tf_spend(r->budget, r->err));
        if (tf_reader_end(r))
            return tf_reader_invalid(r, from, "[ without ]");
        if (tf_reader_skip(r, "]"))
            break;
        size_t at = r->at;
        bool single, single_high;
        uint32_t low, high;
        TF_TRY(class_atom(r, set, &single, &low));
        if (!tf_reader_sees(r, "-") || r->n - r->at < 2 || r->text[r->at + 1] == ']') {
            if (single)
                fine = fine && tf_charset_add(r->arena, set, low, low);
            continue;
        }
        r->at++;
        TF_TRY(class_atom(r, set, &single_high, &high));
        if (single && single_high) {
            if (low > high)
                return tf_reader_invalid(r, at, "a range in a class that goes down");
            fine = fine && tf_charset_add(r->arena, set, low, high);
        } else { /* Annex B: [\w-.] holds the hyphen */
            fine = fine && tf_charset_add(r->arena, set, '-', '-');
            if (single)
                fine = fine && tf_charset_add(r->arena, set, low, low);
            if (single_high)
                fine = fine && tf_charset_add(r->arena, set, high, high);
        }
    }
    tf_charset_settle(set);
    if (fine && r->ignore_case)
        fine = tf_charset_close_case(r->arena, set);
    if (fine && inverted)
        fine = tf_charset_invert(r->arena, set);
    return fine ? TOKFSM_OK : tf_reader_no_memory(r);
}
