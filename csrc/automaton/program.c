/*
 * From the tree to instructions, last one first: what follows is always known. Recursion is
 * bounded by TF_REGEX_MAX_DEPTH of the parser.
 */
#include "program.h"

typedef struct emitter {
    tf_program *p;
    tf_regex *regex;
    tf_arena *arena;
    tf_budget *budget;
    tokfsm_error *err;
} emitter;

static tokfsm_status no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an automaton of patterns");
}

static tokfsm_status emit(emitter *e, tf_op op, uint32_t negated, uint32_t x, uint32_t y, tf_pc *pc)
{
    tf_program *p = e->p;
    TF_TRY(tf_spend(e->budget, e->err));
    if (p->n >= TF_PROGRAM_MAX)
        return tf_fail(e->err, TOKFSM_E_LIMIT,
                       "patterns with more than %d positions (counted repeats are written out)",
                       TF_PROGRAM_MAX);
    if (!tf_arena_grow(e->arena, (void **)&p->code, p->n, &p->capacity, 64, sizeof *p->code))
        return no_memory(e->err);
    *pc = p->n++;
    p->code[*pc] = (tf_instruction){(uint8_t)op, negated != 0, (uint16_t)p->open_behind, x, y};
    return TOKFSM_OK;
}

static tokfsm_status emit_node(emitter *e, uint32_t node, tf_pc next, tf_pc *entry);

static tokfsm_status emit_sequence(emitter *e, uint32_t first, tf_pc next, tf_pc *entry)
{
    uint32_t n = 0;
    for (uint32_t child = first; child != TF_REGEX_NONE; child = e->regex->nodes[child].next)
        n++;
    uint32_t *children = tf_arena_take(e->arena, n * sizeof *children);
    if (children == NULL)
        return no_memory(e->err);
    n = 0;
    for (uint32_t child = first; child != TF_REGEX_NONE; child = e->regex->nodes[child].next)
        children[n++] = child;
    *entry = next;
    while (n > 0)
        TF_TRY(emit_node(e, children[--n], *entry, entry));
    return TOKFSM_OK;
}

static tokfsm_status emit_repeat(emitter *e, const tf_regex_node *node, tf_pc next, tf_pc *entry)
{
    uint32_t copies = node->min;
    *entry = next;
    if (node->max == TF_REGEX_UNBOUNDED) {
        tf_pc loop, body;
        TF_TRY(emit(e, TF_OP_SPLIT, 0, next, next, &loop));
        TF_TRY(emit_node(e, node->a, loop, &body));
        e->p->code[loop].x = body;
        *entry = loop;
        if (copies > 0) {
            *entry = body;
            copies--;
        }
    } else {
        for (uint32_t i = node->min; i < node->max; i++) {
            tf_pc body;
            TF_TRY(emit_node(e, node->a, *entry, &body));
            if (body == *entry) /* the empty pattern */
                break;
            TF_TRY(emit(e, TF_OP_SPLIT, 0, body, next, entry));
        }
    }
    while (copies-- > 0) {
        tf_pc after = *entry;
        TF_TRY(emit_node(e, node->a, after, entry));
        if (*entry == after)
            break;
    }
    return TOKFSM_OK;
}

/* A loop over any text, then `body`; its start goes to *start. */
static tokfsm_status emit_search(emitter *e, uint32_t node, tf_pc end, tf_pc *start)
{
    tf_pc body, any;
    TF_TRY(emit(e, TF_OP_SPLIT, 0, end, end, start));
    TF_TRY(emit_node(e, node, end, &body));
    TF_TRY(emit(e, TF_OP_SET, 0, *start, e->p->any_set, &any));
    e->p->code[*start].x = body;
    e->p->code[*start].y = any;
    return TOKFSM_OK;
}

static tokfsm_status emit_look(emitter *e, const tf_regex_node *node, tf_pc next, tf_pc *entry)
{
    tf_program *p = e->p;
    uint32_t negated = node->min & TF_REGEX_LOOK_NOT;
    if (!(node->min & TF_REGEX_LOOK_BEHIND)) {
        tf_pc body;
        TF_TRY(emit_node(e, node->a, 0, &body));
        p->n_aheads++;
        return emit(e, TF_OP_AHEAD, negated, next, body, entry);
    }
    /* The number of a lookbehind is known only after those within; owners are put right then. */
    uint32_t outer = p->open_behind;
    uint32_t from = p->n, mark = 0x8000u + p->n_behinds;
    tf_pc end, start;
    while (mark == outer)
        mark++;
    p->open_behind = mark;
    TF_TRY(emit(e, TF_OP_BEHIND_MATCH, 0, 0, 0, &end));
    TF_TRY(emit_search(e, node->a, end, &start));
    if (!tf_arena_grow(e->arena, (void **)&p->behinds, p->n_behinds, &p->behinds_capacity, 64,
                       sizeof *p->behinds))
        return no_memory(e->err);
    uint32_t index = p->n_behinds++;
    if (index >= 0x7FFF)
        return tf_fail(e->err, TOKFSM_E_LIMIT, "more than %d lookbehinds", 0x7FFF);
    p->behinds[index] = start;
    for (uint32_t pc = from; pc < p->n; pc++)
        if (p->code[pc].owner == mark)
            p->code[pc].owner = (uint16_t)(index + 1);
    p->open_behind = outer;
    return emit(e, TF_OP_BEHIND, negated, next, index, entry);
}

