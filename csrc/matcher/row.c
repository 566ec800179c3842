/* Rows by themselves. */
#include "../base/bits.h"
#include "../base/status.h"

uint32_t tokfsm_row_count(const uint32_t *words, size_t n_words)
{
    uint32_t count = 0;
    for (size_t w = 0; w < n_words; w++)
        for (uint32_t word = words[w]; word != 0; word &= word - 1)
            count++;
    return count;
}
