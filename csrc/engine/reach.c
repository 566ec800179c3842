/*
 * Whether what is being written can become equal to a given value: by its text alone, whatever
 * the schema says of it. Exact for all but characters that are not whole yet, where it may say
 * yes too often; never no where it could.
 */
#include "text.h"
#include "unique.h"

static bool no_memory(tf_run *run)
{
    run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for an item");
    return false;
}

/* ---- numbers ---- */

typedef struct digits {
    const uint8_t *text; /* with at most one point among them */
    uint32_t n;
} digits;

/* The digits from the first that is not zero on. */
static uint32_t significant(digits d, uint8_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d.n; i++)
        if (d.text[i] != '.' && (n > 0 || d.text[i] != '0'))
            out[n++] = d.text[i];
    return n;
}

static int64_t exponent_of(const uint8_t *text, uint32_t n, bool *known)
{
    bool negative = n > 0 && text[0] == '-';
    int64_t value = 0;
    *known = n - negative <= 17;
    for (uint32_t i = negative; i < n && *known; i++)
        value = value * 10 + (text[i] - '0');
    return negative ? -value : value;
}

/* The digits of an exponent that are typed so far against the one that is needed. */
static bool exponent_fits(const uint8_t *text, uint32_t n, int64_t needed, bool extend)
{
    uint32_t at = 0;
    if (n > 0 && (text[0] == '-' || text[0] == '+')) {
        if (needed != 0 && (text[0] == '-') != (needed < 0))
            return false;
        at = 1;
    } else if (n > 0 && needed < 0) {
        return false;
    }
    uint8_t reversed[24];
    uint32_t k = 0;
    for (uint64_t left = needed < 0 ? (uint64_t)-needed : (uint64_t)needed; left > 0; left /= 10)
        reversed[k++] = (uint8_t)('0' + left % 10);
    uint32_t zeros = 0;
    for (; at < n && text[at] == '0'; at++)
        zeros++;
    if (extend && zeros > (k == 0 ? 1u : 0u))
        return false; /* no need of more zeros */
    if (n - at > k)
        return false;
    for (; at < n; at++)
        if (text[at] != reversed[--k])
            return false;
    return true;
}

static bool number_reachable(tf_run *run, const uint8_t *text, uint32_t n, const tf_item *target,
                             uint32_t typed)
{
    bool extend = n > typed;
    bool negative = n > 0 && text[0] == '-', zero = target->bytes[0] == '0';
    bool wants_negative = target->bytes[0] == '-';
    if (n > 0 && negative != wants_negative && !(negative && zero))
        return false;
    const uint8_t *s = target->bytes + wants_negative;
    uint32_t n_s = 0;
    while (n_s < target->n - wants_negative && s[n_s] != 'e')
        n_s++;
    digits mantissa = {text + negative, 0};
    while (negative + mantissa.n < n && (mantissa.text[mantissa.n] | 0x20) != 'e')
        mantissa.n++;
    uint8_t *m = tf_arena_take(run->arena, n);
    if (m == NULL)
        return no_memory(run);
    uint32_t n_m = significant(mantissa, m);
    uint32_t point = 0;
    while (point < mantissa.n && mantissa.text[point] != '.')
        point++;
    if (zero)
        return n_m == 0 && !(extend && mantissa.n > point + 2);
    bool exponent = negative + mantissa.n < n, known;
    int64_t last = exponent_of(s + n_s + 1, target->n - wants_negative - n_s - 1, &known);
    if (!known)
        return true;
    int64_t leading = (int64_t)n_s + last; /* the value is 0.s * 10^leading */
    /* The digits typed must be those of the target, zeros behind them. */
    for (uint32_t i = 0; i < n_m; i++)
        if (m[i] != (i < n_s ? s[i] : '0'))
            return false;
    uint32_t n_typed = mantissa.n - (point < mantissa.n); /* digits */
    int64_t mine = (int64_t)point - (int64_t)(n_typed - n_m); /* leading, without an exponent */
    if (exponent) {
        if (n_m < n_s)
            return false;
        return exponent_fits(text + negative + mantissa.n + 1, n - negative - mantissa.n - 1,
                             leading - mine, extend);
    }
    /* Plain: the integer part is a prefix, or whole and the fraction goes on. */
    bool pointed = point < mantissa.n;
    bool plain;
    if (!pointed) {
        int64_t wanted = leading > 0 ? leading : 1; /* digits of the integer part */
        plain = (int64_t)point <= wanted && (point == 0 || (leading > 0 ? n_m == point : n_m == 0));
    } else {
        plain = n_m > 0 ? mine == leading : leading <= 0 && (int64_t)n_typed - 1 <= -leading;
        plain = plain && (leading > 0 ? point == (uint64_t)leading : point == 1 && text[negative] == '0');
    }
    if (plain) {
        /* Zeros behind the last digit: one if a point must be followed by a digit. */
        int64_t places = n_s > leading ? (int64_t)n_s - leading : 0;
        if (pointed && extend && (int64_t)(mantissa.n - point - 1) > (places > 0 ? places : 1))
            return false;
        return true;
    }
    /* An exponent may still come; no zeros are needed before it. */
    return !extend || (n_m > 0 ? n_m <= n_s : !pointed || mantissa.n == point + 1);
}

/* ---- the rest ---- */

