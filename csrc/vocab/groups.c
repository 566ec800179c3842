#include "groups.h"

#include "traces.h"

/* ---- the groups ---- */

#define NEVER TF_GROUP_NEVER
#define NONE TF_GROUP_NONE
#define X8(g) g, g, g, g, g, g, g, g
#define X16(g) X8(g), X8(g)
#define X64(g) X16(g), X16(g), X16(g), X16(g)
const uint8_t tf_byte_group[256] = {
    X16(NEVER), X16(NEVER),
    5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, /* space to / */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 21, 22, 23, 24, 25, 26,      /* digits, : to ? */
    27, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4,           /* @, A to F, G to O */
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 28, 29, 30, 31, 32,       /* P to Z, [ to _ */
    33, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2,           /* `, a to f, g to o */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 34, 35, 36, 37, 38,       /* p to z, { to DEL */
    X64(NONE),
    NEVER, NEVER, 39, 39, 39, 39, 39, 39, X8(39), X16(39),     /* C2 to DF */
    40, 41, 42, 43, 44, 44, 44, 44, 44, 44, 45, 45, 45, 46, 47, 47,
    48, 49, 49, 49, 50, NEVER, NEVER, NEVER, X8(NEVER)};

static const uint8_t in_groups[] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x7F"
    "\xC2\xC3\xC4\xC5\xC6\xC7\xC8\xC9\xCA\xCB\xCC\xCD\xCE\xCF"
    "\xD0\xD1\xD2\xD3\xD4\xD5\xD6\xD7\xD8\xD9\xDA\xDB\xDC\xDD\xDE\xDF"
    "\xE0\xE1\xE2\xE3\xE4\xE5\xE6\xE7\xE8\xE9\xEA\xEB\xEC\xED\xEE\xEF\xF0\xF1\xF2\xF3\xF4";

/* Where each group begins in `in_groups`. */
static const uint8_t first_of[TF_N_BYTE_GROUPS + 1] = {
    0, 10, 16, 36, 42, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80,
    81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 126, 127, 128, 129, 130, 136,
    139, 140, 142, 143, 146, 147};

uint32_t tf_group_bytes(uint32_t group, const uint8_t **bytes)
{
    *bytes = in_groups + first_of[group];
    return (uint32_t)(first_of[group + 1] - first_of[group]);
}

uint64_t tf_groups_never_raw(void)
{
    return TF_GROUP_BIT('"') | TF_GROUP_BIT('\\') | (uint64_t)1 << TF_GROUP_NEVER;
}

static inline uint64_t bit_of(uint8_t byte)
{
    return tf_byte_group[byte] == TF_GROUP_NONE ? 0 : (uint64_t)1 << (tf_byte_group[byte] & 63u);
}

uint64_t tf_groups_of(const uint8_t *bytes, uint32_t n)
{
    uint64_t groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        groups |= bit_of(bytes[i]);
        if (bytes[i] >= 0x80 && tf_special_group(bytes, i + 1) != TF_GROUP_NONE)
            groups |= (uint64_t)1 << tf_special_group(bytes, i + 1);
    }
    return groups;
}

