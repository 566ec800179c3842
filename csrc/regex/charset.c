#include "charset.h"

#include <stdlib.h>

#include "unicode.h"

bool tf_charset_add(tf_arena *arena, tf_charset *set, uint32_t low, uint32_t high)
{
    if (set->n > 0 && set->ranges[set->n - 1].high < UINT32_MAX &&
        set->ranges[set->n - 1].high + 1 == low) {
        set->ranges[set->n - 1].high = high;
        return true;
    }
    if (set->n == set->capacity) {
        uint32_t grown = set->capacity == 0 ? 4 : set->capacity * 2;
        tf_range *fresh = tf_arena_take(arena, grown * sizeof *fresh);
        if (fresh == NULL)
            return false;
        if (set->n > 0)
            memcpy(fresh, set->ranges, set->n * sizeof *fresh);
        set->ranges = fresh;
        set->capacity = grown;
    }
    set->ranges[set->n++] = (tf_range){low, high};
    return true;
}

bool tf_charset_add_all(tf_arena *arena, tf_charset *set, const tf_charset *other)
{
    for (uint32_t i = 0; i < other->n; i++)
        if (!tf_charset_add(arena, set, other->ranges[i].low, other->ranges[i].high))
            return false;
    return true;
}

static int compare_ranges(const void *a, const void *b)
{
    const tf_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

void tf_charset_settle(tf_charset *set)
{
    bool sorted = true;
    for (uint32_t i = 1; i < set->n && sorted; i++)
        sorted = set->ranges[i - 1].low <= set->ranges[i].low;
    if (!sorted)
        qsort(set->ranges, set->n, sizeof *set->ranges, compare_ranges);
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        tf_range r = set->ranges[i];
        if (n > 0 && r.low <= set->ranges[n - 1].high + 1) {
            if (r.high > set->ranges[n - 1].high)
                set->ranges[n - 1].high = r.high;
        } else {
            set->ranges[n++] = r;
        }
    }
    set->n = n;
}

bool tf_charset_invert(tf_arena *arena, tf_charset *set)
{
    tf_charset out = {NULL, 0, 0};
    uint32_t from = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        if (set->ranges[i].low > from &&
            !tf_charset_add(arena, &out, from, set->ranges[i].low - 1))
            return false;
        from = set->ranges[i].high + 1;
    }
    if (from <= TF_CODE_POINT_MAX && !tf_charset_add(arena, &out, from, TF_CODE_POINT_MAX))
        return false;
    *set = out;
    return true;
}

bool tf_charset_has(const tf_charset *set, uint32_t c)
{
    uint32_t low = 0, high = set->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->ranges[middle].high < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->ranges[low].low <= c;
}

static uint32_t varint(const uint8_t **at)
{
    uint32_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint32_t)(byte & 0x7Fu) << shift;
        if (byte < 0x80)
            return value;
    }
}

bool tf_charset_close_case(tf_arena *arena, tf_charset *set)
{
    tf_charset_settle(set);
    const tf_charset before = *set;
    tf_charset out = {NULL, 0, 0};
    if (!tf_charset_add_all(arena, &out, &before))
        return false;
    const uint8_t *at = tf_unicode_folds;
    uint32_t first = 0;
    for (uint32_t i = 0; i < tf_unicode_n_folds; i++) {
        uint32_t members[8], n = varint(&at);
        bool any = false;
        first += varint(&at);
        for (uint32_t k = 0, c = first; k < n; k++) {
            if (k > 0)
                c += varint(&at);
            members[k & 7u] = c;
            any |= tf_charset_has(&before, c);
        }
        for (uint32_t k = 0; any && k < n; k++)
            if (!tf_charset_add(arena, &out, members[k & 7u], members[k & 7u]))
                return false;
    }
    tf_charset_settle(&out);
    *set = out;
    return true;
}

bool tf_charset_drop_surrogates(tf_arena *arena, tf_charset *set)
{
    tf_charset out = {NULL, 0, 0};
    bool any = false;
    for (uint32_t i = 0; i < set->n; i++)
        any |= set->ranges[i].low <= 0xDFFF && set->ranges[i].high >= 0xD800;
    if (!any)
        return true;
    for (uint32_t i = 0; i < set->n; i++) {
        tf_range r = set->ranges[i];
        if (r.low < 0xD800) {
            uint32_t high = r.high < 0xD800 ? r.high : 0xD7FF;
            if (!tf_charset_add(arena, &out, r.low, high))
                return false;
        }
        if (r.high > 0xDFFF) {
            uint32_t low = r.low > 0xDFFF ? r.low : 0xE000;
            if (!tf_charset_add(arena, &out, low, r.high))
                return false;
        }
    }
    *set = out;
    return true;
}

/* ---- properties ---- */

static bool same(const char *name, const char *text, size_t n)
{
    return strlen(name) == n && memcmp(name, text, n) == 0;
}

