/*
 * From a vocabulary (id -> bytes) to its pack: the header, tables and tries of
 * docs/pack_format.md. The bytes depend on the vocabulary alone.
 *
 * Cost: the tokens are sorted once; each table is one walk of them in that order, in which
 * what a token shares with the one before is not walked again.
 */
#include "../base/budget.h"
#include "../base/le.h"
#include "json_follow.h"
#include "pack_layout.h"
#include "traces.h"
#include "trie.h"

/* A sorted list of strings that becomes a trie. */
typedef struct item_list {
    tf_trie_item *items;
    uint32_t *shared;
    size_t n, n_nodes;
    uint32_t depth;
} item_list;

/* One byte of the current path, and where each string state has come by it. */
typedef struct walk_level {
    uint32_t alive; /* bit s: begun in s, the string is still open */
    uint8_t minimal; /* state of the minimal table, begun in NORMAL */
    uint8_t state[TF_N_STR];
    uint32_t n_chars[TF_N_STR]; /* characters started */
} walk_level;

typedef struct pack_builder {
    const uint8_t *blob;
    const uint64_t *offsets;
    uint32_t n_tokens;
    size_t n_words;
    size_t n_token_bytes;
    uint32_t max_token_bytes;
    tf_budget *budget;
    tokfsm_error *err;
    tf_arena arena;
    tf_trie_item *scratch;
    item_list all, quote, close;
    uint32_t *stay;         /* [TF_N_STR][n_words] */
    uint32_t *stay_minimal; /* [n_words] */
    uint32_t stay_chars[TF_N_STR];
    uint32_t *n_chars; /* [n_tokens] characters started; TF_NONE: not in stay[NORMAL] */
    uint32_t n_char_tokens;
    uint32_t char_token[TF_MAX_CHAR_TOKENS];
    uint32_t *length_index; /* [most characters + 1] of a length, or TF_NONE */
    uint32_t n_lengths;
    uint32_t max_close_chars;
} pack_builder;

static tokfsm_status no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the vocabulary pack");
}

static void *take(pack_builder *b, size_t n, size_t item_bytes)
{
    size_t n_bytes;
    if (!tf_size_mul_add(n, item_bytes, 0, &n_bytes))
        return NULL;
    return tf_arena_take(&b->arena, n_bytes == 0 ? 1 : n_bytes); /* never NULL for none */
}

static void *take_zero(pack_builder *b, size_t n, size_t item_bytes)
{
    void *block = take(b, n, item_bytes);
    if (block != NULL)
        memset(block, 0, n * item_bytes);
    return block;
}

/* ---- the vocabulary ---- */

static tokfsm_status check_vocabulary(const uint8_t *blob, const uint64_t *offsets,
                                      uint32_t n_tokens, tokfsm_error *err)
{
    if (offsets == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "offsets is NULL");
    if (n_tokens == 0)
        return tf_fail(err, TOKFSM_E_VOCABULARY, "the vocabulary has no tokens");
    if (n_tokens == TF_NONE)
        return tf_fail(err, TOKFSM_E_VOCABULARY, "the vocabulary has too many tokens");
    if (offsets[0] != 0)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "offsets does not start at 0");
    for (uint32_t t = 0; t < n_tokens; t++)
        if (offsets[t + 1] < offsets[t])
            return tf_fail_at(err, TOKFSM_E_ARGUMENT, t, "offsets[%lu] is below offsets[%lu]",
                              (unsigned long)t + 1, (unsigned long)t);
    /* A trie has at most one node a byte, and the root. */
    if (offsets[n_tokens] >= UINT32_MAX - 1u)
        return tf_fail(err, TOKFSM_E_VOCABULARY, "the vocabulary has 4 GiB of bytes or more");
    if (blob == NULL && offsets[n_tokens] > 0)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "blob is NULL");
    return TOKFSM_OK;
}

void tf_fingerprint_start(tf_fingerprint *f, uint32_t n_tokens, const uint8_t *end)
{
    static const char TAG[] = "tokfsm.vocabulary.1"; /* its NUL is part of it */
    tf_sha256_init(&f->hash);
    f->end = end;
    memcpy(f->staged, TAG, sizeof TAG);
    tf_le32_store(f->staged + sizeof TAG, n_tokens);
    f->n_staged = sizeof TAG + 4;
}

