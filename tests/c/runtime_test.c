/*
 * The run-time half by itself: base, vocab, engine, artifact/{open,read_machine}, matcher and
 * api_runtime.c; no schema compiler is linked. -I at the root of the repository.
 *
 *   runtime_test walk FILE STEP...    open, then for each step print the position: state, bound,
 *                                     tokens accepted, mask. A step is a token id, -n (roll back
 *                                     n) or f (go on with a fork).
 *   runtime_test fuzz SEED N FILE...  N damaged copies of the files, checksums made right again:
 *                                     each is refused as corrupt, or opens and can be walked in
 *                                     bounded memory. For builds with sanitizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "csrc/artifact/format.h"
#include "csrc/base/le.h"
#include "csrc/base/sha256.h"

/* Of csrc/vocab/pack_layout.h, whose TF_SECTION_BYTES is another than format.h's. */
uint32_t tf_pack_checksum(const uint8_t *bytes, size_t n_bytes);

typedef struct file {
    uint8_t *bytes;
    size_t n;
} file;

static file read_file(const char *path)
{
    file f = {NULL, 0};
    FILE *in = fopen(path, "rb");
    if (in == NULL || fseek(in, 0, SEEK_END) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    f.n = (size_t)ftell(in);
    rewind(in);
    f.bytes = malloc(f.n + 1);
    if (f.bytes == NULL || fread(f.bytes, 1, f.n, in) != f.n)
        exit(2);
    fclose(in);
    return f;
}

/* ---- walk ---- */

static int fail(const char *what, const tokfsm_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", what, tokfsm_status_name(err->code), err->message);
    return 1;
}

static int print_position(tokfsm_matcher *m, uint32_t *row, uint32_t n_words)
{
    tokfsm_error err;
    int32_t need_apply = 0;
    uint32_t bound = 0;
    if (tokfsm_matcher_fill(m, row, n_words, TOKFSM_UNBOUNDED, &need_apply, &err) != TOKFSM_OK)
        return fail("fill", &err);
    if (tokfsm_matcher_bound(m, &bound, &err) != TOKFSM_OK)
        return fail("bound", &err);
    printf("%u %u %zu %d ", tokfsm_matcher_state(m), bound, tokfsm_matcher_n_accepted(m),
           (int)need_apply);
    for (uint32_t w = 0; w < n_words; w++)
        printf("%08x", row[w]);
    printf("\n");
    return 0;
}

static int walk(int n_steps, char **steps, const file *f)
{
    tokfsm_error err;
    tokfsm_automaton *automaton = NULL;
    tokfsm_matcher *m = NULL;
    if (tokfsm_automaton_open(f->bytes, f->n, NULL, NULL, NULL, &automaton, &err) != TOKFSM_OK)
        return fail("open", &err);
    if (tokfsm_matcher_new(automaton, NULL, 0, TOKFSM_UNBOUNDED, &m, &err) != TOKFSM_OK)
        return fail("matcher", &err);
    tokfsm_automaton_free(automaton); /* the matcher keeps it */
    uint32_t n_words = tokfsm_matcher_mask_words(m);
    uint32_t *row = malloc(((size_t)n_words + 1) * sizeof *row);
    int failed = row == NULL || print_position(m, row, n_words);
    for (int i = 0; i < n_steps && !failed; i++) {
        int32_t accepted = 1;
        tokfsm_matcher *copy = NULL;
        tokfsm_status status;
        if (steps[i][0] == 'f') {
            status = tokfsm_matcher_fork(m, &copy, &err);
            if (status == TOKFSM_OK) {
                tokfsm_matcher_free(m);
                m = copy;
            }
        } else if (steps[i][0] == '-') {
            status = tokfsm_matcher_rollback(m, strtoul(steps[i] + 1, NULL, 10), &err);
        } else {
            status = tokfsm_matcher_accept(m, (uint32_t)strtoul(steps[i], NULL, 10), &accepted, &err);
        }
        if (status != TOKFSM_OK)
            failed = fail(steps[i], &err);
        else if (!accepted)
            printf("refused\n");
        else
            failed = print_position(m, row, n_words);
    }
    free(row);
    tokfsm_matcher_free(m);
    return failed;
}

/* ---- fuzz ---- */

static uint64_t random_state;
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) % n);
}

/* An allocator that counts, and says no past a cap. */
enum { HEADER = 16, CAP = 256 << 20 };
typedef struct counter {
    size_t now, most;
    long blocks;
} counter;

