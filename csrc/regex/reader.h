/* What the two halves of the parser share: the text, its place, the flags in force. */
#ifndef TF_READER_H
#define TF_READER_H

#include "parse.h"

typedef struct tf_reader {
    const char *text;
    size_t n, at;
    tf_arena *arena;
    tf_budget *budget;
    tokfsm_error *err;
    tf_regex *regex;
    uint32_t n_groups; /* capturing groups in the whole text */
    bool named;        /* some group has a name */
    bool ignore_case, multiline, dot_all;
} tf_reader;

/* What an escape stands for, outside a class. */
typedef enum tf_escape {
    TF_ESCAPE_CHARACTER,
    TF_ESCAPE_SET,
    TF_ESCAPE_WORD,
    TF_ESCAPE_NOT_WORD,
    TF_ESCAPE_BEGIN,
    TF_ESCAPE_END
} tf_escape;

tokfsm_status tf_reader_invalid(const tf_reader *r, size_t where, const char *what);
tokfsm_status tf_reader_unsupported(const tf_reader *r, size_t where, const char *what);
tokfsm_status tf_reader_no_memory(const tf_reader *r);
/* The next code point; the text is UTF-8, what is not counts as single bytes. */
uint32_t tf_reader_take(tf_reader *r);
static inline bool tf_reader_end(const tf_reader *r) { return r->at >= r->n; }
static inline bool tf_reader_sees(const tf_reader *r, const char *what)
{
    size_t length = strlen(what);
    return r->n - r->at >= length && memcmp(r->text + r->at, what, length) == 0;
}
static inline bool tf_reader_skip(tf_reader *r, const char *what)
{
    if (!tf_reader_sees(r, what))
        return false;
    r->at += strlen(what);
    return true;
}

/* After the backslash. SET fills *set (settled), CHARACTER fills *c. */
tokfsm_status tf_reader_escape(tf_reader *r, bool in_class, tf_escape *kind, uint32_t *c,
                               tf_charset *set);
/* After the `[`: the whole class, its end taken; settled, case closed. */
tokfsm_status tf_reader_class(tf_reader *r, tf_charset *set);
/* Sets that are not in a table: 'd', 'w', 's' or '.' (all but line terminators). */
bool tf_reader_shorthand(tf_reader *r, char name, tf_charset *set);

#endif
