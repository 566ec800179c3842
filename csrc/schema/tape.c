/*
 * JSON text (RFC 8259, UTF-8) -> tape. A state machine over one pass of the text; open
 * containers are linked through their nodes, so that depth costs no stack. Decoded strings
 * and the texts of numbers go to one block as long as the text. Linear.
 */
#include "tape.h"

#include <stdarg.h>
#include <stdio.h>

#include "tape_hash.h"

typedef struct reader {
    const uint8_t *text;
    size_t n_bytes, at;
    char *out; /* free part of the block; at the start of a string not ahead of `at` */
    tf_tape_node *nodes;
    size_t n_nodes, capacity;
    uint32_t open; /* innermost open container */
    uint32_t depth;
    const tokfsm_limits *limits;
    tf_budget *budget;
    const tokfsm_allocator *allocator;
    tokfsm_error *err;
} reader;

/* ---- errors ---- */

static tokfsm_status refuse(const reader *r, size_t where, const char *format, ...)
    TF_PRINTF(3, 4);

static tokfsm_status refuse(const reader *r, size_t where, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return tf_fail_at(r->err, TOKFSM_E_JSON, where, "at byte %llu: %s",
                      (unsigned long long)where, what);
}

static bool is_letter(uint8_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/* "at byte 17: expected ',' or '}' in an object, found 'x'" */
static tokfsm_status refuse_found(const reader *r, size_t where, const char *expected)
{
    if (where >= r->n_bytes)
        return refuse(r, r->n_bytes, "expected %s, found the end of the text", expected);
    const uint8_t *p = r->text + where;
    size_t left = r->n_bytes - where;
    if (left >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF)
        return refuse(r, where, "expected %s, found a byte order mark", expected);
    size_t n = 0;
    while (n < left && n < 16 && is_letter(p[n]))
        n++;
    if (n > 1)
        return refuse(r, where, "expected %s, found the word '%.*s'%s", expected, (int)n,
                      (const char *)p,
                      p[0] == 'N' || p[0] == 'I' ? " (NaN and Infinity are not JSON)" : "");
    if (p[0] == '\'')
        return refuse(r, where, "expected %s, found \"'\"", expected);
    if (p[0] >= 0x20 && p[0] < 0x7F)
        return refuse(r, where, "expected %s, found '%c'", expected, p[0]);
    return refuse(r, where, "expected %s, found the byte 0x%02X", expected, p[0]);
}

/* ---- nodes ---- */

static tokfsm_status add(reader *r, uint32_t type, size_t where)
{
    TF_TRY(tf_spend(r->budget, r->err));
    if (r->n_nodes == r->capacity) {
        void *items = r->nodes;
        if (!tf_grow(r->allocator, &items, r->n_nodes, &r->capacity, sizeof *r->nodes))
            return tf_fail_at(r->err, TOKFSM_E_NOMEM, where, "no memory for a JSON text");
        r->nodes = items;
    }
    uint32_t id = (uint32_t)r->n_nodes++; /* a text of fewer than 2^31 bytes has fewer nodes */
    r->nodes[id] = (tf_tape_node){.type = type, .next = id + 1, .index = TF_TAPE_NONE,
                                  .parent = r->open, .where = where};
    return TOKFSM_OK;
}

/* The node just added gets what was written at `out` up to `end`; one NUL more follows. */
static void give_text(reader *r, char *end)
{
    tf_tape_node *node = &r->nodes[r->n_nodes - 1];
    node->text = r->out;
    node->n = (uint32_t)(end - r->out);
    *end = '\0';
    r->out = end + 1;
}

static tokfsm_status open_container(reader *r, uint32_t type)
{
    if (r->depth >= r->limits->depth)
        return tf_fail_at(r->err, TOKFSM_E_LIMIT, r->at, "at byte %llu: over limits.depth = %u",
                          (unsigned long long)r->at, r->limits->depth);
    TF_TRY(add(r, type, r->at));
    r->open = (uint32_t)r->n_nodes - 1;
    r->depth++;
    r->at++;
    return TOKFSM_OK;
}

static void close_container(reader *r)
{
    r->nodes[r->open].next = (uint32_t)r->n_nodes;
    r->open = r->nodes[r->open].parent;
    r->depth--;
    r->at++;
}

/* ---- strings ---- */

/* Bytes that end a run of plain ASCII: quote, backslash, controls, all from 0x80 on. The
   lowest bit set is exact; above it a borrow may have set more. */
static uint64_t special_bytes(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return (word | (word - ones * 0x20) | (quote - ones) | (backslash - ones)) & ones * 0x80;
}

static size_t lowest_byte(uint64_t bits)
{
#if defined(__GNUC__)
    return (size_t)__builtin_ctzll(bits) >> 3;
#else
    size_t n = 0;
    for (; (bits & 0xFF) == 0; bits >>= 8)
        n++;
    return n;
#endif
}

/* Bytes of the well-formed sequence at p (Unicode 15.0, table 3-7), from 0x80 on; else 0. */
static size_t sequence_bytes(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    uint8_t lead = p[0];
    if (lead < 0xC2 || lead > 0xF4 || left < 2)
        return 0;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 0;
    if (lead < 0xE0)
        return 2;
    if (left < 3 || (p[2] & 0xC0) != 0x80)
        return 0;
    if (lead < 0xF0)
        return 3;
    return left < 4 || (p[3] & 0xC0) != 0x80 ? 0 : 4;
}

static char *encode(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xC0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *out++ = (char)(0xE0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
        *out++ = (char)(0x80 | (c & 0x3F));
    } else {
        *out++ = (char)(0xF0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3F));
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
        *out++ = (char)(0x80 | (c & 0x3F));
    }
    return out;
}

