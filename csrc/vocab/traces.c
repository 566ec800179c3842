/* From the tokens of a pack to its traces. Cost: a look at each token, then some thousand. */
#include "traces.h"

#include "json_follow.h"
#include "pack_layout.h"
#include "trie.h"

/* From as many ids on they are worth a piece. */
enum { PIECE_IDS = 24, MOST_FREE = 5 };

typedef struct trace_item {
    uint32_t id, chars;
    uint32_t skipped; /* bytes of the token before those that are traced */
    uint64_t stay_groups;
    uint32_t stay_from;
    uint16_t before;
    uint16_t lead, longest;
    uint8_t minimal;
} trace_item;

typedef struct trace_list {
    trace_item *items;
    tf_trie_item *sorted; /* ids are places in `items` */
    size_t n, capacity;
    bool spelled_out;
} trace_list;

typedef struct trace_builder {
    tokfsm_pack *pack;
    tf_arena *arena;  /* what stays */
    tf_arena scratch; /* what does not */
    tf_budget *budget;
    tokfsm_error *err;
    uint8_t *bytes; /* room for a check or a trace */
    uint8_t *trace;
    trace_list lists[TF_N_TRACES][2];
} trace_builder;

static tokfsm_status no_memory(trace_builder *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for the vocabulary pack");
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static bool is_number_byte(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' ||
           byte == 'e' || byte == 'E';
}

/* ---- one trace ---- */

typedef struct tracing {
    const uint8_t *bytes;
    uint32_t n, at;
    uint8_t *out;
    uint32_t n_out;
    trace_item *item;
    tf_spelled *whole;
    bool spelled_out;
    uint32_t free;     /* bit i: of the i-th string that it closes the inside is left out */
    uint32_t n_closed; /* strings closed so far */
} tracing;

static void copy_one(tracing *t) { t->out[t->n_out++] = t->bytes[t->at++]; }

static void trace_space(tracing *t)
{
    uint32_t start = t->at;
    while (t->at < t->n && is_space(t->bytes[t->at])) {
        if (t->spelled_out)
            t->out[t->n_out++] = t->bytes[t->at];
        t->at++;
    }
    if (!t->spelled_out)
        t->out[t->n_out++] = ' ';
    uint32_t length = t->at - start;
    uint16_t kept = (uint16_t)(length < UINT16_MAX ? length : UINT16_MAX);
    if (start == 0)
        t->item->lead = kept;
    else if (kept > t->item->longest)
        t->item->longest = kept;
}

/* Part of a string between characters, as JSON spells it. */
static void note_spelled(tf_spelled *spelled, const uint8_t *bytes, uint32_t n)
{
    static const char SHORT[] = "b\bf\fn\nr\rt\t";
    if (n > spelled->most)
        spelled->most = n; /* no escape is shorter than what it stands for */
    for (uint32_t i = 0; i < n; i++) {
        uint8_t byte = bytes[i];
        if (byte == '\\' && i + 1 < n) {
            byte = bytes[++i];
            if (byte == 'u') /* anything */
                memset(spelled->bytes, 0xFF, sizeof spelled->bytes);
            for (uint32_t k = 0; k < sizeof SHORT - 1; k += 2)
                if (bytes[i] == (uint8_t)SHORT[k])
                    byte = (uint8_t)SHORT[k + 1];
        }
        spelled->bytes[byte >> 6] |= (uint64_t)1 << (byte & 63u);
    }
}

/* The inside of a string, from behind its opening quote. */
static void trace_string(tracing *t)
{
    const uint8_t(*table)[256] = tf_string_table();
    uint8_t state = TF_STR_NORMAL;
    uint32_t mark = t->n_out++, start = t->at, inside = t->n_out;
    while (t->at < t->n && state != TF_STR_CLOSE && state != TF_STR_DEAD) {
        state = table[state][t->bytes[t->at]];
        copy_one(t);
    }
    t->out[mark] = TF_MARK_STAYS;
    if (state != TF_STR_CLOSE) {
        t->item->stay_groups = tf_groups_of(t->bytes + start, t->at - start);
        t->item->stay_from = start + t->item->skipped;
        return;
    }
    t->out[mark] = TF_MARK_CLOSES;
    note_spelled(t->whole, t->bytes + start, t->at - 1 - start);
    if (t->n_closed < 32 && (t->free >> t->n_closed & 1u) != 0) {
        t->out[mark] = TF_MARK_FREE;
        t->out[inside] = '"';
        t->n_out = inside + 1;
    }
    t->n_closed++;
}

static bool all_digits(const uint8_t *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (bytes[i] < '0' || bytes[i] > '9')
            return false;
    return n > 0;
}

static void trace_number(tracing *t)
{
    if (t->bytes[t->at] == '-')
        copy_one(t);
    if (t->at < t->n)
        copy_one(t);
    if (all_digits(t->bytes + t->at, t->n - t->at))
        t->out[t->n_out++] = TF_MARK_DIGITS;
    while (t->at < t->n && is_number_byte(t->bytes[t->at]))
        copy_one(t);
}

/* What the token does, begun outside strings or inside a number; returns the trace's length. */
static uint32_t trace_of(tracing *t, bool in_number)
{
    if (in_number) {
        if (all_digits(t->bytes, t->n))
            t->out[t->n_out++] = TF_MARK_DIGITS;
        while (t->at < t->n && is_number_byte(t->bytes[t->at]))
            copy_one(t);
    }
    while (t->at < t->n) {
        uint8_t byte = t->bytes[t->at];
        if (is_space(byte)) {
            trace_space(t);
        } else if (byte == '"') {
            copy_one(t);
            trace_string(t);
        } else if (byte == '-' || (byte >= '0' && byte <= '9')) {
            trace_number(t);
        } else {
            copy_one(t);
        }
    }
    return t->n_out;
}

/* ---- lists of them ---- */

static tokfsm_status add_one(trace_builder *b, trace_list *list, int which, trace_item item,
                             const uint8_t *bytes, uint32_t n, uint32_t free, uint32_t *n_closed)
{
    tracing t = {.bytes = bytes, .n = n, .out = b->trace + 1, .item = &item,
                 .whole = &b->pack->traces->whole, .spelled_out = list->spelled_out,
                 .free = free};
    uint32_t length = trace_of(&t, which == TF_TRACE_NUMBER);
    *n_closed = t.n_closed;
    uint8_t *start = b->trace + 1;
    if (!list->spelled_out && (item.lead > TF_SHORT_RUN || item.longest > TF_SHORT_RUN)) {
        *--start = TF_MARK_LONG;
        length++;
    }
    uint8_t *kept = tf_arena_take(&b->scratch, length);
    if (kept == NULL)
        return no_memory(b);
    memcpy(kept, start, length);
    size_t items = list->capacity, sorted = list->capacity;
    if (!tf_grow(&b->scratch.allocator, (void **)&list->items, list->n, &items,
                 sizeof *list->items) ||
        !tf_grow(&b->scratch.allocator, (void **)&list->sorted, list->n, &sorted,
                 sizeof *list->sorted))
        return no_memory(b);
    list->capacity = items;
    tf_trie_item_set(&list->sorted[list->n], kept, length, (uint32_t)list->n);
    list->items[list->n++] = item;
    return tf_spend_n(b->budget, length, b->err);
}

/* Once for each choice of the strings that it closes whose inside is left out. */
static tokfsm_status add_to(trace_builder *b, trace_list *list, int which, trace_item item,
                            const uint8_t *bytes, uint32_t n)
{
    uint32_t n_closed;
    TF_TRY(add_one(b, list, which, item, bytes, n, 0, &n_closed));
    if (n_closed > MOST_FREE)
        b->pack->traces->has_free = false;
    for (uint32_t free = 1; n_closed <= MOST_FREE && free < 1u << n_closed; free++) {
        uint32_t same;
        TF_TRY(add_one(b, list, which, item, bytes, n, free, &same));
    }
    return TOKFSM_OK;
}

static tokfsm_status add(trace_builder *b, int which, trace_item item, const uint8_t *bytes,
                         uint32_t n)
{
    TF_TRY(add_to(b, &b->lists[which][0], which, item, bytes, n));
    return add_to(b, &b->lists[which][1], which, item, bytes, n);
}

/* The first byte that is no white space tells most tokens off. */
static bool may_be_structure(const uint8_t *bytes, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && is_space(bytes[i]))
        i++;
    if (i == n)
        return true;
    switch (bytes[i]) {
    case '{': case '}': case '[': case ']': case ',': case ':': case '"': case '-':
    case 't': case 'f': case 'n': return true;
    default: return bytes[i] >= '0' && bytes[i] <= '9';
    }
}

