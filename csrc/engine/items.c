#include "items.h"

#include "text.h"

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for an item");
    return false;
}

/* ---- hashes: of what is compared, so not of the order of members ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3); /* FNV-1a */
    return mix(hash, n);
}

static const tf_item *make(tf_run *run, uint32_t type, uint32_t n, uint64_t hash,
                           const uint8_t *bytes, const tf_child *last)
{
    tf_item *item = tf_arena_take(run->arena, sizeof *item);
    if (item == NULL) {
        no_memory(run);
        return NULL;
    }
    *item = (tf_item){type, n, mix(hash, type), bytes, last};
    return item;
}

const tf_item *tf_item_literal(tf_run *run, uint32_t which)
{
    return make(run, TF_ITEM_NULL + which, 0, which, NULL, NULL);
}

const tf_item *tf_item_string(tf_run *run, const uint8_t *bytes, uint32_t n)
{
    return make(run, TF_ITEM_STRING, n, hash_bytes(0, bytes, n), bytes, NULL);
}

/* ---- numbers ---- */

/* Write the decimal digits of (sign) digits[0 .. n) + `shift`; returns their number. Room for
   n + 21 bytes. */
static uint32_t write_exponent(bool negative, const uint8_t *digits, uint32_t n, int64_t shift,
                               uint8_t *out)
{
    while (n > 0 && digits[0] == '0') {
        digits++;
        n--;
    }
    uint32_t length = 0;
    if (n <= 17) {
        int64_t value = 0;
        for (uint32_t i = 0; i < n; i++)
            value = value * 10 + (digits[i] - '0');
        value = (negative ? -value : value) + shift;
        uint8_t reversed[24];
        uint32_t k = 0;
        bool minus = value < 0;
        for (uint64_t left = minus ? (uint64_t)-value : (uint64_t)value; left > 0 || k == 0; left /= 10)
            reversed[k++] = (uint8_t)('0' + left % 10);
        if (minus)
            out[length++] = '-';
        while (k > 0)
            out[length++] = reversed[--k];
        return length;
    }
    /* |shift| is below 2^33, so the sign stays and the last 17 digits carry at most once. */
    if (negative)
        out[length++] = '-';
    uint8_t *to = out + length + 1;
    memcpy(to, digits, n);
    int64_t carry = negative ? -shift : shift;
    for (uint32_t i = n; i-- > 0 && carry != 0;) {
        int64_t digit = (to[i] - '0') + carry % 10;
        carry /= 10;
        if (digit < 0) {
            digit += 10;
            carry--;
        } else if (digit > 9) {
            digit -= 10;
            carry++;
        }
        to[i] = (uint8_t)('0' + digit);
    }
    if (carry > 0) {
        *--to = '1'; /* 999… + 1 */
        n++;
    }
    while (n > 1 && *to == '0') {
        to++;
        n--;
    }
    memmove(out + length, to, n);
    return length + n;
}

const tf_item *tf_item_number(tf_run *run, const uint8_t *text, uint32_t n)
{
    uint8_t *out = tf_arena_take(run->arena, (size_t)n + 32);
    if (out == NULL) {
        no_memory(run);
        return NULL;
    }
    uint32_t at = 0, length = 0;
    bool negative = n > 0 && text[0] == '-';
    at += negative;
    if (negative)
        out[length++] = '-';
    uint32_t first = length;
    int64_t places = 0; /* digits behind the point */
    bool pointed = false;
    for (; at < n && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9')); at++) {
        if (text[at] == '.') {
            pointed = true;
            continue;
        }
        places += pointed;
        if (length > first || text[at] != '0')
            out[length++] = text[at];
    }
    int64_t zeros = 0;
    while (length > first && out[length - 1] == '0') {
        length--;
        zeros++;
    }
    if (length == first) {
        out[0] = '0';
        return make(run, TF_ITEM_NUMBER, 1, hash_bytes(1, out, 1), out, NULL);
    }
    bool minus = false;
    if (at < n) { /* e or E */
        at++;
        minus = at < n && text[at] == '-';
        at += at < n && (text[at] == '-' || text[at] == '+');
    }
    out[length++] = 'e';
    length += write_exponent(minus, text + at, n - at, zeros - places, out + length);
    return make(run, TF_ITEM_NUMBER, length, hash_bytes(1, out, length), out, NULL);
}

/* ---- containers ---- */

