/*
 * The masks section of an artifact (docs/format.md, section 5): the machine section is read back, so
 * that ids are those of the file and nothing depends on what was explored before; a tour of that
 * machine makes the likely masks, and those are written, in the order in which they were made, as
 * far as they have room. Equal masks, lists and rows are written once.
 */
#include <stdlib.h>

#include "../engine/distances.h"
#include "../engine/kept_masks.h"
#include "../engine/name_lists.h"
#include "../engine/tour.h"
#include "../engine/unique.h"
#include "put.h"

enum {
    ROOM = 64 << 10,    /* bytes of masks beside a machine section of nothing */
    ROOM_A_BYTE = 6,    /* and more for each byte of it */
    MOST_ROOM = 2 << 20,
    TOUR = 1,           /* bytes of masks made for one written, at most */
    NEAR_PIECES = 256
};

/* Byte strings, each once; what they are is the owner's. */
typedef struct pool {
    const tokfsm_allocator *a;
    buffer bytes;      /* one behind the other */
    uint32_t *offsets; /* [n + 1] */
    uint32_t *slots;   /* [n_slots] 1 + index, or 0 */
    uint32_t n, n_slots;
    size_t capacity;
} pool;

typedef struct writer {
    const tokfsm_allocator *a;
    const tf_machine *m;
    pool raw; /* ids as they come, unsorted: to sort equal ones once */
    uint32_t *raw_list; /* [raw.n] */
    size_t raw_capacity;
    pool lists, masks, rows, frames, entries; /* entries: signatures with their masks */
    uint64_t *hashes;                 /* [entries.n] */
    size_t hash_capacity;
    struct {
        const tf_piece *piece;
        uint32_t list;
    } pieces[NEAR_PIECES];
    uint32_t n_pieces;
    buffer scratch;
    uint32_t *ids;
    size_t n_ids_room;
    bool failed;
} writer;

static uint64_t hash_bytes(const uint8_t *bytes, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, n - i < 8 ? n - i : 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool grow_slots(pool *p)
{
    uint32_t wider = p->n_slots == 0 ? 64 : p->n_slots * 2;
    uint32_t *slots = tf_allocate(p->a, wider * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0, wider * sizeof *slots);
    for (uint32_t i = 0; i < p->n; i++) {
        size_t n = p->offsets[i + 1] - p->offsets[i];
        uint64_t at = hash_bytes(p->bytes.bytes + p->offsets[i], n);
        while (slots[at & (wider - 1)] != 0)
            at++;
        slots[at & (wider - 1)] = 1 + i;
    }
    tf_release(p->a, p->slots);
    p->slots = slots;
    p->n_slots = wider;
    return true;
}

/* The index of a byte string; TF_NONE: no memory. */
static uint32_t intern(pool *p, const uint8_t *bytes, size_t n)
{
    if (p->n * 2 >= p->n_slots && !grow_slots(p))
        return TF_NONE;
    uint64_t at = hash_bytes(bytes, n);
    for (; p->slots[at & (p->n_slots - 1)] != 0; at++) {
        uint32_t i = p->slots[at & (p->n_slots - 1)] - 1;
        if (p->offsets[i + 1] - p->offsets[i] == n &&
            memcmp(p->bytes.bytes + p->offsets[i], bytes, n) == 0)
            return i;
    }
    while (p->n + 2 > p->capacity)
        if (!tf_grow(p->a, (void **)&p->offsets, p->capacity, &p->capacity, sizeof *p->offsets))
            return TF_NONE;
    p->offsets[0] = 0;
    tf_put_bytes(&p->bytes, bytes, n);
    if (p->bytes.failed)
        return TF_NONE;
    p->offsets[p->n + 1] = (uint32_t)p->bytes.n;
    p->slots[at & (p->n_slots - 1)] = 1 + p->n;
    return p->n++;
}

static void put_varint(buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    tf_put_bytes(out, bytes, tf_varint_put(bytes, value));
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Ascending ids, each once -> the index of the list. */
static uint32_t list_of(writer *w, const uint32_t *ids, uint32_t n)
{
    uint32_t distinct = 0, last = 0;
    for (uint32_t i = 0; i < n; i++)
        distinct += i == 0 || ids[i] != ids[i - 1];
    w->scratch.n = 0;
    put_varint(&w->scratch, distinct);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && ids[i] == ids[i - 1])
            continue;
        put_varint(&w->scratch, ids[i] - last);
        last = ids[i];
    }
    return w->scratch.failed ? TF_NONE : intern(&w->lists, w->scratch.bytes, w->scratch.n);
}

