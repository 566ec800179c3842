#include "kept_masks.h"

#include "../base/le.h"

struct tf_kept {
    const uint8_t *slots, *frames, *masks, *lists; /* words */
    const uint8_t *data;
    const uint32_t *rows;
    _Atomic(const tf_piece *) *pieces; /* [n_lists], decoded on first use */
    uint32_t n_slots, n_frames, n_masks, n_lists, n_rows;
    uint32_t n_data;
};

typedef struct cursor {
    const uint8_t *at, *end;
    bool failed;
} cursor;

static uint64_t take(cursor *c)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        if (c->at == c->end)
            break;
        uint8_t byte = *c->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    c->failed = true;
    return 0;
}

/* A number below `end`. */
static uint32_t take_below(cursor *c, uint64_t end)
{
    uint64_t value = take(c);
    if (value >= end) {
        c->failed = true;
        return 0;
    }
    return (uint32_t)value;
}

/* Where the data of an entry of a table begins. */
static cursor begin(const tf_kept *kept, const uint8_t *table, uint32_t i)
{
    uint32_t at = tf_le32_load(table + 4 * (size_t)i);
    if (at > kept->n_data)
        return (cursor){NULL, NULL, true};
    return (cursor){kept->data + at, kept->data + kept->n_data, false};
}

uint32_t tf_kept_spell(const uint64_t *words, uint32_t n, uint8_t bytes[TF_KEPT_MOST_BYTES])
{
    uint32_t n_bytes = tf_varint_put(bytes, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t word = words[i], sign = word >> 63;
        n_bytes += tf_varint_put(bytes + n_bytes, word << 1 ^ (0 - sign));
    }
    return n_bytes;
}

/* ---- opening ---- */

bool tf_kept_open(tf_machine *m, const uint8_t *bytes, size_t n_bytes, tf_arena *arena,
                  const char **corrupt)
{
    const uint32_t row_words = m->pack->n_words;
    uint32_t head[TF_KEPT_HEAD];
    *corrupt = NULL;
    if (n_bytes < sizeof head || n_bytes > UINT32_MAX) {
        *corrupt = "the masks are cut off, or too many";
        return false;
    }
    for (uint32_t i = 0; i < TF_KEPT_HEAD; i++)
        head[i] = tf_le32_load(bytes + 4 * i);
    const uint64_t tables = 4 * (TF_KEPT_HEAD + (uint64_t)head[0] + head[1] + head[2] + head[3]);
    const uint64_t rows = 4 * (uint64_t)head[4] * row_words; /* below 2^32 * 2^29 */
    if (head[0] == 0 || (head[0] & (head[0] - 1)) != 0 || head[5] != row_words ||
        tables > n_bytes || rows > n_bytes - tables || head[6] != n_bytes - tables - rows) {
        *corrupt = "the masks have tables of a wrong size";
        return false;
    }
    tf_kept *kept = tf_arena_take(arena, sizeof *kept);
    uint8_t *copy = tf_arena_take(arena, (size_t)tables);
    uint32_t *row = tf_arena_take(arena, (size_t)rows);
    uint8_t *data = tf_arena_take(arena, head[6]);
    _Atomic(const tf_piece *) *pieces = tf_arena_take(arena, head[3] * sizeof *pieces);
    if (kept == NULL || copy == NULL || row == NULL || data == NULL || pieces == NULL)
        return false;
    memcpy(copy, bytes, (size_t)tables);
    for (size_t i = 0; i < rows / 4; i++)
        row[i] = tf_le32_load(bytes + tables + 4 * i);
    memcpy(data, bytes + tables + rows, head[6]);
    for (uint32_t i = 0; i < head[3]; i++)
        atomic_init(&pieces[i], NULL);
    for (uint32_t i = 0; m->pack->vocab_size % 32 != 0 && i < head[4]; i++)
        if (row[(size_t)(i + 1) * row_words - 1] >> (m->pack->vocab_size % 32) != 0)
            *corrupt = "a row of the masks has ids that do not exist";
    const uint8_t *slots = copy + sizeof head;
    const uint8_t *frames = slots + 4 * (size_t)head[0], *masks = frames + 4 * (size_t)head[1];
    *kept = (tf_kept){slots, frames, masks, masks + 4 * (size_t)head[2], data, row, pieces,
                      head[0], head[1], head[2], head[3], head[4], head[6]};
    m->kept = kept;
    return *corrupt == NULL;
}