/* Whether the digits of a \u so far are the first ones of this character's. */
static bool escape_reachable(const tf_configuration *c, uint32_t code)
{
    static const uint8_t n_digits[TF_N_STR] = {
        [TF_STR_U1] = 1, [TF_STR_U1D] = 1, [TF_STR_U2] = 2, [TF_STR_U2H] = 2, [TF_STR_U3] = 3,
        [TF_STR_U3H] = 3, [TF_STR_HU1] = 1, [TF_STR_HU2] = 2, [TF_STR_HU3] = 3};
    uint32_t first = code, second = 0, left = 4 * (4 - (uint32_t)n_digits[c->sub]);
    if (code >= 0x10000) {
        first = 0xD800 + ((code - 0x10000) >> 10);
        second = 0xDC00 + (code & 0x3FFu);
    }
    if (c->sub >= TF_STR_HS && c->sub <= TF_STR_HU3) {
        if (c->hex >> 16 != first || second == 0)
            return false;
        return c->sub < TF_STR_HU1 || (c->hex & 0xFFFFu) == second >> left;
    }
    return n_digits[c->sub] == 0 || c->hex == first >> left;
}

static bool string_reachable(tf_run *run, const tf_configuration *c, const tf_text *text,
                             const uint8_t *bytes, uint32_t n)
{
    const tf_strings *s = c->at;
    if (c->literal == TF_ON &&
        !tf_text_leave(run, c->low < c->high ? &s->literals[c->low] : NULL, c->pos, &text))
        return true;
    uint32_t length = text == NULL ? 0 : text->length;
    if (length > n || (length == n && c->sub != TF_STR_NORMAL))
        return false;
    for (; text != NULL; text = text->previous)
        if (memcmp(text->more ? text->more : text->bytes, bytes + text->length - text->n, text->n) != 0)
            return false;
    return c->sub == TF_STR_NORMAL || c->sub >= TF_STR_C1 ||
           escape_reachable(c, tf_utf8_code(bytes + length));
}

static bool lexeme_reachable(tf_run *run, const tf_configuration *c, const tf_item *target,
                             uint32_t typed)
{
    switch (c->mode) {
    case TF_IN_STRING:
        return target->type == TF_ITEM_STRING &&
               string_reachable(run, c, c->text, target->bytes, target->n);
    case TF_IN_NUMBER: {
        uint32_t n;
        const uint8_t *text = tf_text_flat(run, c->text, &n);
        return text == NULL ||
               (target->type == TF_ITEM_NUMBER && number_reachable(run, text, n, target, typed));
    }
    case TF_IN_LITERAL: return target->type == TF_ITEM_NULL + c->low;
    default: return true;
    }
}

/* What the frame has collected is part of `target`. */
static bool frame_reachable(tf_run *run, const tf_frame *frame, const tf_item *target)
{
    if (target->type != (frame->kind->is_object ? TF_ITEM_OBJECT : TF_ITEM_ARRAY) ||
        target->n < frame->count)
        return false;
    uint64_t n = 0;
    for (const tf_child *child = frame->children; child != NULL; child = child->previous)
        n++;
    for (const tf_child *child = frame->children; child != NULL; child = child->previous) {
        const tf_item *other = frame->kind->is_object
                                   ? tf_item_member(target, child->name, child->n_name)
                                   : tf_item_at(target, --n);
        if (other == NULL || !tf_item_equal(run, other, child->value))
            return false;
    }
    return true;
}

/* The member of `target` whose name was written last. */
static const tf_item *member_at_hand(tf_run *run, const tf_frame *frame, const tf_item *target)
{
    const tf_kind *kind = frame->kind;
    if (frame->last - 1 < kind->n_names)
        return tf_item_member(target, kind->names.literals[frame->last - 1].text,
                              kind->names.literals[frame->last - 1].n_text);
    uint32_t n;
    const uint8_t *name = tf_text_flat(run, frame->emitted->name, &n);
    return name == NULL ? NULL : tf_item_member(target, name, n);
}

static bool name_reachable(tf_run *run, const tf_configuration *c, const tf_item *target)
{
    for (const tf_child *member = target->last; member != NULL; member = member->previous) {
        bool there = false;
        for (const tf_child *child = c->top->children; child != NULL && !there; child = child->previous)
            there = child->n_name == member->n_name &&
                    (child->n_name == 0 || memcmp(child->name, member->name, child->n_name) == 0);
        if (!there && (c->mode != TF_IN_NAME ||
                       string_reachable(run, c, c->text, member->name, member->n_name)))
            return true;
    }
    return false;
}

bool tf_item_reachable(tf_run *run, const tf_configuration *c, const tf_frame *frame,
                       const tf_item *target, uint32_t typed)
{
    uint32_t n = c->top->depth - frame->depth;
    if (n == 0)
        return lexeme_reachable(run, c, target, typed);
    const tf_frame *small[32], **frames = small;
    if (n > 32 && (frames = tf_arena_take(run->arena, n * sizeof *frames)) == NULL)
        return no_memory(run);
    const tf_frame *at = c->top;
    for (uint32_t i = n; i-- > 0; at = at->parent)
        frames[i] = at;
    for (uint32_t i = 0; i < n; i++) {
        if (!frame_reachable(run, frames[i], target))
            return run->call.status != TOKFSM_OK;
        bool top = i + 1 == n;
        if (top && (c->mode == TF_AT_NAME || c->mode == TF_IN_NAME))
            return (c->mode == TF_AT_NAME && c->gap == TF_GAP_OPEN) || name_reachable(run, c, target);
        if (top && c->mode == TF_AT_AFTER)
            return true;
        if (top && c->mode == TF_AT_VALUE && c->gap == TF_GAP_OPEN)
            return true;
        target = frames[i]->kind->is_object ? member_at_hand(run, frames[i], target)
                                            : tf_item_at(target, frames[i]->count - 1);
        if (target == NULL)
            return false;
    }
    return lexeme_reachable(run, c, target, typed);
}
