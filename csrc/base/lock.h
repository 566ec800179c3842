/*
 * The lock of the miss path. It holds the holder's process id: a child made by fork() while
 * another thread of its parent was inside finds a stranger's id and takes the lock over. That
 * is sound because all that the lock guards is append-only and published by one store at the
 * end: what the other thread had half made is not reachable.
 */
#ifndef TF_LOCK_H
#define TF_LOCK_H

#include <stdatomic.h>

void tf_lock(atomic_uint *lock);
void tf_unlock(atomic_uint *lock);

#endif