/* Four hexadecimal digits at offset `at`. */
static tokfsm_status read_hex(const reader *r, size_t at, uint32_t *unit)
{
    uint32_t value = 0;
    for (size_t k = at; k < at + 4; k++) {
        uint8_t c = k < r->n_bytes ? r->text[k] : 0;
        uint32_t digit = is_digit(c) ? (uint32_t)(c - '0')
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint32_t)((c | 32) - 'a' + 10)
                                                              : 16;
        if (digit == 16)
            return refuse_found(r, k, "four hexadecimal digits after \\u");
        value = value << 4 | digit;
    }
    *unit = value;
    return TOKFSM_OK;
}

/* The escape at r->at, a backslash. Never writes more bytes than it reads. */
static tokfsm_status read_escape(reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    uint8_t c = r->at + 1 < r->n_bytes ? r->text[r->at + 1] : 0;
    if (c != 'u') {
        const char *name = c != 0 ? strchr(names, c) : NULL;
        if (name == NULL)
            return refuse_found(r, r->at + 1, "one of \"\\/bfnrtu after a backslash");
        *(*out)++ = values[name - names];
        r->at += 2;
        return TOKFSM_OK;
    }
    size_t where = r->at;
    uint32_t unit = 0, second = 0;
    TF_TRY(read_hex(r, where + 2, &unit));
    r->at += 6;
    if (unit >= 0xD800 && unit < 0xE000) {
        bool pair = unit < 0xDC00 && r->n_bytes - r->at >= 2 && r->text[r->at] == '\\' &&
                    r->text[r->at + 1] == 'u';
        if (pair) {
            TF_TRY(read_hex(r, r->at + 2, &second));
            pair = second >= 0xDC00 && second < 0xE000;
        }
        if (!pair)
            return refuse(r, where, "\\u%04X is a lone surrogate", unit);
        r->at += 6;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
    }
    *out = encode(*out, unit);
    return TOKFSM_OK;
}