void tf_fingerprint_token(tf_fingerprint *f, const uint8_t *token, uint32_t n_bytes)
{
    enum { SHORT = 16 };
    uint8_t *to = f->staged + f->n_staged + 4;
    if (n_bytes <= SHORT && f->end - token >= SHORT && f->n_staged + 4 + SHORT <= sizeof f->staged) {
        tf_le32_store(f->staged + f->n_staged, n_bytes);
        memcpy(to, token, SHORT); /* what is too much is written over */
        f->n_staged += 4 + n_bytes;
        return;
    }
    if (f->n_staged + 4 + (uint64_t)n_bytes > sizeof f->staged) {
        tf_sha256_update(&f->hash, f->staged, f->n_staged);
        f->n_staged = 0;
    }
    tf_le32_store(f->staged + f->n_staged, n_bytes);
    f->n_staged += 4;
    if (n_bytes <= sizeof f->staged - f->n_staged) {
        if (n_bytes > 0)
            memcpy(f->staged + f->n_staged, token, n_bytes);
        f->n_staged += n_bytes;
        return;
    }
    tf_sha256_update(&f->hash, f->staged, f->n_staged);
    tf_sha256_update(&f->hash, token, n_bytes);
    f->n_staged = 0;
}

void tf_fingerprint_end(tf_fingerprint *f, uint8_t fingerprint[32])
{
    tf_sha256_update(&f->hash, f->staged, f->n_staged);
    tf_sha256_final(&f->hash, fingerprint);
}

static void fingerprint_of(const uint8_t *blob, const uint64_t *offsets, uint32_t n_tokens,
                           uint8_t fingerprint[32])
{
    tf_fingerprint f;
    static const uint8_t nothing[1];
    if (blob == NULL)
        blob = nothing; /* then no token has bytes */
    tf_fingerprint_start(&f, n_tokens, blob + offsets[n_tokens]);
    for (uint32_t t = 0; t < n_tokens; t++)
        tf_fingerprint_token(&f, blob + offsets[t], (uint32_t)(offsets[t + 1] - offsets[t]));
    tf_fingerprint_end(&f, fingerprint);
}

tokfsm_status tokfsm_vocabulary_fingerprint(const uint8_t *blob, const uint64_t *offsets,
                                            uint32_t n_tokens, uint8_t fingerprint[32],
                                            tokfsm_error *err)
{
    if (fingerprint == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "fingerprint is NULL");
    TF_TRY(check_vocabulary(blob, offsets, n_tokens, err));
    fingerprint_of(blob, offsets, n_tokens, fingerprint);
    return TOKFSM_OK;
}

/* ---- lists of strings ---- */

static tokfsm_status measure(pack_builder *b, item_list *list)
{
    list->shared = take(b, list->n, sizeof *list->shared);
    if (list->shared == NULL)
        return no_memory(b->err);
    list->n_nodes = tf_trie_measure(list->items, list->n, list->shared, &list->depth);
    return tf_spend_n(b->budget, list->n_nodes, b->err);
}

static tokfsm_status list_all(pack_builder *b)
{
    size_t n = 0;
    for (uint32_t t = 0; t < b->n_tokens; t++) {
        uint64_t n_bytes = b->offsets[t + 1] - b->offsets[t];
        n += n_bytes > 0;
        if (n_bytes > b->max_token_bytes)
            b->max_token_bytes = (uint32_t)n_bytes;
    }
    b->all.items = take(b, n, sizeof *b->all.items);
    b->scratch = take(b, n, sizeof *b->scratch);
    if (b->all.items == NULL || b->scratch == NULL)
        return no_memory(b->err);
    for (uint32_t t = 0; t < b->n_tokens; t++) {
        uint32_t n_bytes = (uint32_t)(b->offsets[t + 1] - b->offsets[t]);
        if (n_bytes > 0)
            tf_trie_item_set(&b->all.items[b->all.n++], b->blob + b->offsets[t], n_bytes, t);
    }
    TF_TRY(tf_spend_n(b->budget, b->n_tokens, b->err));
    TF_TRY(tf_trie_sort(b->all.items, b->scratch, n, b->budget, b->err));
    return measure(b, &b->all);
}