/* ECMA-262 12.2 WhiteSpace and 12.3 LineTerminator, beyond ASCII. */
static const uint8_t specials[][4] = {
    {0xE2, 0x80, 0xA8, TF_GROUP_SEPARATORS}, {0xE2, 0x80, 0xA9, TF_GROUP_SEPARATORS},
    {0, 0xC2, 0xA0, TF_GROUP_SPACES},        {0xE1, 0x9A, 0x80, TF_GROUP_SPACES},
    {0xE2, 0x80, 0x80, TF_GROUP_SPACES},     {0xE2, 0x80, 0x81, TF_GROUP_SPACES},
    {0xE2, 0x80, 0x82, TF_GROUP_SPACES},     {0xE2, 0x80, 0x83, TF_GROUP_SPACES},
    {0xE2, 0x80, 0x84, TF_GROUP_SPACES},     {0xE2, 0x80, 0x85, TF_GROUP_SPACES},
    {0xE2, 0x80, 0x86, TF_GROUP_SPACES},     {0xE2, 0x80, 0x87, TF_GROUP_SPACES},
    {0xE2, 0x80, 0x88, TF_GROUP_SPACES},     {0xE2, 0x80, 0x89, TF_GROUP_SPACES},
    {0xE2, 0x80, 0x8A, TF_GROUP_SPACES},     {0xE2, 0x80, 0xAF, TF_GROUP_SPACES},
    {0xE2, 0x81, 0x9F, TF_GROUP_SPACES},     {0xE3, 0x80, 0x80, TF_GROUP_SPACES},
    {0xEF, 0xBB, 0xBF, TF_GROUP_SPACES}};

const uint8_t *tf_special_char(uint32_t i, uint8_t *group)
{
    if (i == sizeof specials / sizeof *specials)
        return NULL;
    *group = specials[i][3];
    return specials[i];
}

uint8_t tf_special_group(const uint8_t *bytes, uint32_t n)
{
    if (n < 2)
        return TF_GROUP_NONE;
    const uint8_t *end = bytes + n;
    if (end[-2] == 0xC2)
        return end[-1] == 0xA0 ? TF_GROUP_SPACES : TF_GROUP_NONE;
    if (n < 3)
        return TF_GROUP_NONE;
    switch (end[-3]) {
    case 0xE2:
        if (end[-2] == 0x80 && (end[-1] == 0xA8 || end[-1] == 0xA9))
            return TF_GROUP_SEPARATORS;
        if (end[-2] == 0x80 ? end[-1] <= 0x8A || end[-1] == 0xAF
                            : end[-2] == 0x81 && end[-1] == 0x9F)
            return TF_GROUP_SPACES;
        return TF_GROUP_NONE;
    case 0xE1: return end[-2] == 0x9A && end[-1] == 0x80 ? TF_GROUP_SPACES : TF_GROUP_NONE;
    case 0xE3: return end[-2] == 0x80 && end[-1] == 0x80 ? TF_GROUP_SPACES : TF_GROUP_NONE;
    case 0xEF: return end[-2] == 0xBB && end[-1] == 0xBF ? TF_GROUP_SPACES : TF_GROUP_NONE;
    default: return TF_GROUP_NONE;
    }
}

/* ---- what is in tokens and below nodes ---- */

static void find_tokens(const tokfsm_pack *pack, uint64_t *token)
{
    const uint32_t *stay = pack->stay + (size_t)TF_STR_NORMAL * pack->n_words;
    uint64_t bits[256];
    for (uint32_t byte = 0; byte < 256; byte++)
        bits[byte] = bit_of((uint8_t)byte);
    for (uint32_t id = 0; id < pack->vocab_size; id++) {
        uint32_t n;
        uint8_t high = 0;
        const uint8_t *bytes = tf_pack_token(pack, id, &n);
        uint64_t groups = tf_bit(stay, id) ? 0 : (uint64_t)1 << TF_GROUP_NEVER;
        for (uint32_t i = 0; i < n; i++) {
            groups |= bits[bytes[i]];
            high |= bytes[i];
        }
        token[id] = high < 0x80 ? groups : groups | tf_groups_of(bytes, n);
    }
}

static bool ends_string(uint8_t byte) { return byte == '"' || byte < ' '; }

/* On the way down; what is below a node is told on when the walk leaves it. */
typedef struct group_level {
    uint64_t below;
    uint32_t node, end;
    uint8_t byte, begun, most; /* characters: up to the node; to it or below */
} group_level;