static bool ids_room(writer *w, size_t n)
{
    if (n <= w->n_ids_room)
        return true;
    tf_release(w->a, w->ids);
    w->ids = tf_allocate(w->a, 2 * n * sizeof *w->ids);
    w->n_ids_room = w->ids == NULL ? 0 : 2 * n;
    return w->ids != NULL;
}

/* 1 + a list, or 0 for none. */
static uint32_t put_ids(writer *w, const tf_ids *ids)
{
    if (ids->n == 0)
        return 0;
    const uint32_t n_raw = w->raw.n;
    const uint32_t raw = intern(&w->raw, (const uint8_t *)ids->items, ids->n * sizeof *ids->items);
    if (raw < n_raw)
        return w->raw_list[raw] + 1;
    if (raw == TF_NONE || !ids_room(w, ids->n) ||
        (n_raw == w->raw_capacity &&
         !tf_grow(w->a, (void **)&w->raw_list, n_raw, &w->raw_capacity, sizeof *w->raw_list))) {
        w->failed = true;
        return 0;
    }
    memcpy(w->ids, ids->items, ids->n * sizeof *w->ids);
    qsort(w->ids, ids->n, sizeof *w->ids, by_id);
    uint32_t list = list_of(w, w->ids, ids->n);
    w->failed |= list == TF_NONE;
    w->raw_list[raw] = list;
    return list + 1;
}

static uint32_t put_piece(writer *w, const tf_piece *piece)
{
    uint32_t known = 0, n = 0;
    while (known < w->n_pieces && w->pieces[known].piece != piece)
        known++;
    if (known < w->n_pieces)
        return w->pieces[known].list;
    if (!ids_room(w, 32 * (size_t)piece->n)) {
        w->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < piece->n; i++)
        for (uint32_t bit = 0; bit < 32; bit++)
            if (piece->bits[i] >> bit & 1u)
                w->ids[n++] = piece->word[i] * 32 + bit;
    uint32_t at = 1; /* the words of pieces mostly ascend */
    while (at < n && w->ids[at - 1] < w->ids[at])
        at++;
    if (at < n)
        qsort(w->ids, n, sizeof *w->ids, by_id);
    uint32_t list = list_of(w, w->ids, n);
    w->failed |= list == TF_NONE;
    if (w->n_pieces < NEAR_PIECES) {
        w->pieces[w->n_pieces].piece = piece;
        w->pieces[w->n_pieces++].list = list;
    }
    return list;
}

/* Which of n rows that lie one behind the other; n: none of them. */
static uint32_t row_among(const tokfsm_pack *pack, const uint32_t *row, const uint32_t *rows, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && row != rows + (size_t)i * pack->n_words)
        i++;
    return i;
}

static void put_base(writer *w, buffer *out, const tf_edits *e)
{
    const tokfsm_pack *pack = w->m->pack;
    uint32_t row;
    if (e->base == NULL) {
        put_varint(out, TF_KEPT_NOTHING);
    } else if (e->groups != 0) {
        put_varint(out, TF_KEPT_GROUPS);
        put_varint(out, e->groups);
    } else if ((row = row_among(pack, e->base, pack->stay, TF_N_STR)) < TF_N_STR) {
        put_varint(out, TF_KEPT_STAY);
        put_varint(out, row);
    } else if ((row = row_among(pack, e->base, pack->stay_at_most, pack->n_lengths)) < pack->n_lengths) {
        put_varint(out, TF_KEPT_AT_MOST);
        put_varint(out, row);
    } else {
        w->scratch.n = 0;
        for (uint32_t i = 0; i < pack->n_words; i++)
            tf_put(&w->scratch, e->base[i]);
        row = w->scratch.failed ? TF_NONE : intern(&w->rows, w->scratch.bytes, w->scratch.n);
        w->failed |= row == TF_NONE;
        put_varint(out, TF_KEPT_ROW);
        put_varint(out, row);
    }
    put_varint(out, e->narrowed == NULL ? 0
                    : e->narrowed == pack->stay_minimal
                        ? 1
                        : 2 + row_among(pack, e->narrowed, pack->stay_at_most, pack->n_lengths));
}

