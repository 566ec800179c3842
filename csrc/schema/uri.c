/*
 * RFC 3986: the five components, resolution against a base, dot segments. Texts are taken as
 * they are: no normalization of case or of percent-encoding, and what is no URI is resolved by
 * the same rules. Linear.
 */
#include "uri.h"

typedef struct parts {
    tf_span scheme, authority, path, query; /* text NULL: not there; a path always is */
} parts;

static bool is_scheme_char(char c, bool first)
{
    char lower = (char)(c | 32);
    return (lower >= 'a' && lower <= 'z') ||
           (!first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
}

static parts take_apart(tf_span uri)
{
    parts p = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
    const char *at = uri.text, *end = uri.text + uri.n, *c = at;
    while (c < end && is_scheme_char(*c, c == at))
        c++;
    if (c > at && c < end && *c == ':') {
        p.scheme = (tf_span){at, (size_t)(c - at)};
        at = c + 1;
    }
    const char *question = memchr(at, '?', (size_t)(end - at));
    if (question != NULL) {
        p.query = (tf_span){question + 1, (size_t)(end - question - 1)};
        end = question;
    }
    if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
        const char *slash = memchr(at + 2, '/', (size_t)(end - at - 2));
        if (slash == NULL)
            slash = end;
        p.authority = (tf_span){at + 2, (size_t)(slash - at - 2)};
        at = slash;
    }
    p.path = (tf_span){at, (size_t)(end - at)};
    return p;
}

static char *put(char *out, tf_span s)
{
    if (s.n > 0)
        memcpy(out, s.text, s.n);
    return out + s.n;
}

static bool begins(const char *at, const char *end, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(end - at) >= n && memcmp(at, with, n) == 0;
}

static bool is(const char *at, const char *end, const char *what)
{
    return (size_t)(end - at) == strlen(what) && begins(at, end, what);
}

/* §5.2.4, in place: what is written never passes what is read. */
static char *remove_dots(char *path, const char *end)
{
    const char *at = path;
    char *out = path;
    while (at < end) {
        bool up = false, last = false;
        if (begins(at, end, "../")) {
            at += 3;
            continue;
        }
        if (begins(at, end, "./")) {
            at += 2;
            continue;
        }
        if (is(at, end, ".") || is(at, end, ".."))
            break;
        if (begins(at, end, "/./")) {
            at += 2;
            continue;
        }
        if (begins(at, end, "/../"))
            up = true;
        else if (is(at, end, "/.."))
            up = last = true;
        else if (is(at, end, "/."))
            last = true;
        if (up) {
            while (out > path && *--out != '/')
                ;
            at += 3;
        }
        if (last) {
            *out++ = '/';
            break;
        }
        if (up)
            continue;
        do
            *out++ = *at++;
        while (at < end && *at != '/');
    }
    return out;
}

bool tf_uri_split(tf_span reference, tf_span *before, tf_span *fragment)
{
    const char *hash = reference.n == 0 ? NULL : memchr(reference.text, '#', reference.n);
    *before = reference;
    *fragment = (tf_span){NULL, 0};
    if (hash == NULL)
        return false;
    before->n = (size_t)(hash - reference.text);
    *fragment = (tf_span){hash + 1, reference.n - before->n - 1};
    return true;
}

bool tf_uri_resolve(tf_arena *arena, tf_span base, tf_span reference, tf_span *resolved)
{
    size_t n_bytes;
    if (!tf_size_mul_add(1, base.n, 8, &n_bytes) || !tf_size_mul_add(1, reference.n, n_bytes, &n_bytes))
        return false;
    char *made = tf_arena_take(arena, n_bytes), *out = made;
    if (made == NULL)
        return false;
    parts b = take_apart(base), r = take_apart(reference);
    tf_span scheme = r.scheme.text != NULL ? r.scheme : b.scheme;
    bool own_authority = r.scheme.text != NULL || r.authority.text != NULL;
    tf_span authority = own_authority ? r.authority : b.authority;
    tf_span query = own_authority || r.path.n > 0 || r.query.text != NULL ? r.query : b.query;
    if (scheme.text != NULL) {
        out = put(out, scheme);
        *out++ = ':';
    }
    if (authority.text != NULL) {
        *out++ = '/';
        *out++ = '/';
        out = put(out, authority);
    }
    char *path = out;
    if (!own_authority && r.path.n == 0) {
        out = put(out, b.path);
    } else {
        if (!own_authority && r.path.text[0] != '/') { /* §5.2.3 */
            size_t keep = b.path.n;
            while (keep > 0 && b.path.text[keep - 1] != '/')
                keep--;
            if (b.authority.text != NULL && b.path.n == 0)
                *out++ = '/';
            out = put(out, (tf_span){b.path.text, keep});
        }
        out = remove_dots(path, put(out, r.path));
    }
    if (query.text != NULL) {
        *out++ = '?';
        out = put(out, query);
    }
    *out = '\0';
    *resolved = (tf_span){made, (size_t)(out - made)};
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 32);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool tf_uri_decode(tf_span encoded, char *decoded, size_t *n)
{
    size_t m = 0;
    for (size_t i = 0; i < encoded.n; i++) {
        char c = encoded.text[i];
        if (c == '%') {
            int high = encoded.n - i > 2 ? hex_value(encoded.text[i + 1]) : -1;
            int low = encoded.n - i > 2 ? hex_value(encoded.text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        decoded[m++] = c;
    }
    *n = m;
    return true;
}
