/*
 * Masks that an artifact brings along (docs/format.md, section 5), found by signature where the
 * cache has none. The section is not parsed when it is opened: an entry is decoded when it is first
 * asked for, and all of it is checked then. One that is not well-formed is as if it were not there,
 * and the mask is made anew.
 *
 * Immutable but for lists that many masks share, which are decoded once; any thread.
 */
#ifndef TF_KEPT_MASKS_H
#define TF_KEPT_MASKS_H

#include "cache.h"

typedef struct tf_kept tf_kept;

/* The section's layout: a head of words, tables, then `data`, in which numbers are varints. */
enum {
    TF_KEPT_HEAD = 7,    /* words: slots, frames, masks, lists, rows, words of a row, bytes of data */
    TF_KEPT_PROBES = 32, /* slots that are looked at for one signature */
    /* A slot: 1 + where the entry lies in data, below this; above that the hash's ten highest bits. */
    TF_KEPT_ENTRY_END = 1 << 22,
    TF_KEPT_MOST_BYTES = 10 * (TF_MAX_SIGNATURE + 1) /* of a signature */
};
/* The first number of a mask: what its base is. */
enum {
    TF_KEPT_NOTHING,
    TF_KEPT_STAY,    /* + string state */
    TF_KEPT_AT_MOST, /* + which of stay_at_most */
    TF_KEPT_GROUPS,  /* + groups */
    TF_KEPT_ROW,     /* + which row of the section */
    TF_KEPT_N_BASES
};

/* Seven bits a byte, the lowest first; returns how many bytes, at most 10. */
static inline uint32_t tf_varint_put(uint8_t *to, uint64_t value)
{
    uint32_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}
/* A part of a signature as bytes: its length and its words, small ones of either sign in few bytes. */
uint32_t tf_kept_spell(const uint64_t *words, uint32_t n, uint8_t bytes[TF_KEPT_MOST_BYTES]);

/* A section of n_bytes bytes, copied into `arena`. False: *corrupt says what is wrong, or no memory. */
bool tf_kept_open(tf_machine *m, const uint8_t *bytes, size_t n_bytes, tf_arena *arena,
                  const char **corrupt);
/* The section once more, in its three parts: tables, rows, data. */
typedef struct tf_kept_parts {
    const uint8_t *tables, *data;
    const uint32_t *rows;
    size_t n_tables, n_rows, n_data; /* bytes; words; bytes */
} tf_kept_parts;
tf_kept_parts tf_kept_take_apart(const tf_machine *m);
/* False: not there, or no memory. Ids are in `arena`, pieces where the cache keeps its blocks. */
bool tf_kept_find(tf_machine *m, tf_arena *arena, const tf_signature *signature, uint64_t *most,
                  tf_edits *edits);

#endif
