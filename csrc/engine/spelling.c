#include "spelling.h"

#include <string.h>

/* Raw where legal, else the short escape, else the lower-case \u00xx. */
static uint32_t spell_byte(uint8_t byte, uint8_t out[6])
{
    static const char escaped[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *at = byte == 0 ? NULL : strchr(escaped, byte);
    if (at != NULL) {
        out[0] = '\\';
        out[1] = (uint8_t)names[at - escaped];
        return 2;
    }
    if (byte < 0x20) {
        static const char hex[] = "0123456789abcdef";
        memcpy(out, "\\u00", 4);
        out[4] = (uint8_t)hex[byte >> 4];
        out[5] = (uint8_t)hex[byte & 15];
        return 6;
    }
    out[0] = byte;
    return 1;
}

size_t tf_spelled_length(const uint8_t *text, uint32_t n)
{
    uint8_t out[6];
    size_t m = 0;
    for (uint32_t i = 0; i < n; i++)
        m += spell_byte(text[i], out);
    return m;
}

void tf_spelled_write(const uint8_t *text, uint32_t n, uint8_t *out)
{
    uint8_t bytes[6];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = spell_byte(text[i], bytes);
        memcpy(out, bytes, k);
        out += k;
    }
}
