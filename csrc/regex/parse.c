/* The parser: an explicit stack of open groups, so that nesting costs no C stack. */
#include "parse.h"

#include "reader.h"

/* An open group: its finished alternatives, and the sequence that grows. */
typedef struct group {
    uint32_t first_alternative, last_alternative;
    uint32_t first, last, before_last;
    size_t where;
    int look; /* tf_regex_look bits of a lookaround, or -1 */
    bool repeatable; /* the last item may take a quantifier */
    bool behind; /* inside some lookbehind */
    bool ignore_case, multiline, dot_all; /* as they were outside */
} group;

typedef struct parser {
    tf_reader r;
    group *groups;
    size_t n_groups, groups_capacity;
} parser;

/* ---- nodes ---- */

static tokfsm_status make(parser *p, tf_regex_node node, uint32_t *id)
{
    tf_regex *regex = p->r.regex;
    TF_TRY(tf_spend(p->r.budget, p->r.err));
    if (!tf_arena_grow(p->r.arena, (void **)&regex->nodes, regex->n_nodes, &regex->nodes_capacity, 16,
                       sizeof *regex->nodes))
        return tf_reader_no_memory(&p->r);
    node.next = TF_REGEX_NONE;
    *id = regex->n_nodes++;
    regex->nodes[*id] = node;
    return TOKFSM_OK;
}

static bool same_set(const tf_charset *a, const tf_charset *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->ranges, b->ranges, a->n * sizeof *a->ranges) == 0);
}

tokfsm_status tf_parse_intern(tf_regex *regex, tf_charset *set, tf_arena *arena, uint32_t *index,
                              tokfsm_error *err)
{
    bool fine = tf_charset_drop_surrogates(arena, set);
    for (uint32_t i = 0; fine && i < regex->n_sets; i++)
        if (same_set(&regex->sets[i], set)) {
            *index = i;
            return TOKFSM_OK;
        }
    if (!fine || !tf_arena_grow(arena, (void **)&regex->sets, regex->n_sets, &regex->sets_capacity, 16,
                                sizeof *regex->sets))
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a pattern");
    *index = regex->n_sets;
    regex->sets[regex->n_sets++] = *set;
    return TOKFSM_OK;
}

static tokfsm_status make_set(parser *p, tf_charset *set, uint32_t *id)
{
    uint32_t index;
    TF_TRY(tf_parse_intern(p->r.regex, set, p->r.arena, &index, p->r.err));
    return make(p, (tf_regex_node){.kind = TF_REGEX_SET, .a = index}, id);
}

/* Put a node at the end of the innermost group's sequence. */
static void append(parser *p, uint32_t id, bool repeatable)
{
    group *g = &p->groups[p->n_groups - 1];
    if (g->first == TF_REGEX_NONE)
        g->first = id;
    else
        p->r.regex->nodes[g->last].next = id;
    g->before_last = g->last;
    g->last = id;
    g->repeatable = repeatable;
}

static tokfsm_status append_set(parser *p, tf_charset *set)
{
    uint32_t id;
    TF_TRY(make_set(p, set, &id));
    append(p, id, true);
    return TOKFSM_OK;
}

static tokfsm_status append_character(parser *p, uint32_t c)
{
    tf_charset set = {NULL, 0, 0};
    if (!tf_charset_add(p->r.arena, &set, c, c) ||
        (p->r.ignore_case && !tf_charset_close_case(p->r.arena, &set)))
        return tf_reader_no_memory(&p->r);
    return append_set(p, &set);
}

static tokfsm_status append_kind(parser *p, tf_regex_kind kind, uint32_t min)
{
    uint32_t id;
    TF_TRY(make(p, (tf_regex_node){.kind = kind, .min = min}, &id));
    append(p, id, false);
    return TOKFSM_OK;
}

/* ---- assertions ---- */