static void put_entry(writer *w, const tf_cached *cached, buffer *mask, buffer *entry)
{
    const tf_edits *e = cached->edits;
    mask->n = entry->n = 0;
    put_base(w, mask, e);
    put_varint(mask, put_ids(w, &e->before));
    put_varint(mask, put_ids(w, &e->cleared));
    put_varint(mask, put_ids(w, &e->set));
    put_varint(mask, e->n_pieces);
    put_varint(mask, e->n_before_pieces);
    for (uint32_t i = 0; i < e->n_pieces; i++)
        put_varint(mask, put_piece(w, e->pieces[i]));
    w->failed |= mask->failed;
    uint32_t number = w->failed ? TF_NONE : intern(&w->masks, mask->bytes, mask->n);
    w->failed |= number == TF_NONE;
    put_varint(entry, number);
    put_varint(entry, cached->most);
    uint8_t signature[TF_KEPT_MOST_BYTES];
    const uint32_t n_head = cached->outer == 0 ? cached->n_words : cached->outer;
    uint32_t n_bytes = tf_kept_spell(cached->words + n_head, cached->n_words - n_head, signature);
    number = w->failed ? TF_NONE : intern(&w->frames, signature, n_bytes);
    w->failed |= number == TF_NONE;
    put_varint(entry, number);
    tf_put_bytes(entry, signature, tf_kept_spell(cached->words, n_head, signature));
    const uint32_t n = w->entries.n;
    uint32_t index = w->failed || entry->failed ? TF_NONE : intern(&w->entries, entry->bytes, entry->n);
    w->failed |= index == TF_NONE;
    if (w->failed || index != n)
        return; /* kept twice */
    if (n == w->hash_capacity &&
        !tf_grow(w->a, (void **)&w->hashes, n, &w->hash_capacity, sizeof *w->hashes)) {
        w->failed = true;
        return;
    }
    w->hashes[n] = cached->hash;
}

static size_t bytes_of(const writer *w)
{
    return w->lists.bytes.n + w->masks.bytes.n + w->rows.bytes.n + w->entries.bytes.n + w->frames.bytes.n +
           4 * ((size_t)w->lists.n + w->masks.n + w->frames.n) + 8 * (size_t)w->entries.n;
}

/* All of it, in the order of the section. */
static void put_section(writer *w, buffer *out)
{
    uint32_t n_slots = 4;
    if (w->entries.n == 0)
        return;
    while (n_slots / 4 * 3 < w->entries.n)
        n_slots *= 2;
    uint32_t *slots = tf_allocate(w->a, n_slots * sizeof *slots);
    if (slots == NULL) {
        out->failed = true;
        return;
    }
    memset(slots, 0, n_slots * sizeof *slots);
    for (uint32_t i = 0; i < w->entries.n; i++)
        for (uint32_t probe = 0; probe < TF_KEPT_PROBES; probe++) {
            uint32_t *slot = &slots[(w->hashes[i] + probe) & (n_slots - 1)];
            if (*slot != 0)
                continue;
            *slot = 1 + i;
            break; /* of one for which there is none nobody learns */
        }
    const uint32_t after_entries = (uint32_t)w->entries.bytes.n;
    const uint32_t after_frames = after_entries + (uint32_t)w->frames.bytes.n;
    const uint32_t after_masks = after_frames + (uint32_t)w->masks.bytes.n;
    const uint32_t n_data = after_masks + (uint32_t)w->lists.bytes.n;
    const uint32_t head[TF_KEPT_HEAD] = {n_slots, w->frames.n, w->masks.n, w->lists.n, w->rows.n,
                                         w->m->pack->n_words, n_data};
    for (uint32_t i = 0; i < TF_KEPT_HEAD; i++)
        tf_put(out, head[i]);
    for (uint32_t i = 0; i < n_slots; i++) {
        const uint32_t e = slots[i] == 0 ? 0 : slots[i] - 1; /* MOST_ROOM: all begin near enough */
        tf_put(out, slots[i] == 0 ? 0
                                  : (uint32_t)(w->hashes[e] >> 54) * TF_KEPT_ENTRY_END +
                                        w->entries.offsets[e] + 1);
    }
    for (uint32_t i = 0; i < w->frames.n; i++)
        tf_put(out, after_entries + w->frames.offsets[i]);
    for (uint32_t i = 0; i < w->masks.n; i++)
        tf_put(out, after_frames + w->masks.offsets[i]);
    for (uint32_t i = 0; i < w->lists.n; i++)
        tf_put(out, after_masks + w->lists.offsets[i]);
    tf_put_bytes(out, w->rows.bytes.bytes, w->rows.bytes.n);
    tf_put_bytes(out, w->entries.bytes.bytes, w->entries.bytes.n);
    tf_put_bytes(out, w->frames.bytes.bytes, w->frames.bytes.n);
    tf_put_bytes(out, w->masks.bytes.bytes, w->masks.bytes.n);
    tf_put_bytes(out, w->lists.bytes.bytes, w->lists.bytes.n);
    tf_release(w->a, slots);
}

