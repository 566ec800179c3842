/*
 * The pack as bytes: layout, save, and open, which copies and verifies all that later
 * readers rely on. What a hostile file can still do is give wrong masks.
 *
 * Cost of open: one copy and a few passes; only the traces are made again.
 */
#include "json_follow.h"
#include "pack_layout.h"
#include "traces.h"
#include "trie.h"

/* ---- layout ---- */

/* n items, and `more` bytes. */
static bool place(tf_pack_header *header, unsigned section, size_t n, size_t item_bytes,
                  size_t more)
{
    uint64_t at = header->n_bytes;
    size_t n_bytes;
    if (!tf_size_mul_add(n, item_bytes, more, &n_bytes) || n_bytes > SIZE_MAX / 4 ||
        at > SIZE_MAX / 2)
        return false;
    at = (at + TF_PACK_ALIGN - 1u) / TF_PACK_ALIGN * TF_PACK_ALIGN;
    header->section[section].offset = at;
    header->section[section].n_bytes = n_bytes;
    header->n_bytes = at + n_bytes;
    return true;
}

bool tf_pack_layout(tf_pack_header *header)
{
    const size_t row_bytes = tf_n_words(header->vocab_size) * sizeof(uint32_t);
    const size_t n_close = header->trie[TF_TRIE_CLOSE].n_ids;
    header->n_bytes = sizeof *header;
    bool fits = place(header, TF_SECTION_OFFSETS, header->vocab_size, 4, 4) &&
                place(header, TF_SECTION_BYTES, header->n_token_bytes, 1, 0) &&
                place(header, TF_SECTION_BYTE_TOKEN, 256, 4, 0) &&
                place(header, TF_SECTION_STAY, header->n_string_states, row_bytes, 0) &&
                place(header, TF_SECTION_STAY_CHARS, header->n_string_states, 4, 0) &&
                place(header, TF_SECTION_LENGTH, header->n_lengths, 4, 0) &&
                place(header, TF_SECTION_STAY_AT_MOST, header->n_lengths, row_bytes, 0) &&
                place(header, TF_SECTION_STAY_MINIMAL, 1, row_bytes, 0) &&
                place(header, TF_SECTION_CHAR_TOKEN, header->n_char_tokens, 4, 0) &&
                place(header, TF_SECTION_CLOSE_CHARS, n_close, 4, 0) &&
                place(header, TF_SECTION_CLOSE_MINIMAL, n_close, 1, 0);
    for (unsigned i = 0; fits && i < TF_N_TRIES; i++) {
        const unsigned first = TF_SECTION_TRIES + i * TF_N_TRIE_SECTIONS;
        const size_t n_nodes = header->trie[i].n_nodes;
        fits = place(header, first + TF_TRIE_BYTE, n_nodes, 1, 0) &&
               place(header, first + TF_TRIE_END, n_nodes, 4, 0) &&
               place(header, first + TF_TRIE_FIRST, n_nodes, 4, 4) &&
               place(header, first + TF_TRIE_IDS, header->trie[i].n_ids, 4, 0) &&
               place(header, first + TF_TRIE_ROOT, 256, 4, 0);
    }
    return fits;
}

bool tf_pack_allocate(tokfsm_pack *pack, size_t n_bytes, uint8_t **image)
{
    if (n_bytes > SIZE_MAX - TF_PACK_ALIGN)
        return false;
    uint8_t *block = tf_allocate(&pack->allocator, n_bytes + TF_PACK_ALIGN);
    if (block == NULL)
        return false;
    pack->block = block;
    pack->n_block_bytes = n_bytes + TF_PACK_ALIGN;
    *image = block + (TF_PACK_ALIGN - (uintptr_t)block % TF_PACK_ALIGN) % TF_PACK_ALIGN;
    pack->image = *image;
    pack->n_image_bytes = n_bytes;
    return true;
}