static tokfsm_status emit_node(emitter *e, uint32_t id, tf_pc next, tf_pc *entry)
{
    const tf_regex_node node = e->regex->nodes[id];
    switch (node.kind) {
    case TF_REGEX_SET: return emit(e, TF_OP_SET, 0, next, node.a, entry);
    case TF_REGEX_CAT: return emit_sequence(e, node.a, next, entry);
    case TF_REGEX_REPEAT: return emit_repeat(e, &node, next, entry);
    case TF_REGEX_BEGIN: return emit(e, TF_OP_BEGIN, 0, next, 0, entry);
    case TF_REGEX_END: return emit(e, TF_OP_END, 0, next, 0, entry);
    case TF_REGEX_WORD:
        e->p->n_words++;
        return emit(e, TF_OP_WORD, node.min, next, 0, entry);
    case TF_REGEX_LOOK: return emit_look(e, &node, next, entry);
    case TF_REGEX_ALT: {
        tf_pc before = TF_REGEX_NONE;
        for (uint32_t child = node.a; child != TF_REGEX_NONE; child = e->regex->nodes[child].next) {
            tf_pc branch;
            TF_TRY(emit_node(e, child, next, &branch));
            if (before != TF_REGEX_NONE)
                TF_TRY(emit(e, TF_OP_SPLIT, 0, before, branch, &branch));
            before = branch;
        }
        *entry = before;
        return TOKFSM_OK;
    }
    default: *entry = next; return TOKFSM_OK;
    }
}

tokfsm_status tf_program_add(tf_program *p, tf_regex *regex, tf_arena *arena, tf_budget *budget,
                             tokfsm_error *err)
{
    emitter e = {p, regex, arena, budget, err};
    tf_pc match;
    if (p->n == 0) {
        tf_charset any = {NULL, 0, 0};
        if (!tf_charset_add(arena, &any, 0, TF_CODE_POINT_MAX))
            return no_memory(err);
        TF_TRY(tf_parse_intern(regex, &any, arena, &p->any_set, err));
        TF_TRY(emit(&e, TF_OP_MATCH, 0, 0, 0, &match));
    }
    tf_pattern pattern = {0, p->n_behinds, 0};
    TF_TRY(emit_search(&e, regex->root, 0, &pattern.start));
    pattern.n_behinds = p->n_behinds - pattern.first_behind;
    if (!tf_arena_grow(arena, (void **)&p->patterns, p->n_patterns, &p->patterns_capacity, 64,
                       sizeof *p->patterns))
        return no_memory(err);
    p->patterns[p->n_patterns++] = pattern;
    return TOKFSM_OK;
}

/* ---- what is known of each place: the least fixpoint ---- */

static uint32_t known_of(const tf_program *p, const tf_regex *regex, tf_pc pc)
{
    const tf_instruction *i = &p->code[pc];
    const uint32_t x = p->known[i->x], reach = TF_PC_BEHIND | TF_PC_SPECIAL;
    const uint32_t edges = TF_PC_BEGIN | TF_PC_WORD;
    switch (i->op) {
    case TF_OP_MATCH:
        return TF_PC_MATCH | TF_PC_ENDS | TF_PC_MAY_END | TF_PC_LIVE | TF_PC_SURE;
    case TF_OP_BEHIND_MATCH:
        return TF_PC_MAY_END | TF_PC_LIVE;
    case TF_OP_SET:
        return (x & reach) | (regex->sets[i->y].n > 0 ? x & (TF_PC_LIVE | TF_PC_SURE) : 0);
    case TF_OP_SPLIT:
        return x | p->known[i->y];
    case TF_OP_BEGIN:
        return TF_PC_BEGIN | (x & (reach | edges));
    case TF_OP_END:
        return (x & (reach | edges | TF_PC_ENDS | TF_PC_MAY_END)) |
               (x & TF_PC_MAY_END ? TF_PC_LIVE : 0) | (x & TF_PC_ENDS ? TF_PC_SURE : 0);
    case TF_OP_WORD:
        return TF_PC_SPECIAL | TF_PC_WORD | (x & (reach | edges | TF_PC_MAY_END | TF_PC_LIVE));
    case TF_OP_AHEAD: {
        uint32_t y = p->known[i->y];
        uint32_t live = i->negated || (y & TF_PC_LIVE) ? TF_PC_LIVE | TF_PC_MAY_END : 0;
        return TF_PC_SPECIAL | (x & live) | ((x | y) & (reach | edges));
    }
    default:
        return TF_PC_SPECIAL | TF_PC_BEHIND | (x & (edges | TF_PC_MAY_END | TF_PC_LIVE));
    }
}

tokfsm_status tf_program_finish(tf_program *p, const tf_regex *regex, tf_arena *arena,
                                tf_budget *budget, tokfsm_error *err)
{
    p->known = tf_arena_zero(arena, p->n * sizeof *p->known);
    if (p->known == NULL)
        return no_memory(err);
    for (bool changed = true; changed;) {
        changed = false;
        for (tf_pc pc = 0; pc < p->n; pc++) {
            TF_TRY(tf_spend(budget, err));
            uint32_t known = known_of(p, regex, pc);
            changed |= known != p->known[pc];
            p->known[pc] = (uint16_t)known;
        }
    }
    return TOKFSM_OK;
}