/* A number goes on so, as far as the first two bytes tell. */
static bool may_be_number(const uint8_t *bytes, uint32_t n)
{
    bool exponent = *bytes == 'e' || *bytes == 'E';
    if (!is_number_byte(*bytes))
        return false;
    return n == 1 || (*bytes >= '0' && *bytes <= '9') || (bytes[1] >= '0' && bytes[1] <= '9') ||
           (exponent && (bytes[1] == '+' || bytes[1] == '-'));
}

/* Characters that the rest of a token begins, from between two. */
static uint32_t chars_of(const uint8_t *bytes, uint32_t n)
{
    const uint8_t(*table)[256] = tf_string_table();
    uint8_t state = TF_STR_NORMAL;
    uint32_t chars = 0;
    for (uint32_t i = 0; i < n && state < TF_N_STR; i++) {
        chars += state == TF_STR_NORMAL;
        state = table[state][bytes[i]];
    }
    return chars;
}

/* The distinct strings before the quotes; before_of[k] of entry k of `close`. */
static tokfsm_status list_befores(trace_builder *b, uint16_t *before_of)
{
    tf_trace_set *set = b->pack->traces;
    const tf_trie *close = &b->pack->close;
    uint32_t n = close->n_nodes == 0 ? 0 : close->first[close->n_nodes];
    tf_trie_item *items = tf_arena_take(&b->scratch, n * sizeof *items);
    tf_trie_item *room = tf_arena_take(&b->scratch, n * sizeof *room);
    tf_before *befores = tf_arena_take(b->arena, TF_MAX_BEFORES * sizeof *befores);
    if (items == NULL || room == NULL || befores == NULL)
        return no_memory(b);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t n_bytes, n_before, chars;
        bool minimal;
        const uint8_t *bytes = tf_pack_token(b->pack, close->ids[k], &n_bytes);
        tf_pack_close(bytes, n_bytes, &n_before, &chars, &minimal);
        tf_trie_item_set(&items[k], bytes, n_before, k);
    }
    TF_TRY(tf_trie_sort(items, room, n, b->budget, b->err));
    uint32_t used = 0;
    bool fits = true;
    for (uint32_t k = 0; fits && k < n; k++) {
        const tf_before *last = used == 0 ? NULL : &befores[used - 1];
        uint32_t shared = 0;
        while (last != NULL && shared < last->n && shared < items[k].n_bytes &&
               last->bytes[shared] == items[k].data[shared])
            shared++;
        if (last == NULL || shared < last->n || shared < items[k].n_bytes) {
            fits = used < TF_MAX_BEFORES && items[k].n_bytes <= UINT16_MAX;
            if (fits)
                befores[used++] = (tf_before){items[k].data, (uint16_t)items[k].n_bytes,
                                              (uint16_t)chars_of(items[k].data, items[k].n_bytes),
                                              (uint16_t)shared};
        }
        before_of[items[k].id] = (uint16_t)(used - 1);
    }
    set->befores = befores;
    set->n_befores = fits ? used : 0;
    return TOKFSM_OK;
}