static bool add_property(tf_arena *arena, tf_charset *set, const tf_unicode_property *p)
{
    const uint8_t *at = tf_unicode_runs + p->offset;
    uint32_t c = 0;
    for (uint32_t i = 0; i < p->n_runs; i += 2) {
        c += varint(&at);
        uint32_t length = varint(&at);
        if (!tf_charset_add(arena, set, c, c + length - 1))
            return false;
        c += length;
    }
    return true;
}

/* Groups of general categories: their names and the first letter, or LC. */
static const char *const groups[][2] = {
    {"L", "Letter"}, {"M", "Mark"}, {"M", "Combining_Mark"}, {"N", "Number"},
    {"P", "Punctuation"}, {"P", "punct"}, {"S", "Symbol"}, {"Z", "Separator"}, {"C", "Other"},
};
static const char *const other_names[][2] = {
    {"Cc", "cntrl"}, {"Nd", "digit"}, {"Zinh", "Qaai"}, {"Copt", "Qaac"},
};

static tf_unicode_found add_category(tf_arena *arena, tf_charset *set, const char *name, size_t n)
{
    char letter = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (same(groups[i][0], name, n) || same(groups[i][1], name, n))
            letter = groups[i][0][0];
    bool cased = same("LC", name, n) || same("Cased_Letter", name, n), found = false;
    for (uint32_t i = 0; i < tf_unicode_n_properties; i++) {
        const tf_unicode_property *p = &tf_unicode_properties[i];
        if (p->kind != TF_UNICODE_CATEGORY)
            continue;
        bool wanted = cased ? p->name[0] == 'L' && strchr("ult", p->name[1]) != NULL
                    : letter != 0 ? p->name[0] == letter
                                  : same(p->name, name, n) || same(p->long_name, name, n);
        if (wanted && !add_property(arena, set, p))
            return TF_UNICODE_NO_MEMORY;
        found |= wanted;
    }
    return found ? TF_UNICODE_FOUND : TF_UNICODE_UNKNOWN;
}

static tf_unicode_found add_named(tf_arena *arena, tf_charset *set, tf_unicode_kind kind,
                                  const char *name, size_t n)
{
    for (uint32_t i = 0; i < tf_unicode_n_properties; i++) {
        const tf_unicode_property *p = &tf_unicode_properties[i];
        if (p->kind == kind && (same(p->name, name, n) || same(p->long_name, name, n)))
            return add_property(arena, set, p) ? TF_UNICODE_FOUND : TF_UNICODE_NO_MEMORY;
    }
    return TF_UNICODE_UNKNOWN;
}

static bool starts(const char **name, size_t *n, const char *prefix)
{
    size_t length = strlen(prefix);
    if (*n <= length || memcmp(*name, prefix, length) != 0)
        return false;
    *name += length;
    *n -= length;
    return true;
}

static tf_unicode_found add_lone(tf_arena *arena, tf_charset *set, const char *name, size_t n)
{
    if (same("Any", name, n) || same("ASCII", name, n)) {
        uint32_t high = n == 3 ? TF_CODE_POINT_MAX : 0x7F;
        return tf_charset_add(arena, set, 0, high) ? TF_UNICODE_FOUND : TF_UNICODE_NO_MEMORY;
    }
    if (same("Assigned", name, n)) {
        tf_unicode_found found = add_category(arena, set, "Cn", 2);
        return found != TF_UNICODE_FOUND || tf_charset_invert(arena, set) ? found
                                                                          : TF_UNICODE_NO_MEMORY;
    }
    tf_unicode_found found = add_named(arena, set, TF_UNICODE_BINARY, name, n);
    return found != TF_UNICODE_UNKNOWN ? found : add_category(arena, set, name, n);
}

tf_unicode_found tf_unicode_add(tf_arena *arena, tf_charset *set, const char *name, size_t n)
{
    tf_charset got = {NULL, 0, 0};
    tf_unicode_found found;
    bool category = starts(&name, &n, "General_Category=") || starts(&name, &n, "gc=");
    bool script = !category && (starts(&name, &n, "Script=") || starts(&name, &n, "sc="));
    bool extensions = !category && !script &&
                      (starts(&name, &n, "Script_Extensions=") || starts(&name, &n, "scx="));
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (same(other_names[i][1], name, n)) {
            name = other_names[i][0];
            n = strlen(name);
        }
    if (memchr(name, ':', n) != NULL)
        found = add_named(arena, &got, TF_UNICODE_OTHER, name, n);
    else if (category)
        found = add_category(arena, &got, name, n);
    else if (script || extensions)
        found = add_named(arena, &got, script ? TF_UNICODE_SCRIPT : TF_UNICODE_EXTENSIONS, name, n);
    else
        found = add_lone(arena, &got, name, n);
    if (found != TF_UNICODE_FOUND)
        return found;
    tf_charset_settle(&got);
    return tf_charset_add_all(arena, set, &got) ? TF_UNICODE_FOUND : TF_UNICODE_NO_MEMORY;
}