static tokfsm_status count_look(parser *p, size_t where, int look)
{
    const group *g = &p->groups[p->n_groups - 1];
    if (g->behind && !(look & TF_REGEX_LOOK_BEHIND))
        return tf_reader_unsupported(&p->r, where, "a lookahead inside a lookbehind");
    if (++p->r.regex->n_looks > TF_REGEX_MAX_LOOKS)
        return tf_fail_at(p->r.err, TOKFSM_E_LIMIT, where,
                          "pattern at offset %zu: more than %d lookarounds", where,
                          TF_REGEX_MAX_LOOKS);
    return TOKFSM_OK;
}

/* A lookaround of one character, of the shorthand `name`. */
static tokfsm_status make_look(parser *p, char name, int look, uint32_t *id)
{
    tf_charset set = {NULL, 0, 0};
    uint32_t child;
    TF_TRY(count_look(p, p->r.at, look));
    if (!tf_reader_shorthand(&p->r, name, &set))
        return tf_reader_no_memory(&p->r);
    TF_TRY(make_set(p, &set, &child));
    return make(p, (tf_regex_node){.kind = TF_REGEX_LOOK, .a = child, .min = (uint32_t)look}, id);
}

/* ^ and $; with (?m) they are "no character of a line before / after". */
static tokfsm_status append_edge(parser *p, bool end, bool multiline)
{
    if (!multiline)
        return append_kind(p, end ? TF_REGEX_END : TF_REGEX_BEGIN, 0);
    uint32_t id;
    TF_TRY(make_look(p, '.', TF_REGEX_LOOK_NOT | (end ? 0 : TF_REGEX_LOOK_BEHIND), &id));
    append(p, id, false);
    return TOKFSM_OK;
}

/* \b; with (?i) word characters are more than ASCII, so it is spelled by lookarounds. */
static tokfsm_status append_word(parser *p, bool inverted)
{
    if (!p->r.ignore_case)
        return append_kind(p, TF_REGEX_WORD, inverted);
    tf_regex *regex = p->r.regex;
    uint32_t sides[2], whole;
    for (int side = 0; side < 2; side++) {
        uint32_t behind, ahead;
        int not_behind = side == 0 ? 0 : TF_REGEX_LOOK_NOT;
        int not_ahead = (side == 0) == inverted ? 0 : TF_REGEX_LOOK_NOT;
        TF_TRY(make_look(p, 'w', TF_REGEX_LOOK_BEHIND | not_behind, &behind));
        TF_TRY(make_look(p, 'w', not_ahead, &ahead));
        regex->nodes[behind].next = ahead;
        TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_CAT, .a = behind}, &sides[side]));
    }
    regex->nodes[sides[0]].next = sides[1];
    TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_ALT, .a = sides[0]}, &whole));
    append(p, whole, false);
    return TOKFSM_OK;
}

/* ---- quantifiers ---- */

static uint32_t number(tf_reader *r)
{
    uint32_t value = 0;
    while (!tf_reader_end(r) && r->text[r->at] >= '0' && r->text[r->at] <= '9') {
        uint32_t digit = (uint32_t)(r->text[r->at++] - '0');
        value = value > 400000000u ? 4000000000u : value * 10 + digit;
    }
    return value;
}

/* `{n}` `{n,}` `{n,m}` at the place; anything else is no quantifier (Annex B). */
static bool braces(tf_reader *r, uint32_t *min, uint32_t *max)
{
    size_t from = r->at;
    r->at++;
    size_t digits = r->at;
    *min = *max = number(r);
    bool fine = r->at > digits;
    if (fine && tf_reader_skip(r, ",")) {
        digits = r->at;
        *max = number(r);
        if (r->at == digits)
            *max = TF_REGEX_UNBOUNDED;
    }
    fine = fine && tf_reader_skip(r, "}");
    if (!fine)
        r->at = from;
    return fine;
}

