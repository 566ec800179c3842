/* One row for each of many matchers, by several threads. */
#include "../base/bits.h"
#include "matcher.h"
#include "workers.h"

/* Rows that are known take well under a microsecond each, waking threads takes tens of rows' time:
   fewer than these wake none, unless they turn out to be dear. */
enum { MANY_ROWS = 64, PIECE_ROWS = 4 };

typedef struct batch {
    tokfsm_matcher *const *matchers;
    size_t n_matchers;
    uint32_t *words;
    size_t n_words, row_words;
    size_t piece_rows; /* rows that a thread takes at a time */
    const uint32_t *rows, *budgets;
    atomic_int need_apply;
    atomic_flag telling;  /* held by who writes the three below */
    size_t first_failed;  /* n_matchers: none */
    tokfsm_status status; /* its */
    tokfsm_error error;
} batch;

static uint32_t *row_of(const batch *b, size_t i)
{
    return b->words + (b->rows == NULL ? i : b->rows[i]) * b->row_words;
}

/* Of several failures the one that comes first in the batch is told, whoever was quicker. */
static void tell(batch *b, size_t i, tokfsm_status status, const tokfsm_error *error)
{
    while (atomic_flag_test_and_set_explicit(&b->telling, memory_order_acquire))
        ;
    if (i < b->first_failed) {
        b->first_failed = i;
        b->status = status;
        b->error = *error;
    }
    atomic_flag_clear_explicit(&b->telling, memory_order_release);
}

/*
 * What the next rows will ask for is on its way while this one is copied: rows push all else out
 * of the nearer caches, and matcher, node, frame are each behind a pointer in the one before.
 */
static void fetch_ahead(const batch *b, size_t i, size_t end)
{
    if (i + 3 < end)
        for (size_t line = 0; line < sizeof(tokfsm_matcher); line += 64)
            tf_fetch((const char *)b->matchers[i + 3] + line);
    if (i + 2 < end)
        for (size_t line = 0; line < sizeof(tf_node); line += 64)
            tf_fetch((const char *)b->matchers[i + 2]->at + line);
    if (i + 1 < end) {
        const tf_configuration *c = &b->matchers[i + 1]->at->c;
        if (c->top != NULL) {
            tf_fetch(c->top);
            tf_fetch((const char *)c->top + 64);
        }
        tf_fetch(c->value);
        tf_fetch(c->at);
    }
}

static void fill_piece(void *context, size_t piece)
{
    batch *b = context;
    const size_t end = (piece + 1) * b->piece_rows;
    int32_t any = 0;
    tokfsm_error error; /* written on failure alone */
    for (size_t i = piece * b->piece_rows; i < end && i < b->n_matchers; i++) {
        const uint32_t budget = b->budgets == NULL ? TOKFSM_UNBOUNDED : b->budgets[i];
        int32_t need = 0;
        fetch_ahead(b, i, b->n_matchers);
        tokfsm_status status =
            tf_matcher_fill(b->matchers[i], row_of(b, i), b->n_words, budget, &need, &error);
        if (status != TOKFSM_OK)
            tell(b, i, status, &error);
        any |= need;
    }
    if (any)
        atomic_store_explicit(&b->need_apply, 1, memory_order_relaxed);
}

static tokfsm_status name_row(const batch *b, tokfsm_status status, size_t i, const char *what,
                              tokfsm_error *err)
{
    return tf_fail_at(err, status, i, "row %zu, matcher %zu of the batch: %s",
                      b->rows == NULL ? i : (size_t)b->rows[i], i, what);
}

/* Rows below n_rows, each once. */
static tokfsm_status check_rows(const uint32_t *rows, size_t n, size_t n_rows, tf_arena *scratch,
                                tokfsm_error *err)
{
    if (rows == NULL)
        return n <= n_rows ? TOKFSM_OK
                           : tf_fail_at(err, TOKFSM_E_RANGE, n_rows,
                                        "%zu matchers for a batch of %zu rows", n, n_rows);
    for (size_t i = 0; i < n; i++)
        if (rows[i] >= n_rows)
            return tf_fail_at(err, TOKFSM_E_RANGE, i,
                              "matcher %zu of the batch: row %u of a batch of %zu rows", i, rows[i],
                              n_rows);
    uint32_t *seen = tf_arena_zero(scratch, tf_n_words(n_rows) * sizeof *seen);
    if (seen == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a batch");
    for (size_t i = 0; i < n; i++) {
        if (tf_bit(seen, rows[i]))
            return tf_fail_at(err, TOKFSM_E_RANGE, i,
                              "matcher %zu of the batch: row %u is another's too", i, rows[i]);
        tf_set(seen, rows[i]);
    }
    return TOKFSM_OK;
}

/* All matchers are this call's. */
static tokfsm_status fill_all(batch *b, size_t n_rows, tokfsm_workers *workers, uint32_t n_threads,
                              tokfsm_error *err)
{
    TF_TRY(check_rows(b->rows, b->n_matchers, n_rows, &b->matchers[0]->scratch, err));
    const bool many = b->n_matchers >= MANY_ROWS;
    b->piece_rows = many ? PIECE_ROWS : 1;
    const size_t n_pieces = (b->n_matchers + b->piece_rows - 1) / b->piece_rows;
    uint32_t n_helpers = n_threads == 0 ? 0 : n_threads - 1;
    if (n_helpers >= n_pieces)
        n_helpers = (uint32_t)n_pieces - 1;
    tf_workers_run(workers, n_helpers, many, n_pieces, fill_piece, b);
    if (b->first_failed == b->n_matchers)
        return TOKFSM_OK;
    enum { ROOM = 64 }; /* for the place, before the message */
    b->error.message[sizeof b->error.message - ROOM] = '\0';
    return name_row(b, b->status, b->first_failed, b->error.message, err);
}

tokfsm_status tokfsm_fill_batch(tokfsm_matcher *const *matchers, size_t n_matchers,
                                uint32_t *words, size_t n_rows, size_t n_words, size_t row_words,
                                const uint32_t *rows, const uint32_t *budgets,
                                tokfsm_workers *workers, uint32_t n_threads, int32_t *need_apply,
                                tokfsm_error *err)
{
    batch b = {.matchers = matchers, .n_matchers = n_matchers, .words = words, .n_words = n_words,
               .row_words = row_words, .rows = rows, .budgets = budgets,
               .telling = ATOMIC_FLAG_INIT, .first_failed = n_matchers};
    atomic_init(&b.need_apply, 0);
    tokfsm_status status = TOKFSM_OK;
    if (n_matchers > 0 && (matchers == NULL || words == NULL))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    if (n_rows > 1 && row_words < n_words)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "rows of %zu words begin %zu words apart", n_words,
                       row_words);
    size_t entered = 0;
    for (; entered < n_matchers && status == TOKFSM_OK; entered++) {
        status = tf_matcher_enter(matchers[entered], NULL);
        if (status == TOKFSM_E_BUSY)
            name_row(&b, status, entered, "it is in use by another thread, or in the batch twice", err);
        else if (status != TOKFSM_OK)
            name_row(&b, status, entered, "it is NULL", err);
        if (status != TOKFSM_OK)
            break;
    }
    if (status == TOKFSM_OK && n_matchers > 0)
        status = fill_all(&b, n_rows, workers, n_threads, err);
    for (size_t i = 0; i < entered; i++)
        tf_matcher_leave(matchers[i]);
    if (status == TOKFSM_OK && need_apply != NULL)
        *need_apply = atomic_load_explicit(&b.need_apply, memory_order_relaxed);
    return status;
}
