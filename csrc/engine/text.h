/* Decoded text of a string that left the literals: what uniqueness of names is judged by. */
#ifndef TF_TEXT_H
#define TF_TEXT_H

#include "configuration.h"

/* Start the text with the part of `literal` before `pos` (whole characters and bytes only);
   a NULL literal stands for nothing. False: no memory. */
bool tf_text_leave(tf_run *run, const tf_literal *literal, uint32_t pos, const tf_text **text);
/*
 * Note one more byte of the JSON text, read in string state `before` (c->sub is the state
 * after it): keeps the pending \u digits. The decoded bytes that it completes go to `out`;
 * returns how many.
 */
uint32_t tf_text_take(tf_configuration *c, uint8_t before, uint8_t byte, uint8_t out[4]);
/* Append decoded bytes to c->text. False: no memory. */
bool tf_text_add(tf_run *run, tf_configuration *c, const uint8_t *bytes, uint32_t n);
/* The UTF-8 of a code point; how many bytes. */
uint32_t tf_utf8(uint32_t code, uint8_t out[4]);
/* The code point that begins at these bytes of UTF-8, which are well-formed. */
uint32_t tf_utf8_code(const uint8_t *bytes);
/* Append n bytes, copied or borrowed; false: no memory. */
bool tf_text_append(tf_run *run, const tf_text **text, const uint8_t *bytes, uint32_t n,
                    bool borrowed);
/* Copy the text, which is chained from its end, into `out` of text->length bytes. */
void tf_text_copy(const tf_text *text, uint8_t *out);
/* Its first n bytes, and 0 behind its end. */
void tf_text_first(const tf_text *text, uint8_t *out, uint32_t n);
bool tf_text_equal(const tf_text *a, const tf_text *b);
bool tf_text_begins(const tf_text *whole, const tf_text *start);
/* Index of the literal whose text this is, or TF_NONE. */
uint32_t tf_text_literal(const tf_text *text, const tf_strings *strings);

#endif
