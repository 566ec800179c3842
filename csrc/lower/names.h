/* A list of names, each once. */
#ifndef TF_NAMES_H
#define TF_NAMES_H

#include "build.h"

typedef struct tf_name_list {
    tf_build *b;
    tf_name *items; /* the caller releases them */
    size_t n, capacity;
} tf_name_list;

/* A tf_name_visitor. */
tokfsm_status tf_name_list_add(void *list, const char *text, uint32_t n);

#endif
