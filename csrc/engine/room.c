/*
 * How many values there are, counted from below: of a position, and of what is being written.
 * More than are taken already means that one is left. Nothing here has to be found: what these
 * counts miss is searched for (search.c). UINT64_MAX: without end.
 *
 * All counts are of values over the bytes that are tokens by themselves.
 */
#include "counters.h"
#include "name_content.h"
#include "unique.h"

static const uint64_t ENDLESS = UINT64_MAX;
static const uint64_t MANY_NAMES = (uint64_t)1 << 62; /* more than any text has: counts of names */

/* ---- scalars ---- */

/* Characters that one such byte each writes raw. */
static uint64_t plain_characters(const tf_machine *m)
{
    uint64_t n = 0;
    for (uint32_t byte = 0x20; byte < 0x7F; byte++)
        n += byte != '"' && byte != '\\' && tf_has_byte(m, (uint8_t)byte);
    return n;
}

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t most)
{
    uint64_t value = 1;
    if (base < 2)
        return base == 0 && exponent > 0 ? 0 : 1;
    for (; exponent > 0 && value <= most; exponent--)
        value = value > most / base ? most + 1 : value * base;
    return value;
}

/* Strings of a language that go on from a state, n characters in, to a length from least to last.
   Of each length that is there one is counted, where lengths are known; else all. */
static uint64_t language_room(const tf_content_state *state, uint32_t language, uint64_t n,
                              uint64_t least, uint64_t last, uint64_t most)
{
    if (state == NULL || !tf_word_bit(state->live, language))
        return 0;
    if (state->lengths == NULL)
        return state->counts == NULL ? 1 : state->counts[language];
    if (state->content->has_lengths != TF_LENGTHS_ALL)
        return tf_content_meets(state, language, n, least, last);
    const tf_lengths *l = state->lengths[language];
    if (last == UINT64_MAX && l->longest == UINT64_MAX)
        return ENDLESS;
    uint64_t found = 0, at = least > n ? least : n;
    for (; at <= last && found <= most && at - n <= most + l->n_prefix; at++)
        found += tf_content_meets(state, language, n, at, at);
    return found;
}

/*
 * Strings for obligation j that begin with n characters of which nothing more is known than that
 * their content is at `state` (NULL: or nothing at all); of the literals only those from `low` to
 * `high`.
 */
static uint64_t string_room(tf_run *run, const tf_strings *s, const tf_content_state *state,
                            uint64_t n, bool whole, uint32_t low, uint32_t high, uint32_t j,
                            uint64_t most)
{
    uint64_t literals = 0, taken = s->n_literals, found = 0;
    for (uint32_t i = low; i < high && literals <= most; i++)
        literals += tf_word_bit(s->literals[i].end, j);
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        uint64_t from = s->breaks[i].from > n ? s->breaks[i].from : n;
        uint64_t last = tf_break_last(s, i);
        uint32_t language = s->breaks[i].language == NULL ? TF_NONE : s->breaks[i].language[j];
        if (last >= from && language != TF_NONE) {
            uint64_t here = language_room(state, language, n, from, last, most + taken);
            if (here == ENDLESS)
                return ENDLESS;
            found = here > found ? here : found;
        }
        if (last < from || !tf_word_bit(s->breaks[i].outcome, j))
            continue;
        if (last == UINT64_MAX && run->m->char_tokens != TF_COST_NONE)
            return ENDLESS;
        if (last == UINT64_MAX || (last == n && !whole))
            continue;
        uint64_t here = power(plain_characters(run->m), last - n, most + taken);
        found = here > found ? here : found;
    }
    return literals + (found > taken ? found - taken : 0);
}

/* Numbers for obligation j from a state on, which `text` led to, exponents left out, the shortest
   first; few states are looked at. `alive`: what the rules of spelling look at. */
