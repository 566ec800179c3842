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

int tf_lock(atomic_uint *lock)
{
    unsigned mine = process_id();
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

void tf_unlock(atomic_uint *lock) { atomic_store_explicit(lock, 0, memory_order_release); }