static void *counted_allocate(void *context, size_t n_bytes)
{
    counter *c = context;
    if (n_bytes > CAP - c->now)
        return NULL;
    char *block = malloc(n_bytes + HEADER);
    if (block == NULL)
        return NULL;
    memcpy(block, &n_bytes, sizeof n_bytes);
    c->now += n_bytes;
    c->most = c->now > c->most ? c->now : c->most;
    c->blocks++;
    return block + HEADER;
}

static void counted_release(void *context, void *block)
{
    counter *c = context;
    size_t n_bytes;
    memcpy(&n_bytes, (char *)block - HEADER, sizeof n_bytes);
    c->now -= n_bytes;
    c->blocks--;
    free((char *)block - HEADER);
}

static uint64_t load64(const uint8_t *at)
{
    return tf_le32_load(at) | (uint64_t)tf_le32_load(at + 4) << 32;
}

static void store64(uint8_t *at, uint64_t v)
{
    tf_le32_store(at, (uint32_t)v);
    tf_le32_store(at + 4, (uint32_t)(v >> 32));
}

static void make_right(file *f)
{
    tf_sha256 hash;
    memset(f->bytes + TF_H_CHECKSUM, 0, 32);
    tf_sha256_init(&hash);
    tf_sha256_update(&hash, f->bytes, f->n);
    tf_sha256_final(&hash, f->bytes + TF_H_CHECKSUM);
}

static uint8_t *entry_of(file *f, uint32_t id)
{
    uint32_t n = tf_le32_load(f->bytes + TF_H_N_SECTIONS);
    for (uint32_t i = 0; i < n && i < 16; i++) {
        uint8_t *entry = f->bytes + TF_HEADER_BYTES + (size_t)i * TF_SECTION_BYTES;
        if (tf_le32_load(entry) == id)
            return entry;
    }
    return NULL;
}

static uint32_t interesting(uint32_t old)
{
    static const uint32_t values[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 4095, 4096, 4097, 0x7FFFFFFF,
                                      0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x10000, 0x40000000};
    switch (random_below(5)) {
    case 0: return values[random_below(sizeof values / sizeof *values)];
    case 1: return old + 1;
    case 2: return old - 1;
    case 3: return random_below(8);
    default: return old ^ (uint32_t)1 << random_below(32);
    }
}

/* Damage bytes [from, from + n). */
static void damage(uint8_t *from, size_t n)
{
    if (n < 8)
        return;
    uint32_t n_words = (uint32_t)(n / 4), i = random_below(n_words), k = random_below(n_words);
    uint32_t length = 1 + random_below(8);
    switch (random_below(8)) {
    case 0: /* a byte */
        from[random_below((uint32_t)n)] = (uint8_t)random_below(256);
        break;
    case 1: { /* two words change places */
        uint32_t a = tf_le32_load(from + 4 * (size_t)i), b = tf_le32_load(from + 4 * (size_t)k);
        tf_le32_store(from + 4 * (size_t)i, b);
        tf_le32_store(from + 4 * (size_t)k, a);
        break;
    }
    case 2: /* a run is copied over another */
        if (i + length < n_words && k + length < n_words)
            memmove(from + 4 * (size_t)i, from + 4 * (size_t)k, 4 * (size_t)length);
        break;
    case 3: /* words move: one is taken out, one put in */
        if (i < k)
            memmove(from + 4 * (size_t)i, from + 4 * (size_t)i + 4, 4 * (size_t)(k - i));
        else
            memmove(from + 4 * (size_t)k + 4, from + 4 * (size_t)k, 4 * (size_t)(i - k));
        break;
    default: /* a word */
        tf_le32_store(from + 4 * (size_t)i, interesting(tf_le32_load(from + 4 * (size_t)i)));
    }
}

/* Grow or shrink the machine section by some words at a random place. */
static void resize(file *f)
{
    uint8_t *entry = entry_of(f, TF_S_MACHINE);
    if (entry == NULL)
        return;
    size_t at = (size_t)load64(entry + 8), n = (size_t)load64(entry + 16);
    if (at > f->n || n > f->n - at || n < 64)
        return;
    size_t place = 4 * (size_t)random_below((uint32_t)(n / 4)), words = 4 * (1 + (size_t)random_below(6));
    if (random_below(2) && place + words <= n) { /* shrink */
        memmove(f->bytes + at + place, f->bytes + at + place + words, n - place - words);
        memset(f->bytes + at + n - words, 0, words);
        store64(entry + 16, n - words);
    } else { /* into the padding, or over what is behind */
        size_t room = f->n - at - n;
        words = words < room ? words : room & ~(size_t)3;
        memmove(f->bytes + at + place + words, f->bytes + at + place, n - place);
        store64(entry + 16, n + words);
    }
}

