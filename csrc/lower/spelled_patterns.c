/*
 * Patterns that spell out what they match: ^name$, ^(one|other)$. As names they are no class of
 * others but declared ones, which cost nothing. Only with escapes="minimal": else a declared name
 * has one spelling, and one that a pattern matches has many (docs/spelling.md).
 */
#include "patterns.h"

enum { MOST_NAMES = 64 };

typedef struct scanner {
    const char *text;
    uint32_t n, at;
} scanner;

/* One character that stands for itself, a byte at a time; false: something else is there. */
static bool take_byte(scanner *s, char *byte)
{
    static const char special[] = "^$.*+?()[]{}|\\";
    if (s->at == s->n)
        return false;
    char c = s->text[s->at];
    if (c == '\0' || strchr(special, c) == NULL) {
        s->at++;
        *byte = c;
        return true;
    }
    if (c != '\\' || s->at + 1 == s->n)
        return false;
    c = s->text[s->at + 1];
    if (c == '\0' || (strchr(special, c) == NULL && c != '/'))
        return false;
    s->at += 2;
    *byte = c;
    return true;
}

static bool take(scanner *s, const char *wanted)
{
    size_t n = strlen(wanted);
    if (s->n - s->at < n || memcmp(s->text + s->at, wanted, n) != 0)
        return false;
    s->at += (uint32_t)n;
    return true;
}

/* `room` for all bytes of the names; false: it is another pattern. */
static bool scan(scanner *s, char *room, tf_name *names, uint32_t *n_names)
{
    uint32_t used = 0;
    *n_names = 0;
    if (!take(s, "^"))
        return false;
    bool group = take(s, "(?:") || take(s, "(");
    do {
        tf_name *name = &names[*n_names];
        if (++*n_names > MOST_NAMES)
            return false;
        *name = (tf_name){.text = room + used};
        while (take_byte(s, &room[used]))
            used++;
        name->n = (uint32_t)(room + used - name->text);
    } while (group && take(s, "|"));
    return (!group || take(s, ")")) && take(s, "$") && s->at == s->n;
}

tokfsm_status tf_pattern_spell(tf_build *b, tf_pattern_record *pattern)
{
    scanner s = {pattern->text, pattern->n, 0};
    tf_name names[MOST_NAMES + 1];
    uint32_t n;
    if (b->machine.options.escapes != TOKFSM_ESCAPES_MINIMAL)
        return TOKFSM_OK;
    tf_arena_mark mark = tf_arena_here(&b->arena);
    char *room = tf_arena_take(&b->arena, pattern->n);
    if (room == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for a pattern");
    if (!scan(&s, room, names, &n)) {
        tf_arena_back(&b->arena, mark);
        return TOKFSM_OK;
    }
    tf_name *kept = tf_arena_take(&b->arena, n * sizeof *kept);
    if (kept == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for a pattern");
    memcpy(kept, names, n * sizeof *kept);
    pattern->spelled = kept;
    pattern->n_spelled = n;
    return TOKFSM_OK;
}

tokfsm_status tf_each_spelled(const tf_build *b, uint32_t pattern, tf_name_visitor visit,
                              void *context)
{
    const tf_pattern_record *p = &b->patterns.items[pattern];
    for (uint32_t i = 0; i < p->n_spelled; i++)
        TF_TRY(visit(context, p->spelled[i].text, p->spelled[i].n));
    return TOKFSM_OK;
}