/* The string at r->at, a quote. */
static tokfsm_status read_string(reader *r)
{
    size_t start = r->at;
    TF_TRY(add(r, TF_JSON_STRING, start));
    const uint8_t *p = r->text + start + 1, *end = r->text + r->n_bytes;
    char *out = r->out;
    for (;;) {
        /* `out` is behind p by at least the opening quote, so eight bytes fit. */
        while (end - p >= 8) {
            uint64_t special = special_bytes(tf_hash_load(p));
            memcpy(out, p, 8);
            size_t n = special != 0 ? lowest_byte(special) : 8;
            p += n;
            out += n;
            if (special != 0)
                break;
        }
        if (p < end && *p == '"')
            break;
        r->at = (size_t)(p - r->text);
        if (p == end)
            return refuse(r, r->at,
                          "expected '\"' to end the string that starts at byte %llu, found "
                          "the end of the text",
                          (unsigned long long)start);
        if (*p < 0x20)
            return refuse(r, r->at,
                          "expected an escape for a control character in a string, found "
                          "the byte 0x%02X",
                          *p);
        if (*p == '\\') {
            TF_TRY(read_escape(r, &out));
            p = r->text + r->at;
            continue;
        }
        if (*p < 0x80) { /* the last bytes of the text */
            *out++ = (char)*p++;
            continue;
        }
        do {
            size_t n = sequence_bytes(p, end);
            if (n == 0)
                return refuse(r, (size_t)(p - r->text),
                              "expected UTF-8 in a string, found the byte 0x%02X", *p);
            for (; n > 0; n--)
                *out++ = (char)*p++;
        } while (p < end && *p >= 0x80);
    }
    r->at = (size_t)(p - r->text) + 1;
    give_text(r, out);
    return TOKFSM_OK;
}

/* ---- numbers and words ---- */

static tokfsm_status skip_digits(reader *r, const char *expected)
{
    if (r->at >= r->n_bytes || !is_digit(r->text[r->at]))
        return refuse_found(r, r->at, expected);
    while (r->at < r->n_bytes && is_digit(r->text[r->at]))
        r->at++;
    return TOKFSM_OK;
}

static uint8_t peek(const reader *r) { return r->at < r->n_bytes ? r->text[r->at] : 0; }

static tokfsm_status read_number(reader *r)
{
    size_t start = r->at;
    TF_TRY(add(r, TF_JSON_NUMBER, start));
    if (peek(r) == '-')
        r->at++;
    if (peek(r) == '0') {
        r->at++;
        if (is_digit(peek(r)))
            return refuse(r, r->at, "expected no digit after a leading zero, found '%c'",
                          peek(r));
    } else {
        TF_TRY(skip_digits(r, "a digit after '-'"));
    }
    if (peek(r) == '.') {
        r->at++;
        TF_TRY(skip_digits(r, "a digit after '.'"));
    }
    if ((peek(r) | 32) == 'e') {
        r->at++;
        if (peek(r) == '+' || peek(r) == '-')
            r->at++;
        TF_TRY(skip_digits(r, "a digit in an exponent"));
    }
    size_t n = r->at - start;
    memcpy(r->out, r->text + start, n);
    give_text(r, r->out + n);
    return TOKFSM_OK;
}

static tokfsm_status read_word(reader *r, uint32_t type, const char *word, size_t n,
                               const char *expected)
{
    if (r->n_bytes - r->at < n || memcmp(r->text + r->at, word, n) != 0)
        return refuse_found(r, r->at, expected);
    TF_TRY(add(r, type, r->at));
    r->at += n;
    return TOKFSM_OK;
}

/* ---- the machine ---- */

static void skip_space(reader *r)
{
    const uint8_t *p = r->text + r->at, *end = r->text + r->n_bytes;
    for (;;) {
        while (end - p >= 8 && tf_hash_load(p) == UINT64_C(0x2020202020202020))
            p += 8;
        if (p == end || (*p != ' ' && *p != '\n' && *p != '\r' && *p != '\t'))
            break;
        p++;
    }
    r->at = (size_t)(p - r->text);
}

enum state { VALUE, FIRST_VALUE, NAME, FIRST_NAME, AFTER };

