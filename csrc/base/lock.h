/*
 * The lock of the miss path. It holds the holder's process id: a child made by fork() while
 * another thread of its parent was inside finds a stranger's id and takes the lock over. What
 * that thread had half made must then be put right: see tf_hooks.recover.
 */
#ifndef TF_LOCK_H
#define TF_LOCK_H

#include <stdatomic.h>

/* 1: taken over from a process that is not this one. */
int tf_lock(atomic_uint *lock);
/* The same where the caller may hold `outer`: to ask for the process's id takes as long as many a
   step under the lock does, and what is held says it. */
int tf_lock_within(atomic_uint *lock, atomic_uint *outer);
void tf_unlock(atomic_uint *lock);

#endif
