#include "safe.h"

#include "cache.h"

enum {
    MOST_STATES = 64,
    MOST_CHARS = TF_LONG_CHARS, /* nearly all tokens are as short */
    MOST_LIMITED = 160, /* ... and where lengths matter, no token is longer than looked at */
    MOST_INSIDE = 16,
    FAR_CHARS = 8    /* characters that are safe for so long stay so, with a limit */
};

typedef struct looking {
    tf_run *run;
    const tf_wanted *wanted;
    const tf_content_state *states[MOST_STATES];
    uint64_t via[MOST_STATES]; /* groups that led there */
    uint32_t n;
    uint64_t bit; /* of the group looked at */
    bool full; /* a state had no room */
    bool live, dead; /* of the group looked at */
    bool only_live;  /* its states are not wanted */
    /* Places inside a character that were looked on from, in this group. */
    struct { const tf_content_state *state; uint8_t sub; } inside[MOST_INSIDE];
    uint32_t n_inside;
} looking;

static bool is_live(const looking *l, const tf_content_state *state)
{
    return state != NULL &&
           tf_words_meet(state->live, l->wanted->words.words, l->wanted->n_words);
}

static void reach(looking *l, const tf_content_state *state)
{
    uint32_t i = 0;
    l->live = true;
    if (l->only_live)
        return;
    while (i < l->n && l->states[i] != state)
        i++;
    if (i == MOST_STATES) {
        l->full = true;
        return;
    }
    if (i == l->n) {
        l->states[l->n] = state;
        l->via[l->n++] = 0;
    }
    l->via[i] |= l->bit;
}

/* Whether the place was looked on from; where a special character begins so, not all was. */
static bool known_inside(looking *l, const tf_content_state *state, uint8_t sub,
                         const uint8_t *bytes, uint32_t n)
{
    static const uint8_t starts[][2] = {{0xE1, 0x9A}, {0xE2, 0x80}, {0xE2, 0x81}, {0xE3, 0x80},
                                        {0xEF, 0xBB}};
    for (uint32_t i = 0; n == 2 && i < sizeof starts / sizeof *starts; i++)
        if (memcmp(starts[i], bytes, 2) == 0)
            return false;
    for (uint32_t i = 0; i < l->n_inside; i++)
        if (l->inside[i].state == state && l->inside[i].sub == sub)
            return true;
    if (l->n_inside < MOST_INSIDE) {
        l->inside[l->n_inside].state = state;
        l->inside[l->n_inside++].sub = sub;
    }
    return false;
}

/* The bytes that `sub` takes next; at most three deep, as UTF-8 is. */
static void look_on(looking *l, const tf_content_state *state, uint8_t sub, const uint8_t *before,
                    uint32_t n)
{
    uint8_t bytes[4] = {0};
    if (n > 3)
        return; /* no character has more bytes */
    memcpy(bytes, before, n);
    const uint8_t *next_sub = tf_string_table()[sub];
    uint32_t last_class = UINT32_MAX;
    uint8_t last_sub = TF_STR_DEAD;
    for (uint32_t byte = 0x80; byte < 0xC0; byte++) {
        uint32_t class = state->content->byte_class[byte];
        if (next_sub[byte] == TF_STR_DEAD || (class == last_class && next_sub[byte] == last_sub))
            continue;
        bytes[n] = (uint8_t)byte;
        if (next_sub[byte] == TF_STR_NORMAL && tf_special_group(bytes, n + 1) != TF_GROUP_NONE)
            continue; /* in a group of its own */
        last_class = class;
        last_sub = next_sub[byte];
        const tf_content_state *next = tf_content_step(l->run, state, (uint8_t)byte);
        if (!is_live(l, next))
            l->dead = true;
        else if (last_sub != TF_STR_NORMAL) {
            if (!known_inside(l, next, last_sub, bytes, n + 1))
                look_on(l, next, last_sub, bytes, n + 1);
        } else
            reach(l, next);
    }
}

static void look_at_specials(looking *l, const tf_content_state *state, uint32_t group)
{
    const uint8_t *bytes;
    uint8_t of;
    l->live = l->dead = false;
    for (uint32_t k = 0; (bytes = tf_special_char(k, &of)) != NULL; k++) {
        const tf_content_state *next = state;
        if (of != group)
            continue;
        for (uint32_t i = bytes[0] == 0; i < 3 && next != NULL; i++)
            next = tf_content_step(l->run, next, bytes[i]);
        if (is_live(l, next))
            reach(l, next);
        else
            l->dead = true;
    }
}