static tokfsm_status quantify(parser *p, size_t where, uint32_t min, uint32_t max)
{
    group *g = &p->groups[p->n_groups - 1];
    tf_regex *regex = p->r.regex;
    if (!g->repeatable) {
        if (p->r.text[where] == '+' && g->last != TF_REGEX_NONE &&
            regex->nodes[g->last].kind == TF_REGEX_REPEAT)
            return tf_reader_unsupported(&p->r, where, "possessive quantifiers are not ECMA-262");
        return tf_reader_invalid(&p->r, where, "nothing to repeat");
    }
    if (min > max)
        return tf_reader_invalid(&p->r, where, "a quantifier whose bounds go down");
    tf_reader_skip(&p->r, "?"); /* lazy: the same language */
    uint32_t id;
    TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_REPEAT, .a = g->last, .min = min, .max = max},
                &id));
    if (g->before_last == TF_REGEX_NONE)
        g->first = id;
    else
        regex->nodes[g->before_last].next = id;
    g->last = id;
    g->repeatable = false;
    return TOKFSM_OK;
}

/* ---- groups ---- */

static tokfsm_status open_group(parser *p, size_t where, int look)
{
    tf_reader *r = &p->r;
    if (p->n_groups > TF_REGEX_MAX_DEPTH)
        return tf_fail_at(r->err, TOKFSM_E_LIMIT, where,
                          "pattern at offset %zu: more than %d groups in groups", where,
                          TF_REGEX_MAX_DEPTH);
    if (look >= 0)
        TF_TRY(count_look(p, where, look));
    uint32_t capacity = (uint32_t)p->groups_capacity;
    if (!tf_arena_grow(r->arena, (void **)&p->groups, (uint32_t)p->n_groups, &capacity, 16,
                       sizeof *p->groups))
        return tf_reader_no_memory(r);
    p->groups_capacity = capacity;
    bool behind = p->n_groups > 0 && p->groups[p->n_groups - 1].behind;
    p->groups[p->n_groups++] = (group){
        .first_alternative = TF_REGEX_NONE, .last_alternative = TF_REGEX_NONE,
        .first = TF_REGEX_NONE, .last = TF_REGEX_NONE, .before_last = TF_REGEX_NONE,
        .where = where, .look = look,
        .behind = behind || (look >= 0 && (look & TF_REGEX_LOOK_BEHIND)),
        .ignore_case = r->ignore_case, .multiline = r->multiline, .dot_all = r->dot_all};
    return TOKFSM_OK;
}

/* `|`, or the end of the group: the sequence becomes an alternative. */
static tokfsm_status end_alternative(parser *p)
{
    group *g = &p->groups[p->n_groups - 1];
    tf_regex *regex = p->r.regex;
    uint32_t id = g->first;
    if (g->first == TF_REGEX_NONE)
        TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_EMPTY}, &id));
    else if (g->first != g->last)
        TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_CAT, .a = g->first}, &id));
    if (g->first_alternative == TF_REGEX_NONE)
        g->first_alternative = id;
    else
        regex->nodes[g->last_alternative].next = id;
    g->last_alternative = id;
    g->first = g->last = g->before_last = TF_REGEX_NONE;
    g->repeatable = false;
    return TOKFSM_OK;
}

static tokfsm_status close_group(parser *p, uint32_t *id)
{
    TF_TRY(end_alternative(p));
    group g = p->groups[p->n_groups - 1];
    *id = g.first_alternative;
    if (g.first_alternative != g.last_alternative)
        TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_ALT, .a = g.first_alternative}, id));
    if (g.look >= 0)
        TF_TRY(make(p, (tf_regex_node){.kind = TF_REGEX_LOOK, .a = *id, .min = (uint32_t)g.look},
                    id));
    p->r.ignore_case = g.ignore_case;
    p->r.multiline = g.multiline;
    p->r.dot_all = g.dot_all;
    p->n_groups--;
    return TOKFSM_OK;
}