/* Those with a quote: a part of the sorted list, so sorted. */
static tokfsm_status list_quote(pack_builder *b)
{
    size_t n = 0;
    for (size_t k = 0; k < b->all.n; k++) {
        const tf_trie_item *item = &b->all.items[k];
        if (memchr(item->data, 0x22, item->n_bytes) != NULL)
            b->scratch[n++] = *item;
    }
    b->quote.items = take(b, n, sizeof *b->quote.items);
    if (b->quote.items == NULL)
        return no_memory(b->err);
    memcpy(b->quote.items, b->scratch, n * sizeof *b->scratch);
    b->quote.n = n;
    return measure(b, &b->quote);
}

bool tf_pack_close(const uint8_t *token, uint32_t n_bytes, uint32_t *n_before,
                   uint32_t *n_chars, bool *minimal)
{
    const uint8_t(*all)[256] = tf_string_table();
    const uint8_t(*needed)[256] = tf_string_minimal_table();
    uint8_t state = TF_STR_NORMAL, narrow = TF_STR_NORMAL;
    uint32_t started = 0;
    for (uint32_t i = 0; i < n_bytes; i++) {
        uint8_t next = all[state][token[i]];
        if (narrow != TF_STR_DEAD)
            narrow = needed[narrow][token[i]];
        if (next == TF_STR_CLOSE) {
            *n_before = i;
            *n_chars = started;
            *minimal = narrow == TF_STR_CLOSE;
            return true;
        }
        if (next == TF_STR_DEAD)
            return false;
        started += state == TF_STR_NORMAL;
        state = next;
    }
    return false;
}

static tokfsm_status list_close(pack_builder *b)
{
    uint8_t *scratch = take(b, b->max_token_bytes, 1);
    b->close.items = take(b, b->quote.n, sizeof *b->close.items);
    if (scratch == NULL || b->close.items == NULL)
        return no_memory(b->err);
    /* Within a rest the ids must ascend: in the order of ids, then sorted stably. */
    for (uint32_t t = 0; t < b->n_tokens; t++) {
        uint32_t n_bytes = (uint32_t)(b->offsets[t + 1] - b->offsets[t]);
        uint32_t n_before, n_chars;
        bool minimal;
        const uint8_t *token = n_bytes > 0 ? b->blob + b->offsets[t] : NULL;
        if (n_bytes == 0 || memchr(token, 0x22, n_bytes) == NULL)
            continue;
        TF_TRY(tf_spend_n(b->budget, n_bytes, b->err));
        if (!tf_pack_close(token, n_bytes, &n_before, &n_chars, &minimal))
            continue;
        const uint8_t *rest = token + n_before + 1;
        uint32_t n_rest = n_bytes - n_before - 1;
        if (!tf_json_follows_string(rest, n_rest, scratch))
            continue;
        tf_trie_item_set(&b->close.items[b->close.n++], rest, n_rest, t);
        if (n_chars > b->max_close_chars)
            b->max_close_chars = n_chars;
    }
    TF_TRY(tf_trie_sort(b->close.items, b->scratch, b->close.n, b->budget, b->err));
    return measure(b, &b->close);
}

/* ---- the rows of the string states ---- */

static void step(const walk_level *from, uint8_t byte, walk_level *to)
{
    const uint8_t(*table)[256] = tf_string_table();
    to->alive = 0;
    for (uint32_t left = from->alive, s = 0; left != 0; left >>= 1, s++) {
        if ((left & 1u) == 0)
            continue;
        uint8_t next = table[from->state[s]][byte];
        if (next >= TF_N_STR)
            continue;
        to->alive |= (uint32_t)1 << s;
        to->state[s] = next;
        to->n_chars[s] = from->n_chars[s] + (from->state[s] == TF_STR_NORMAL);
    }
    uint8_t narrow = from->minimal;
    if (narrow < TF_N_STR_MINIMAL)
        narrow = tf_string_minimal_table()[narrow][byte];
    to->minimal = narrow;
}