static void look_at(looking *l, const tf_content_state *state, uint32_t group)
{
    const uint8_t *bytes;
    uint32_t n = tf_group_bytes(group, &bytes), last_class = UINT32_MAX;
    uint8_t last_sub = TF_STR_DEAD;
    l->live = l->dead = false;
    l->n_inside = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t class = state->content->byte_class[bytes[i]];
        uint8_t sub = tf_string_table()[TF_STR_NORMAL][bytes[i]];
        if (class == last_class && sub == last_sub)
            continue;
        last_class = class;
        last_sub = sub;
        const tf_content_state *next = tf_content_step(l->run, state, bytes[i]);
        if (!is_live(l, next))
            l->dead = true;
        else if (sub != TF_STR_NORMAL)
            look_on(l, next, sub, &bytes[i], 1);
        else
            reach(l, next);
        if (l->only_live && l->live)
            return;
    }
}

static uint32_t count(uint64_t groups)
{
    uint32_t n = 0;
    for (; groups != 0; groups &= groups - 1)
        n++;
    return n;
}

/* Groups of `which` that are live and that are dead, for some of their characters, in a state. */
static bool look_round(looking *l, uint32_t state, uint64_t which, bool only_live, uint64_t *live,
                       uint64_t *dead)
{
    *live = *dead = 0;
    l->only_live = only_live;
    for (uint32_t g = 0; g < TF_N_USED_GROUPS; g++) {
        l->bit = (uint64_t)1 << g;
        if ((which & l->bit) == 0)
            continue;
        if (g >= TF_N_BYTE_GROUPS)
            look_at_specials(l, l->states[state], g);
        else
            look_at(l, l->states[state], g);
        if (!tf_run_spend(l->run) || l->run->call.status != TOKFSM_OK)
            return false;
        *live |= l->live ? l->bit : 0;
        *dead |= l->dead ? l->bit : 0;
    }
    return true;
}

/* What was found for a state, lengths aside. */
typedef struct tf_safe_note {
    tf_safe safe;
    uint32_t known; /* characters after which all states are among these */
    uint32_t n;
    const tf_content_state *const *states; /* that safe characters lead to; some may be NULL */
    uint64_t words[];                      /* the languages asked for */
} tf_safe_note;

/* How many characters may come, at most `most`, for lengths to be met in all those states. */
static uint32_t within_lengths(const tf_wanted *wanted, const tf_content_state *const *states,
                               uint32_t n, uint32_t most)
{
    if (wanted->only != TF_NONE && wanted->c->n + 1 >= wanted->only_first) {
        for (uint32_t i = 0; i < n; i++) {
            if (states[i] == NULL || states[i]->lengths == NULL)
                continue;
            uint64_t shortest = states[i]->lengths[wanted->only]->shortest;
            uint64_t rest = wanted->c->n + shortest;
            rest = shortest != UINT64_MAX && rest <= wanted->only_last ? wanted->only_last - rest : 0;
            most = rest < most ? (uint32_t)rest : most;
        }
        return most;
    }
    for (uint32_t chars = 1; chars <= most; chars++)
        for (uint32_t i = 0; i < n; i++)
            if (states[i] != NULL && !tf_wanted_live(wanted, states[i], wanted->c->n + chars))
                return chars - 1;
    return most;
}

static void limit(const tf_wanted *wanted, const tf_content_state *const *states, uint32_t n,
                  uint32_t known, tf_safe *safe)
{
    if (!wanted->limited || safe->inside == 0)
        return;
    if (safe->most < known)
        known = safe->most;
    uint32_t most = within_lengths(wanted, states, n, known < MOST_LIMITED ? known : MOST_LIMITED);
    safe->hard = safe->hard && most == safe->most;
    safe->most = most;
    if (most == 0) {
        safe->leaving |= safe->inside;
        safe->inside = 0;
    }
}

static void keep(tf_machine *m, const looking *l, uint32_t known, const tf_safe *safe)
{
    tf_content_state *state = (tf_content_state *)(uintptr_t)l->wanted->c->content;
    const tf_safe_note *none = NULL;
    if (atomic_load_explicit(&state->safe, memory_order_relaxed) != NULL)
        return;
    size_t n_words = l->wanted->n_words * sizeof(uint64_t), n_states = l->n * sizeof *l->states;
    tf_safe_note *note = tf_cache_block(tf_content_maker(m, state->content), sizeof *note + n_words + n_states);
    if (note == NULL)
        return;
    const tf_content_state **states =
        (const tf_content_state **)(void *)((char *)(note + 1) + n_words);
    note->safe = *safe;
    note->known = known;
    note->n = l->n;
    note->states = states;
    memcpy(note->words, l->wanted->words.words, n_words);
    memcpy(states, l->states, n_states);
    /* Another thread may be first: its note stays, and this one goes with the cache. */
    atomic_compare_exchange_strong_explicit(&state->safe, &none, note, memory_order_release,
                                            memory_order_relaxed);
}

