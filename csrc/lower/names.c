#include "names.h"

static tokfsm_status no_memory(const tf_name_list *list)
{
    return tf_fail(list->b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static size_t slot_of(const tf_name_list *list, const char *text, uint32_t n)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a, 64 bits */
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
    hash ^= hash >> 29;
    size_t at = (size_t)hash & (list->n_slots - 1);
    for (; list->slots[at] != 0; at = (at + 1) & (list->n_slots - 1)) {
        const tf_name *known = &list->items[list->slots[at] - 1];
        if (known->n == n && (n == 0 || memcmp(known->text, text, n) == 0))
            break;
    }
    return at;
}

static tokfsm_status widen(tf_name_list *list)
{
    tokfsm_allocator *a = &list->b->arena.allocator;
    size_t n_slots = list->n_slots == 0 ? 32 : list->n_slots * 2;
    uint32_t *slots = tf_allocate(a, n_slots * sizeof *slots);
    if (slots == NULL)
        return no_memory(list);
    memset(slots, 0, n_slots * sizeof *slots);
    tf_release(a, list->slots);
    list->slots = slots;
    list->n_slots = n_slots;
    for (size_t i = 0; i < list->n; i++)
        list->slots[slot_of(list, list->items[i].text, list->items[i].n)] = (uint32_t)i + 1;
    return TOKFSM_OK;
}

tokfsm_status tf_name_list_add(void *list, const char *text, uint32_t n)
{
    tf_name_list *names = list;
    TF_TRY(tf_spend(names->b->budget, names->b->err));
    if (names->n * 2 >= names->n_slots)
        TF_TRY(widen(names));
    size_t slot = slot_of(names, text, n);
    if (names->slots[slot] != 0)
        return TOKFSM_OK;
    if (!tf_grow(&names->b->arena.allocator, (void **)&names->items, names->n, &names->capacity,
                 sizeof *names->items))
        return no_memory(names);
    names->items[names->n++] = (tf_name){text, n};
    names->slots[slot] = (uint32_t)names->n;
    return TOKFSM_OK;
}

tokfsm_status tf_name_list_has(const tf_name_list *list, const char *text, uint32_t n, bool *has)
{
    *has = list->n > 0 && list->slots[slot_of(list, text, n)] != 0;
    return tf_spend(list->b->budget, list->b->err);
}

void tf_name_list_clear(tf_name_list *list)
{
    if (list->n > 0)
        memset(list->slots, 0, list->n_slots * sizeof *list->slots);
    list->n = 0;
}

void tf_name_list_free(tf_name_list *list)
{
    tf_release(&list->b->arena.allocator, list->items);
    tf_release(&list->b->arena.allocator, list->slots);
}
