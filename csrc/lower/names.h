/* A list of names, each once, in the order in which they came. */
#ifndef TF_NAMES_H
#define TF_NAMES_H

#include "build.h"

typedef struct tf_name_list {
    tf_build *b;
    tf_name *items;
    size_t n, capacity;
    uint32_t *slots; /* hash index: 1 + position, 0: free */
    size_t n_slots;
} tf_name_list;

/* A tf_name_visitor. Expected O(1). */
tokfsm_status tf_name_list_add(void *list, const char *text, uint32_t n);
tokfsm_status tf_name_list_has(const tf_name_list *list, const char *text, uint32_t n, bool *has);
void tf_name_list_clear(tf_name_list *list);
void tf_name_list_free(tf_name_list *list);

#endif