bool tf_wanted_of(tf_run *run, const tf_configuration *c, tf_wanted *wanted)
{
    const tf_strings *s = c->at;
    const tf_content *content = s->content;
    if (c->content == NULL || content->language_words > TF_MAX_WORDS)
        return false;
    wanted->c = c;
    wanted->n_words = content->language_words;
    wanted->limited = wanted->every = false;
    memset(wanted->words.words, 0, wanted->n_words * sizeof *wanted->words.words);
    if (c->mode == TF_IN_NAME) {
        tf_scratch_words open;
        if (c->top->kind->name_sets > 0) /* a set of languages makes a name, none by itself */
            return false;
        /* Where names are counted, declared ones are in none of the classes. */
        wanted->every = !content->has_counts;
        for (uint32_t j = 0; j < content->n_languages; j++)
            if (tf_other_open(run, c->top, j, open.words))
                tf_word_set(wanted->words.words, j);
            else
                wanted->every = false;
        /* With none emitted as many are left as there are. */
        return (!content->has_counts || c->top->emitted == NULL || run->settles) && run->call.status == TOKFSM_OK;
    }
    const uint64_t *alive = tf_words(&c->alive, c->value->n_words);
    wanted->limited = s->n_breaks > 1;
    wanted->only = TF_NONE;
    uint32_t n_asked = 0;
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        const tf_break *at = &s->breaks[i];
        if (tf_words_meet(at->outcome, alive, c->value->n_words))
            return false; /* whatever the content */
        for (uint32_t j = 0; at->language != NULL && j < c->value->n; j++)
            if (tf_word_bit(alive, j) && at->language[j] != TF_NONE) {
                tf_word_set(wanted->words.words, at->language[j]);
                wanted->only = n_asked++ == 0 ? at->language[j] : TF_NONE;
                wanted->only_first = at->from;
                wanted->only_last = tf_break_last(s, i);
            }
    }
    return true;
}

bool tf_safe_of(tf_run *run, const tf_wanted *wanted, tf_safe *safe)
{
    looking l = {.run = run, .wanted = wanted, .states = {wanted->c->content}, .n = 1};
    const uint64_t every =
        ~tf_groups_never_raw() & (((uint64_t)1 << TF_N_USED_GROUPS) - 1);
    uint64_t inside = every, live_any = 0;
    uint32_t chars = 0, from = 0, known = UINT32_MAX;
    bool hard = false;
    if (wanted->every) {
        *safe = (tf_safe){every, TF_GROUP_BIT('\\'), UINT32_MAX, false};
        return true;
    }
    tf_content_state *start = (tf_content_state *)(uintptr_t)wanted->c->content;
    const tf_safe_note *note = atomic_load_explicit(&start->safe, memory_order_acquire);
    if (note != NULL && memcmp(note->words, wanted->words.words,
                               wanted->n_words * sizeof *note->words) == 0) {
        *safe = note->safe;
        limit(wanted, note->states, note->n, note->known, safe);
        return true;
    }
    for (;; chars++) {
        uint32_t end = l.n; /* from .. end - 1 are after `chars` characters */
        uint64_t live_here = 0, dead_here = 0, live, dead;
        bool any = false;
        if (chars == MOST_CHARS && from < end)
            break;
        for (uint32_t i = from; i < end; i++) {
            if (chars > 0 && (l.via[i] & inside) == 0) {
                l.states[i] = NULL; /* looked at again should a safe one lead there */
                continue;
            }
            uint32_t n = l.n;
            if (!look_round(&l, i, inside, false, &live, &dead))
                return false;
            /* A character after which few others may come is better left out than all those. */
            if (chars > 0 && chars < FAR_CHARS && count(dead) > count(l.via[i] & inside)) {
                inside &= ~l.via[i];
                live_any |= l.via[i];
                l.n = n;
                l.states[i] = NULL;
                continue;
            }
            any = true;
            live_here |= live;
            dead_here |= dead;
            if (!look_round(&l, i, every & ~inside & ~live_any, true, &live, &dead))
                return false;
            live_any |= live;
        }
        live_any |= live_here;
        if (!any) { /* safe ones lead nowhere else */
            chars = UINT32_MAX;
            break;
        }
        if ((inside & live_here) == 0) {
            hard = true;
            break;
        }
        if ((inside & dead_here) != 0 && chars >= FAR_CHARS)
            break;
        inside &= ~dead_here;
        if (inside == 0)
            break;
        if (l.full) { /* what follows the states without room is not known */
            known = chars++;
            break;
        }
        from = end;
    }
    if (inside == 0 || chars == 0)
        inside = chars = 0;
    /* A lead byte by itself can begin a special character. */
    if ((live_any >> TF_GROUP_SEPARATORS & 1u) != 0)
        live_any |= TF_GROUP_BIT(0xE2);
    if ((live_any >> TF_GROUP_SPACES & 1u) != 0)
        live_any |= TF_GROUP_BIT(0xC2) | TF_GROUP_BIT(0xE1) | TF_GROUP_BIT(0xE2) |
                    TF_GROUP_BIT(0xE3) | TF_GROUP_BIT(0xEF);
    /* Any of them can be written by an escape, too. */
    *safe = (tf_safe){inside, (live_any & ~inside) | TF_GROUP_BIT('\\'), chars, hard};
    keep(run->m, &l, known, safe);
    limit(wanted, l.states, l.n, known, safe);
    return true;
}