static const uint8_t *section(const tokfsm_pack *pack, unsigned i)
{
    const tf_pack_header *header = (const tf_pack_header *)(const void *)pack->image;
    return pack->image + header->section[i].offset;
}

static const uint32_t *words(const tokfsm_pack *pack, unsigned i)
{
    return (const uint32_t *)(const void *)section(pack, i);
}

void tf_pack_bind(tokfsm_pack *pack)
{
    const tf_pack_header *header = (const tf_pack_header *)(const void *)pack->image;
    pack->vocab_size = header->vocab_size;
    pack->n_words = (uint32_t)tf_n_words(header->vocab_size);
    memcpy(pack->fingerprint, header->fingerprint, 32);
    pack->offsets = words(pack, TF_SECTION_OFFSETS);
    pack->bytes = section(pack, TF_SECTION_BYTES);
    pack->byte_token = words(pack, TF_SECTION_BYTE_TOKEN);
    pack->max_token_bytes = header->max_token_bytes;
    pack->max_closes = header->max_closes;
    pack->stay = words(pack, TF_SECTION_STAY);
    pack->stay_chars = words(pack, TF_SECTION_STAY_CHARS);
    pack->n_lengths = header->n_lengths;
    pack->length = words(pack, TF_SECTION_LENGTH);
    pack->stay_at_most = words(pack, TF_SECTION_STAY_AT_MOST);
    pack->stay_minimal = words(pack, TF_SECTION_STAY_MINIMAL);
    pack->close_chars = words(pack, TF_SECTION_CLOSE_CHARS);
    pack->close_minimal = section(pack, TF_SECTION_CLOSE_MINIMAL);
    pack->max_close_chars = header->max_close_chars;
    pack->n_char_tokens = header->n_char_tokens;
    pack->char_token = words(pack, TF_SECTION_CHAR_TOKEN);
    tf_trie *tries[TF_N_TRIES] = {&pack->all, &pack->quote, &pack->close};
    for (unsigned i = 0; i < TF_N_TRIES; i++) {
        const unsigned first = TF_SECTION_TRIES + i * TF_N_TRIE_SECTIONS;
        tries[i]->n_nodes = header->trie[i].n_nodes;
        tries[i]->depth = header->trie[i].depth;
        tries[i]->byte = section(pack, first + TF_TRIE_BYTE);
        tries[i]->end = words(pack, first + TF_TRIE_END);
        tries[i]->first = words(pack, first + TF_TRIE_FIRST);
        tries[i]->ids = words(pack, first + TF_TRIE_IDS);
        tries[i]->root = words(pack, first + TF_TRIE_ROOT);
    }
}

static uint64_t fold(uint64_t sum, uint64_t word)
{
    sum ^= word;
    return (sum << 29 | sum >> 35) * 0x9E3779B97F4A7C15u; /* odd: no two sums become one */
}

uint32_t tf_pack_checksum(const uint8_t *bytes, size_t n_bytes)
{
    uint64_t sum[4] = {0, 0, 0, 0}, word[4], all = n_bytes;
    for (; n_bytes >= sizeof word; bytes += sizeof word, n_bytes -= sizeof word) {
        memcpy(word, bytes, sizeof word);
        for (unsigned i = 0; i < 4; i++)
            sum[i] = fold(sum[i], word[i]);
    }
    memset(word, 0, sizeof word);
    memcpy(word, bytes, n_bytes);
    for (unsigned i = 0; i < 4; i++)
        sum[i] = fold(sum[i], word[i]);
    for (unsigned i = 0; i < 4; i++)
        all = fold(all, sum[i]);
    return (uint32_t)(all >> 32);
}

uint32_t tf_pack_next_with(const tokfsm_pack *pack, uint8_t byte, uint32_t id)
{
    const uint32_t *offsets = pack->offsets, n = pack->vocab_size;
    if (id >= n || offsets[id] == offsets[n])
        return n;
    const uint8_t *found = memchr(pack->bytes + offsets[id], byte, offsets[n] - offsets[id]);
    if (found == NULL)
        return n;
    uint32_t at = (uint32_t)(found - pack->bytes);
    while (offsets[id + 1] <= at)
        id++;
    return id;
}

