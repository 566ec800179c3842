#include "bound_names.h"

#include "frames.h"
#include "text.h"

bool tf_class_of_name(const tf_configuration *c, uint32_t *class)
{
    const tf_content *content = c->top->kind->names.content;
    *class = 0;
    if (content == NULL)
        return true;
    if (c->top->kind->name_sets > 0) {
        if (c->content == NULL || c->content->inside)
            return false;
        *class = tf_set_of_state(c->top->kind, c->content);
        return true;
    }
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

/* The character of the name behind the text that begins it; UINT32_MAX: there is none. */
static uint32_t next_character(const tf_text *name, const tf_text *text)
{
    uint32_t at = text == NULL ? 0 : text->length, code = UINT32_MAX;
    if (name == NULL || name->length == at)
        return code;
    uint8_t bytes[4] = {0};
    for (; name != NULL && name->length > at; name = name->previous)
        for (uint32_t i = 0, from = name->length - name->n; i < name->n; i++)
            if (from + i >= at && from + i < at + 4)
                bytes[from + i - at] = name->more ? name->more[i] : name->bytes[i];
    return tf_utf8_code(bytes);
}

/* Each of the characters leads to as many names; those emitted are taken off. */
static bool escape_leads_on(tf_run *run, void *context, const tf_escape_way *way)
{
    const ahead *a = context;
    const tf_content_state *next = way->next;
    const tf_text *text;
    if (!tf_word_bit(next->live, a->class))
        return false;
    if (!next->content->has_counts || next->counts[a->class] == UINT64_MAX || a->c->top->emitted == NULL)
        return true;
    uint64_t each = next->counts[a->class], n_codes = (uint64_t)way->last - way->code + 1;
    uint64_t n = each > UINT64_MAX / n_codes ? UINT64_MAX : each * n_codes;
    if (!tf_name_text(run, a->c, &text))
        return false;
    for (const tf_emitted *e = a->c->top->emitted; e != NULL && n > 0; e = e->previous) {
        if (e->class != a->class || !tf_text_begins(e->name, text))
            continue;
        uint32_t code = next_character(e->name, text);
        n -= code >= way->code && code <= way->last;
    }
    return n > 0;
}

/* Whether the name can still come to one of the class that is not emitted. */
static bool class_live(tf_run *run, const tf_configuration *c, uint32_t class)
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

static bool is_open(tf_run *run, const tf_frame *frame, uint32_t class, uint32_t a)
{
    tf_scratch_words alive;
    return tf_other_open(run, frame, class, alive.words) &&
           (a == TF_NONE || tf_word_bit(alive.words, a));
}

/* ---- classes that are sets ---- */

typedef struct wanted_set {
    const tf_frame *frame;
    uint32_t a;
    bool found;
} wanted_set;

static bool is_wanted(tf_run *run, void *context, const uint64_t *reachable, uint32_t class,
                      uint32_t cost)
{
    wanted_set *wanted = context;
    wanted->found = cost != TF_COST_NONE && is_open(run, wanted->frame, class, wanted->a);
    return wanted->found || run->call.status != TOKFSM_OK ||
           (wanted->a != TF_NONE && !tf_word_bit(reachable, wanted->a));
}

/* Some way to the end of the character that is under way; NULL: none was met. */
static const tf_content_state *end_character(tf_run *run, const tf_content_state *state)
{
    const tf_content *content = state->content;
    while (state != NULL && state->inside) {
        const tf_content_state *next = NULL;
        for (uint32_t byte = 0x80; byte < 0xC0 && next == NULL; byte++)
            if ((byte == 0x80 || content->byte_class[byte] != content->byte_class[byte - 1]) &&
                tf_has_byte(run->m, (uint8_t)byte))
                next = tf_content_step(run, state, (uint8_t)byte);
        state = next;
    }
    return state;
}

/* Whether the name can end as it is, or with the character under way; false: it may still be that
   it leads on. */
static bool can_end(tf_run *run, const tf_configuration *c, uint32_t a)
{
    bool whole = c->sub == TF_STR_NORMAL;
    if (c->mode != TF_IN_NAME || tf_in_escape(c) || c->literal != TF_OFF || c->content == NULL)
        return false;
    for (const tf_emitted *e = c->top->emitted; e != NULL; e = e->previous)
        if (whole ? tf_text_equal(e->name, c->text) : tf_text_begins(e->name, c->text))
            return false;
    const tf_content_state *end = end_character(run, c->content);
    return end != NULL && is_open(run, c->top, tf_set_of_state(c->top->kind, end), a);
}

bool tf_other_name_live(tf_run *run, const tf_configuration *c, uint32_t a)
{
    const tf_kind *kind = c->top->kind;
    bool in = c->mode == TF_IN_NAME;
    if (kind->name_sets == 0) {
        for (uint32_t j = 0; j < kind->n_others; j++)
            if ((!in || class_live(run, c, j)) && is_open(run, c->top, j, a))
                return true;
        return false;
    }
    if (can_end(run, c, a))
        return true;
    wanted_set wanted = {c->top, a, false};
    tf_arena_mark mark = tf_arena_here(run->arena);
    bool ok = tf_each_set_ahead(run, c, true, is_wanted, &wanted);
    tf_arena_back(run->arena, mark);
    return ok && wanted.found;
}
