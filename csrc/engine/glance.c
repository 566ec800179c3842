#include "glance.h"

#include "name_content.h"

#define SPACE TF_BYTE_SPACE
#define NUMBER TF_BYTE_NUMBER
const uint8_t tf_byte_kind[256] = {
    [' '] = SPACE, ['\n'] = SPACE, ['\t'] = SPACE, ['\r'] = SPACE,
    ['0'] = NUMBER, ['1'] = NUMBER, ['2'] = NUMBER, ['3'] = NUMBER, ['4'] = NUMBER,
    ['5'] = NUMBER, ['6'] = NUMBER, ['7'] = NUMBER, ['8'] = NUMBER, ['9'] = NUMBER,
    ['-'] = NUMBER, ['+'] = NUMBER, ['.'] = NUMBER, ['e'] = NUMBER, ['E'] = NUMBER,
    ['"'] = TF_BYTE_QUOTE,
    ['n'] = TF_BYTE_LETTER, ['f'] = TF_BYTE_LETTER, ['t'] = TF_BYTE_LETTER,
    ['{'] = TF_BYTE_OPEN, ['['] = TF_BYTE_OPEN, ['}'] = TF_BYTE_CLOSE, [']'] = TF_BYTE_CLOSE,
    [','] = TF_BYTE_COMMA, [':'] = TF_BYTE_COLON};

const char *const tf_literal_text[TF_N_LITERALS] = {"null", "false", "true"};

bool tf_only_literals(tf_run *run, const tf_configuration *c)
{
    if (c->literals_only)
        return true;
    if (c->mode == TF_IN_STRING)
        return ((const tf_strings *)c->at)->n_breaks == 0;
    const tf_configuration before = {.top = c->top, .mode = TF_AT_NAME};
    return !tf_other_name_live(run, &before, TF_NONE);
}