static inline void leave_level(group_level *level, uint64_t *below, uint8_t *chars)
{
    group_level *up = level - 1;
    below[level->node] = level->below;
    chars[level->node] = level->most;
    if (up->node > 0 && ends_string(up->byte))
        return;
    up->below |= level->below;
    if (level->most > up->most)
        up->most = level->most;
}

/* Of the last byte of a character beyond ASCII, at `level`. */
static uint64_t special_bit(const group_level *level, const group_level *root)
{
    uint8_t last[3] = {0, 0, level->byte};
    uint32_t n = 1;
    for (const group_level *at = level - 1; n < 3 && at > root; at--)
        last[2 - n++] = at->byte;
    uint8_t group = tf_special_group(last + (3 - n), n);
    return group == TF_GROUP_NONE ? 0 : (uint64_t)1 << group;
}

bool tf_groups_below(const tokfsm_pack *pack, tf_arena *scratch, uint64_t *below, uint8_t *chars)
{
    const uint32_t n = pack->all.n_nodes, *const end = pack->all.end;
    const uint8_t *const bytes = pack->all.byte;
    group_level *levels = tf_arena_take(scratch, ((size_t)pack->all.depth + 1) * sizeof *levels);
    if (levels == NULL)
        return false;
    uint64_t bits[256];
    for (uint32_t byte = 0; byte < 256; byte++)
        bits[byte] = bit_of((uint8_t)byte);
    group_level *at = levels;
    *at = (group_level){.end = n};
    for (uint32_t node = 1; node < n; node++) {
        while (at->end <= node)
            leave_level(at--, below, chars);
        const uint8_t byte = bytes[node];
        uint32_t begun = at->begun + (uint32_t)(bits[byte] != 0 && at->begun < 255);
        *++at = (group_level){bits[byte], node, end[node], byte, (uint8_t)begun, (uint8_t)begun};
        if (byte >= 0x80 && byte < 0xC0)
            at->below |= special_bit(at, levels);
    }
    for (; at > levels; at--)
        leave_level(at, below, chars);
    return true;
}

/* Of the tokens that stay in a string, without an escape: those of many characters. */
static bool find_long(const tokfsm_pack *pack, const uint64_t *token, tf_arena *arena,
                      tf_groups *groups)
{
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t *ids = NULL;
        if (pass == 1 && (ids = tf_arena_take(arena, n * sizeof *ids)) == NULL)
            return false;
        n = 0;
        for (uint32_t id = 0; id < pack->vocab_size; id++) {
            uint32_t n_bytes, chars = 0;
            const uint8_t *bytes = tf_pack_token(pack, id, &n_bytes);
            if (n_bytes <= TF_LONG_CHARS || (token[id] & tf_groups_never_raw()) != 0)
                continue;
            for (uint32_t i = 0; i < n_bytes; i++)
                chars += tf_byte_group[bytes[i]] != TF_GROUP_NONE;
            if (chars <= TF_LONG_CHARS)
                continue;
            if (chars > groups->most_escaped && memchr(bytes, '\\', n_bytes) != NULL)
                groups->most_escaped = chars;
            if ((token[id] & tf_groups_never_raw()) != 0)
                continue;
            if (ids != NULL)
                ids[n] = id;
            n++;
        }
        groups->long_tokens = ids;
        groups->n_long = n;
    }
    return true;
}

