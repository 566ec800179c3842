#include "json_follow.h"

#include "pack.h"

/*
 * A position: what may come next. The strings and the numbers and literals have a state
 * beside it (`sub`): TF_STR_*, NUMBER_*, or the place of the next byte in LITERALS.
 */
enum {
    VALUE,        /* after ':', or after ',' in an array */
    VALUE_OR_END, /* after '[' */
    KEY,          /* after ',' in an object */
    KEY_OR_END,   /* after '{' */
    COLON,        /* after a key */
    AFTER,        /* after a value */
    STRING, KEY_STRING, NUMBER, LITERAL
};
enum { OBJECT, ARRAY };

enum {
    NUMBER_MINUS, NUMBER_ZERO, NUMBER_INTEGER, NUMBER_DOT, NUMBER_FRACTION, NUMBER_E,
    NUMBER_SIGN, NUMBER_EXPONENT, N_NUMBER, NUMBER_OVER = 0xFE, NUMBER_DEAD = 0xFF
};

static const char LITERALS[] = "true\0false\0null";
enum { LITERAL_TRUE = 0, LITERAL_FALSE = 5, LITERAL_NULL = 11, N_LITERALS = 16 };

static uint8_t number_next(uint8_t sub, uint8_t byte)
{
    bool digit = byte >= '0' && byte <= '9';
    switch (sub) {
    case NUMBER_MINUS:
        return !digit ? NUMBER_DEAD : byte == '0' ? NUMBER_ZERO : NUMBER_INTEGER;
    case NUMBER_ZERO:
    case NUMBER_INTEGER:
        if (digit)
            return sub == NUMBER_ZERO ? NUMBER_DEAD : NUMBER_INTEGER;
        if (byte == '.')
            return NUMBER_DOT;
        return byte == 'e' || byte == 'E' ? NUMBER_E : NUMBER_OVER;
    case NUMBER_DOT:
        return digit ? NUMBER_FRACTION : NUMBER_DEAD;
    case NUMBER_FRACTION:
        if (digit)
            return NUMBER_FRACTION;
        return byte == 'e' || byte == 'E' ? NUMBER_E : NUMBER_OVER;
    case NUMBER_E:
        if (byte == '+' || byte == '-')
            return NUMBER_SIGN;
        return digit ? NUMBER_EXPONENT : NUMBER_DEAD;
    case NUMBER_SIGN:
        return digit ? NUMBER_EXPONENT : NUMBER_DEAD;
    default:
        return digit ? NUMBER_EXPONENT : NUMBER_OVER;
    }
}

typedef enum { DIED, SURVIVED, CLOSED } outcome;

/*
 * Run from *at, in a container of kind `bottom` that was open before the token. CLOSED: that
 * container was closed, *at is behind the closer. `opened` holds the kinds of
 * those that the token opened.
 */
static outcome run(const uint8_t *bytes, uint32_t n_bytes, uint32_t *at, uint8_t position,
                   uint8_t sub, uint8_t bottom, uint8_t *opened)
{
    const uint8_t(*strings)[256] = tf_string_table();
    uint32_t depth = 0;
    for (uint32_t i = *at; i < n_bytes; i++) {
        const uint8_t byte = bytes[i];
        if (position == STRING || position == KEY_STRING) {
            sub = strings[sub][byte];
            if (sub == TF_STR_DEAD)
                return DIED;
            if (sub == TF_STR_CLOSE)
                position = position == STRING ? AFTER : COLON;
            continue;
        }
        if (position == LITERAL) {
            if ((uint8_t)LITERALS[sub] != byte)
                return DIED;
            if (LITERALS[++sub] == '\0')
                position = AFTER;
            continue;
        }
        if (position == NUMBER) {
            sub = number_next(sub, byte);
            if (sub == NUMBER_DEAD)
                return DIED;
            if (sub != NUMBER_OVER)
                continue;
            position = AFTER;
        }
        if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r')
            continue;
        const uint8_t kind = depth > 0 ? opened[depth - 1] : bottom;
        if (byte == '}' || byte == ']') {
            if (kind != (byte == '}' ? OBJECT : ARRAY) ||
                (position != AFTER && position != (kind == OBJECT ? KEY_OR_END : VALUE_OR_END)))
                return DIED;
            position = AFTER;
            if (depth == 0) {
                *at = i + 1;
                return CLOSED;
            }
            depth--;
            continue;
        }
        if (position == AFTER) {
            if (byte != ',')
                return DIED;
            position = kind == OBJECT ? KEY : VALUE;
        } else if (position == COLON) {
            if (byte != ':')
                return DIED;
            position = VALUE;
        } else if (byte == '"') {
            position = position == KEY || position == KEY_OR_END ? KEY_STRING : STRING;
            sub = TF_STR_NORMAL;
        } else if (position == KEY || position == KEY_OR_END) {
            return DIED;
        } else if (byte == '{' || byte == '[') {
            opened[depth++] = byte == '{' ? OBJECT : ARRAY;
            position = byte == '{' ? KEY_OR_END : VALUE_OR_END;
        } else if (byte == '-' || (byte >= '0' && byte <= '9')) {
            position = NUMBER;
            sub = byte == '-' ? NUMBER_MINUS : byte == '0' ? NUMBER_ZERO : NUMBER_INTEGER;
        } else if (byte == 't' || byte == 'f' || byte == 'n') {
            position = LITERAL;
            sub = 1 + (byte == 't' ? LITERAL_TRUE : byte == 'f' ? LITERAL_FALSE : LITERAL_NULL);
        } else {
            return DIED;
        }
    }
    return SURVIVED;
}