static void mutate(file *f)
{
    uint32_t n_times = 1 + random_below(3);
    for (uint32_t i = 0; i < n_times; i++) {
        uint32_t kind = random_below(100);
        uint32_t id = kind < 50 ? TF_S_MACHINE : kind < 70 ? TF_S_MASKS : kind < 74 ? TF_S_TEXT
                      : kind < 76 ? TF_S_STOP_IDS : TF_S_PACK;
        uint8_t *entry = entry_of(f, id);
        if (kind >= 92) {
            resize(f);
        } else if (kind >= 88) { /* options and the rest of the header, section table */
            damage(f->bytes + 12, TF_HEADER_BYTES + 5 * TF_SECTION_BYTES - 12);
        } else if (entry != NULL) {
            uint64_t at = load64(entry + 8), n = load64(entry + 16);
            if (at > f->n || n > f->n - at)
                continue;
            damage(f->bytes + at, (size_t)n);
            if (id == TF_S_PACK && n > 64 && random_below(8) != 0) {
                uint32_t sum = tf_pack_checksum(f->bytes + at + 32, (size_t)n - 32);
                memcpy(f->bytes + at + 28, &sum, 4);
            }
        }
    }
    if (random_below(40) == 0)
        f->n = f->n > 300 ? 256 + random_below((uint32_t)f->n - 256) : f->n; /* cut off */
    if (random_below(8) != 0 && f->n >= TF_HEADER_BYTES)
        store64(f->bytes + TF_H_FILE_BYTES, f->n);
    if (f->n >= TF_HEADER_BYTES)
        make_right(f);
}

static unsigned long n_opened, n_refused, n_limited, n_steps_taken;
static const char *problem;

/* What a call on a matcher may answer, whatever the file says. */
static void expect(tokfsm_status status)
{
    if (status == TOKFSM_E_LIMIT)
        n_limited++;
    if (status != TOKFSM_OK && status != TOKFSM_E_LIMIT && status != TOKFSM_E_BUDGET &&
        status != TOKFSM_E_RANGE && status != TOKFSM_E_NOMEM)
        problem = tokfsm_status_name(status);
}

static void walk_at_random(tokfsm_matcher **m, uint32_t *row, uint32_t n_words, uint32_t vocab_size)
{
    for (uint32_t step = 0; step < 24 && problem == NULL; step++) {
        uint32_t bound;
        size_t n_taken;
        int32_t accepted = 0, whole;
        uint32_t allowed[8];
        tokfsm_matcher *copy = NULL;
        tokfsm_status status = tokfsm_matcher_fill(*m, row, n_words, TOKFSM_UNBOUNDED, NULL, NULL);
        expect(status);
        if (vocab_size % 32 != 0 && status == TOKFSM_OK && row[n_words - 1] >> (vocab_size % 32) != 0)
            problem = "a bit past the vocabulary";
        expect(tokfsm_matcher_bound(*m, &bound, NULL));
        uint32_t t = random_below(vocab_size);
        for (uint32_t i = 0; status == TOKFSM_OK && i < vocab_size && random_below(20) != 0; i++) {
            t = (t + 1) % vocab_size;
            if (tf_bit(row, t))
                break;
        }
        switch (random_below(12)) {
        case 0: expect(tokfsm_matcher_fill(*m, row, n_words, bound + random_below(4), NULL, NULL)); break;
        case 1: expect(tokfsm_matcher_rollback(*m, random_below(3), NULL)); break;
        case 2:
            expect(tokfsm_matcher_fork(*m, &copy, NULL));
            if (copy != NULL) {
                tokfsm_matcher_free(*m);
                *m = copy;
            }
            break;
        case 3:
            expect(tokfsm_matcher_check_bytes(*m, (const uint8_t *)"{\"a\":[1,\"b\"]}", 13, &n_taken,
                                              &whole, allowed, NULL));
            break;
        default: break;
        }
        expect(tokfsm_matcher_accept(*m, t, &accepted, NULL));
        n_steps_taken += (unsigned long)accepted;
        tokfsm_matcher_state(*m);
    }
}

static size_t most_for_one;