/* All whole strings of bytes that begin outside of one. */
static void note_wholes(tf_spelled *whole, const uint8_t *bytes, uint32_t n)
{
    const uint8_t(*table)[256] = tf_string_table();
    for (uint32_t i = 0; i < n; i++) {
        uint32_t start = i + 1;
        uint8_t state = TF_STR_NORMAL;
        if (bytes[i] != '"')
            continue;
        while (++i < n && state < TF_N_STR && (state = table[state][bytes[i]]) < TF_N_STR)
            ;
        if (i < n && state == TF_STR_CLOSE)
            note_spelled(whole, bytes + start, i - start);
    }
}

/* The whole strings of tokens that no trace has: begun inside a literal, a character or an escape. */
static void note_untraced(trace_builder *b, const uint8_t *bytes, uint32_t n)
{
    static const char *const RESTS[] = {"alse", "lse", "se", "rue", "ue", "e", "ull", "ll", "l"};
    const uint8_t(*table)[256] = tf_string_table();
    tf_spelled *whole = &b->pack->traces->whole;
    uint8_t state[TF_N_STR];
    bool alive = true;
    const uint8_t *first = memchr(bytes, '"', n);
    if (first == NULL || memchr(first + 1, '"', n - (uint32_t)(first + 1 - bytes)) == NULL)
        return;
    for (uint32_t k = 0; k < sizeof RESTS / sizeof *RESTS; k++) {
        uint32_t length = (uint32_t)strlen(RESTS[k]);
        if (n > length && memcmp(bytes, RESTS[k], length) == 0 &&
            tf_json_follows_structure(bytes + length, n - length, b->bytes))
            note_wholes(whole, bytes + length, n - length);
    }
    for (uint8_t s = 0; s < TF_N_STR; s++)
        state[s] = s;
    for (uint32_t i = 0; i < n && alive; i++) {
        bool closes = false;
        alive = false;
        for (uint32_t s = 0; s < TF_N_STR; s++) {
            state[s] = state[s] < TF_N_STR ? table[state[s]][bytes[i]] : (uint8_t)TF_STR_DEAD;
            closes |= state[s] == TF_STR_CLOSE;
            alive |= state[s] < TF_N_STR;
        }
        if (closes && tf_json_follows_string(bytes + i + 1, n - i - 1, b->bytes))
            note_wholes(whole, bytes + i + 1, n - i - 1);
    }
}