/* Tokens with neither '}' nor ']' close nothing: the search skips them. */
uint32_t tf_pack_max_closes(const tokfsm_pack *pack, uint8_t *scratch)
{
    uint32_t most = 0;
    for (const char *closer = "}]"; *closer != '\0'; closer++)
        for (uint32_t t = tf_pack_next_with(pack, (uint8_t)*closer, 0); t < pack->vocab_size;
             t = tf_pack_next_with(pack, (uint8_t)*closer, t + 1)) {
            uint32_t n_bytes, n_closers = 0;
            const uint8_t *token = tf_pack_token(pack, t, &n_bytes);
            for (uint32_t i = 0; i < n_bytes; i++)
                n_closers += token[i] == '}' || token[i] == ']';
            if (n_closers > most) {
                uint32_t n = tf_json_max_closes(token, n_bytes, scratch);
                most = n > most ? n : most;
            }
        }
    return most;
}

/* ---- save and open ---- */

tokfsm_status tokfsm_pack_save(const tokfsm_pack *pack, uint8_t **bytes, size_t *n_bytes,
                               tokfsm_error *err)
{
    if (pack == NULL || bytes == NULL || n_bytes == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "pack, bytes or n_bytes is NULL");
    uint8_t *copy = tf_allocate(&pack->allocator, pack->n_image_bytes);
    if (copy == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the bytes of the pack");
    memcpy(copy, pack->image, pack->n_image_bytes);
    *bytes = copy;
    *n_bytes = pack->n_image_bytes;
    return TOKFSM_OK;
}

static tokfsm_status corrupt(tokfsm_error *err, const char *what)
{
    return tf_fail(err, TOKFSM_E_CORRUPT, "pack: %s", what);
}

#define CHECK(condition, what)          \
    do {                                \
        if (!(condition))               \
            return corrupt(err, what);  \
    } while (0)

/* Sizes and places: after this every section lies in the file. */
static tokfsm_status verify_header(const uint8_t *image, size_t n_bytes, tokfsm_error *err)
{
    tf_pack_header header, laid;
    memcpy(&header, image, sizeof header);
    CHECK(header.n_bytes == n_bytes, "the file is cut or has something behind it");
    CHECK(header.checksum == tf_pack_checksum(image + 32, n_bytes - 32),
          "the checksum does not match");
    CHECK(header.n_sections == TF_N_SECTIONS && header.n_string_states == TF_N_STR,
          "sections or string states are not those of this version");
    CHECK(header.vocab_size > 0 && header.vocab_size != TF_NONE,
          "the vocabulary size is out of range");
    CHECK(header.n_char_tokens > 0 && header.n_char_tokens <= TF_MAX_CHAR_TOKENS,
          "the number of tokens by characters is out of range");
    laid = header;
    CHECK(tf_pack_layout(&laid) && memcmp(&laid, &header, sizeof header) == 0,
          "sections are not where their sizes put them");
    for (size_t i = 0; i < sizeof header.reserved / sizeof *header.reserved; i++)
        CHECK(header.reserved[i] == 0, "a reserved field is not 0");
    for (unsigned i = 0; i < TF_N_TRIES; i++)
        CHECK(header.trie[i].reserved == 0, "a reserved field is not 0");
    uint64_t at = sizeof header;
    for (unsigned i = 0; i < TF_N_SECTIONS; i++) {
        for (; at < header.section[i].offset; at++)
            CHECK(image[at] == 0, "a byte between sections is not 0");
        at += header.section[i].n_bytes;
    }
    return TOKFSM_OK;
}

static tokfsm_status verify_tokens(const tokfsm_pack *pack, const tf_pack_header *header,
                                   uint32_t *has_bytes, tokfsm_error *err)
{
    const uint32_t *offsets = pack->offsets;
    uint32_t longest = 0;
    tf_fingerprint hash;
    uint8_t fingerprint[32];
    CHECK(offsets[0] == 0, "the offsets of the tokens do not start at 0");
    for (uint32_t t = 0; t < pack->vocab_size; t++) {
        CHECK(offsets[t + 1] >= offsets[t], "the offsets of the tokens are not in order");
        uint32_t n_bytes = offsets[t + 1] - offsets[t];
        longest = n_bytes > longest ? n_bytes : longest;
        if (n_bytes > 0)
            tf_set(has_bytes, t);
    }
    CHECK(offsets[pack->vocab_size] == header->n_token_bytes,
          "the offsets of the tokens do not end with their bytes");
    CHECK(longest == pack->max_token_bytes, "no token is as long as said");
    tf_fingerprint_start(&hash, pack->vocab_size, pack->bytes + header->n_token_bytes);
    for (uint32_t t = 0; t < pack->vocab_size; t++)
        tf_fingerprint_token(&hash, pack->bytes + offsets[t], offsets[t + 1] - offsets[t]);
    tf_fingerprint_end(&hash, fingerprint);
    CHECK(memcmp(fingerprint, pack->fingerprint, sizeof fingerprint) == 0,
          "the fingerprint is of another vocabulary");
    for (unsigned b = 0; b < 256; b++) {
        uint32_t id = pack->byte_token[b], n_bytes;
        if (id == TF_NONE)
            continue;
        CHECK(id < pack->vocab_size, "the token of a byte is out of range");
        const uint8_t *token = tf_pack_token(pack, id, &n_bytes);
        CHECK(n_bytes == 1 && *token == b, "the token of a byte is another");
    }
    return TOKFSM_OK;
}

static bool subset(const uint32_t *row, const uint32_t *of, size_t n_words)
{
    uint32_t beyond = 0;
    for (size_t i = 0; i < n_words; i++)
        beyond |= row[i] & ~of[i];
    return beyond == 0;
}

static tokfsm_status verify_rows(const tokfsm_pack *pack, const uint32_t *has_bytes,
                                 tokfsm_error *err)
{
    const size_t n = pack->n_words;
    const uint32_t *normal = pack->stay + TF_STR_NORMAL * n;
    for (size_t s = 0; s < TF_N_STR; s++) {
        CHECK(subset(pack->stay + s * n, has_bytes, n), "a row allows a token without bytes");
        CHECK(pack->stay_chars[s] <= pack->max_token_bytes, "a token has too many characters");
    }
    CHECK(subset(pack->stay_minimal, normal, n), "the minimal row is not part of its row");
    uint32_t last = 0;
    for (size_t k = 0; k < pack->n_lengths; k++) {
        const uint32_t *row = pack->stay_at_most + k * n;
        CHECK(pack->length[k] > last, "lengths are not ascending");
        CHECK(k == 0 || subset(row - n, row, n), "the rows by length do not grow");
        last = pack->length[k];
    }
    CHECK(last == pack->stay_chars[TF_STR_NORMAL], "the greatest length is another");
    const uint32_t *whole =
        pack->n_lengths > 0 ? pack->stay_at_most + (pack->n_lengths - 1) * n : NULL;
    for (size_t i = 0; i < n; i++)
        CHECK(normal[i] == (whole != NULL ? whole[i] : 0), "the rows by length end short");
    return TOKFSM_OK;
}

/* Characters of a token that is whole characters with no needless escape; 0: it is not. */
static uint32_t whole_chars(const uint8_t *token, uint32_t n_bytes)
{
    const uint8_t(*table)[256] = tf_string_minimal_table();
    uint8_t state = TF_STR_NORMAL;
    uint32_t n_chars = 0;
    for (uint32_t i = 0; i < n_bytes; i++) {
        n_chars += state == TF_STR_NORMAL;
        state = table[state][token[i]];
        if (state >= TF_N_STR_MINIMAL)
            return 0;
    }
    return state == TF_STR_NORMAL ? n_chars : 0;
}

static tokfsm_status verify_char_tokens(const tokfsm_pack *pack, tokfsm_error *err)
{
    CHECK(pack->char_token[0] == TF_NONE, "a token has no characters");
    for (uint32_t n = 1; n < pack->n_char_tokens; n++) {
        uint32_t id = pack->char_token[n], n_bytes;
        if (id == TF_NONE)
            continue;
        CHECK(id < pack->vocab_size, "a token by characters is out of range");
        const uint8_t *token = tf_pack_token(pack, id, &n_bytes);
        CHECK(whole_chars(token, n_bytes) == n, "a token by characters has others");
    }
    return TOKFSM_OK;
}

static tokfsm_status verify_trie(const tokfsm_pack *pack, const tf_pack_header *header,
                                 unsigned i, const tf_trie *trie, tf_arena *arena,
                                 uint32_t *node_depth, tokfsm_error *err)
{
    static const char *const NAME[TF_N_TRIES] = {"all", "quote", "close"};
    const char *what = "deeper than the longest token";
    if (trie->depth <= pack->max_token_bytes) {
        size_t n_bytes;
        if (!tf_size_mul_add(trie->depth, sizeof(tf_trie_level), sizeof(tf_trie_level),
                             &n_bytes))
            return tf_fail(err, TOKFSM_E_NOMEM, "no memory to verify a pack");
        tf_trie_level *levels = tf_arena_take(arena, n_bytes);
        uint8_t *path = tf_arena_take(arena, (size_t)trie->depth + 1);
        if (levels == NULL || path == NULL)
            return tf_fail(err, TOKFSM_E_NOMEM, "no memory to verify a pack");
        what = tf_trie_verify(trie, header->trie[i].n_ids, pack, i != TF_TRIE_CLOSE, levels,
                              path, node_depth);
    }
    if (what != NULL)
        return tf_fail(err, TOKFSM_E_CORRUPT, "pack: trie %s: %s", NAME[i], what);
    return TOKFSM_OK;
}

static tokfsm_status verify_close(const tokfsm_pack *pack, const uint32_t *node_depth,
                                  uint32_t n_ids, tokfsm_error *err)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < n_ids; k++) {
        uint32_t n_bytes, n_before, n_chars;
        bool minimal;
        const uint8_t *token = tf_pack_token(pack, pack->close.ids[k], &n_bytes);
        CHECK(tf_pack_close(token, n_bytes, &n_before, &n_chars, &minimal) &&
                  n_bytes - n_before - 1 == node_depth[k],
              "trie close: a token does not close a string there");
        CHECK(pack->close_chars[k] == n_chars && pack->close_minimal[k] == minimal,
              "trie close: a token has other characters before the quote");
        most = n_chars > most ? n_chars : most;
    }
    CHECK(most == pack->max_close_chars, "the most characters before a quote are others");
    return TOKFSM_OK;
}