static tokfsm_status read_scalar(reader *r, const char *expected)
{
    switch (peek(r)) {
    case '"': return read_string(r);
    case 'n': return read_word(r, TF_JSON_NULL, "null", 4, expected);
    case 't': return read_word(r, TF_JSON_TRUE, "true", 4, expected);
    case 'f': return read_word(r, TF_JSON_FALSE, "false", 5, expected);
    case '-':
    case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9': return read_number(r);
    default: return refuse_found(r, r->at, expected);
    }
}

static tokfsm_status read_all(reader *r)
{
    enum state state = VALUE;
    for (;;) {
        if (r->at < r->n_bytes && r->text[r->at] <= ' ')
            skip_space(r);
        uint8_t c = peek(r);
        switch (state) {
        case FIRST_VALUE:
            if (c == ']') {
                close_container(r);
                state = AFTER;
                break;
            }
            /* fall through */
        case VALUE:
            if (c == '{') {
                TF_TRY(open_container(r, TF_JSON_OBJECT));
                state = FIRST_NAME;
            } else if (c == '[') {
                TF_TRY(open_container(r, TF_JSON_ARRAY));
                state = FIRST_VALUE;
            } else {
                TF_TRY(read_scalar(r, state == VALUE ? "a value" : "a value or ']'"));
                state = AFTER;
            }
            break;
        case FIRST_NAME:
            if (c == '}') {
                close_container(r);
                state = AFTER;
                break;
            }
            /* fall through */
        case NAME:
            if (c != '"')
                return refuse_found(r, r->at, state == NAME ? "a name in an object"
                                                            : "a name or '}' in an object");
            TF_TRY(read_string(r));
            if (peek(r) != ':')
                skip_space(r);
            if (peek(r) != ':')
                return refuse_found(r, r->at, "':' after a name");
            r->at++;
            state = VALUE;
            break;
        case AFTER: {
            if (r->open == TF_TAPE_NONE) {
                if (r->at < r->n_bytes)
                    return refuse_found(r, r->at, "the end of the text after the value");
                return TOKFSM_OK;
            }
            tf_tape_node *container = &r->nodes[r->open];
            bool object = container->type == TF_JSON_OBJECT;
            container->n++;
            if (c == ',') {
                r->at++;
                state = object ? NAME : VALUE;
            } else if (c == (object ? '}' : ']')) {
                close_container(r);
            } else {
                return refuse_found(r, r->at, object ? "',' or '}' in an object"
                                                     : "',' or ']' in an array");
            }
            break;
        }
        }
    }
}

/* Room for the nodes of an ordinary text, so that most texts never grow the array. */
enum { BYTES_A_NODE = 12, MAX_FIRST_NODES = 1 << 14 };

/* A larger array with what was in the old one, which stays in the arena. */
void *tf_tape_enlarge(tf_arena *arena, const void *old, uint32_t n, size_t wanted,
                      uint32_t *capacity, size_t item_bytes)
{
    size_t doubled = n > 0 ? (size_t)n * 2 : 0;
    size_t room = wanted > doubled ? wanted : doubled;
    size_t n_bytes;
    if (room > UINT32_MAX || !tf_size_mul_add(room, item_bytes, 0, &n_bytes))
        return NULL;
    void *made = tf_arena_take(arena, n_bytes);
    if (made != NULL && n > 0)
        memcpy(made, old, n * item_bytes);
    *capacity = (uint32_t)room;
    return made;
}

/* The nodes just read go behind those of the tape. */
static tokfsm_status add_nodes(const reader *r, tf_tape *tape)
{
    uint32_t first = tape->n_nodes;
    if (r->n_nodes > TF_MAX_NODES - first)
        return tf_fail(r->err, TOKFSM_E_LIMIT, "over %u values in JSON texts", TF_MAX_NODES);
    size_t n = first + r->n_nodes;
    if (n > tape->nodes_capacity) {
        tape->nodes = tf_tape_enlarge(tape->arena, tape->nodes, first, n, &tape->nodes_capacity,
                                      sizeof *tape->nodes);
        if (tape->nodes == NULL)
            return tf_fail(r->err, TOKFSM_E_NOMEM, "no memory for a JSON text");
    }
    memcpy(tape->nodes + first, r->nodes, r->n_nodes * sizeof *r->nodes);
    tape->n_nodes = (uint32_t)n;
    if (first > 0)
        for (uint32_t i = first; i < n; i++) {
            tape->nodes[i].next += first;
            if (tape->nodes[i].parent != TF_TAPE_NONE)
                tape->nodes[i].parent += first;
        }
    return TOKFSM_OK;
}

