/*
 * Parts on first use: one acquire load when the part is there; else the hook makes it under
 * the machine's lock and publishes it with one release store.
 */
#include "machine.h"

#include "../base/lock.h"

const tf_strings tf_no_strings;
const tf_kind tf_no_kind;
const tf_nstate tf_number_dead;
const tf_content_state tf_content_dead;

void tf_machine_lock(tf_machine *m)
{
    if (tf_lock(&m->lock))
        m->hooks->recover(m);
}

void tf_machine_lock_within(tf_machine *m, tf_machine *outer)
{
    if (tf_lock_within(&m->lock, &outer->lock))
        m->hooks->recover(m);
}

void tf_machine_unlock(tf_machine *m) { tf_unlock(&m->lock); }

#define READ(field) atomic_load_explicit(&(field), memory_order_acquire)

/* `field` of a part that is const to everyone but the hook's publication. */
#define PART(field, make)                                                                   \
    do {                                                                                    \
        if (m->hooks == NULL) {                                                             \
            call->status = tf_fail(call->err, TOKFSM_E_INTERNAL, "a part is missing");      \
            return NULL;                                                                    \
        }                                                                                   \
        tf_machine_lock(m);                                                                 \
        part = READ(field);                                                                 \
        if (part == NULL && (part = (make)) != NULL)                                        \
            atomic_store_explicit(&(field), part, memory_order_release);                    \
        tf_machine_unlock(m);                                                               \
        return part;                                                                        \
    } while (0)

const tf_strings *tf_value_strings(tf_machine *m, const tf_value *value, tf_call *call)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    const tf_strings *part = READ(v->strings);
    if (part != NULL)
        return part;
    PART(v->strings, m->hooks->strings(m, value, call));
}

const tf_nstate *tf_value_number(tf_machine *m, const tf_value *value, tf_call *call)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    const tf_nstate *part = READ(v->number);
    if (part != NULL)
        return part;
    PART(v->number, m->hooks->number(m, value, call));
}

uint32_t tf_number_class(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - 48u;
    switch (byte) {
    case '-': return TF_N_MINUS;
    case '.': return TF_N_POINT;
    case 'e':
    case 'E': return TF_N_EXP;
    case '+': return TF_N_PLUS;
    default: return TF_N_CLASSES;
    }
}

const tf_nstate *tf_number_step(tf_machine *m, const tf_nstate *state, uint8_t byte, tf_call *call)
{
    uint32_t class = tf_number_class(byte);
    tf_nstate *s = (tf_nstate *)(uintptr_t)state;
    const tf_nstate *part = READ(s->next[class]);
    if (part != NULL)
        return part;
    PART(s->next[class], m->hooks->number_next(m, state, class, call));
}

const tf_kind *tf_value_kind(tf_machine *m, const tf_value *value, bool object, tf_call *call)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    const tf_kind *part = object ? READ(v->object) : READ(v->array);
    if (part != NULL)
        return part;
    if (object)
        PART(v->object, m->hooks->kind(m, value, true, call));
    PART(v->array, m->hooks->kind(m, value, false, call));
}

const tf_edge *tf_kind_edge(tf_machine *m, const tf_kind *kind, uint32_t index, tf_call *call)
{
    const tf_edge *part = READ(kind->edges[index]);
    if (part != NULL)
        return part;
    PART(kind->edges[index], m->hooks->edge(m, kind, index, call));
}

const tf_cost *tf_value_cost(tf_machine *m, const tf_value *value, tf_call *call)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    const tf_cost *part = READ(v->cost);
    if (part != NULL)
        return part;
    PART(v->cost, m->hooks->value_cost(m, value, call));
}

const uint32_t *tf_number_cost(tf_machine *m, const tf_nstate *state, tf_call *call)
{
    tf_nstate *s = (tf_nstate *)(uintptr_t)state;
    const uint32_t *part = READ(s->cost);
    if (part != NULL)
        return part;
    PART(s->cost, m->hooks->number_cost(m, state, call));
}

