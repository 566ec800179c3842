#include "name_content.h"

#include "text.h"

bool tf_class_of_name(const tf_configuration *c, uint32_t *class)
{
    const tf_content *content = c->top->kind->names.content;
    *class = 0;
    if (content == NULL)
        return true;
    *class = c->content == NULL ? UINT32_MAX
                                : tf_words_next(c->content->accepts, content->language_words, 0);
    return *class != UINT32_MAX;
}

bool tf_name_text(tf_run *run, const tf_configuration *c, const tf_text **text)
{
    const tf_strings *names = &c->top->kind->names;
    *text = c->text;
    return c->literal != TF_ON ||
           tf_text_leave(run, c->low < c->high ? &names->literals[c->low] : NULL, c->pos, text);
}

/* Whether some name of the class, of those that lie ahead, is not emitted. */
static bool fresh(const tf_configuration *c, const tf_content_state *state, uint32_t class,
                  const tf_text *text)
{
    if (!state->content->has_counts || state->counts[class] == UINT64_MAX)
        return true;
    uint64_t n = state->counts[class];
    for (const tf_emitted *e = c->top->emitted; e != NULL && n > 0; e = e->previous)
        n -= e->class == class && tf_text_begins(e->name, text);
    return n > 0;
}

typedef struct ahead {
    const tf_configuration *c;
    uint32_t class;
} ahead;

static bool escape_leads_on(tf_run *run, void *context, const tf_content_state *next,
                            uint32_t code, uint32_t n_bytes)
{
    const ahead *a = context;
    (void)n_bytes;
    if (!tf_word_bit(next->live, a->class))
        return false;
    if (!next->content->has_counts || next->counts[a->class] == UINT64_MAX)
        return true;
    tf_configuration after = *a->c;
    uint8_t bytes[4];
    uint32_t n = tf_utf8(code, bytes);
    return tf_name_text(run, a->c, &after.text) && tf_text_add(run, &after, bytes, n) &&
           fresh(a->c, next, a->class, after.text);
}

bool tf_name_class_live(tf_run *run, const tf_configuration *c, uint32_t class)
{
    if (c->top->kind->names.content == NULL)
        return true;
    if (tf_in_escape(c)) {
        ahead a = {c, class};
        return tf_content_escapes(run, c, escape_leads_on, &a);
    }
    if (c->content == NULL || !tf_word_bit(c->content->live, class))
        return false;
    if (!c->content->content->has_counts || c->content->counts[class] == UINT64_MAX ||
        c->top->emitted == NULL)
        return true;
    const tf_text *text;
    return tf_name_text(run, c, &text) && fresh(c, c->content, class, text);
}