const tf_item *tf_item_container(tf_run *run, const tf_frame *frame)
{
    uint64_t hash = frame->kind->is_object ? 3 : 2;
    for (const tf_child *child = frame->children; child != NULL; child = child->previous)
        if (frame->kind->is_object)
            hash += mix(hash_bytes(child->value->hash, child->name, child->n_name), 7);
        else
            hash = mix(hash, child->value->hash);
    uint32_t n = frame->count > UINT32_MAX ? UINT32_MAX : (uint32_t)frame->count;
    return make(run, frame->kind->is_object ? TF_ITEM_OBJECT : TF_ITEM_ARRAY, n, hash, NULL,
                frame->children);
}

bool tf_item_add(tf_run *run, tf_frame *frame, const tf_item *value)
{
    tf_child *child = tf_arena_zero(run->arena, sizeof *child);
    if (child == NULL)
        return no_memory(run);
    child->previous = frame->children;
    child->value = value;
    const tf_kind *kind = frame->kind;
    if (kind->is_object && frame->last - 1 < kind->n_names) {
        const tf_literal *name = &kind->names.literals[frame->last - 1];
        child->name = name->text;
        child->n_name = name->n_text;
    } else if (kind->is_object) {
        child->name = tf_text_flat(run, frame->emitted->name, &child->n_name);
        if (child->name == NULL)
            return false;
    }
    frame->children = child;
    return true;
}

const tf_item *tf_item_at(const tf_item *array, uint64_t i)
{
    if (i >= array->n)
        return NULL;
    const tf_child *child = array->last;
    for (uint64_t k = array->n - 1; k > i; k--)
        child = child->previous;
    return child->value;
}

const tf_item *tf_item_member(const tf_item *object, const uint8_t *name, uint32_t n)
{
    for (const tf_child *child = object->last; child != NULL; child = child->previous)
        if (child->n_name == n && (n == 0 || memcmp(child->name, name, n) == 0))
            return child->value;
    return NULL;
}

/* ---- equality: a work list of pairs instead of recursion ---- */

typedef struct pair {
    const tf_item *a, *b;
} pair;

bool tf_item_equal(tf_run *run, const tf_item *a, const tf_item *b)
{
    if (a->hash != b->hash)
        return false;
    pair *work = NULL;
    uint32_t n = 0, capacity = 0;
    for (;;) {
        if (a != b) {
            if (a->hash != b->hash || a->type != b->type || a->n != b->n || !tf_run_spend(run))
                return false;
            if (a->type == TF_ITEM_NUMBER || a->type == TF_ITEM_STRING) {
                if (a->n > 0 && memcmp(a->bytes, b->bytes, a->n) != 0)
                    return false;
            }
            const tf_child *other = b->last;
            for (const tf_child *child = a->last; child != NULL; child = child->previous) {
                const tf_item *match;
                if (a->type == TF_ITEM_OBJECT) {
                    match = tf_item_member(b, child->name, child->n_name);
                } else {
                    match = other->value;
                    other = other->previous;
                }
                if (match == NULL || match->hash != child->value->hash)
                    return false;
                if (!tf_arena_grow(run->arena, (void **)&work, n, &capacity, 16, sizeof *work))
                    return no_memory(run);
                work[n++] = (pair){child->value, match};
            }
        }
        if (n == 0)
            return true;
        a = work[--n].a;
        b = work[n].b;
    }
}

/* ---- lexemes ---- */

const uint8_t *tf_text_flat(tf_run *run, const tf_text *text, uint32_t *n)
{
    *n = text == NULL ? 0 : text->length;
    uint8_t *out = tf_arena_take(run->arena, *n);
    if (out == NULL) {
        no_memory(run);
        return NULL;
    }
    tf_text_copy(text, out);
    return out;
}

bool tf_item_of_string(tf_run *run, tf_configuration *c, uint32_t literal)
{
    const tf_strings *s = c->at;
    const tf_text *text = c->text;
    if (literal != TF_NONE) {
        c->item = tf_item_string(run, s->literals[literal].text, s->literals[literal].n_text);
        return c->item != NULL;
    }
    if (c->literal == TF_ON &&
        !tf_text_leave(run, c->low < c->high ? &s->literals[c->low] : NULL, c->pos, &text))
        return false;
    uint32_t n;
    const uint8_t *bytes = tf_text_flat(run, text, &n);
    c->item = bytes == NULL ? NULL : tf_item_string(run, bytes, n);
    return c->item != NULL;
}

bool tf_item_of_number(tf_run *run, tf_configuration *c)
{
    uint32_t n;
    const uint8_t *bytes = tf_text_flat(run, c->text, &n);
    c->item = bytes == NULL ? NULL : tf_item_number(run, bytes, n);
    return c->item != NULL;
}