tf_kept_parts tf_kept_take_apart(const tf_machine *m)
{
    const tf_kept *kept = m->kept;
    const size_t n_words = TF_KEPT_HEAD + (size_t)kept->n_slots + kept->n_frames + kept->n_masks +
                           kept->n_lists;
    return (tf_kept_parts){kept->slots - 4 * TF_KEPT_HEAD, kept->data, kept->rows, 4 * n_words,
                           (size_t)kept->n_rows * m->pack->n_words, kept->n_data};
}

/* ---- finding ---- */

/* Ids of a list, appended; false: not well-formed, or no memory. */
static bool take_ids(const tf_machine *m, const tf_kept *kept, uint32_t list, tf_arena *arena,
                     tf_ids *ids)
{
    cursor c = begin(kept, kept->lists, list);
    const uint32_t vocab_size = m->pack->vocab_size, n = take_below(&c, (uint64_t)vocab_size + 1);
    if (c.failed || n > (size_t)(c.end - c.at))
        return false;
    uint32_t *items = tf_arena_take(arena, (ids->n + (size_t)n) * sizeof *items);
    if (items == NULL)
        return false;
    if (ids->n > 0)
        memcpy(items, ids->items, ids->n * sizeof *items);
    uint64_t id = 0;
    for (uint32_t i = 0; i < n; i++) {
        /* Mostly near to one another. */
        id += c.at < c.end && *c.at < 0x80 ? *c.at++ : take(&c);
        if (c.failed || id >= vocab_size)
            return false;
        items[ids->n + i] = (uint32_t)id;
    }
    *ids = (tf_ids){items, ids->n + n, ids->n + n};
    return true;
}

/* 0: no ids, else 1 + a list. */
static bool take_list(cursor *c, const tf_machine *m, const tf_kept *kept, tf_arena *arena,
                      tf_ids *ids)
{
    uint32_t list = take_below(c, (uint64_t)kept->n_lists + 1);
    return !c->failed && (list == 0 || take_ids(m, kept, list - 1, arena, ids));
}

/* Many ids by words; NULL: not well-formed, or no memory. */
static const tf_piece *piece_of(tf_machine *m, const tf_kept *kept, uint32_t list, tf_arena *arena)
{
    const tf_piece *known = atomic_load_explicit(&kept->pieces[list], memory_order_acquire);
    tf_ids ids = {0};
    if (known != NULL)
        return known;
    if (!take_ids(m, kept, list, arena, &ids))
        return NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < ids.n; i++)
        n += i == 0 || ids.items[i] / 32 != ids.items[i - 1] / 32;
    tf_piece *made = tf_cache_block(m, sizeof *made + 2 * (size_t)n * sizeof(uint32_t));
    if (made == NULL)
        return NULL;
    uint32_t *word = (uint32_t *)(void *)(made + 1), *bits = word + n, at = 0;
    for (uint32_t i = 0; i < ids.n; i++) {
        if (i == 0 || ids.items[i] / 32 != ids.items[i - 1] / 32) {
            word[at] = ids.items[i] / 32;
            bits[at++] = 0;
        }
        bits[at - 1] |= (uint32_t)1 << ids.items[i] % 32;
    }
    *made = (tf_piece){n, word, bits};
    if (atomic_compare_exchange_strong_explicit(&kept->pieces[list], &known, made,
                                                memory_order_acq_rel, memory_order_acquire))
        return made;
    return known; /* another thread's; this one goes with the cache */
}