static uint64_t number_room(tf_run *run, const tf_nstate *from, const tf_text *text,
                            const uint64_t *alive, uint32_t j, uint64_t most)
{
    bool pointed_before = false, minus = text != NULL && text->length == 1 && text->bytes[0] == '-';
    for (const tf_text *t = text; t != NULL; t = t->previous) {
        pointed_before |= t->bytes[0] == '.';
        if ((t->bytes[0] | 0x20) == 'e')
            return tf_word_bit(from->end, j);
    }
    static const char bytes[] = "123456789-.0";
    const tf_number_rules *rules = from->rules;
    /* A digit that leads to the same place again and again, where the number may end. */
    const tf_nstate *at = from;
    for (uint32_t i = 0; i < 4; i++) {
        const tf_nstate *next = tf_number_step(run->m, at, '1', &run->call);
        if (next == NULL || next == &tf_number_dead || !tf_has_byte(run->m, '1'))
            break;
        if (next == at && tf_word_bit(at->end, j))
            return ENDLESS;
        at = next;
    }
    uint64_t n = tf_word_bit(from->end, j);
    uint32_t room = most > 1000 ? 2200 : (uint32_t)most * 2 + 200, n_queued = 0;
    typedef struct queued {
        const tf_nstate *state;
        bool pointed, nothing; /* past the point; `-` or `-0` */
    } queued;
    queued *queue = tf_arena_take(run->arena, room * sizeof *queue);
    if (queue == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a count");
        return 0;
    }
    if (n > most)
        return n;
    queue[n_queued++] = (queued){from, pointed_before, minus};
    for (uint32_t i = 0; i < n_queued && n <= most; i++)
        for (const char *byte = bytes; *byte != '\0' && n <= most; byte++) {
            queued here = queue[i];
            if (!tf_has_byte(run->m, (uint8_t)*byte) || n_queued == room || !tf_run_spend(run))
                continue;
            if (*byte == '.') {
                bool fraction = run->m->options.numbers != TOKFSM_NUMBERS_PLAIN;
                for (uint32_t w = 0; w < rules->n_words; w++)
                    fraction |= (here.state->live[w] & alive[w] & ~rules->integers_only[w]) != 0;
                if (!fraction)
                    continue;
            }
            const tf_nstate *next = tf_number_step(run->m, here.state, (uint8_t)*byte, &run->call);
            if (next == NULL)
                return 0;
            if (next == &tf_number_dead || !tf_word_bit(next->live, j))
                continue;
            bool pointed = here.pointed || *byte == '.';
            bool nothing = *byte == '-' || (here.nothing && *byte == '0');
            /* -0 is 0, and zeros at the end of a fraction add nothing. */
            n += tf_word_bit(next->end, j) && !(pointed && (*byte == '0' || *byte == '.')) && !nothing;
            queue[n_queued++] = (queued){next, pointed, nothing};
        }
    return n;
}

/* ---- whole values ---- */

static uint64_t edge_room(tf_run *run, const tf_kind *kind, uint32_t index, uint32_t a,
                          uint64_t most, uint32_t nesting)
{
    const tf_edge *edge = tf_kind_edge(run->m, kind, index, &run->call);
    if (edge == NULL || edge->value == NULL || !tf_word_bit(edge->admits, a) ||
        tf_n_counters(kind, a) > 0)
        return 0; /* what a child counts as may be bound to the others */
    return tf_value_room(run, edge->value, *tf_edge_signs(kind, edge, a), most, nesting);
}

/* Objects of alternative a that differ in what comes after `count` members; `seen` is what is
   there already, or NULL. */
static uint64_t members_room(tf_run *run, const tf_kind *kind, uint32_t a, uint64_t count,
                             const uint32_t *seen, uint64_t most, uint32_t nesting)
{
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    uint64_t to_come = 0, best = 0;
    for (uint32_t w = 0; w < kind->name_words; w++)
        for (uint32_t left = required[w] & ~(seen == NULL ? 0 : seen[w]); left != 0; left &= left - 1)
            to_come++;
    if (tf_n_counters(kind, a) > 0)
        return 0;
    for (uint32_t i = 0; i < kind->n_others && kind->name_sets == 0; i++) {
        const tf_edge *other = tf_kind_edge(run->m, kind, kind->n_names + i, &run->call);
        const tf_content *content = kind->names.content;
        if (other == NULL)
            return 0;
        bool endless = content == NULL || !content->has_counts ||
                       (content->start != NULL && content->start->counts[i] >= MANY_NAMES);
        if (tf_word_bit(other->admits, a) && endless && count + to_come < kind->max_items[a] &&
            run->m->char_tokens != TF_COST_NONE && run->m->bytes_complete)
            return ENDLESS;
    }
    for (uint32_t k = 0; k < kind->n_names && best <= most; k++) {
        bool is_required = required[k / 32] >> (k % 32) & 1u;
        if ((seen != NULL && (seen[k / 32] >> (k % 32) & 1u)) || !tf_run_spend(run) ||
            (!is_required && (kind->rank != NULL || count + to_come >= kind->max_items[a])))
            continue; /* in the schema's order a name may be passed over */
        uint64_t n = edge_room(run, kind, k, a, most, nesting);
        best = n > best ? n : best;
    }
    return best;
}

