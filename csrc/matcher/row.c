/* Rows against logits. */
#include <math.h>

#include "../base/bits.h"
#include "../base/status.h"

tokfsm_status tokfsm_row_apply_f32(const uint32_t *words, size_t n_words, float *logits,
                                   size_t n_logits, size_t stride, tokfsm_error *err)
{
    if ((words == NULL && n_words > 0) || (logits == NULL && n_logits > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    if (stride == 0)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "stride is 0");
    for (size_t i = 0; i < n_logits; i++)
        if (i / 32 >= n_words || !tf_bit(words, i))
            logits[i * stride] = -INFINITY;
    return TOKFSM_OK;
}

uint32_t tokfsm_row_count(const uint32_t *words, size_t n_words)
{
    uint32_t count = 0;
    for (size_t w = 0; w < n_words; w++)
        for (uint32_t word = words[w]; word != 0; word &= word - 1)
            count++;
    return count;
}