static void note(pack_builder *b, uint32_t id, const walk_level *at)
{
    for (uint32_t left = at->alive, s = 0; left != 0; left >>= 1, s++) {
        if ((left & 1u) == 0)
            continue;
        tf_set(b->stay + s * b->n_words, id);
        if (at->n_chars[s] > b->stay_chars[s])
            b->stay_chars[s] = at->n_chars[s];
    }
    if ((at->alive & 1u << TF_STR_NORMAL) == 0)
        return;
    uint32_t n_chars = at->n_chars[TF_STR_NORMAL];
    b->n_chars[id] = n_chars;
    if (at->minimal >= TF_N_STR_MINIMAL)
        return;
    tf_set(b->stay_minimal, id);
    if (at->minimal == TF_STR_NORMAL && n_chars < TF_MAX_CHAR_TOKENS) {
        if (n_chars >= b->n_char_tokens)
            b->n_char_tokens = n_chars + 1;
        if (id < b->char_token[n_chars])
            b->char_token[n_chars] = id;
    }
}

static tokfsm_status walk_strings(pack_builder *b)
{
    size_t n_stay;
    if (!tf_size_mul_add(b->n_words, TF_N_STR, 0, &n_stay))
        return no_memory(b->err);
    b->stay = take_zero(b, n_stay, sizeof *b->stay);
    b->stay_minimal = take_zero(b, b->n_words, sizeof *b->stay_minimal);
    b->n_chars = take(b, b->n_tokens, sizeof *b->n_chars);
    walk_level *levels = take(b, (size_t)b->max_token_bytes + 1, sizeof *levels);
    if (b->stay == NULL || b->stay_minimal == NULL || b->n_chars == NULL || levels == NULL)
        return no_memory(b->err);
    memset(b->n_chars, 0xFF, (size_t)b->n_tokens * sizeof *b->n_chars);
    memset(b->char_token, 0xFF, sizeof b->char_token);
    b->n_char_tokens = 1;

    levels[0].alive = ((uint32_t)1 << TF_N_STR) - 1u;
    levels[0].minimal = TF_STR_NORMAL;
    for (uint8_t s = 0; s < TF_N_STR; s++) {
        levels[0].state[s] = s;
        levels[0].n_chars[s] = 0;
    }
    for (size_t k = 0; k < b->all.n; k++) {
        const tf_trie_item *item = &b->all.items[k];
        for (uint32_t i = b->all.shared[k]; i < item->n_bytes; i++)
            step(&levels[i], item->data[i], &levels[i + 1]);
        TF_TRY(tf_spend_n(b->budget, 1u + item->n_bytes - b->all.shared[k], b->err));
        note(b, item->id, &levels[item->n_bytes]);
    }
    return TOKFSM_OK;
}

static tokfsm_status number_lengths(pack_builder *b)
{
    size_t n = (size_t)b->stay_chars[TF_STR_NORMAL] + 1;
    b->length_index = take(b, n, sizeof *b->length_index);
    if (b->length_index == NULL)
        return no_memory(b->err);
    memset(b->length_index, 0xFF, n * sizeof *b->length_index);
    for (uint32_t t = 0; t < b->n_tokens; t++)
        if (b->n_chars[t] != TF_NONE)
            b->length_index[b->n_chars[t]] = 0;
    for (size_t i = 0; i < n; i++)
        if (b->length_index[i] == 0)
            b->length_index[i] = b->n_lengths++;
    /* A row a length: what makes a pack large, where a vocabulary is odd. */
    return tf_spend_n(b->budget, (uint64_t)b->n_lengths * b->n_words, b->err);
}

/* ---- the image ---- */

static void write_trie(const item_list *list, const tf_trie *trie, uint32_t *path)
{
    /* The image is the builder's to write until it hands the pack out. */
    tf_trie_arrays out = {(uint8_t *)(uintptr_t)trie->byte, (uint32_t *)(uintptr_t)trie->end,
                          (uint32_t *)(uintptr_t)trie->first, (uint32_t *)(uintptr_t)trie->ids,
                          (uint32_t *)(uintptr_t)trie->root};
    tf_trie_fill(list->items, list->shared, list->n, list->n_nodes, path, &out);
}