static void try_one(const file *f, tokfsm_pack *pack)
{
    counter c = {0, 0, 0};
    tokfsm_allocator a = {counted_allocate, counted_release, &c};
    tokfsm_limits limits;
    tokfsm_limits_default(&limits);
    limits.work_units = 300000;
    tokfsm_automaton *automaton = NULL;
    tokfsm_error err;
    problem = NULL;
    tokfsm_status status = tokfsm_automaton_open(f->bytes, f->n, pack, &a, &limits, &automaton, &err);
    if (c.most > 64 * f->n + (1 << 20))
        problem = "opening takes memory without measure";
    most_for_one = c.most > most_for_one ? c.most : most_for_one;
    if (status == TOKFSM_OK) {
        n_opened++;
        tokfsm_matcher *m = NULL;
        expect(tokfsm_matcher_new(automaton, NULL, 0, random_below(2) ? TOKFSM_UNBOUNDED : 4, &m, NULL));
        if (m != NULL) {
            uint32_t n_words = tokfsm_matcher_mask_words(m);
            uint32_t *row = malloc(((size_t)n_words + 1) * sizeof *row);
            if (row != NULL)
                walk_at_random(&m, row, n_words, tokfsm_automaton_vocab_size(automaton));
            free(row);
        }
        tokfsm_matcher_free(m);
        tokfsm_automaton_free(automaton);
    } else {
        n_refused++;
        if (status != TOKFSM_E_CORRUPT && status != TOKFSM_E_VERSION && status != TOKFSM_E_MISMATCH &&
            status != TOKFSM_E_PACK_MISSING)
            problem = err.message;
        if (automaton != NULL)
            problem = "an automaton beside an error";
    }
    if (problem == NULL && c.blocks != 0)
        problem = "a leak";
}

static int fuzz(uint64_t seed, unsigned long n, int n_files, char **paths)
{
    file *files = calloc((size_t)n_files, sizeof *files);
    tokfsm_pack **packs = calloc((size_t)n_files, sizeof *packs);
    if (files == NULL || packs == NULL)
        return 2;
    for (int i = 0; i < n_files; i++) {
        files[i] = read_file(paths[i]);
        uint8_t *entry = entry_of(&files[i], TF_S_PACK);
        if (entry != NULL &&
            tokfsm_pack_open(files[i].bytes + load64(entry + 8), (size_t)load64(entry + 16), NULL,
                             &packs[i], NULL) != TOKFSM_OK)
            return 2;
    }
    int failed = 0;
    double slowest = 0;
    for (unsigned long i = 0; i < n && !failed; i++) {
        random_state = (seed + i) * 0x9E3779B97F4A7C15u + 1;
        random_below(2);
        int which = (int)random_below((uint32_t)n_files);
        file copy = {malloc(files[which].n), files[which].n};
        if (copy.bytes == NULL)
            return 2;
        memcpy(copy.bytes, files[which].bytes, copy.n);
        /* Most copies go without the pack: what opens is then walked with a sound one. */
        bool given = packs[which] != NULL && random_below(8) != 0;
        mutate(&copy);
        clock_t before = clock();
        try_one(&copy, given ? packs[which] : NULL);
        double took = (double)(clock() - before) / CLOCKS_PER_SEC;
        slowest = took > slowest ? took : slowest;
        if (problem == NULL && took > 20)
            problem = "no end in sight";
        if (problem != NULL) {
            fprintf(stderr, "runtime_test fuzz %llu 1: %s: %s\n", (unsigned long long)(seed + i),
                    paths[which], problem);
            failed = 1;
        }
        free(copy.bytes);
    }
    printf("fuzz: %lu opened, %lu refused, %lu tokens accepted, %lu over the limit, at most %zu bytes "
           "and %.3f s for one\n",
           n_opened, n_refused, n_steps_taken, n_limited, most_for_one, slowest);
    for (int i = 0; i < n_files; i++) {
        tokfsm_pack_free(packs[i]);
        free(files[i].bytes);
    }
    free(files);
    free(packs);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "walk") == 0) {
        file f = read_file(argv[2]);
        int failed = walk(argc - 3, argv + 3, &f);
        free(f.bytes);
        return failed;
    }
    if (argc >= 5 && strcmp(argv[1], "fuzz") == 0)
        return fuzz(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), argc - 4, argv + 4);
    fprintf(stderr, "usage: runtime_test walk FILE STEP... | fuzz SEED N FILE...\n");
    return 2;
}
