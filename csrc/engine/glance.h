/*
 * A glance before a step: bytes that tf_step would refuse, told without copying a
 * configuration. What it lets through may still be refused.
 */
#ifndef TF_GLANCE_H
#define TF_GLANCE_H

#include "configuration.h"

enum { TF_BYTE_OTHER, TF_BYTE_SPACE, TF_BYTE_NUMBER, TF_BYTE_QUOTE, TF_BYTE_LETTER, TF_BYTE_OPEN,
       TF_BYTE_CLOSE, TF_BYTE_COMMA, TF_BYTE_COLON };
extern const uint8_t tf_byte_kind[256];
/* "null", "false", "true", by TF_*_LITERAL. */
extern const char *const tf_literal_text[TF_N_LITERALS];

/* Whether the string or name at hand has to keep to its literals. */
bool tf_only_literals(tf_run *run, const tf_configuration *c);

/* `literals`: tf_only_literals says so. */
static inline bool tf_glance(const tf_configuration *c, bool literals, uint8_t byte)
{
    const uint8_t kind = tf_byte_kind[byte];
    switch (c->mode) {
    case TF_IN_NAME:
    case TF_IN_STRING: {
        if (!literals || c->literal != TF_ON)
            return true;
        const tf_strings *s = c->at;
        if (c->low == c->high)
            return false;
        const tf_literal *first = &s->literals[c->low], *last = &s->literals[c->high - 1];
        bool ends = first->n_spelled == c->pos;
        if (byte == '"' && ends)
            return true;
        if (last->n_spelled == c->pos) /* then there is but this one */
            return false;
        return byte <= last->spelled[c->pos] && (ends || byte >= first->spelled[c->pos]);
    }
    case TF_IN_NUMBER:
        return kind == TF_BYTE_NUMBER || kind == TF_BYTE_SPACE || kind == TF_BYTE_COMMA ||
               kind == TF_BYTE_CLOSE;
    case TF_IN_LITERAL: return byte == (uint8_t)tf_literal_text[c->low][c->n];
    case TF_AT_NAME:
        return kind == TF_BYTE_SPACE || kind == TF_BYTE_QUOTE ||
               (byte == '}' && c->gap == TF_GAP_OPEN);
    case TF_AT_COLON: return kind == TF_BYTE_SPACE || kind == TF_BYTE_COLON;
    case TF_AT_AFTER:
        return kind == TF_BYTE_SPACE || kind == TF_BYTE_COMMA ||
               byte == (c->top->kind->is_object ? '}' : ']');
    case TF_AT_VALUE:
        if (kind == TF_BYTE_CLOSE)
            return byte == ']' && c->gap == TF_GAP_OPEN;
        return kind != TF_BYTE_OTHER && kind != TF_BYTE_COMMA && kind != TF_BYTE_COLON &&
               byte != '+' && byte != '.' && byte != 'e' && byte != 'E';
    default: return false;
    }
}

#endif
