/* Rows laid over logits: arguments checked, then kernels for contiguous logits, a loop for others. */
#include "../base/status.h"
#include "kernels.h"

/* Minus infinity, and how many bytes it has. */
static bool refusal(uint32_t type, uint64_t *bits, size_t *width)
{
    switch (type) {
    case TOKFSM_F16: *bits = 0xFC00u, *width = 2; return true;
    case TOKFSM_BF16: *bits = 0xFF80u, *width = 2; return true;
    case TOKFSM_F32: *bits = 0xFF800000u, *width = 4; return true;
    case TOKFSM_F64: *bits = 0xFFF0000000000000u, *width = 8; return true;
    default: return false;
    }
}

/* The elements stand `stride` bytes apart; refused ones are visited, allowed ones are not. */
#define APPLY_STRIDED(bits)                                                                    \
    static void strided_##bits(const uint32_t *words, size_t n_words, size_t n, char *logits,  \
                               ptrdiff_t stride, uint##bits##_t refused)                       \
    {                                                                                          \
        for (size_t w = 0; w * 32 < n; w++) {                                                  \
            const size_t left = n - w * 32, count = left < 32 ? left : 32;                     \
            const uint32_t word = w < n_words ? words[w] : 0;                                  \
            char *at = logits + (ptrdiff_t)(w * 32) * stride;                                  \
            if (word == UINT32_MAX)                                                            \
                continue;                                                                      \
            for (size_t j = 0; j < count; j++, at += stride)                                   \
                if (!(word >> j & 1u))                                                         \
                    memcpy(at, &refused, sizeof refused);                                      \
        }                                                                                      \
    }

APPLY_STRIDED(16)
APPLY_STRIDED(32)
APPLY_STRIDED(64)

static void apply(const tf_kernels *kernels, const uint32_t *words, size_t n_words, char *at,
                  const tokfsm_logits *logits, uint64_t bits, size_t width)
{
    const size_t n = logits->n_logits;
    if (logits->stride != (ptrdiff_t)width && n > 1) {
        if (width == 2)
            strided_16(words, n_words, n, at, logits->stride, (uint16_t)bits);
        else if (width == 4)
            strided_32(words, n_words, n, at, logits->stride, (uint32_t)bits);
        else
            strided_64(words, n_words, n, at, logits->stride, bits);
        return;
    }
    const size_t covered = n / 32 < n_words ? n : n_words * 32;
    char *tail = at + covered * width;
    if (width == 2) {
        kernels->apply_16(words, covered, at, (uint16_t)bits);
        strided_16(NULL, 0, n - covered, tail, 2, (uint16_t)bits);
    } else if (width == 4) {
        kernels->apply_32(words, covered, at, (uint32_t)bits);
        strided_32(NULL, 0, n - covered, tail, 4, (uint32_t)bits);
    } else {
        kernels->apply_64(words, covered, at, bits);
        strided_64(NULL, 0, n - covered, tail, 8, bits);
    }
}

tokfsm_status tokfsm_rows_apply(const uint32_t *words, size_t n_words, size_t row_words,
                                const tokfsm_logits *logits, const uint32_t *indices,
                                size_t n_indices, tokfsm_error *err)
{
    uint64_t bits;
    size_t width;
    if (logits == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "logits is NULL");
    if (!refusal(logits->type, &bits, &width))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "%u is no type of logits", logits->type);
    const size_t count = indices == NULL ? logits->n_rows : n_indices;
    if (count == 0 || logits->n_logits == 0)
        return TOKFSM_OK;
    if ((words == NULL && n_words > 0) || logits->data == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    if (logits->n_logits > 1 && logits->stride < (ptrdiff_t)width && logits->stride > -(ptrdiff_t)width)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "logits of %zu bytes cannot stand %td bytes apart",
                       width, logits->stride);
    for (size_t i = 0; indices != NULL && i < n_indices; i++)
        if (indices[i] >= logits->n_rows)
            return tf_fail_at(err, TOKFSM_E_RANGE, i, "index %u of a batch of %zu rows", indices[i],
                              logits->n_rows);
    const tf_kernels *kernels = tf_kernels_best();
    for (size_t i = 0; i < count; i++) {
        const size_t row = indices == NULL ? i : indices[i];
        apply(kernels, n_words == 0 ? NULL : words + row * row_words, n_words,
              (char *)logits->data + (ptrdiff_t)row * logits->row_stride, logits, bits, width);
    }
    return TOKFSM_OK;
}

tokfsm_status tokfsm_row_apply_f32(const uint32_t *words, size_t n_words, float *logits,
                                   size_t n_logits, size_t stride, tokfsm_error *err)
{
    const tokfsm_logits all = {.data = logits, .type = TOKFSM_F32, .n_rows = 1, .n_logits = n_logits,
                               .stride = (ptrdiff_t)(stride * sizeof *logits)};
    if (stride == 0)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "stride is 0");
    return tokfsm_rows_apply(words, n_words, 0, &all, NULL, 0, err);
}

const char *tokfsm_apply_kernel(void) { return tf_kernels_best()->name; }