static bool take_base(cursor *c, tf_machine *m, const tf_kept *kept, tf_edits *edits)
{
    tokfsm_pack *pack = m->pack;
    const size_t n_words = pack->n_words;
    switch (take_below(c, TF_KEPT_N_BASES)) {
    case TF_KEPT_STAY: edits->base = pack->stay + take_below(c, TF_N_STR) * n_words; break;
    case TF_KEPT_AT_MOST:
        edits->base = pack->stay_at_most + take_below(c, pack->n_lengths) * n_words;
        break;
    case TF_KEPT_GROUPS:
        edits->groups = take(c);
        if (c->failed || (edits->base = tf_group_row_of(pack, edits->groups)) == NULL)
            return false;
        break;
    case TF_KEPT_ROW: edits->base = kept->rows + take_below(c, kept->n_rows) * n_words; break;
    default: break;
    }
    uint32_t narrowed = take_below(c, (uint64_t)pack->n_lengths + 2);
    if (narrowed > 0)
        edits->narrowed = narrowed == 1 ? pack->stay_minimal
                                        : pack->stay_at_most + (narrowed - 2) * n_words;
    return !c->failed;
}

static bool take_mask(tf_machine *m, const tf_kept *kept, uint32_t mask, tf_arena *arena,
                      tf_edits *edits)
{
    cursor c = begin(kept, kept->masks, mask);
    memset(edits, 0, sizeof *edits);
    if (c.failed || !take_base(&c, m, kept, edits) || !take_list(&c, m, kept, arena, &edits->before) ||
        !take_list(&c, m, kept, arena, &edits->cleared) ||
        !take_list(&c, m, kept, arena, &edits->set))
        return false;
    edits->n_pieces = take_below(&c, TF_MAX_PIECES + 1);
    edits->n_before_pieces = take_below(&c, (uint64_t)edits->n_pieces + 1);
    for (uint32_t i = 0; i < edits->n_pieces; i++) {
        uint32_t list = take_below(&c, kept->n_lists);
        if (c.failed || (edits->pieces[i] = piece_of(m, kept, list, arena)) == NULL)
            return false;
    }
    return !c.failed;
}

bool tf_kept_find(tf_machine *m, tf_arena *arena, const tf_signature *s, uint64_t *most,
                  tf_edits *edits)
{
    const tf_kept *kept = m->kept;
    uint8_t wanted[2 * TF_KEPT_MOST_BYTES];
    const uint32_t n_head = s->outer == 0 ? s->n : s->outer;
    uint32_t n_wanted = 0, n_outer = 0;
    for (uint32_t probe = 0; probe < TF_KEPT_PROBES; probe++) {
        uint32_t slot = tf_le32_load(kept->slots + 4 * ((s->hash + probe) & (kept->n_slots - 1)));
        uint32_t at = slot & (TF_KEPT_ENTRY_END - 1);
        if (slot == 0)
            return false;
        if (slot / TF_KEPT_ENTRY_END != s->hash >> 54 || at == 0 || at > kept->n_data)
            continue;
        cursor c = {kept->data + at - 1, kept->data + kept->n_data, false};
        uint32_t mask = take_below(&c, kept->n_masks);
        *most = take(&c);
        uint32_t around = take_below(&c, kept->n_frames);
        if (n_wanted == 0) {
            n_wanted = tf_kept_spell(s->words, n_head, wanted);
            n_outer = tf_kept_spell(s->words + n_head, s->n - n_head, wanted + n_wanted);
        }
        if (c.failed || (size_t)(c.end - c.at) < n_wanted || memcmp(c.at, wanted, n_wanted) != 0 ||
            (s->far && s->length > *most))
            continue;
        c = begin(kept, kept->frames, around);
        if (c.failed || (size_t)(c.end - c.at) < n_outer ||
            memcmp(c.at, wanted + n_wanted, n_outer) != 0)
            continue;
        return take_mask(m, kept, mask, arena, edits);
    }
    return false;
}