tokfsm_status tf_groups_make(tokfsm_pack *pack, tf_arena *arena, tf_groups *groups,
                             tokfsm_error *err)
{
    uint64_t *token = tf_arena_take(arena, pack->vocab_size * sizeof *token);
    if (token == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the vocabulary pack");
    find_tokens(pack, token);
    if (!find_long(pack, token, arena, groups))
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the vocabulary pack");
    groups->token = token;
    return TOKFSM_OK;
}

/* ---- rows ---- */

typedef struct tf_group_row {
    struct tf_group_row *next;
    uint64_t groups;
    uint32_t row[];
} tf_group_row;

static const tf_group_row *find_row(const tf_group_row *row, uint64_t groups)
{
    while (row != NULL && row->groups != groups)
        row = row->next;
    return row;
}

/* Rows of the tokens that have a byte of a group, all of them; NULL: no memory. */
static const uint32_t *rows_with(tokfsm_pack *pack)
{
    tf_groups *all = &pack->traces->groups;
    const size_t n_words = pack->n_words;
    uint32_t *with = atomic_load_explicit(&all->with, memory_order_acquire);
    if (with != NULL)
        return with;
    uint32_t *made = tf_allocate(&pack->allocator, TF_N_GROUPS * n_words * sizeof *made);
    if (made == NULL)
        return NULL;
    memset(made, 0, TF_N_GROUPS * n_words * sizeof *made);
    for (uint32_t id = 0; id < pack->vocab_size; id++) {
        uint32_t group = 0;
        for (uint64_t left = all->token[id]; left != 0; left >>= 1, group++)
            if (left & 1u)
                tf_set(made + group * n_words, id);
    }
    if (atomic_compare_exchange_strong_explicit(&all->with, &with, made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    tf_release(&pack->allocator, made); /* another thread was first */
    return with;
}

bool tf_group_row_write(tokfsm_pack *pack, uint64_t groups, uint32_t *row)
{
    const uint32_t n_words = pack->n_words, *with = rows_with(pack);
    if (with == NULL)
        return false;
    memset(row, 0xFF, n_words * sizeof *row);
    for (uint32_t group = 0; group < TF_N_GROUPS; group++) {
        const uint32_t *outside = with + (size_t)group * n_words;
        if ((groups >> group & 1u) != 0 || (group >= TF_N_USED_GROUPS && group != TF_GROUP_NEVER))
            continue; /* between them no byte is in */
        for (uint32_t w = 0; w < n_words; w++)
            row[w] &= ~outside[w];
    }
    if (pack->vocab_size % 32 != 0)
        row[n_words - 1] &= ((uint32_t)1 << (pack->vocab_size % 32)) - 1;
    return true;
}

const uint32_t *tf_group_row_of(tokfsm_pack *pack, uint64_t groups)
{
    tf_groups *all = &pack->traces->groups;
    _Atomic(tf_group_row *) *bucket =
        &all->rows[(groups * 0x9E3779B97F4A7C15u) >> 57]; /* TF_GROUP_BUCKETS is 2 ** 7 */
    tf_group_row *first = atomic_load_explicit(bucket, memory_order_acquire);
    const tf_group_row *found = find_row(first, groups);
    if (found != NULL)
        return found->row;
    if (atomic_load_explicit(&all->n_rows, memory_order_relaxed) >= TF_MAX_GROUP_ROWS)
        return NULL;
    tf_group_row *made =
        tf_allocate(&pack->allocator, sizeof *made + pack->n_words * sizeof *made->row);
    if (made == NULL)
        return NULL;
    made->groups = groups;
    if (!tf_group_row_write(pack, groups, made->row)) {
        tf_release(&pack->allocator, made);
        return NULL;
    }
    /* Two threads may make one row twice: they are equal. */
    made->next = first;
    while (!atomic_compare_exchange_weak_explicit(bucket, &made->next, made,
                                                  memory_order_release, memory_order_acquire))
        ;
    atomic_fetch_add_explicit(&all->n_rows, 1, memory_order_relaxed);
    return made->row;
}

void tf_groups_free(tokfsm_pack *pack, tf_groups *groups)
{
    tf_release(&pack->allocator, atomic_load_explicit(&groups->with, memory_order_acquire));
    for (uint32_t i = 0; i < TF_GROUP_BUCKETS; i++)
        for (tf_group_row *row = atomic_load_explicit(&groups->rows[i], memory_order_acquire);
             row != NULL;) {
            tf_group_row *next = row->next;
            tf_release(&pack->allocator, row);
            row = next;
        }
}
