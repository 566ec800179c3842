/*
 * Values as JSON Schema compares them (Core §4.2.2): what a frame collects of its members and
 * items where an array around it looks at equality. Immutable once made; in the run's arena.
 */
#ifndef TF_ITEMS_H
#define TF_ITEMS_H

#include "configuration.h"

enum {
    TF_ITEM_NULL, TF_ITEM_FALSE, TF_ITEM_TRUE, TF_ITEM_NUMBER, TF_ITEM_STRING, TF_ITEM_ARRAY,
    TF_ITEM_OBJECT
};

typedef struct tf_item {
    uint32_t type;
    uint32_t n;           /* bytes of a string or number; items; members */
    uint64_t hash;        /* equal values have equal hashes */
    const uint8_t *bytes; /* strings: decoded; numbers: normal form, see tf_item_number */
    const struct tf_child *last;
} tf_item;

/* An item or member, newest first. */
typedef struct tf_child {
    const struct tf_child *previous;
    const tf_item *value;
    const uint8_t *name; /* members */
    uint32_t n_name;
} tf_child;

/* NULL: no memory, run->call.status is set. */
const tf_item *tf_item_literal(tf_run *run, uint32_t which);
const tf_item *tf_item_string(tf_run *run, const uint8_t *bytes, uint32_t n);
/* From the text of a JSON number: `-`, digits without zeros at either end, `e`, exponent of the
   last digit (no `+`, no leading zeros). Zero is `0`. */
const tf_item *tf_item_number(tf_run *run, const uint8_t *text, uint32_t n);
/* What the frame has collected. */
const tf_item *tf_item_container(tf_run *run, const tf_frame *frame);

bool tf_item_equal(tf_run *run, const tf_item *a, const tf_item *b);

/* The value of the lexeme at hand, which ends here: to c->item. */
bool tf_item_of_string(tf_run *run, tf_configuration *c, uint32_t literal);
bool tf_item_of_number(tf_run *run, tf_configuration *c);
/* Note c->item in `frame`, which is not published yet, as the item or member begun last. */
bool tf_item_add(tf_run *run, tf_frame *frame, const tf_item *value);
/* The decoded text of a string in one piece; NULL: no memory. */
const uint8_t *tf_text_flat(tf_run *run, const tf_text *text, uint32_t *n);

/* Item i of an array, the member of that name of an object; or NULL. */
const tf_item *tf_item_at(const tf_item *array, uint64_t i);
const tf_item *tf_item_member(const tf_item *object, const uint8_t *name, uint32_t n);

#endif
