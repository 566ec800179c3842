/*
 * JSON Pointer (RFC 6901): node -> pointer, pointer -> node. No memory; a pointer costs a
 * walk from the root, a resolution one lookup a token.
 */
#include "tape.h"

/* A buffer that remembers where an ellipsis still fits. */
typedef struct writer {
    char *buffer;
    size_t n_bytes; /* of the buffer, its NUL too */
    size_t n, cut;
    bool full;
} writer;

static const char ellipsis[] = "\xE2\x80\xA6", null_symbol[] = "\xE2\x90\x80";
enum { ELLIPSIS_BYTES = sizeof ellipsis - 1 };

/* Whole or not at all, so that no code point is cut. */
static void put(writer *w, const char *bytes, size_t n)
{
    if (w->full || w->n_bytes - 1 - w->n < n) {
        w->full = true;
        return;
    }
    memcpy(w->buffer + w->n, bytes, n);
    w->n += n;
    if (w->n + ELLIPSIS_BYTES < w->n_bytes)
        w->cut = w->n;
}

static void put_name(writer *w, const tf_tape_node *name)
{
    put(w, "/", 1);
    for (uint32_t i = 0; i < name->n && !w->full;) {
        uint8_t lead = (uint8_t)name->text[i];
        uint32_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (lead == '~')
            put(w, "~0", 2);
        else if (lead == '/')
            put(w, "~1", 2);
        else if (lead == '\0')
            put(w, null_symbol, sizeof null_symbol - 1);
        else
            put(w, name->text + i, n);
        i += n;
    }
}

static void put_number(writer *w, uint32_t value)
{
    char digits[11];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    digits[--at] = '/';
    put(w, digits + at, sizeof digits - at);
}

void tf_tape_pointer(const tf_tape *tape, uint32_t i, char *buffer, size_t n_bytes)
{
    if (n_bytes == 0)
        return;
    writer w = {buffer, n_bytes, 0, 0, false};
    const tf_tape_node *nodes = tape->nodes;
    uint32_t at = i;
    if (i < tape->n_nodes) {
        const tf_tape_document *document = &tape->documents[tf_tape_document_of(tape, i)];
        at = document->root;
        size_t n_uri = strlen(document->uri);
        if (n_uri > 0) {
            put(&w, document->uri, n_uri);
            put(&w, "#", 1);
        }
    }
    while (at != i && !w.full) {
        uint32_t child = at + 1;
        if (nodes[at].type == TF_JSON_OBJECT) {
            while (i >= nodes[child + 1].next)
                child = nodes[child + 1].next;
            put_name(&w, &nodes[child]);
            at = i == child ? i : child + 1;
        } else {
            uint32_t k = 0;
            for (; i >= nodes[child].next; k++)
                child = nodes[child].next;
            put_number(&w, k);
            at = child;
        }
    }
    if (w.full) {
        w.n = w.cut;
        if (n_bytes > ELLIPSIS_BYTES) {
            memcpy(buffer + w.n, ellipsis, ELLIPSIS_BYTES);
            w.n += ELLIPSIS_BYTES;
        }
    }
    buffer[w.n] = '\0';
}

/* The number of an item: digits without a leading zero ("-" is past the end: none). */
static uint32_t resolve_item(const tf_tape *tape, uint32_t array, const char *token, size_t n)
{
    if (n == 0 || n > 10 || (token[0] == '0' && n > 1))
        return TF_TAPE_NONE;
    uint64_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (token[i] < '0' || token[i] > '9')
            return TF_TAPE_NONE;
        k = k * 10 + (uint64_t)(token[i] - '0');
    }
    return tf_tape_item(tape, array, k);
}

uint32_t tf_tape_resolve(const tf_tape *tape, uint32_t from, const char *pointer,
                         size_t n_bytes)
{
    if (from >= tape->n_nodes)
        return TF_TAPE_NONE;
    const char *at = pointer, *end = pointer + n_bytes;
    uint32_t node = from;
    while (at < end) {
        if (*at != '/')
            return TF_TAPE_NONE;
        at++;
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t n = (size_t)((slash != NULL ? slash : end) - at);
        node = tape->nodes[node].type == TF_JSON_ARRAY ? resolve_item(tape, node, at, n)
                                                       : tf_tape_get_token(tape, node, at, n);
        if (node == TF_TAPE_NONE)
            return TF_TAPE_NONE;
        at += n;
    }
    return node;
}