/*
 * The same through the closers of containers that were open before the token: behind one
 * the next may be an object or an array. A byte closes only one of the two, so that
 * at most one goes on. Returns whether the token survives; *closes the most that it closed.
 */
static bool follow(const uint8_t *bytes, uint32_t n_bytes, uint32_t at, uint8_t position,
                   uint8_t sub, uint8_t bottom, uint8_t *opened, uint32_t *closes)
{
    bool survives = false;
    uint32_t n_closed = 0;
    outcome got = run(bytes, n_bytes, &at, position, sub, bottom, opened);
    while (got == CLOSED) {
        n_closed++;
        uint32_t from = at;
        got = DIED;
        for (uint8_t kind = OBJECT; kind <= ARRAY; kind++) {
            uint32_t stop = from;
            outcome one = run(bytes, n_bytes, &stop, AFTER, 0, kind, opened);
            if (one == SURVIVED) {
                survives = true;
                *closes = n_closed > *closes ? n_closed : *closes;
            } else if (one == CLOSED) {
                got = CLOSED;
                at = stop;
            }
        }
    }
    if (got == SURVIVED)
        survives = true;
    return survives;
}

bool tf_json_follows_string(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch)
{
    uint32_t closes = 0;
    return follow(bytes, n_bytes, 0, AFTER, 0, OBJECT, scratch, &closes) ||
           follow(bytes, n_bytes, 0, AFTER, 0, ARRAY, scratch, &closes) ||
           follow(bytes, n_bytes, 0, COLON, 0, OBJECT, scratch, &closes);
}

static const uint8_t STRUCTURE[][2] = {
    {VALUE, OBJECT}, {VALUE, ARRAY}, {VALUE_OR_END, ARRAY}, {KEY, OBJECT},
    {KEY_OR_END, OBJECT}, {COLON, OBJECT}, {AFTER, OBJECT}, {AFTER, ARRAY}};
enum { N_STRUCTURE = sizeof STRUCTURE / sizeof *STRUCTURE };

bool tf_json_follows_structure(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch)
{
    uint32_t closes = 0;
    for (size_t i = 0; i < N_STRUCTURE; i++)
        if (follow(bytes, n_bytes, 0, STRUCTURE[i][0], 0, STRUCTURE[i][1], scratch, &closes))
            return true;
    return false;
}

bool tf_json_follows_number(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch)
{
    uint32_t closes = 0;
    for (uint8_t sub = 0; sub < N_NUMBER; sub++)
        for (uint8_t bottom = OBJECT; bottom <= ARRAY; bottom++)
            if (follow(bytes, n_bytes, 0, NUMBER, sub, bottom, scratch, &closes))
                return true;
    return false;
}

uint32_t tf_json_max_closes(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch)
{
    uint32_t closes = 0;
    for (size_t i = 0; i < N_STRUCTURE; i++)
        follow(bytes, n_bytes, 0, STRUCTURE[i][0], 0, STRUCTURE[i][1], scratch, &closes);
    for (uint8_t bottom = OBJECT; bottom <= ARRAY; bottom++) {
        for (uint8_t sub = 0; sub < N_NUMBER; sub++)
            follow(bytes, n_bytes, 0, NUMBER, sub, bottom, scratch, &closes);
        for (uint8_t sub = 1; sub < N_LITERALS; sub++)
            if (LITERALS[sub] != '\0' && LITERALS[sub - 1] != '\0')
                follow(bytes, n_bytes, 0, LITERAL, sub, bottom, scratch, &closes);
    }
    /* Strings: what counts is where a quote closes them, the same for many states. */
    const uint8_t(*strings)[256] = tf_string_table();
    uint8_t state[TF_N_STR];
    for (uint8_t s = 0; s < TF_N_STR; s++)
        state[s] = s;
    for (uint32_t i = 0; i < n_bytes; i++) {
        bool alive = false, quote = false;
        for (unsigned s = 0; s < TF_N_STR; s++) {
            if (state[s] == TF_STR_DEAD)
                continue;
            state[s] = strings[state[s]][bytes[i]];
            if (state[s] == TF_STR_CLOSE) {
                quote = true;
                state[s] = TF_STR_DEAD;
            } else if (state[s] != TF_STR_DEAD) {
                alive = true;
            }
        }
        if (quote) {
            follow(bytes, n_bytes, i + 1, AFTER, 0, OBJECT, scratch, &closes);
            follow(bytes, n_bytes, i + 1, AFTER, 0, ARRAY, scratch, &closes);
            follow(bytes, n_bytes, i + 1, COLON, 0, OBJECT, scratch, &closes);
        }
        if (!alive)
            break;
    }
    return closes;
}
