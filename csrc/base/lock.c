#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200112L
#endif
#include "lock.h"

#if defined(_WIN32)
#include <windows.h>
static unsigned process_id(void) { return (unsigned)GetCurrentProcessId(); }
static void give_way(void) { SwitchToThread(); }
#else
#include <sched.h>
#include <unistd.h>
static unsigned process_id(void) { return (unsigned)getpid(); }
static void give_way(void) { sched_yield(); }
#endif

static int lock_as(atomic_uint *lock, unsigned mine)
{
    for (;;) {
        unsigned holder = 0;
        if (atomic_compare_exchange_weak_explicit(lock, &holder, mine, memory_order_acquire,
                                                  memory_order_relaxed))
            return 0;
        if (holder != 0 && holder != mine &&
            atomic_compare_exchange_strong_explicit(lock, &holder, mine, memory_order_acquire,
                                                    memory_order_relaxed))
            return 1;
        give_way();
    }
}

int tf_lock(atomic_uint *lock) { return lock_as(lock, process_id()); }

int tf_lock_within(atomic_uint *lock, atomic_uint *outer)
{
    unsigned holder = atomic_load_explicit(outer, memory_order_relaxed);
    return lock_as(lock, holder != 0 ? holder : process_id());
}

void tf_unlock(atomic_uint *lock) { atomic_store_explicit(lock, 0, memory_order_release); }