static tokfsm_status list_tokens(trace_builder *b)
{
    for (uint32_t id = 0; id < b->pack->vocab_size; id++) {
        uint32_t n;
        const uint8_t *bytes = tf_pack_token(b->pack, id, &n);
        trace_item item = {.id = id};
        if (n == 0)
            continue;
        if (may_be_structure(bytes, n) && tf_json_follows_structure(bytes, n, b->bytes))
            TF_TRY(add(b, TF_TRACE_STRUCTURE, item, bytes, n));
        if (may_be_number(bytes, n) && tf_json_follows_number(bytes, n, b->bytes))
            TF_TRY(add(b, TF_TRACE_NUMBER, item, bytes, n));
    }
    for (uint32_t id = tf_pack_next_with(b->pack, '"', 0); id < b->pack->vocab_size;
         id = tf_pack_next_with(b->pack, '"', id + 1)) {
        uint32_t n;
        const uint8_t *bytes = tf_pack_token(b->pack, id, &n);
        note_untraced(b, bytes, n);
    }
    const tf_trie *close = &b->pack->close;
    uint32_t n_close = close->n_nodes == 0 ? 0 : close->first[close->n_nodes];
    uint16_t *before_of = tf_arena_take(&b->scratch, n_close * sizeof *before_of);
    if (before_of == NULL)
        return no_memory(b);
    TF_TRY(list_befores(b, before_of));
    for (uint32_t k = 0; k < n_close; k++) {
        uint32_t n, n_before, chars;
        bool minimal;
        const uint8_t *bytes = tf_pack_token(b->pack, close->ids[k], &n);
        tf_pack_close(bytes, n, &n_before, &chars, &minimal);
        note_spelled(&b->pack->traces->before, bytes, n_before);
        trace_item item = {.id = close->ids[k], .skipped = n_before + 1, .chars = chars, .before = before_of[k],
                           .minimal = minimal};
        TF_TRY(add(b, TF_TRACE_CLOSE, item, bytes + n_before + 1, n - n_before - 1));
    }
    return TOKFSM_OK;
}

/* ---- tries ---- */

static tokfsm_status make_piece(trace_builder *b, const uint32_t *ids, uint32_t n,
                                const tf_piece **piece)
{
    const size_t n_words = b->pack->n_words;
    tf_arena_mark mark = tf_arena_here(&b->scratch);
    uint32_t *row = tf_arena_zero(&b->scratch, n_words * sizeof *row);
    tf_piece *made = tf_arena_take(b->arena, sizeof *made);
    uint32_t *word = tf_arena_take(b->arena, n * sizeof *word);
    uint32_t *bits = tf_arena_take(b->arena, n * sizeof *bits);
    if (row == NULL || made == NULL || word == NULL || bits == NULL)
        return no_memory(b);
    for (uint32_t i = 0; i < n; i++)
        tf_set(row, ids[i]);
    uint32_t used = 0;
    for (uint32_t w = 0; w < n_words; w++)
        if (row[w] != 0) {
            word[used] = w;
            bits[used++] = row[w];
        }
    tf_arena_back(&b->scratch, mark);
    *made = (tf_piece){used, word, bits};
    *piece = made;
    return tf_spend_n(b->budget, n_words, b->err);
}

