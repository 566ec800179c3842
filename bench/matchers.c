/*
 * Many matchers on one automaton, their memory counted by the allocator. Written against the
 * public header alone; built by matchers_memory.py, which loads the extension first, so that its
 * tokfsm_* are found.
 */
#include <stdlib.h>

#include "tokfsm.h"

/* A size before each block, in a header that keeps 16 bytes aligned. */
enum { HEADER_BYTES = 16 };

typedef struct meter {
    size_t n_bytes, n_blocks; /* asked for and not given back */
} meter;

static meter all;

static void *metered_allocate(void *context, size_t n_bytes)
{
    meter *m = context;
    char *block = malloc(HEADER_BYTES + n_bytes);
    if (block == NULL)
        return NULL;
    *(size_t *)(void *)block = n_bytes;
    m->n_bytes += n_bytes;
    m->n_blocks++;
    return block + HEADER_BYTES;
}

static void metered_release(void *context, void *block)
{
    meter *m = context;
    char *start = (char *)block - HEADER_BYTES;
    m->n_bytes -= *(size_t *)(void *)start;
    m->n_blocks--;
    free(start);
}

typedef struct fleet {
    tokfsm_automaton *automaton;
    tokfsm_matcher **matchers;
    size_t n;
} fleet;

tokfsm_status fleet_pack(const uint8_t *bytes, size_t n_bytes, tokfsm_pack **pack,
                         tokfsm_error *err);
tokfsm_status fleet_start(fleet *f, tokfsm_pack *pack, const uint8_t *schema, size_t n_schema,
                          uint32_t whitespace, tokfsm_error *err);
tokfsm_status fleet_run(fleet *f, size_t n, uint32_t max_rollback, int32_t fills,
                        const uint32_t *ids, size_t n_ids, uint32_t *words, size_t n_words,
                        uint64_t *n_bytes, uint64_t *n_blocks, tokfsm_error *err);
void fleet_rest(fleet *f);
void fleet_end(fleet *f);

tokfsm_status fleet_pack(const uint8_t *bytes, size_t n_bytes, tokfsm_pack **pack,
                         tokfsm_error *err)
{
    return tokfsm_pack_open(bytes, n_bytes, NULL, pack, err);
}

tokfsm_status fleet_start(fleet *f, tokfsm_pack *pack, const uint8_t *schema, size_t n_schema,
                          uint32_t whitespace, tokfsm_error *err)
{
    static const tokfsm_allocator allocator = {metered_allocate, metered_release, &all};
    tokfsm_options options;
    tokfsm_options_default(&options);
    options.whitespace = whitespace;
    *f = (fleet){0};
    return tokfsm_compile(schema, n_schema, NULL, 0, pack, NULL, 0, &options, &allocator, NULL,
                          NULL, &f->automaton, err);
}

/* n matchers side by side, step by step as a server runs them; then what they hold, which is what
   the allocator holds more than with the automaton alone, all of whose masks are made before. */
tokfsm_status fleet_run(fleet *f, size_t n, uint32_t max_rollback, int32_t fills,
                        const uint32_t *ids, size_t n_ids, uint32_t *words, size_t n_words,
                        uint64_t *n_bytes, uint64_t *n_blocks, tokfsm_error *err)
{
    tokfsm_status status = TOKFSM_OK;
    f->matchers = calloc(n, sizeof *f->matchers);
    if (f->matchers == NULL)
        return TOKFSM_E_NOMEM;
    meter before = all;
    for (f->n = 0; f->n < n && status == TOKFSM_OK; f->n++)
        status = tokfsm_matcher_new(f->automaton, NULL, 0, max_rollback, &f->matchers[f->n], err);
    for (size_t k = 0; k < n_ids && status == TOKFSM_OK; k++)
        for (size_t i = 0; i < n && status == TOKFSM_OK; i++) {
            int32_t accepted = 0, unused;
            if (fills)
                status = tokfsm_matcher_fill(f->matchers[i], words, n_words, TOKFSM_UNBOUNDED,
                                             &unused, err);
            if (status == TOKFSM_OK)
                status = tokfsm_matcher_accept(f->matchers[i], ids[k], &accepted, err);
            if (status == TOKFSM_OK && !accepted)
                status = TOKFSM_E_RANGE;
        }
    *n_bytes = all.n_bytes - before.n_bytes;
    *n_blocks = all.n_blocks - before.n_blocks;
    return status;
}

void fleet_rest(fleet *f)
{
    for (size_t i = 0; i < f->n; i++)
        tokfsm_matcher_free(f->matchers[i]);
    free(f->matchers);
    f->matchers = NULL;
    f->n = 0;
}

void fleet_end(fleet *f)
{
    fleet_rest(f);
    tokfsm_automaton_free(f->automaton);
}
