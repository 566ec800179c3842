/*
 * A pool of threads. A job is a counter of pieces that whoever takes part counts up; the caller
 * takes part too and never waits for a helper that has not begun, so that a pool which is slow to
 * wake, or busy, costs no more than having none.
 */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200112L /* threads, and a clock */
#endif
#include "workers.h"

#include <stdatomic.h>

#if defined(_WIN32)

struct tokfsm_workers {
    tokfsm_allocator allocator;
};

tokfsm_status tokfsm_workers_new(uint32_t n_threads, const tokfsm_allocator *allocator,
                                 tokfsm_workers **workers, tokfsm_error *err)
{
    tokfsm_allocator a = tf_allocator(allocator);
    (void)n_threads;
    if (workers == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "workers is NULL");
    tokfsm_workers *w = tf_allocate(&a, sizeof *w);
    if (w == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for threads");
    w->allocator = a;
    *workers = w;
    return TOKFSM_OK;
}

void tokfsm_workers_free(tokfsm_workers *workers)
{
    if (workers != NULL) {
        tokfsm_allocator a = workers->allocator;
        tf_release(&a, workers);
    }
}

uint32_t tokfsm_workers_count(const tokfsm_workers *workers)
{
    (void)workers;
    return 0;
}

void tf_workers_run(tokfsm_workers *workers, uint32_t n_helpers, bool at_once, size_t n,
                    void (*piece)(void *context, size_t i), void *context)
{
    (void)workers;
    (void)at_once;
    (void)n_helpers;
    for (size_t i = 0; i < n; i++)
        piece(context, i);
}

#else
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 1 << 20, /* some systems give a second thread too little for a miss */
    PATIENCE_NS = 50000    /* several times what waking a thread costs */
};

typedef struct job {
    struct job *next;
    void (*piece)(void *context, size_t i);
    void *context;
    size_t n;
    atomic_size_t taken;
    uint32_t wanted, running; /* helpers; under the pool's mutex */
    pthread_cond_t left;      /* a helper left */
} job;

struct tokfsm_workers {
    tokfsm_allocator allocator;
    pid_t process; /* whose threads they are */
    pthread_mutex_t mutex;
    pthread_cond_t work; /* a job wants helpers, or `ending` */
    job *jobs;           /* under the mutex, as `ending` */
    bool ending;
    uint32_t n_threads;
    pthread_t threads[];
};

static void take_part(job *j)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&j->taken, 1, memory_order_relaxed);
        if (i >= j->n)
            return;
        j->piece(j->context, i);
    }
}

static void *help(void *pool)
{
    tokfsm_workers *w = pool;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        job *j = w->jobs;
        while (j != NULL && j->wanted == 0)
            j = j->next;
        if (j == NULL) {
            if (w->ending)
                break;
            pthread_cond_wait(&w->work, &w->mutex);
            continue;
        }
        j->wanted--;
        j->running++;
        pthread_mutex_unlock(&w->mutex);
        take_part(j);
        pthread_mutex_lock(&w->mutex);
        if (--j->running == 0)
            pthread_cond_signal(&j->left);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* In a child of fork() the threads are gone and the mutex may be held by one of them. */
static bool is_here(const tokfsm_workers *w) { return w->process == getpid(); }

uint32_t tokfsm_workers_count(const tokfsm_workers *workers)
{
    return workers != NULL && is_here(workers) ? workers->n_threads : 0;
}

static int64_t now_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Pieces by the caller alone until they take long; what is done does not depend on it, only by
   whom. */
static void begin_alone(job *j)
{
    const int64_t begun = now_ns();
    for (size_t i = 0; i < j->n; i++) {
        j->piece(j->context, i);
        atomic_store_explicit(&j->taken, i + 1, memory_order_relaxed);
        if (now_ns() - begun > PATIENCE_NS)
            return;
    }
}

void tf_workers_run(tokfsm_workers *workers, uint32_t n_helpers, bool at_once, size_t n,
                    void (*piece)(void *context, size_t i), void *context)
{
    job j = {.piece = piece, .context = context, .n = n};
    atomic_init(&j.taken, 0);
    uint32_t most = n_helpers == 0 ? 0 : tokfsm_workers_count(workers);
    j.wanted = n_helpers < most ? n_helpers : most;
    if (j.wanted > 0 && !at_once)
        begin_alone(&j);
    if (j.wanted == 0 || n - atomic_load(&j.taken) < 2 || pthread_cond_init(&j.left, NULL) != 0) {
        take_part(&j);
        return;
    }
    uint32_t n_woken = j.wanted;
    pthread_mutex_lock(&workers->mutex);
    j.next = workers->jobs;
    workers->jobs = &j;
    pthread_mutex_unlock(&workers->mutex);
    for (uint32_t i = 0; i < n_woken; i++)
        pthread_cond_signal(&workers->work);
    take_part(&j);
    pthread_mutex_lock(&workers->mutex);
    job **at = &workers->jobs;
    while (*at != &j)
        at = &(*at)->next;
    *at = j.next; /* from here on nobody begins */
    while (j.running > 0)
        pthread_cond_wait(&j.left, &workers->mutex);
    pthread_mutex_unlock(&workers->mutex);
    pthread_cond_destroy(&j.left);
}

/* Threads take no signals: those are for the program's own. */
static uint32_t start_threads(tokfsm_workers *w, uint32_t n)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    uint32_t started = 0;
    if (pthread_attr_init(&attributes) != 0)
        return 0;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < n && pthread_create(&w->threads[started], &attributes, help, w) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static void end_threads(tokfsm_workers *w)
{
    pthread_mutex_lock(&w->mutex);
    w->ending = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->mutex);
    for (uint32_t i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->mutex);
}

tokfsm_status tokfsm_workers_new(uint32_t n_threads, const tokfsm_allocator *allocator,
                                 tokfsm_workers **workers, tokfsm_error *err)
{
    tokfsm_allocator a = tf_allocator(allocator);
    size_t n_bytes;
    tokfsm_workers *w = NULL;
    if (workers == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "workers is NULL");
    if (tf_size_mul_add(n_threads, sizeof w->threads[0], sizeof *w, &n_bytes))
        w = tf_allocate(&a, n_bytes);
    if (w == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for %u threads", n_threads);
    memset(w, 0, n_bytes);
    w->allocator = a;
    w->process = getpid();
    if (pthread_mutex_init(&w->mutex, NULL) != 0 || pthread_cond_init(&w->work, NULL) != 0) {
        tf_release(&a, w);
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a mutex");
    }
    w->n_threads = start_threads(w, n_threads);
    if (w->n_threads < n_threads) {
        uint32_t started = w->n_threads;
        tokfsm_workers_free(w);
        return tf_fail(err, TOKFSM_E_LIMIT, "the system started %u of %u threads", started,
                       n_threads);
    }
    *workers = w;
    return TOKFSM_OK;
}

void tokfsm_workers_free(tokfsm_workers *workers)
{
    if (workers == NULL)
        return;
    tokfsm_allocator a = workers->allocator;
    if (is_here(workers))
        end_threads(workers);
    tf_release(&a, workers);
}
#endif
