/*
 * Text of a JSON number -> exact decimal. Nothing is rounded; there is no binary floating
 * point from here on. Linear in the text; the only memory is the digits of a record.
 */
#include "decimal.h"

#include "tape_hash.h"

enum { MAX_EXPONENT = 1000000, MAX_DIGITS = 1000000 };

/* Saturation when texts are hashed: a point past 2^57 hashes as 2^57. Exponents are exact up
   to 2^58, and no text is long enough to bridge the two. */
#define EXPONENT_BOUND (INT64_C(1) << 58)
#define POINT_BOUND (INT64_C(1) << 57)

/* Where the parts of a number stand in its text. */
typedef struct parts {
    const char *first, *last; /* significant digits, perhaps with a '.' among them */
    size_t n_digits;          /* significant */
    size_t n_written;         /* all digits before the exponent */
    int64_t shift;            /* point after `first`, before the exponent is added */
    const char *exponent;     /* its digits without leading zeros */
    size_t n_exponent_bytes;
    int exponent_sign;
    uint32_t negative;
} parts;

static parts split(const char *text, size_t n_bytes)
{
    parts p = {0};
    const char *at = text, *end = text + n_bytes;
    if (at < end && *at == '-') {
        p.negative = 1;
        at++;
    }
    const char *start = at, *dot = NULL;
    for (; at < end && *at != 'e' && *at != 'E'; at++)
        if (*at == '.')
            dot = at;
    const char *mantissa_end = at;
    p.n_written = (size_t)(at - start) - (dot != NULL);
    p.exponent_sign = 1;
    if (at < end) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            p.exponent_sign = *at++ == '-' ? -1 : 1;
        while (at < end && *at == '0')
            at++;
    }
    p.exponent = at;
    p.n_exponent_bytes = (size_t)(end - at);

    p.first = start;
    while (p.first < mantissa_end && (*p.first == '0' || *p.first == '.'))
        p.first++;
    p.last = mantissa_end;
    while (p.last > p.first && (p.last[-1] == '0' || p.last[-1] == '.'))
        p.last--;
    if (p.first == p.last) {
        p.negative = 0;
        return p;
    }
    const char *point = dot != NULL ? dot : mantissa_end;
    bool inside = p.first < point && point < p.last;
    p.n_digits = (size_t)(p.last - p.first) - inside;
    p.shift = p.first < point ? point - p.first : point + 1 - p.first;
    return p;
}

/* The exponent, saturated at +-EXPONENT_BOUND. */
static int64_t exponent(const parts *p)
{
    int64_t value = 0;
    for (size_t i = 0; i < p->n_exponent_bytes; i++) {
        value = value * 10 + (p->exponent[i] - '0');
        if (value > EXPONENT_BOUND)
            value = EXPONENT_BOUND;
    }
    return p->exponent_sign * value;
}