static void write_lengths(const pack_builder *b, uint32_t *length, uint32_t *rows)
{
    for (uint32_t i = 0; i <= b->stay_chars[TF_STR_NORMAL]; i++)
        if (b->length_index[i] != TF_NONE)
            length[b->length_index[i]] = i;
    for (uint32_t t = 0; t < b->n_tokens; t++)
        if (b->n_chars[t] != TF_NONE)
            tf_set(rows + b->length_index[b->n_chars[t]] * b->n_words, t);
    for (size_t i = b->n_words; i < b->n_lengths * b->n_words; i++)
        rows[i] |= rows[i - b->n_words];
}

static tokfsm_status write_image(pack_builder *b, tokfsm_pack *pack)
{
    const item_list *lists[TF_N_TRIES] = {&b->all, &b->quote, &b->close};
    tf_pack_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, "TOKFPACK", 8);
    header.version = TF_PACK_VERSION;
    header.byte_order = TF_PACK_BYTE_ORDER;
    header.n_sections = TF_N_SECTIONS;
    header.vocab_size = b->n_tokens;
    header.n_token_bytes = (uint32_t)b->n_token_bytes;
    header.max_token_bytes = b->max_token_bytes;
    header.n_string_states = TF_N_STR;
    header.n_lengths = b->n_lengths;
    header.n_char_tokens = b->n_char_tokens;
    header.max_close_chars = b->max_close_chars;
    for (size_t i = 0; i < TF_N_TRIES; i++) {
        header.trie[i].n_nodes = (uint32_t)lists[i]->n_nodes;
        header.trie[i].n_ids = (uint32_t)lists[i]->n;
        header.trie[i].depth = lists[i]->depth;
    }
    fingerprint_of(b->blob, b->offsets, b->n_tokens, header.fingerprint);
    TF_TRY(tf_spend_n(b->budget, b->n_token_bytes / 16 + b->n_tokens, b->err));

    uint32_t *path = take(b, (size_t)b->max_token_bytes + 1, sizeof *path);
    uint8_t *scratch = take(b, b->max_token_bytes, 1);
    uint8_t *image;
    if (path == NULL || scratch == NULL || !tf_pack_layout(&header) ||
        header.n_bytes > SIZE_MAX ||
        !tf_pack_allocate(pack, (size_t)header.n_bytes, &image))
        return no_memory(b->err);
    memset(image, 0, pack->n_image_bytes);
    memcpy(image, &header, sizeof header);
    tf_pack_bind(pack);

#define SECTION(i) (image + header.section[i].offset)
    uint32_t *offsets = (uint32_t *)(void *)SECTION(TF_SECTION_OFFSETS);
    for (uint32_t t = 0; t <= b->n_tokens; t++)
        offsets[t] = (uint32_t)b->offsets[t];
    if (b->n_token_bytes > 0)
        memcpy(SECTION(TF_SECTION_BYTES), b->blob, b->n_token_bytes);
    uint32_t *byte_token = (uint32_t *)(void *)SECTION(TF_SECTION_BYTE_TOKEN);
    memset(byte_token, 0xFF, 256 * sizeof *byte_token);
    for (uint32_t t = b->n_tokens; t-- > 0;)
        if (offsets[t + 1] - offsets[t] == 1)
            byte_token[b->blob[offsets[t]]] = t;
    memcpy(SECTION(TF_SECTION_STAY), b->stay, TF_N_STR * b->n_words * sizeof *b->stay);
    memcpy(SECTION(TF_SECTION_STAY_CHARS), b->stay_chars, sizeof b->stay_chars);
    write_lengths(b, (uint32_t *)(void *)SECTION(TF_SECTION_LENGTH),
                  (uint32_t *)(void *)SECTION(TF_SECTION_STAY_AT_MOST));
    memcpy(SECTION(TF_SECTION_STAY_MINIMAL), b->stay_minimal,
           b->n_words * sizeof *b->stay_minimal);
    memcpy(SECTION(TF_SECTION_CHAR_TOKEN), b->char_token,
           b->n_char_tokens * sizeof *b->char_token);
    write_trie(&b->all, &pack->all, path);
    write_trie(&b->quote, &pack->quote, path);
    write_trie(&b->close, &pack->close, path);
    uint32_t *close_chars = (uint32_t *)(void *)SECTION(TF_SECTION_CLOSE_CHARS);
    for (size_t k = 0; k < b->close.n; k++) {
        uint32_t n_bytes, n_before;
        bool minimal = false;
        const uint8_t *token = tf_pack_token(pack, pack->close.ids[k], &n_bytes);
        tf_pack_close(token, n_bytes, &n_before, &close_chars[k], &minimal);
        SECTION(TF_SECTION_CLOSE_MINIMAL)[k] = minimal;
    }
