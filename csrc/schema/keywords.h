/* The insides of reading schemas, shared by ir.c, keywords.c and keywords_typed.c. */
#ifndef TF_KEYWORDS_H
#define TF_KEYWORDS_H

#include "ir.h"

/* What a keyword's reader fills; its argument `value` is the tape node of the keyword's value. */
typedef struct reader {
    tf_ir *ir;
    tf_schema *s; /* the record that is read; not yet in ir->schemas */
    uint32_t node; /* of the schema */
    tf_dialect dialect;
    uint32_t draft; /* of the dialect */
    tokfsm_error *err;
} reader;

/* A node of the tape of `ir`. */
#define NODE(i) (&ir->tape->nodes[i])

/* The node of the keyword's value, or TF_TAPE_NONE: also where no vocabulary of the dialect has
   the keyword. */
uint32_t tf_keyword(const reader *r, const char *name);
tokfsm_status tf_keyword_malformed(const reader *r, uint32_t value, const char *keyword,
                                   const char *wanted);
tokfsm_status tf_keyword_no_memory(tokfsm_error *err);
/* The id of the schema at a tape node, which will be read too. */
tokfsm_status tf_schema_at(const reader *r, uint32_t node, const char *keyword, uint32_t *id);
/* Those of the items of an array. */
tokfsm_status tf_schema_list(const reader *r, uint32_t array, const char *keyword,
                             const uint32_t **ids, uint32_t *n);

/* Everything of a schema object but its references. */
tokfsm_status tf_keywords_read(reader *r);
/* Refuse schemas that apply themselves to the same value without end. */
tokfsm_status tf_refuse_cycles(tf_ir *ir, tokfsm_error *err);
/* The keywords of one type of value. */
tokfsm_status tf_keywords_object(reader *r);
tokfsm_status tf_keywords_array(reader *r);
tokfsm_status tf_keywords_number(reader *r);
tokfsm_status tf_keywords_string(reader *r);

#endif