static tokfsm_status read_nodes(reader *r, tf_tape *tape, const char *uri)
{
    size_t capacity = r->n_bytes / BYTES_A_NODE + 8;
    if (capacity > MAX_FIRST_NODES)
        capacity = MAX_FIRST_NODES;
    r->out = tf_arena_take(tape->arena, r->n_bytes + 1); /* one NUL for a number at the end */
    r->nodes = tf_allocate(r->allocator, capacity * sizeof *r->nodes);
    if (r->out == NULL || r->nodes == NULL)
        return tf_fail(r->err, TOKFSM_E_NOMEM, "no memory for a JSON text");
    r->capacity = capacity;
    TF_TRY(read_all(r));
    tf_tape made = *tape;
    uint32_t first = made.n_nodes;
    TF_TRY(add_nodes(r, &made));
    TF_TRY(tf_tape_index(&made, first, r->err));
    if (!tf_arena_grow(made.arena, (void **)&made.documents, made.n_documents,
                       &made.documents_capacity, 1, sizeof *made.documents))
        return tf_fail(r->err, TOKFSM_E_NOMEM, "no memory for a JSON text");
    made.documents[made.n_documents++] = (tf_tape_document){first, uri};
    *tape = made;
    return TOKFSM_OK;
}

tokfsm_status tf_tape_append(tf_tape *tape, const char *uri, const uint8_t *text, size_t n_bytes,
                             const tokfsm_limits *limits, tf_budget *budget, uint32_t *root,
                             tokfsm_error *err)
{
    tokfsm_limits defaults;
    if (limits == NULL) {
        tokfsm_limits_default(&defaults);
        limits = &defaults;
    }
    if (n_bytes > limits->schema_bytes)
        return tf_fail(err, TOKFSM_E_LIMIT, "over limits.schema_bytes = %llu: %llu bytes",
                       (unsigned long long)limits->schema_bytes, (unsigned long long)n_bytes);
    if (n_bytes > INT32_MAX)
        return tf_fail(err, TOKFSM_E_LIMIT,
                       "a text of %llu bytes; at most %ld are read, whatever "
                       "limits.schema_bytes says",
                       (unsigned long long)n_bytes, (long)INT32_MAX);
    if (n_bytes == 0)
        return tf_fail_at(err, TOKFSM_E_JSON, 0, "the text is empty");
    if (n_bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return tf_fail_at(err, TOKFSM_E_JSON, 0,
                          "at byte 0: the text starts with a byte order mark");
    reader r = {.text = text, .n_bytes = n_bytes, .open = TF_TAPE_NONE, .limits = limits,
                .budget = budget, .allocator = &tape->arena->allocator, .err = err};
    uint32_t first = tape->n_nodes;
    tokfsm_status status = read_nodes(&r, tape, uri);
    tf_release(r.allocator, r.nodes);
    if (status == TOKFSM_OK)
        *root = first;
    return status;
}

tokfsm_status tf_tape_read(tf_tape *tape, const uint8_t *text, size_t n_bytes,
                           const tokfsm_limits *limits, tf_budget *budget, tf_arena *arena,
                           tokfsm_error *err)
{
    tf_tape made = {.arena = arena};
    uint32_t root;
    TF_TRY(tf_tape_append(&made, "", text, n_bytes, limits, budget, &root, err));
    *tape = made;
    return TOKFSM_OK;
}

uint32_t tf_tape_document_of(const tf_tape *tape, uint32_t node)
{
    uint32_t low = 0, high = tape->n_documents;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (tape->documents[middle].root <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}