static tokfsm_status make_nodes(trace_builder *b, const trace_list *list, tf_traces *traces,
                                uint32_t *most_left, const tf_piece **piece)
{
    const tf_trie *trie = &traces->trie;
    uint32_t digits_end = 0;
    for (uint32_t node = 0; node < trie->n_nodes; node++) {
        uint8_t byte = trie->byte[node];
        if (node > 0 && byte == TF_MARK_DIGITS && node >= digits_end) {
            digits_end = trie->end[node];
            tf_trie_heights(trie, node, most_left);
        }
        bool mark = node > 0 && (byte == TF_MARK_STAYS || node < digits_end);
        uint32_t first = trie->first[node], end = trie->first[mark ? trie->end[node] : node + 1];
        if (end - first >= PIECE_IDS)
            TF_TRY(make_piece(b, trie->ids + first, end - first, &piece[node]));
        if (mark && byte == TF_MARK_STAYS)
            for (uint32_t k = first; k < end; k++) {
                const tf_trie_item *item = &list->sorted[k];
                uint32_t from = item->n_bytes;
                while (item->data[from - 1] != TF_MARK_STAYS)
                    from--;
                uint32_t chars = chars_of(item->data + from, item->n_bytes - from);
                if (chars > most_left[node])
                    most_left[node] = chars;
            }
    }
    return TOKFSM_OK;
}

static tokfsm_status make_trie(trace_builder *b, trace_list *list, bool close, tf_traces *traces)
{
    tf_trie *trie = &traces->trie;
    tf_arena *arena = b->arena;
    tf_trie_item *room = tf_arena_take(&b->scratch, list->n * sizeof *room);
    uint32_t *shared = tf_arena_take(&b->scratch, list->n * sizeof *shared);
    if (room == NULL || shared == NULL)
        return no_memory(b);
    TF_TRY(tf_trie_sort(list->sorted, room, list->n, b->budget, b->err));
    size_t n_nodes = tf_trie_measure(list->sorted, list->n, shared, &trie->depth);
    uint8_t *byte = tf_arena_take(arena, n_nodes);
    uint32_t *end = tf_arena_take(arena, n_nodes * sizeof *end);
    uint32_t *first = tf_arena_take(arena, (n_nodes + 1) * sizeof *first);
    uint32_t *ids = tf_arena_take(arena, list->n * sizeof *ids);
    uint32_t *root = tf_arena_take(arena, 256 * sizeof *root);
    uint32_t *path = tf_arena_take(&b->scratch, ((size_t)trie->depth + 1) * sizeof *path);
    uint16_t *lead = tf_arena_take(arena, list->n * sizeof *lead);
    uint16_t *longest = tf_arena_take(arena, list->n * sizeof *longest);
    uint32_t *chars = tf_arena_take(arena, list->n * sizeof *chars);
    uint8_t *minimal = tf_arena_take(arena, list->n);
    uint16_t *before = tf_arena_take(arena, list->n * sizeof *before);
    uint32_t *stay_from = tf_arena_take(arena, list->n * sizeof *stay_from);
    uint64_t *stay_groups = tf_arena_take(arena, list->n * sizeof *stay_groups);
    uint32_t *most_left = tf_arena_zero(arena, n_nodes * sizeof *most_left);
    const tf_piece **piece = tf_arena_zero(arena, n_nodes * sizeof *piece);
    tf_trace_node *nodes = tf_arena_zero(arena, (n_nodes + 1) * sizeof *nodes);
    if (nodes == NULL || byte == NULL || end == NULL || first == NULL || ids == NULL || root == NULL ||
        path == NULL || lead == NULL || longest == NULL || chars == NULL || minimal == NULL ||
        before == NULL || stay_from == NULL || stay_groups == NULL ||
        most_left == NULL || piece == NULL)
        return no_memory(b);
    tf_trie_arrays out = {byte, end, first, ids, root};
    tf_trie_fill(list->sorted, shared, list->n, n_nodes, path, &out);
    for (size_t k = 0; k < list->n; k++) {
        const trace_item *item = &list->items[ids[k]];
        lead[k] = item->lead;
        longest[k] = item->longest;
        chars[k] = item->chars;
        minimal[k] = item->minimal;
        before[k] = item->before;
        stay_from[k] = item->stay_from;
        stay_groups[k] = item->stay_groups;
        ids[k] = item->id;
    }
    *trie = (tf_trie){(uint32_t)n_nodes, byte, end, first, ids, root, trie->depth};
    for (size_t k = 0; k < n_nodes; k++)
        nodes[k] = (tf_trace_node){end[k], first[k], byte[k]};
    nodes[n_nodes].first = first[n_nodes];
    traces->nodes = nodes;
    traces->lead = lead;
    traces->longest = longest;
    traces->chars = close ? chars : NULL;
    traces->minimal = close ? minimal : NULL;
    traces->before = close ? before : NULL;
    traces->most_left = most_left;
    traces->stay_from = stay_from;
    traces->stay_groups = stay_groups;
    traces->piece = piece;
    return make_nodes(b, list, traces, most_left, piece);
}