/* Arrays of alternative a that differ in what comes after `count` items. */
static uint64_t items_room(tf_run *run, const tf_kind *kind, uint32_t a, uint64_t count,
                           uint64_t most, uint32_t nesting)
{
    if ((kind->twins != NULL && kind->twins[a].second != TF_NONE) || tf_n_counters(kind, a) > 0)
        return 0; /* what is to come may be bound to what is there */
    if (kind->matched != NULL && tf_word_bit(kind->matched, a))
        return 0;
    bool unique = kind->unique != NULL && tf_word_bit(kind->unique, a);
    uint64_t best = 0;
    for (uint32_t i = 0; i < kind->n_classes && best <= most; i++) {
        uint64_t end = i + 1 < kind->n_classes ? kind->first[i + 1] : UINT64_MAX;
        if (end <= count || kind->first[i] >= kind->max_items[a] || !tf_run_spend(run))
            continue;
        uint64_t n = edge_room(run, kind, i, a, most, nesting);
        if (n == 0)
            break; /* and none behind it */
        if (!unique && end == UINT64_MAX && kind->max_items[a] == UINT64_MAX)
            n = ENDLESS;
        else if (unique && n != ENDLESS)
            n = n > count + 1 ? n - count - 1 : 0;
        best = n > best ? n : best;
    }
    return best;
}

uint64_t tf_value_room(tf_run *run, const tf_value *value, uint32_t j, uint64_t most,
                       uint32_t nesting)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < TF_N_LITERALS; i++)
        n += tf_word_bit(value->literal[i], j);
    const tf_strings *s = tf_value_strings(run->m, value, &run->call);
    if (s != NULL && s != &tf_no_strings) {
        const tf_content_state *state = s->content == NULL ? NULL : s->content->start;
        uint64_t strings = string_room(run, s, state, 0, false, 0, s->n_literals, j, most);
        n = strings > ENDLESS - n ? ENDLESS : n + strings;
    }
    const tf_nstate *start = n > most ? NULL : tf_value_number(run->m, value, &run->call);
    if (start != NULL && start != &tf_number_dead) {
        tf_scratch_words only;
        memset(only.words, 0, value->n_words * sizeof *only.words);
        tf_word_set(only.words, j);
        n += number_room(run, start, NULL, only.words, j, most - n);
    }
    if (n > most || nesting == 0)
        return n;
    uint64_t containers = 0;
    for (int object = 1; object >= 0 && containers <= most; object--) {
        const tf_kind *kind = tf_value_kind(run->m, value, object, &run->call);
        if (kind == NULL || kind == &tf_no_kind)
            continue;
        for (uint32_t a = 0; a < kind->n_alternatives && containers <= most; a++) {
            if (!tf_word_bit(kind->outcome[a], j))
                continue;
            uint64_t found = object ? members_room(run, kind, a, 0, NULL, most, nesting - 1)
                                    : items_room(run, kind, a, 0, most, nesting - 1);
            found = found == 0 && run->m->bytes_complete ? 1 : found; /* it can be satisfied */
            containers = found > containers ? found : containers;
        }
    }
    return containers > ENDLESS - n ? ENDLESS : n + containers;
}

/* ---- what is being written ---- */

typedef struct rooms {
    uint64_t of[TF_MAX_ALTERNATIVES];
} rooms;

enum { NESTING = 3 };

/* Values that the one in progress can become, by obligation. */
static void lexeme_rooms(tf_run *run, const tf_configuration *c, uint64_t most, rooms *out)
{
    const tf_value *value = c->value;
    const uint64_t *alive = tf_words(&c->alive, value->n_words);
    for (uint32_t j = 0; j < value->n; j++) {
        out->of[j] = 0;
        if (!tf_word_bit(alive, j))
            continue;
        switch (c->mode) {
        case TF_IN_STRING: {
            bool on = c->literal == TF_ON;
            out->of[j] = string_room(run, c->at, tf_in_escape(c) ? NULL : c->content, c->n, false,
                                     on ? c->low : 0, on ? c->high : 0, j, most);
            break;
        }
        case TF_IN_NUMBER: out->of[j] = number_room(run, c->at, c->text, alive, j, most); break;
        case TF_IN_LITERAL: out->of[j] = tf_word_bit(value->literal[c->low], j); break;
        default: out->of[j] = tf_value_room(run, value, j, most, NESTING); break;
        }
    }
}