const uint32_t *tf_literal_cost(tf_machine *m, const tf_strings *strings, uint32_t literal,
                                bool name, tf_call *call)
{
    const uint32_t *part = READ(strings->literal_costs[literal]);
    if (part != NULL)
        return part;
    PART(strings->literal_costs[literal], m->hooks->literal_cost(m, strings, literal, name, call));
}

const tf_items_cost *tf_kind_items_cost(tf_machine *m, const tf_kind *kind, tf_call *call)
{
    tf_kind *k = (tf_kind *)(uintptr_t)kind;
    const tf_items_cost *part = READ(k->items_cost);
    if (part != NULL)
        return part;
    PART(k->items_cost, m->hooks->items_cost(m, kind, call));
}

const tf_content_state *tf_content_next(tf_machine *m, const tf_content_state *state,
                                        uint32_t class, tf_call *call)
{
    tf_content_state *s = (tf_content_state *)(uintptr_t)state;
    const tf_content_state *part = READ(s->next[class]);
    if (part != NULL)
        return part;
    m = tf_content_maker(m, state->content);
    PART(s->next[class], m->hooks->content_next(m, state, class, call));
}

const uint32_t *tf_content_cost(tf_machine *m, const tf_content_state *state, tf_call *call)
{
    tf_content_state *s = (tf_content_state *)(uintptr_t)state;
    const uint32_t *part = READ(s->cost);
    if (part != NULL)
        return part;
    m = tf_content_maker(m, state->content);
    PART(s->cost, m->hooks->content_cost(m, state, call));
}

/*
 * A free string is filled with runs of `char_unit` whole characters that one token spells, and
 * with single characters of `char_tokens` tokens for the rest.
 */
uint32_t tf_chars_cost(const tf_machine *m, uint64_t n)
{
    if (n == 0)
        return 0;
    if (m->char_tokens == TF_COST_NONE)
        return TF_COST_NONE;
    uint64_t tokens = n / m->char_unit + n % m->char_unit * m->char_tokens;
    if (m->char_unit == 1)
        tokens = n > TF_COST_NONE / m->char_tokens ? TF_COST_NONE : n * m->char_tokens;
    return tokens >= TF_COST_NONE ? TF_COST_NONE - 1 : (uint32_t)tokens;
}

uint32_t tf_bytes_cost(const tf_machine *m, const char *bytes)
{
    uint32_t n = 0;
    for (; bytes[n] != '\0'; n++)
        if (!tf_has_byte(m, (uint8_t)bytes[n]))
            return TF_COST_NONE;
    return n;
}

uint32_t tf_gap_cost(const tf_machine *m, bool newline, uint32_t spaces)
{
    if (newline && !tf_has_byte(m, '\n'))
        return TF_COST_NONE;
    if (spaces > 0 && !tf_has_byte(m, ' '))
        return TF_COST_NONE;
    return newline + spaces;
}

uint32_t tf_escaped_byte_cost(const tf_machine *m, uint32_t byte)
{
    static const char from[] = "\"\\/\b\f\n\r\t", to[] = "\"\\/bfnrt";
    bool raw = byte >= 0x20 && byte != '"' && byte != '\\';
    if (byte >= 0x80)
        return TF_COST_NONE;
    uint32_t cost = TF_COST_NONE;
    const char *at = byte == 0 ? NULL : strchr(from, (int)byte);
    bool minimal = m->options.escapes == TOKFSM_ESCAPES_MINIMAL;
    if (at != NULL && !(minimal && byte == '/')) {
        const char text[] = {'\\', to[at - from], '\0'};
        cost = tf_bytes_cost(m, text);
    }
    if (cost != TF_COST_NONE || (minimal && (raw || at != NULL)))
        return cost;
    static const char digits[] = "0123456789abcdef";
    const char text[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15], '\0'};
    return tf_bytes_cost(m, text);
}