static int by_order(const void *a, const void *b)
{
    const tf_cached *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool put_masks(buffer *out, const tf_machine *m, size_t room, tf_arena *arena)
{
    uint32_t n;
    const tf_cached *list = tf_cache_list(m, arena, &n);
    if (list == NULL)
        return false;
    qsort((tf_cached *)(uintptr_t)list, n, sizeof *list, by_order);
    const tokfsm_allocator *a = out->a;
    const pool empty = {.a = a, .bytes = {.a = a}};
    writer w = {.a = a, .m = m, .raw = empty, .lists = empty, .masks = empty, .rows = empty, .frames = empty,
                .entries = empty,
                .scratch = {.a = a}};
    buffer mask = {.a = a}, entry = {.a = a};
    for (uint32_t i = 0; i < n && !w.failed && bytes_of(&w) < room; i++)
        put_entry(&w, &list[i], &mask, &entry);
    if (!w.failed)
        put_section(&w, out);
    pool *pools[] = {&w.raw, &w.lists, &w.masks, &w.rows, &w.frames, &w.entries};
    for (int i = 0; i < 6; i++) {
        tf_release(a, pools[i]->bytes.bytes);
        tf_release(a, pools[i]->offsets);
        tf_release(a, pools[i]->slots);
    }
    tf_release(a, w.hashes);
    tf_release(a, w.raw_list);
    tf_release(a, w.scratch.bytes);
    tf_release(a, w.ids);
    tf_release(a, mask.bytes);
    tf_release(a, entry.bytes);
    return !w.failed && !out->failed;
}

/* Those of a machine that was opened: it is written as it was. */
static void put_again(buffer *out, const tf_machine *m)
{
    if (m->kept == NULL)
        return;
    const tf_kept_parts parts = tf_kept_take_apart(m);
    tf_put_bytes(out, parts.tables, parts.n_tables);
    for (size_t i = 0; i < parts.n_rows; i++)
        tf_put(out, parts.rows[i]);
    tf_put_bytes(out, parts.data, parts.n_data);
}

tokfsm_status tf_write_masks(buffer *out, const tokfsm_automaton *automaton, const buffer *machine,
                             const buffer *text, const tokfsm_cancel *cancel, tokfsm_error *err)
{
    tf_machine m = {.pack = automaton->pack, .options = automaton->machine->options,
                    .allocator = automaton->allocator};
    tokfsm_statistics statistics = {0};
    tf_arena arena;
    if (automaton->machine->hooks == NULL) {
        put_again(out, automaton->machine);
        return TOKFSM_OK;
    }
    tokfsm_limits_default(&m.limits); /* no caller's: the bytes must not depend on them */
    m.limits.automaton_bytes = UINT64_MAX / 2;
    m.names_pair = m.pack->traces->facts.names_pair;
    tf_arena_init(&arena, &m.allocator);
    tokfsm_status status = tf_machine_read(&m, machine->bytes, machine->n, text->bytes, text->n,
                                           &arena, &statistics, err);
    if (status == TOKFSM_OK && m.unique != TF_UNIQUE_NEVER && !tf_unique_pairs(&m, &arena))
        status = tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    size_t room = ROOM + ROOM_A_BYTE * machine->n;
    if (room > MOST_ROOM)
        room = MOST_ROOM;
    if (status == TOKFSM_OK)
        status = tf_tour(&m, TOUR * room, cancel, err); /* much is equal, and written once */
    if (status == TOKFSM_OK && (atomic_load_explicit(&m.masks_lost, memory_order_relaxed) != 0 ||
                                !put_masks(out, &m, room, &arena)))
        status = tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    tf_cache_free(&m, &m.allocator);
    tf_distances_free(&m, &m.allocator);
    tf_name_lists_free(&m, &m.allocator);
    tf_arena_free(&arena);
    return status;
}