/* Containers that the innermost one can become by its next name, or by nothing in particular. */
static bool goes_on(tf_run *run, const tf_configuration *c, uint32_t a)
{
    if ((c->mode != TF_IN_NAME && c->mode != TF_AT_NAME) ||
        (c->mode == TF_AT_NAME && c->gap == TF_GAP_OPEN && c->n == 0))
        return run->m->bytes_complete;
    const tf_frame *frame = c->top;
    tf_scratch_words alive;
    bool in = c->mode == TF_IN_NAME, on = !in || c->literal == TF_ON;
    if (tf_other_name_live(run, c, a))
        return run->m->bytes_complete;
    for (uint32_t k = in ? c->low : 0; on && k < (in ? c->high : frame->kind->n_names); k++)
        if (tf_name_open(run, frame, k, alive.words) && tf_word_bit(alive.words, a))
            return run->m->bytes_complete;
    return false;
}

static uint64_t n_children(const tf_frame *frame)
{
    uint64_t n = frame->count;
    return n > 0 ? n - 1 : 0; /* at most: without the one at hand */
}

/* Items of alternative a that are to come and that a match can hold against the one at hand. */
static uint64_t to_match(const tf_frame *frame, uint32_t a)
{
    const tf_kind *kind = frame->kind;
    if (kind->matched == NULL || !tf_word_bit(kind->matched, a))
        return 0;
    return kind->min_items[a] > frame->count ? kind->min_items[a] - frame->count : 0;
}

/* The line break before the bracket is written, so nothing else can come. */
static bool closing(const tf_run *run, const tf_configuration *c)
{
    return c->mode == TF_AT_AFTER && c->n > 0 &&
           run->m->options.whitespace == TOKFSM_WHITESPACE_INDENT;
}

/* Of the child at hand, whatever it may count as for alternative a. */
static uint64_t room_of_child(tf_run *run, const tf_frame *frame, uint32_t a, const rooms *values)
{
    uint64_t open = 1;
    if (tf_n_counters(frame->kind, a) > 0)
        open = frame->kind->is_object ? tf_name_signs(run, frame, a, frame->last - 1, true)
                                      : tf_item_signs(run, frame, a, frame->count - 1);
    const uint32_t *signs = tf_edge_signs(frame->kind, frame->edge, a);
    uint64_t best = 0;
    for (uint32_t s = 0; s < 1u << tf_n_counters(frame->kind, a); s++)
        if ((open >> s & 1u) && signs[s] != TF_NONE && values->of[signs[s]] > best)
            best = values->of[signs[s]];
    return best;
}

static uint64_t frame_room(tf_run *run, const tf_configuration *c, const tf_frame *frame,
                           uint32_t a, uint64_t child, uint64_t most)
{
    const tf_kind *kind = frame->kind;
    bool at_hand = tf_item_at_hand(c, frame);
    if (child == 0)
        return 0;
    uint64_t n = child;
    if (!kind->is_object && at_hand && !frame->unchecked) {
        uint64_t taken = n_children(frame) + to_match(frame, a);
        if (kind->unique != NULL && tf_word_bit(kind->unique, a) && n != ENDLESS)
            n = n > taken ? n - taken : 0;
        if (kind->twins != NULL && tf_twins_wanting(frame, a) && tf_twins_last_chance(frame, a))
            n = 0;
    }
    if (n == 0 || n > most || (frame == c->top && closing(run, c)))
        return n;
    uint64_t more = kind->is_object ? members_room(run, kind, a, frame->count, frame->seen, most, NESTING)
                                    : items_room(run, kind, a, frame->count, most, NESTING);
    return more > n ? more : n;
}

