/*
 * Rows over logits: every kernel that this processor runs against the obvious loop, bit by bit, at
 * all alignments and lengths, with bytes around that must stay; then the public calls with
 * strides, tails, indices and wrong arguments. `logits_test NAME` fails if no kernel NAME ran.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrc/logits/kernels.h"
#include "csrc/tokfsm.h"

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

enum { MOST = 700, ROOM = MOST * 8 + 512 };

static uint64_t state = 88172645463325252u;
static uint32_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Words of each kind that masks have. */
static void make_words(uint32_t *words, size_t n)
{
    uint32_t kind = next_random() % 5;
    for (size_t w = 0; w < n; w++)
        switch (kind == 4 ? next_random() % 4 : kind) {
        case 0: words[w] = 0; break;
        case 1: words[w] = UINT32_MAX; break;
        case 2: words[w] = 1u << next_random() % 32; break;
        default: words[w] = next_random(); break;
        }
}

/* Any bytes, and elements that are NaN, quiet and signalling, or infinite. */
static void make_bytes(uint8_t *bytes, size_t n)
{
    static const uint8_t SPECIAL[][8] = {
        {0, 0, 0, 0, 0, 0, 0xF0, 0x7F}, {1, 0, 0, 0, 0, 0, 0xF0, 0x7F}, {0, 0, 0, 0, 0, 0, 0xF8, 0xFF},
        {1, 0, 0x80, 0x7F, 1, 0, 0xC0, 0xFF}, {1, 0x7C, 1, 0xFC, 0x81, 0x7F, 0x81, 0xFF}, {0, 0, 0x80, 0xFF, 0, 0, 0x80, 0x7F}};
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)next_random();
    for (size_t i = 0; i + 8 <= n; i += 8)
        if (next_random() % 3 == 0)
            memcpy(bytes + i, SPECIAL[next_random() % 6], 8);
}

static const uint64_t REFUSED[] = {0xFC00u, 0xFF80u, 0xFF800000u, 0xFFF0000000000000u}; /* by type */
static const size_t WIDTH[] = {2, 2, 4, 8};

/* The obvious loop. Little-endian or not: the value is laid down as the processor has it. */
static void plain(const uint32_t *words, size_t n_words, uint8_t *at, size_t n, ptrdiff_t stride, uint32_t type)
{
    for (size_t i = 0; i < n; i++, at += stride)
        if (i / 32 >= n_words || !(words[i / 32] >> (i % 32) & 1u)) {
            uint16_t two = (uint16_t)REFUSED[type];
            uint32_t four = (uint32_t)REFUSED[type];
            const void *value = WIDTH[type] == 2 ? (const void *)&two
                                : WIDTH[type] == 4 ? (const void *)&four : (const void *)&REFUSED[type];
            memcpy(at, value, WIDTH[type]);
        }
}

static void kernels_one_by_one(const char *wanted)
{
    static uint8_t found[ROOM], expected[ROOM];
    uint32_t words[MOST / 32 + 2];
    int seen = 0, ran = 0;
    for (size_t k = 0; tf_kernels_at(k) != NULL; k++) {
        const tf_kernels *kernels = tf_kernels_at(k);
        if (!kernels->runs())
            continue;
        ran++;
        seen |= strcmp(kernels->name, wanted) == 0;
        for (uint32_t type = 0; type < 4; type++)
            for (size_t offset = 0; offset < 64; offset++)
                for (size_t n = 0; n <= MOST; n += n < 140 ? 1 : 1 + next_random() % 97) {
                    make_words(words, n / 32 + 1);
                    make_bytes(found, ROOM);
                    memcpy(expected, found, ROOM);
                    char *at = (char *)found + 64 + offset;
                    plain(words, n / 32 + 1, expected + 64 + offset, n, (ptrdiff_t)WIDTH[type], type);
                    if (WIDTH[type] == 2)
                        kernels->apply_16(words, n, at, (uint16_t)REFUSED[type]);
                    else if (WIDTH[type] == 4)
                        kernels->apply_32(words, n, at, (uint32_t)REFUSED[type]);
                    else
                        kernels->apply_64(words, n, at, REFUSED[type]);
                    if (memcmp(found, expected, ROOM) != 0) {
                        fprintf(stderr, "%s: type %u, %zu elements at %zu\n", kernels->name, type, n, offset);
                        exit(1);
                    }
                }
    }
    CHECK(ran > 0 && tf_kernels_best()->runs());
    CHECK(seen);
    CHECK(strcmp(tokfsm_apply_kernel(), tf_kernels_best()->name) == 0);
}