/* After `(?<` or `(?P<`: the name and its `>`. */
static tokfsm_status group_name(tf_reader *r, size_t where)
{
    size_t from = r->at;
    while (!tf_reader_end(r) && r->text[r->at] != '>') {
        uint32_t c = tf_reader_take(r);
        bool digit = c >= '0' && c <= '9';
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        if (!letter && c < 0x80 && (!digit || r->at == from + 1))
            return tf_reader_invalid(r, where, "a group name is an identifier");
    }
    if (r->at == from || !tf_reader_skip(r, ">"))
        return tf_reader_invalid(r, where, "a group name is an identifier and ends with >");
    return TOKFSM_OK;
}

/* After `(?`: flags, then `:` (a group) or `)` (to the end of the group around). */
static tokfsm_status modifiers(parser *p, size_t where)
{
    tf_reader *r = &p->r;
    bool on = true, ignore_case = r->ignore_case, multiline = r->multiline, dot_all = r->dot_all;
    size_t from = r->at;
    for (; !tf_reader_end(r); r->at++) {
        char c = r->text[r->at];
        if (c == '-' && on)
            on = false;
        else if (c == 'i')
            ignore_case = on;
        else if (c == 'm')
            multiline = on;
        else if (c == 's')
            dot_all = on;
        else
            break;
    }
    bool group_follows = tf_reader_skip(r, ":");
    if (r->at == from || !(group_follows || tf_reader_skip(r, ")"))) {
        if (!tf_reader_end(r) && r->text[r->at] > ' ' && strchr("xXaLuUnJ^>|(#R&'P0123456789+-C", r->text[r->at]) != NULL)
            return tf_reader_unsupported(r, where, r->text[r->at] == '>'
                                         ? "atomic groups are not ECMA-262"
                                         : "this kind of group `(?` is not ECMA-262");
        return tf_reader_invalid(r, where, "no such kind of group");
    }
    if (group_follows)
        TF_TRY(open_group(p, where, -1));
    r->ignore_case = ignore_case;
    r->multiline = multiline;
    r->dot_all = dot_all;
    return TOKFSM_OK;
}

static tokfsm_status parenthesis(parser *p)
{
    tf_reader *r = &p->r;
    size_t where = r->at - 1;
    if (!tf_reader_skip(r, "?"))
        return open_group(p, where, -1);
    if (tf_reader_skip(r, ":"))
        return open_group(p, where, -1);
    if (tf_reader_skip(r, "="))
        return open_group(p, where, 0);
    if (tf_reader_skip(r, "!"))
        return open_group(p, where, TF_REGEX_LOOK_NOT);
    if (tf_reader_skip(r, "<="))
        return open_group(p, where, TF_REGEX_LOOK_BEHIND);
    if (tf_reader_skip(r, "<!"))
        return open_group(p, where, TF_REGEX_LOOK_BEHIND | TF_REGEX_LOOK_NOT);
    if (tf_reader_skip(r, "<") || tf_reader_skip(r, "P<")) {
        TF_TRY(group_name(r, where));
        return open_group(p, where, -1);
    }
    if (tf_reader_sees(r, "P=") || tf_reader_sees(r, "P>"))
        return tf_reader_unsupported(r, where, "back-references and calls are not regular");
    return modifiers(p, where);
}

/* Capturing groups of the whole text: what \1 may mean. */
static void count_groups(tf_reader *r)
{
    bool in_class = false;
    for (size_t i = 0; i < r->n; i++) {
        char c = r->text[i];
        if (c == '\\')
            i++;
        else if (c == '[')
            in_class = true;
        else if (c == ']')
            in_class = false;
        else if (c == '(' && !in_class) {
            bool special = i + 1 < r->n && r->text[i + 1] == '?';
            size_t at = i + 2;
            if (special && at < r->n && r->text[at] == 'P')
                at++;
            bool named = special && at + 1 < r->n && r->text[at] == '<' &&
                         r->text[at + 1] != '=' && r->text[at + 1] != '!';
            r->n_groups += !special || named;
            r->named |= named;
        }
    }
}

/* ---- the text ---- */