tokfsm_status tf_decimal_read(tf_decimal *value, const char *text, size_t n_bytes,
                              tf_arena *arena, tokfsm_error *err)
{
    static const uint8_t none[1] = {0};
    parts p = split(text, n_bytes);
    if (p.n_written > MAX_DIGITS)
        return tf_fail(err, TOKFSM_E_LIMIT, "a number of %llu digits; at most %d are read",
                       (unsigned long long)p.n_written, (int)MAX_DIGITS);
    int64_t e = exponent(&p);
    if (e > MAX_EXPONENT || e < -MAX_EXPONENT)
        return tf_fail(err, TOKFSM_E_LIMIT,
                       "a number with an exponent past %s%d; at most that is read",
                       e < 0 ? "-" : "", (int)MAX_EXPONENT);
    if (p.n_digits == 0) {
        *value = (tf_decimal){none, 0, 0, 0};
        return TOKFSM_OK;
    }
    uint8_t *digits = tf_arena_take(arena, p.n_digits);
    if (digits == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the digits of a number");
    size_t n = 0;
    for (const char *at = p.first; at < p.last; at++)
        if (*at != '.')
            digits[n++] = (uint8_t)(*at - '0');
    *value = (tf_decimal){digits, (uint32_t)n, (int32_t)(p.shift + e), p.negative};
    return TOKFSM_OK;
}

int tf_decimal_compare(const tf_decimal *a, const tf_decimal *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    int sign = a->negative ? -1 : 1;
    if (a->n_digits == 0 || b->n_digits == 0)
        return sign * ((a->n_digits != 0) - (b->n_digits != 0));
    if (a->point != b->point)
        return a->point < b->point ? -sign : sign;
    uint32_t n = a->n_digits < b->n_digits ? a->n_digits : b->n_digits;
    int order = memcmp(a->digits, b->digits, n);
    if (order == 0) /* no trailing zeros, so more digits are more */
        order = (a->n_digits > b->n_digits) - (a->n_digits < b->n_digits);
    return order < 0 ? -sign : order > 0 ? sign : 0;
}

bool tf_decimal_is_integer(const tf_decimal *value)
{
    return value->n_digits == 0 ||
           (value->point > 0 && value->n_digits <= (uint32_t)value->point);
}

bool tf_decimal_to_u64(const tf_decimal *value, uint64_t *out)
{
    if (value->negative || !tf_decimal_is_integer(value) || value->point > 20)
        return false;
    uint64_t sum = 0;
    for (int32_t i = 0; i < value->point; i++) {
        uint64_t digit = (uint32_t)i < value->n_digits ? value->digits[i] : 0;
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *out = sum;
    return true;
}

/* Digits in words of 16, so that a record and a text give the same hash. */
typedef struct digit_hash {
    uint64_t hash, word;
    uint32_t n;
} digit_hash;

static digit_hash hash_begin(uint32_t negative, int64_t point)
{
    uint64_t sign = tf_hash_step(TF_HASH_MULTIPLIER, negative);
    return (digit_hash){tf_hash_step(sign, (uint64_t)point), 0, 0};
}

static void hash_digit(digit_hash *h, uint32_t digit)
{
    h->word = h->word << 4 | digit;
    if (++h->n % 16 == 0) {
        h->hash = tf_hash_step(h->hash, h->word);
        h->word = 0;
    }
}

static uint64_t hash_end(const digit_hash *h)
{
    return tf_hash_end(tf_hash_step(tf_hash_step(h->hash, h->word), h->n));
}

uint64_t tf_decimal_hash(const tf_decimal *value)
{
    digit_hash h = hash_begin(value->negative, value->point);
    for (uint32_t i = 0; i < value->n_digits; i++)
        hash_digit(&h, value->digits[i]);
    return hash_end(&h);
}

uint64_t tf_decimal_text_hash(const char *text, size_t n_bytes)
{
    parts p = split(text, n_bytes);
    int64_t point = 0;
    if (p.n_digits != 0) {
        point = exponent(&p) + p.shift;
        point = point > POINT_BOUND ? POINT_BOUND : point < -POINT_BOUND ? -POINT_BOUND : point;
    }
    digit_hash h = hash_begin(p.negative, point);
    for (const char *at = p.first; at < p.last; at++)
        if (*at != '.')
            hash_digit(&h, (uint32_t)(*at - '0'));
    return hash_end(&h);
}

/* Is exponent(a) - exponent(b) == difference? Digit by digit: exponents have any length. */
static bool exponents_differ_by(const parts *a, const parts *b, int64_t difference)
{
    const int64_t bound = INT64_C(1) << 50; /* past every difference of positions */
    size_t n = a->n_exponent_bytes > b->n_exponent_bytes ? a->n_exponent_bytes
                                                         : b->n_exponent_bytes;
    int64_t sum = 0;
    for (size_t left = n; left > 0; left--) {
        sum *= 10;
        if (left <= a->n_exponent_bytes)
            sum += a->exponent_sign * (a->exponent[a->n_exponent_bytes - left] - '0');
        if (left <= b->n_exponent_bytes)
            sum -= b->exponent_sign * (b->exponent[b->n_exponent_bytes - left] - '0');
        if (sum > bound || sum < -bound)
            return false; /* from 2 on the absolute value never falls */
    }
    return sum == difference;
}

bool tf_decimal_text_equal(const char *a, size_t n_a_bytes, const char *b, size_t n_b_bytes)
{
    parts p = split(a, n_a_bytes), q = split(b, n_b_bytes);
    if (p.negative != q.negative || p.n_digits != q.n_digits)
        return false;
    if (p.n_digits == 0)
        return true;
    const char *s = p.first, *t = q.first;
    for (size_t left = p.n_digits; left > 0; left--, s++, t++) {
        s += *s == '.';
        t += *t == '.';
        if (*s != *t)
            return false;
    }
    return exponents_differ_by(&p, &q, q.shift - p.shift);
}
