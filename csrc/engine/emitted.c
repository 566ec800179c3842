#include "emitted.h"

#include "text.h"

/* Longer names are taken to be met. */
enum { MOST_BYTES = 256 };

static bool is_spelled(const tf_spelled *spelled, const uint8_t *bytes, uint32_t n)
{
    if (n > spelled->most)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!(spelled->bytes[bytes[i] >> 6] >> (bytes[i] & 63u) & 1u))
            return false;
    return true;
}

static uint32_t length_of(const tf_text *text) { return text == NULL ? 0 : text->length; }

bool tf_name_whole(const tf_machine *m, const tf_text *name)
{
    const tf_spelled *whole = &m->pack->traces->whole;
    uint8_t bytes[MOST_BYTES];
    uint32_t n = length_of(name);
    if (n > whole->most)
        return false;
    if (n > MOST_BYTES)
        return true;
    if (n > 0)
        tf_text_copy(name, bytes);
    return is_spelled(whole, bytes, n);
}

bool tf_literal_whole(const tf_machine *m, const tf_strings *strings)
{
    const tf_spelled *whole = &m->pack->traces->whole;
    for (uint32_t i = 0; i < strings->n_literals; i++)
        if (is_spelled(whole, strings->literals[i].text, strings->literals[i].n_text))
            return true;
    return false;
}

/* What the name at hand spells so far; false: not known, or too long. */
static bool spelled_so_far(const tf_configuration *c, uint8_t *bytes, uint32_t *n)
{
    if (c->sub != TF_STR_NORMAL || c->literal == TF_MAYBE)
        return false;
    if (c->literal == TF_OFF) {
        *n = length_of(c->text);
        if (*n > MOST_BYTES)
            return false;
        if (*n > 0)
            tf_text_copy(c->text, bytes);
        return true;
    }
    *n = c->pos;
    if (c->pos == 0)
        return true;
    if (c->pos > MOST_BYTES || c->low == c->high)
        return false;
    const tf_literal *literal = &((const tf_strings *)c->at)->literals[c->low];
    if (memchr(literal->spelled, '\\', c->pos) != NULL)
        return false;
    memcpy(bytes, literal->spelled, c->pos);
    return true;
}

bool tf_emitted_ahead(const tf_machine *m, const tf_configuration *c)
{
    const tf_spelled *before = &m->pack->traces->before;
    uint8_t start[MOST_BYTES], whole[2 * MOST_BYTES];
    uint32_t n = 0;
    if (c->top->emitted == NULL)
        return false;
    if (before->most > MOST_BYTES || !spelled_so_far(c, start, &n))
        return true;
    for (const tf_emitted *e = c->top->emitted; e != NULL; e = e->previous) {
        uint32_t length = length_of(e->name);
        if (length < n || length - n > before->most)
            continue;
        if (length > 0)
            tf_text_copy(e->name, whole);
        if (memcmp(whole, start, n) == 0 && is_spelled(before, whole + n, length - n))
            return true;
    }
    return false;
}