/* Several rows, strided both ways, narrower and wider than the mask, all rows or some. */
static void rows(void)
{
    enum { ROWS = 4, SPACE = 60000 };
    static uint8_t found[SPACE], expected[SPACE];
    static const ptrdiff_t STRIDES[] = {0, 0, 12, 8, 9, 11, 31, -8, -13};
    for (int round = 0; round < 6000; round++) {
        uint32_t type = next_random() % 4, words[ROWS * 12], indices[ROWS];
        size_t n = next_random() % 300, n_words = next_random() % 11, n_indices = next_random() % (ROWS + 1);
        ptrdiff_t width = (ptrdiff_t)WIDTH[type], stride = STRIDES[next_random() % 9];
        if (stride == 0)
            stride = width;
        ptrdiff_t span = (stride < 0 ? -stride : stride) * 300 + 16;
        ptrdiff_t row_stride = next_random() % 2 ? span + (ptrdiff_t)(next_random() % 7) : -span;
        ptrdiff_t begin = SPACE / 2 + (ptrdiff_t)(next_random() % 16);
        if (row_stride > 0)
            begin -= row_stride * 2;
        else
            begin += -row_stride * 2;
        if (begin - span * 4 < 0 || begin + span * 4 > SPACE)
            begin = SPACE / 2, row_stride = 0, n_indices = n_indices > 1 ? 1 : n_indices; /* one row, over and over */
        make_words(words, ROWS * 12);
        make_bytes(found, SPACE);
        memcpy(expected, found, SPACE);
        for (uint32_t i = 0; i < n_indices; i++)
            indices[i] = next_random() % ROWS;
        int some = next_random() % 2;
        size_t n_rows = row_stride == 0 ? 1 : ROWS;
        for (size_t i = 0; some && i < n_indices; i++)
            indices[i] %= (uint32_t)n_rows;
        tokfsm_logits logits = {.data = found + begin, .type = type, .n_rows = n_rows, .n_logits = n, .stride = stride,
                                .row_stride = row_stride};
        for (size_t i = 0; i < (some ? n_indices : n_rows); i++) {
            size_t row = some ? indices[i] : i;
            plain(words + row * 12, n_words, expected + begin + (ptrdiff_t)row * row_stride, n, stride, type);
        }
        CHECK(tokfsm_rows_apply(words, n_words, 12, &logits, some ? indices : NULL, n_indices, NULL) == TOKFSM_OK);
        CHECK(memcmp(found, expected, SPACE) == 0);
    }
}

static void wrong_arguments(void)
{
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, before[8];
    uint32_t word = 0, index = 1;
    tokfsm_error err;
    const tokfsm_logits good = {.data = values, .type = TOKFSM_F32, .n_rows = 1, .n_logits = 8, .stride = 4};
    tokfsm_logits bad = good;
    memcpy(before, values, sizeof before);
    CHECK(tokfsm_rows_apply(&word, 1, 1, NULL, NULL, 0, &err) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_rows_apply(NULL, 1, 1, &good, NULL, 0, &err) == TOKFSM_E_ARGUMENT);
    CHECK(tokfsm_rows_apply(&word, 1, 1, &good, &index, 1, &err) == TOKFSM_E_RANGE && err.where == 0);
    bad.type = 4;
    CHECK(tokfsm_rows_apply(&word, 1, 1, &bad, NULL, 0, &err) == TOKFSM_E_ARGUMENT);
    bad = good;
    bad.data = NULL;
    CHECK(tokfsm_rows_apply(&word, 1, 1, &bad, NULL, 0, &err) == TOKFSM_E_ARGUMENT);
    for (ptrdiff_t stride = -3; stride < 4; stride++) {
        bad = good;
        bad.stride = stride;
        CHECK(tokfsm_rows_apply(&word, 1, 1, &bad, NULL, 0, &err) == TOKFSM_E_ARGUMENT);
    }
    CHECK(tokfsm_row_apply_f32(&word, 1, values, 8, 0, &err) == TOKFSM_E_ARGUMENT);
    CHECK(memcmp(values, before, sizeof before) == 0);
    word = 0x11;
    CHECK(tokfsm_row_apply_f32(&word, 1, values, 4, 2, NULL) == TOKFSM_OK);
    CHECK(values[0] == 1 && values[1] == 2 && values[2] < -1e38f && values[3] == 4 && values[6] < -1e38f);
    bad = good;
    bad.n_rows = 0;
    CHECK(tokfsm_rows_apply(NULL, 0, 0, &bad, NULL, 0, NULL) == TOKFSM_OK);
    CHECK(tokfsm_rows_apply(NULL, 0, 0, &good, NULL, 0, NULL) == TOKFSM_OK);
    for (int i = 0; i < 8; i++)
        CHECK(values[i] < -1e38f);
}

int main(int argc, char **argv)
{
    kernels_one_by_one(argc > 1 ? argv[1] : "portable");
    rows();
    wrong_arguments();
    printf("%s\n", tokfsm_apply_kernel());
    return 0;
}