#undef SECTION
    TF_TRY(tf_spend_n(b->budget, b->n_token_bytes, b->err));
    tf_pack_header *written = (tf_pack_header *)(void *)image;
    written->max_closes = pack->max_closes = tf_pack_max_closes(pack, scratch);
    written->checksum = tf_pack_checksum(image + 32, pack->n_image_bytes - 32);
    return TOKFSM_OK;
}

static tokfsm_status build(pack_builder *b, tokfsm_pack *pack)
{
    TF_TRY(list_all(b));
    TF_TRY(list_quote(b));
    TF_TRY(list_close(b));
    TF_TRY(walk_strings(b));
    TF_TRY(number_lengths(b));
    return write_image(b, pack);
}

tokfsm_status tokfsm_pack_build(const uint8_t *blob, const uint64_t *offsets,
                                uint32_t n_tokens, const tokfsm_allocator *allocator,
                                const tokfsm_limits *limits, const tokfsm_cancel *cancel,
                                tokfsm_pack **pack, tokfsm_error *err)
{
    if (pack == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "pack is NULL");
    TF_TRY(check_vocabulary(blob, offsets, n_tokens, err));
    tokfsm_allocator a = tf_allocator(allocator);
    tokfsm_pack *made = tf_allocate(&a, sizeof *made);
    if (made == NULL)
        return no_memory(err);
    memset(made, 0, sizeof *made);
    made->allocator = a;
    atomic_init(&made->references, 1u);

    tf_budget budget;
    tf_budget_init(&budget, limits, cancel);
    pack_builder b;
    memset(&b, 0, sizeof b);
    b.blob = blob;
    b.offsets = offsets;
    b.n_tokens = n_tokens;
    b.n_words = tf_n_words(n_tokens);
    b.n_token_bytes = (size_t)offsets[n_tokens];
    b.budget = &budget;
    b.err = err;
    tf_arena_init(&b.arena, &a);
    tokfsm_status status = build(&b, made);
    tf_arena_free(&b.arena);
    if (status == TOKFSM_OK)
        status = tf_traces_make(made, &budget, err);
    if (status != TOKFSM_OK) {
        tokfsm_pack_free(made);
        return status;
    }
    *pack = made;
    return TOKFSM_OK;
}

/* ---- the handle ---- */

void tokfsm_pack_retain(tokfsm_pack *pack)
{
    atomic_fetch_add_explicit(&pack->references, 1u, memory_order_relaxed);
}

void tokfsm_pack_free(tokfsm_pack *pack)
{
    if (pack == NULL ||
        atomic_fetch_sub_explicit(&pack->references, 1u, memory_order_acq_rel) != 1u)
        return;
    tokfsm_allocator a = pack->allocator;
    struct tf_shelf *shelf = atomic_load_explicit(&pack->shelf, memory_order_acquire);
    if (shelf != NULL)
        atomic_load_explicit(&pack->free_shelf, memory_order_relaxed)(shelf);
    tf_traces_free(pack);
    tf_release(&a, pack->block);
    tf_release(&a, pack);
}

uint32_t tokfsm_pack_vocab_size(const tokfsm_pack *pack) { return pack->vocab_size; }

uint32_t tokfsm_pack_max_closes(const tokfsm_pack *pack) { return pack->max_closes; }

const uint8_t *tokfsm_pack_fingerprint(const tokfsm_pack *pack) { return pack->fingerprint; }

const uint8_t *tokfsm_pack_token(const tokfsm_pack *pack, uint32_t token_id, size_t *n_bytes)
{
    uint32_t n = 0;
    const uint8_t *bytes =
        token_id < pack->vocab_size ? tf_pack_token(pack, token_id, &n) : pack->bytes;
    *n_bytes = n;
    return bytes;
}