static tokfsm_status escape(parser *p)
{
    tf_escape kind;
    uint32_t c = 0;
    tf_charset set = {NULL, 0, 0};
    TF_TRY(tf_reader_escape(&p->r, false, &kind, &c, &set));
    switch (kind) {
    case TF_ESCAPE_CHARACTER: return append_character(p, c);
    case TF_ESCAPE_WORD: return append_word(p, false);
    case TF_ESCAPE_NOT_WORD: return append_word(p, true);
    case TF_ESCAPE_BEGIN: return append_edge(p, false, false);
    case TF_ESCAPE_END: return append_edge(p, true, false);
    default: break;
    }
    if (p->r.ignore_case && !tf_charset_close_case(p->r.arena, &set))
        return tf_reader_no_memory(&p->r);
    return append_set(p, &set);
}

static tokfsm_status item(parser *p)
{
    tf_reader *r = &p->r;
    size_t where = r->at;
    uint32_t min, max;
    tf_charset set = {NULL, 0, 0};
    if (r->text[where] == '{') {
        if (braces(r, &min, &max))
            return quantify(p, where, min, max);
        r->at++;
        return append_character(p, '{');
    }
    uint32_t c = tf_reader_take(r);
    switch (c) {
    case '*': return quantify(p, where, 0, TF_REGEX_UNBOUNDED);
    case '+': return quantify(p, where, 1, TF_REGEX_UNBOUNDED);
    case '?': return quantify(p, where, 0, 1);
    case '^': return append_edge(p, false, r->multiline);
    case '$': return append_edge(p, true, r->multiline);
    case '(': return parenthesis(p);
    case '|': return end_alternative(p);
    case '\\': return escape(p);
    case '[':
        TF_TRY(tf_reader_class(r, &set));
        return append_set(p, &set);
    case '.':
        if (r->dot_all ? !tf_charset_add(r->arena, &set, 0, TF_CODE_POINT_MAX)
                       : !tf_reader_shorthand(r, '.', &set))
            return tf_reader_no_memory(r);
        return append_set(p, &set);
    case ')': {
        uint32_t id;
        if (p->n_groups < 2)
            return tf_reader_invalid(r, where, ") without (");
        bool behind = p->groups[p->n_groups - 1].look >= 0 &&
                      (p->groups[p->n_groups - 1].look & TF_REGEX_LOOK_BEHIND);
        TF_TRY(close_group(p, &id));
        append(p, id, !behind);
        return TOKFSM_OK;
    }
    default: return append_character(p, c);
    }
}

tokfsm_status tf_parse_regex(tf_regex *regex, const char *text, size_t n, tf_arena *arena,
                             tf_budget *budget, tokfsm_error *err)
{
    parser p = {.r = {.text = text, .n = n, .arena = arena, .budget = budget, .err = err,
                      .regex = regex}};
    regex->n_nodes = regex->n_looks = 0;
    count_groups(&p.r);
    TF_TRY(open_group(&p, 0, -1));
    while (!tf_reader_end(&p.r)) {
        TF_TRY(tf_spend(budget, err));
        TF_TRY(item(&p));
    }
    if (p.n_groups > 1)
        return tf_reader_invalid(&p.r, p.groups[p.n_groups - 1].where, "( without )");
    return close_group(&p, &regex->root);
}

tokfsm_status tf_parse_literal(tf_regex *regex, const char *text, size_t n, tf_arena *arena,
                               tf_budget *budget, tokfsm_error *err)
{
    parser p = {.r = {.text = text, .n = n, .arena = arena, .budget = budget, .err = err,
                      .regex = regex}};
    regex->n_nodes = regex->n_looks = 0;
    TF_TRY(open_group(&p, 0, -1));
    TF_TRY(append_edge(&p, false, false));
    while (!tf_reader_end(&p.r))
        TF_TRY(append_character(&p, tf_reader_take(&p.r)));
    TF_TRY(append_edge(&p, true, false));
    return close_group(&p, &regex->root);
}
