/*
 * The artifact, format 1; docs/format.md describes it offset by offset, and is normative.
 * Little-endian. Offsets count from the start of the file.
 *
 *   header (256 bytes) | section table | sections, each at a multiple of 64
 */
#ifndef TF_FORMAT_H
#define TF_FORMAT_H

#include "../engine/automaton.h"

#define TF_FORMAT_MAGIC "TOKFSM\r\n"
#define TF_FORMAT_ENDIAN 0x01020304u

enum {
    TF_HEADER_BYTES = 256,
    TF_SECTION_BYTES = 24, /* an entry of the section table */
    TF_SECTION_ALIGN = 64,
    /* offsets in the header */
    TF_H_MAGIC = 0,
    TF_H_VERSION = 8,
    TF_H_ENDIAN = 12,
    TF_H_N_SECTIONS = 16,
    TF_H_VOCAB_SIZE = 20,
    TF_H_FILE_BYTES = 24,
    TF_H_FINGERPRINT = 32,
    TF_H_CHECKSUM = 64,  /* SHA-256 of the file with these 32 bytes as zeros */
    TF_H_OPTIONS = 96,   /* twelve 32-bit words, as tokfsm_options */
    TF_H_END = 144       /* zeros from here */
};

/* Sections, in this order. */
enum {
    TF_S_STOP_IDS = 1, /* default stop set: 32-bit ids, ascending */
    TF_S_MACHINE = 2,  /* 32-bit words; see docs/format.md */
    TF_S_TEXT = 3,     /* decoded texts of literals and names, one after the other */
    TF_S_SCHEMA = 4,   /* schema text; absent where it was left out */
    TF_S_PACK = 5,     /* vocabulary pack file; absent where it was not embedded */
    TF_S_RELAXED = 6,  /* texts, each with its NUL: pointer, keyword and reason of all that was
                          relaxed; absent where nothing was */
    TF_S_MASKS = 7,    /* engine/kept_masks.h */
    TF_S_END
};

/* A reference in the machine section: index + 1, or 0 for none. */

tokfsm_status tf_artifact_write(const tokfsm_automaton *automaton, bool embed_pack,
                                uint8_t **bytes, size_t *n_bytes, const tokfsm_cancel *cancel,
                                tokfsm_error *err);
/* The machine section and its texts -> a frozen machine in `arena`. */
tokfsm_status tf_machine_read(tf_machine *m, const uint8_t *words, size_t n_bytes,
                              const uint8_t *text, size_t n_text, tf_arena *arena,
                              tokfsm_statistics *statistics, tokfsm_error *err);

#endif