/* Node by node, so that what is read and written lies together. */
static tokfsm_status make_branches(trace_builder *b, tf_branches *branches)
{
    const tf_trie *trie = &b->pack->all;
    const uint32_t n = trie->n_nodes, *const end = trie->end, *const ids = trie->first;
    const uint8_t *const bytes = trie->byte;
    uint32_t k = 0;
    uint32_t *first = tf_arena_take(b->arena, ((size_t)n + 1) * sizeof *first);
    tf_branch *items = tf_arena_take(b->arena, n * sizeof *items);
    tf_arena_mark mark = tf_arena_here(&b->scratch);
    uint64_t *below = tf_arena_take(&b->scratch, n * sizeof *below);
    uint8_t *chars = tf_arena_take(&b->scratch, n);
    if (first == NULL || items == NULL || below == NULL || chars == NULL ||
        !tf_groups_below(b->pack, &b->scratch, below, chars))
        return no_memory(b);
    for (uint32_t node = 0; node < n; node++) {
        /* Until it is met as a parent, first[node] is where it stands as a child. */
        tf_branch *own = node == 0 ? NULL : &items[first[node]];
        uint32_t start = k;
        first[node] = start;
        for (uint32_t child = node + 1, stop = end[node]; child < stop; child = end[child]) {
            items[k] = (tf_branch){below[child], child, 0, ids[child], 0, bytes[child],
                                   chars[child]};
            first[child] = k++;
        }
        if (own != NULL) {
            own->children = start;
            own->n_children = (uint16_t)(k - start);
        }
    }
    first[n] = k;
    tf_arena_back(&b->scratch, mark);
    *branches = (tf_branches){items, first};
    return tf_spend_n(b->budget, n, b->err);
}

static tokfsm_status make(trace_builder *b, tf_trace_set *set)
{
    TF_TRY(make_branches(b, &set->all));
    TF_TRY(tf_groups_make(b->pack, b->arena, &set->groups, b->err));
    size_t n_bytes = (size_t)b->pack->max_token_bytes * 2 + 4;
    b->bytes = tf_arena_take(&b->scratch, (size_t)b->pack->max_token_bytes + 1);
    b->trace = tf_arena_take(&b->scratch, n_bytes);
    if (b->bytes == NULL || b->trace == NULL)
        return no_memory(b);
    for (int i = 0; i < TF_N_TRACES; i++)
        b->lists[i][1].spelled_out = true;
    TF_TRY(list_tokens(b));
    for (int i = 0; i < TF_N_TRACES; i++)
        for (int k = 0; k < 2; k++)
            TF_TRY(make_trie(b, &b->lists[i][k], i == TF_TRACE_CLOSE, &set->of[i][k]));
    return TOKFSM_OK;
}

tokfsm_status tf_traces_make(tokfsm_pack *pack, tf_budget *budget, tokfsm_error *err)
{
    const tokfsm_allocator *a = &pack->allocator;
    tf_trace_set *set = tf_allocate(a, sizeof *set);
    if (set == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the vocabulary pack");
    memset(set, 0, sizeof *set);
    tf_arena_init(&set->arena, a);
    pack->traces = set;
    tf_vocab_facts_find(pack, &set->facts);
    set->has_free = true;
    trace_builder b = {.pack = pack, .arena = &set->arena, .budget = budget, .err = err};
    tf_arena_init(&b.scratch, a);
    tokfsm_status status = make(&b, set);
    for (int i = 0; i < TF_N_TRACES; i++)
        for (int k = 0; k < 2; k++) {
            tf_release(a, b.lists[i][k].items);
            tf_release(a, b.lists[i][k].sorted);
        }
    tf_arena_free(&b.scratch);
    return status;
}

void tf_traces_free(tokfsm_pack *pack)
{
    if (pack->traces == NULL)
        return;
    tf_groups_free(pack, &pack->traces->groups);
    tf_arena_free(&pack->traces->arena);
    tf_release(&pack->allocator, pack->traces);
}