static tokfsm_status verify(const tokfsm_pack *pack, tf_arena *arena, tokfsm_error *err)
{
    const tf_pack_header *header = (const tf_pack_header *)(const void *)pack->image;
    const uint32_t n_close = header->trie[TF_TRIE_CLOSE].n_ids;
    uint32_t *has_bytes = tf_arena_zero(arena, pack->n_words * sizeof *has_bytes);
    if (has_bytes == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory to verify a pack");
    TF_TRY(verify_tokens(pack, header, has_bytes, err));
    uint8_t *scratch = tf_arena_take(arena, (size_t)pack->max_token_bytes + 1);
    uint32_t *node_depth = tf_arena_take(arena, ((size_t)n_close + 1) * sizeof *node_depth);
    if (scratch == NULL || node_depth == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory to verify a pack");
    TF_TRY(verify_rows(pack, has_bytes, err));
    TF_TRY(verify_char_tokens(pack, err));

    uint32_t n_tokens = 0, n_quotes = 0;
    for (uint32_t t = 0; t < pack->vocab_size; t++)
        n_tokens += pack->offsets[t + 1] > pack->offsets[t];
    for (uint32_t t = tf_pack_next_with(pack, 0x22, 0); t < pack->vocab_size;
         t = tf_pack_next_with(pack, 0x22, t + 1))
        n_quotes++;
    /* Each id at most once, as paths differ and ids of a node ascend: so all are there. */
    CHECK(header->trie[TF_TRIE_ALL].n_ids == n_tokens &&
              header->trie[TF_TRIE_QUOTE].n_ids == n_quotes && n_close <= n_quotes,
          "a trie has too few or too many tokens");
    TF_TRY(verify_trie(pack, header, TF_TRIE_ALL, &pack->all, arena, NULL, err));
    TF_TRY(verify_trie(pack, header, TF_TRIE_QUOTE, &pack->quote, arena, NULL, err));
    TF_TRY(verify_trie(pack, header, TF_TRIE_CLOSE, &pack->close, arena, node_depth, err));
    for (uint32_t k = 0; k < n_quotes; k++) {
        uint32_t n_bytes;
        const uint8_t *token = tf_pack_token(pack, pack->quote.ids[k], &n_bytes);
        CHECK(memchr(token, 0x22, n_bytes) != NULL, "trie quote: a token has no quote");
    }
    TF_TRY(verify_close(pack, node_depth, n_close, err));
    CHECK(tf_pack_max_closes(pack, scratch) == pack->max_closes,
          "the most containers that a token closes are others");
    return TOKFSM_OK;
}

tokfsm_status tokfsm_pack_open(const uint8_t *bytes, size_t n_bytes,
                               const tokfsm_allocator *allocator, tokfsm_pack **pack,
                               tokfsm_error *err)
{
    if (bytes == NULL || pack == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "bytes or pack is NULL");
    uint32_t version = 0, byte_order = 0;
    CHECK(n_bytes >= 16 && memcmp(bytes, "TOKFPACK", 8) == 0, "not a pack");
    memcpy(&version, bytes + 8, sizeof version);
    memcpy(&byte_order, bytes + 12, sizeof byte_order);
    if (byte_order != TF_PACK_BYTE_ORDER)
        return tf_fail(err, TOKFSM_E_VERSION, "pack: written in another byte order");
    if (version != TF_PACK_VERSION)
        return tf_fail(err, TOKFSM_E_VERSION, "pack: version %lu; this is version %lu",
                       (unsigned long)version, (unsigned long)TF_PACK_VERSION);
    CHECK(n_bytes >= sizeof(tf_pack_header), "the file is cut or has something behind it");

    tokfsm_allocator a = tf_allocator(allocator);
    tokfsm_pack *made = tf_allocate(&a, sizeof *made);
    if (made == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a pack");
    memset(made, 0, sizeof *made);
    made->allocator = a;
    atomic_init(&made->references, 1u);
    uint8_t *image = NULL;
    tokfsm_status status = TOKFSM_OK;
    if (!tf_pack_allocate(made, n_bytes, &image))
        status = tf_fail(err, TOKFSM_E_NOMEM, "no memory for a pack");
    if (status == TOKFSM_OK) {
        memcpy(image, bytes, n_bytes); /* what is verified is the copy */
        status = verify_header(image, n_bytes, err);
    }
    if (status == TOKFSM_OK) {
        tf_arena arena;
        tf_pack_bind(made);
        tf_arena_init(&arena, &a);
        status = verify(made, &arena, err);
        tf_arena_free(&arena);
    }
    if (status == TOKFSM_OK) {
        tf_budget budget;
        tf_budget_init(&budget, NULL, NULL);
        budget.left = budget.limit = UINT64_MAX; /* the work is that of reading the file */
        status = tf_traces_make(made, &budget, err);
    }
    if (status != TOKFSM_OK) {
        tokfsm_pack_free(made);
        return status;
    }
    *pack = made;
    return TOKFSM_OK;
}