bool tf_room_suffices(tf_run *run, const tf_configuration *c, const tf_frame *watch)
{
    rooms values, frames;
    uint64_t most = 1;
    for (const tf_frame *frame = c->top;; frame = frame->parent) {
        if (!frame->kind->is_object)
            most += n_children(frame);
        for (uint32_t a = 0; frame->kind->matched != NULL && a < frame->kind->n_alternatives; a++)
            most += to_match(frame, a);
        if (frame == watch)
            break;
    }
    bool value = c->mode == TF_IN_STRING || c->mode == TF_IN_NUMBER || c->mode == TF_IN_LITERAL ||
                 (c->mode == TF_AT_VALUE && c->gap != TF_GAP_OPEN);
    if (value)
        lexeme_rooms(run, c, most, &values);
    tf_arena_mark mark = tf_arena_here(run->arena);
    bool any = false;
    for (const tf_frame *frame = c->top;; frame = frame->parent) {
        const tf_kind *kind = frame->kind;
        const uint64_t *alive = tf_frame_alive(frame);
        any = false;
        for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive, kind->alternative_words, a + 1)) {
            uint64_t child;
            if (frame != c->top || value)
                child = room_of_child(run, frame, a, &values);
            else if (c->mode == TF_AT_COLON)
                child = tf_n_counters(kind, a) > 0
                            ? 0
                            : tf_value_room(run, frame->edge->value,
                                            *tf_edge_signs(kind, frame->edge, a), most, NESTING);
            else
                child = goes_on(run, c, a);
            frames.of[a] = frame_room(run, c, frame, a, child, most);
            any |= frames.of[a] > 0;
        }
        if (!any || frame == watch || run->call.status != TOKFSM_OK)
            break;
        for (uint32_t j = 0; j < kind->value->n; j++) {
            values.of[j] = 0;
            for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
                 a = tf_words_next(alive, kind->alternative_words, a + 1))
                if (tf_word_bit(kind->outcome[a], j) && frames.of[a] > values.of[j])
                    values.of[j] = frames.of[a];
        }
    }
    tf_arena_back(run->arena, mark);
    return any && run->call.status == TOKFSM_OK;
}

/* ---- for masks ---- */

bool tf_unique_neutral(tf_run *run, const tf_configuration *c)
{
    uint64_t taken = 2;
    for (const tf_frame *frame = c->top; frame != NULL && frame->collects; frame = frame->parent) {
        const tf_kind *kind = frame->kind;
        if (kind->unique == NULL && kind->twins == NULL)
            continue;
        const uint64_t *alive = tf_frame_alive(frame);
        if (kind->matched != NULL && tf_words_meet(kind->matched, alive, kind->alternative_words))
            return false;
        taken += frame->count;
        for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive, kind->alternative_words, a + 1)) {
            if (kind->twins != NULL && kind->twins[a].second != TF_NONE)
                return false;
            if (kind->unique == NULL || !tf_word_bit(kind->unique, a) ||
                frame->count >= kind->max_items[a])
                continue;
            if (edge_room(run, kind, tf_item_class(kind, frame->count), a, taken, NESTING) <= taken)
                return false;
        }
        for (const tf_child *child = frame->children; child != NULL; child = child->previous)
            if (tf_item_at_hand(c, frame) && tf_item_reachable(run, c, frame, child->value, 0))
                return false;
    }
    return run->call.status == TOKFSM_OK;
}

bool tf_unique_strings(tf_run *run, const tf_configuration *c)
{
    for (const tf_frame *frame = c->top; frame != NULL && frame->collects; frame = frame->parent) {
        const tf_kind *kind = frame->kind;
        const uint64_t *alive = tf_frame_alive(frame);
        if (kind->is_object || kind->unique == NULL)
            continue;
        const tf_edge *edge =
            tf_kind_edge(run->m, kind, tf_item_class(kind, frame->count), &run->call);
        if (edge == NULL || edge->value == NULL)
            return false;
        const tf_strings *s = tf_value_strings(run->m, edge->value, &run->call);
        if (s == NULL || s->n_breaks == 0)
            return false;
        const uint64_t *endless = s->breaks[s->n_breaks - 1].outcome;
        for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive, kind->alternative_words, a + 1))
            if (!tf_word_bit(edge->admits, a) || tf_n_counters(kind, a) > 0 ||
                !tf_word_bit(endless, *tf_edge_signs(kind, edge, a)))
                return false;
    }
    return true;
}

bool tf_unique_stays(tf_run *run, const tf_configuration *c, uint64_t n_chars)
{
    const tf_frame *watch = tf_unique_watch(c);
    if (watch == NULL)
        return true;
    tf_configuration off = *c;
    off.literal = TF_OFF;
    off.low = off.high = 0;
    off.n += off.mode == TF_IN_STRING ? n_chars : 0;
    return tf_room_suffices(run, &off, watch);
}
