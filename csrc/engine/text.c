#include "text.h"

bool tf_text_append(tf_run *run, const tf_text **text, const uint8_t *bytes, uint32_t n,
                    bool borrowed)
{
    if (n == 0)
        return true;
    tf_text *node = tf_arena_take(run->arena, sizeof *node);
    if (node != NULL && !borrowed && n > sizeof node->bytes) {
        uint8_t *kept = tf_arena_take(run->arena, n);
        if (kept != NULL)
            memcpy(kept, bytes, n);
        bytes = kept;
        borrowed = true;
        node = kept == NULL ? NULL : node;
    }
    if (node == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a name");
        return false;
    }
    node->previous = *text;
    node->more = borrowed ? bytes : NULL;
    node->n = n;
    node->length = n + (*text == NULL ? 0 : (*text)->length);
    uint32_t hash = *text == NULL ? 2166136261u : (*text)->hash; /* FNV-1a, 32 bits */
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    node->hash = hash;
    if (!borrowed)
        memcpy(node->bytes, bytes, n);
    *text = node;
    return true;
}

bool tf_text_leave(tf_run *run, const tf_literal *literal, uint32_t pos, const tf_text **text)
{
    *text = NULL;
    if (literal == NULL)
        return true;
    /* Bytes of `text` that the spelling up to `pos` completes. */
    uint32_t n = 0, i = 0;
    while (i < pos) {
        uint32_t step = 1;
        if (literal->spelled[i] == '\\')
            step = literal->spelled[i + 1] == 'u' ? 6 : 2;
        if (i + step > pos)
            break;
        i += step;
        n++; /* a literal's escapes stand for ASCII characters */
    }
    return tf_text_append(run, text, literal->text, n, true);
}

uint32_t tf_utf8(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

uint32_t tf_utf8_code(const uint8_t *bytes)
{
    if (bytes[0] < 0x80)
        return bytes[0];
    uint32_t more = bytes[0] < 0xE0 ? 1 : bytes[0] < 0xF0 ? 2 : 3;
    uint32_t code = bytes[0] & (0x3Fu >> more);
    for (uint32_t i = 1; i <= more; i++)
        code = code << 6 | (bytes[i] & 0x3Fu);
    return code;
}

static uint32_t digit(uint8_t byte)
{
    return byte <= '9' ? byte - 48u : (byte | 0x20u) - 87u;
}

uint32_t tf_text_take(tf_configuration *c, uint8_t before, uint8_t byte, uint8_t out[4])
{
    uint32_t n = 0;
    switch (before) {
    case TF_STR_E:
        c->hex = 0;
        if (byte != 'u') {
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            out[0] = (uint8_t)to[strchr(from, byte) - from];
            n = 1;
        }
        break;
    case TF_STR_U0: case TF_STR_U1: case TF_STR_U1D: case TF_STR_U2: case TF_STR_U2H:
        c->hex = c->hex << 4 | digit(byte);
        break;
    case TF_STR_U3:
        n = tf_utf8(c->hex << 4 | digit(byte), out);
        break;
    case TF_STR_U3H:
        c->hex = (c->hex << 4 | digit(byte)) << 16;
        break;
    case TF_STR_HS: case TF_STR_HE:
        break;
    case TF_STR_HU0: case TF_STR_HU1: case TF_STR_HU2:
        c->hex = (c->hex & 0xFFFF0000u) | (((c->hex & 0xFFFFu) << 4) | digit(byte));
        break;
    case TF_STR_HU3: {
        uint32_t low = (c->hex & 0xFFFu) << 4 | digit(byte);
        n = tf_utf8(0x10000u + (((c->hex >> 16) & 0x3FFu) << 10) + (low & 0x3FFu), out);
        break;
    }
    default: /* raw */
        if (byte != '\\') {
            out[0] = byte;
            n = 1;
        }
    }
    return n;
}

bool tf_text_add(tf_run *run, tf_configuration *c, const uint8_t *bytes, uint32_t n)
{
    return tf_text_append(run, &c->text, bytes, n, false);
}

static const uint8_t *chunk(const tf_text *text) { return text->more ? text->more : text->bytes; }

void tf_text_copy(const tf_text *text, uint8_t *out)
{
    for (; text != NULL; text = text->previous)
        memcpy(out + text->length - text->n, chunk(text), text->n);
}

void tf_text_first(const tf_text *text, uint8_t *out, uint32_t n)
{
    memset(out, 0, n);
    for (; text != NULL; text = text->previous) {
        uint32_t at = text->length - text->n;
        if (at < n)
            memcpy(out + at, chunk(text), text->n < n - at ? text->n : n - at);
    }
}

bool tf_text_equal(const tf_text *a, const tf_text *b)
{
    if (a == b)
        return true;
    if (a == NULL || b == NULL || a->length != b->length || a->hash != b->hash)
        return false;
    /* From the end, over chunks of different sizes. */
    uint32_t i = a->n, j = b->n;
    while (a != NULL && b != NULL) {
        if (a == b && i == j)
            return true;
        if (chunk(a)[--i] != chunk(b)[--j])
            return false;
        if (i == 0 && (a = a->previous) != NULL)
            i = a->n;
        if (j == 0 && (b = b->previous) != NULL)
            j = b->n;
    }
    return true;
}

bool tf_text_begins(const tf_text *whole, const tf_text *start)
{
    uint32_t length = start == NULL ? 0 : start->length;
    if (length == 0)
        return true;
    if (whole == NULL || whole->length < length)
        return false;
    /* Down to the chunk in which the first `length` bytes end, then both from there. */
    while (whole->length - whole->n >= length)
        whole = whole->previous;
    uint32_t i = whole->n - (whole->length - length), j = start->n;
    while (length > 0) {
        if (chunk(whole)[--i] != chunk(start)[--j])
            return false;
        length--;
        if (i == 0 && length > 0) {
            whole = whole->previous;
            i = whole->n;
        }
        if (j == 0 && length > 0) {
            start = start->previous;
            j = start->n;
        }
    }
    return true;
}

uint32_t tf_text_literal(const tf_text *text, const tf_strings *strings)
{
    uint32_t n = text == NULL ? 0 : text->length;
    uint8_t small[256];
    for (uint32_t i = 0; i < strings->n_literals; i++) {
        const tf_literal *l = &strings->literals[i];
        if (l->n_text != n)
            continue;
        if (n == 0)
            return i;
        if (n <= sizeof small) {
            tf_text_copy(text, small);
            if (memcmp(small, l->text, n) == 0)
                return i;
            continue;
        }
        bool same = true;
        for (const tf_text *t = text; t != NULL && same; t = t->previous)
            same = memcmp(chunk(t), l->text + (t->length - t->n), t->n) == 0;
        if (same)
            return i;
    }
    return TF_NONE;
}
