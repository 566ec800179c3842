/* The bytes of an artifact -> an automaton: header, sections, pack; then read_machine.c. */
#include "../base/le.h"
#include "../base/sha256.h"
#include "../engine/cache.h"
#include "../engine/distances.h"
#include "../engine/kept_masks.h"
#include "../engine/name_lists.h"
#include "../engine/options.h"
#include "../engine/unique.h"
#include "format.h"

typedef struct frozen {
    tf_machine machine; /* first */
    tf_arena arena;
    tokfsm_statistics statistics;
} frozen;

static void free_frozen(tokfsm_automaton *automaton)
{
    frozen *f = (frozen *)(void *)automaton->machine;
    tf_cache_free(&f->machine, &automaton->allocator);
    tf_distances_free(&f->machine, &automaton->allocator);
    tf_name_lists_free(&f->machine, &automaton->allocator);
    tf_arena_free(&f->arena);
    tf_release(&automaton->allocator, f);
}

static tokfsm_statistics statistics_of(const tokfsm_automaton *automaton)
{
    const frozen *f = (const frozen *)(const void *)automaton->machine;
    tokfsm_statistics s = f->statistics;
    s.bytes = f->arena.n_bytes;
    tf_cache_count(&f->machine, &s.masks, &s.mask_bytes);
    s.frozen = s.closed = 1;
    return s;
}

static tokfsm_status corrupt(tokfsm_error *err, const char *what)
{
    return tf_fail(err, TOKFSM_E_CORRUPT, "%s", what);
}

static uint64_t load64(const uint8_t *at)
{
    return tf_le32_load(at) | (uint64_t)tf_le32_load(at + 4) << 32;
}

static tokfsm_status check_header(const uint8_t *bytes, size_t n_bytes, tokfsm_error *err)
{
    if (n_bytes < 8 || memcmp(bytes, TF_FORMAT_MAGIC, 8) != 0)
        return corrupt(err, n_bytes == 0 ? "the file is empty" : "the file is not a .tokfsm artifact");
    if (n_bytes < TF_HEADER_BYTES)
        return corrupt(err, "the artifact is cut off in its header");
    uint32_t version = tf_le32_load(bytes + TF_H_VERSION);
    if (version != TOKFSM_FORMAT_VERSION)
        return tf_fail(err, TOKFSM_E_VERSION,
                       "the artifact has format %u; this library reads format %u", version,
                       TOKFSM_FORMAT_VERSION);
    if (tf_le32_load(bytes + TF_H_ENDIAN) != TF_FORMAT_ENDIAN)
        return corrupt(err, "the artifact is damaged: its byte order mark is wrong");
    uint64_t wanted = load64(bytes + TF_H_FILE_BYTES);
    if (wanted != n_bytes)
        return tf_fail(err, TOKFSM_E_CORRUPT, "the artifact has %zu bytes of %llu: it is %s",
                       n_bytes, (unsigned long long)wanted, n_bytes < wanted ? "cut off" : "too long");
    return TOKFSM_OK;
}

static tokfsm_status check_sum(const uint8_t *bytes, size_t n_bytes, tokfsm_error *err)
{
    static const uint8_t zeros[32];
    uint8_t digest[32];
    tf_sha256 hash;
    tf_sha256_init(&hash);
    tf_sha256_update(&hash, bytes, TF_H_CHECKSUM);
    tf_sha256_update(&hash, zeros, 32);
    tf_sha256_update(&hash, bytes + TF_H_CHECKSUM + 32, n_bytes - TF_H_CHECKSUM - 32);
    tf_sha256_final(&hash, digest);
    if (memcmp(digest, bytes + TF_H_CHECKSUM, 32) != 0)
        return corrupt(err, "the artifact is damaged: its checksum is wrong");
    return TOKFSM_OK;
}

typedef struct sections {
    const uint8_t *bytes[TF_S_END]; /* by TF_S_*; NULL: absent */
    size_t n_bytes[TF_S_END];
} sections;

static tokfsm_status find_sections(const uint8_t *bytes, size_t n_bytes, sections *found,
                                   tokfsm_error *err)
{
    memset(found, 0, sizeof *found);
    uint32_t n = tf_le32_load(bytes + TF_H_N_SECTIONS), last = 0;
    if (n > 16 || TF_HEADER_BYTES + (size_t)n * TF_SECTION_BYTES > n_bytes)
        return corrupt(err, "the artifact is damaged: its section table is too long");
    uint64_t end = TF_HEADER_BYTES + (uint64_t)n * TF_SECTION_BYTES;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *entry = bytes + TF_HEADER_BYTES + (size_t)i * TF_SECTION_BYTES;
        uint32_t id = tf_le32_load(entry);
        uint64_t offset = load64(entry + 8), size = load64(entry + 16);
        if (id <= last || id >= TF_S_END || offset < end || offset % TF_SECTION_ALIGN != 0 ||
            offset > n_bytes || size > n_bytes - offset)
            return corrupt(err, "the artifact is damaged: its section table is wrong");
        last = id;
        end = offset + size;
        found->bytes[id] = bytes + offset;
        found->n_bytes[id] = (size_t)size;
    }
    if (found->bytes[TF_S_STOP_IDS] == NULL || found->bytes[TF_S_MACHINE] == NULL ||
        found->bytes[TF_S_TEXT] == NULL || found->n_bytes[TF_S_STOP_IDS] % 4 != 0 ||
        found->n_bytes[TF_S_MACHINE] % 4 != 0)
        return corrupt(err, "the artifact is damaged: a section is missing or of a wrong size");
    return TOKFSM_OK;
}

/* The pack to use: the one given, else the one inside; retained. */
static tokfsm_status choose_pack(const uint8_t *bytes, const sections *s, tokfsm_pack *given,
                                 const tokfsm_allocator *a, tokfsm_pack **pack, tokfsm_error *err)
{
    if (given != NULL) {
        tokfsm_pack_retain(given);
        *pack = given;
    } else if (s->bytes[TF_S_PACK] != NULL) {
        TF_TRY(tokfsm_pack_open(s->bytes[TF_S_PACK], s->n_bytes[TF_S_PACK], a, pack, err));
    } else {
        return tf_fail(err, TOKFSM_E_PACK_MISSING,
                       "the artifact has no vocabulary pack inside and none was given");
    }
    if (memcmp((*pack)->fingerprint, bytes + TF_H_FINGERPRINT, 32) != 0 ||
        (*pack)->vocab_size != tf_le32_load(bytes + TF_H_VOCAB_SIZE)) {
        tokfsm_pack_free(*pack);
        *pack = NULL;
        return tf_fail(err, given != NULL ? TOKFSM_E_MISMATCH : TOKFSM_E_CORRUPT,
                       given != NULL ? "the artifact was compiled for another vocabulary"
                                     : "the artifact is damaged: its pack is another vocabulary's");
    }
    return TOKFSM_OK;
}

static tokfsm_status read_all(const uint8_t *bytes, const sections *s, tokfsm_automaton *made,
                              frozen *f, tokfsm_error *err)
{
    uint32_t options[sizeof(tokfsm_options) / 4];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        options[i] = tf_le32_load(bytes + TF_H_OPTIONS + 4 * i);
    memcpy(&f->machine.options, options, sizeof options);
    if (tf_options_check(&f->machine.options, NULL) != TOKFSM_OK)
        return corrupt(err, "the artifact is damaged: an option is out of range");

    size_t n_stop_ids = s->n_bytes[TF_S_STOP_IDS] / 4;
    uint32_t *ids = tf_arena_take(&f->arena, n_stop_ids * sizeof *ids);
    uint8_t *text = tf_arena_take(&f->arena, s->n_bytes[TF_S_TEXT]);
    if (ids == NULL || text == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    for (size_t i = 0; i < n_stop_ids; i++)
        ids[i] = tf_le32_load(s->bytes[TF_S_STOP_IDS] + 4 * i);
    tokfsm_status status = tf_stop_ids_copy(&made->allocator, made->pack, ids, n_stop_ids,
                                            &made->stop_ids, &made->n_stop_ids, err);
    if (status == TOKFSM_E_RANGE)
        return corrupt(err, "the artifact is damaged: a stop id is out of range");
    TF_TRY(status);
    memcpy(text, s->bytes[TF_S_TEXT], s->n_bytes[TF_S_TEXT]);
    if (s->bytes[TF_S_SCHEMA] != NULL) {
        made->n_schema_bytes = s->n_bytes[TF_S_SCHEMA];
        made->schema = tf_allocate(&made->allocator, made->n_schema_bytes);
        if (made->schema == NULL)
            return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
        memcpy(made->schema, s->bytes[TF_S_SCHEMA], made->n_schema_bytes);
    }
    if (s->bytes[TF_S_RELAXED] != NULL) {
        char *relaxed = tf_allocate(&made->allocator, s->n_bytes[TF_S_RELAXED]);
        if (relaxed == NULL)
            return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
        memcpy(relaxed, s->bytes[TF_S_RELAXED], s->n_bytes[TF_S_RELAXED]);
        TF_TRY(tf_automaton_set_relaxed(made, relaxed, s->n_bytes[TF_S_RELAXED], err));
    }
    TF_TRY(tf_machine_read(&f->machine, s->bytes[TF_S_MACHINE], s->n_bytes[TF_S_MACHINE], text,
                           s->n_bytes[TF_S_TEXT], &f->arena, &f->statistics, err));
    const char *what;
    if (s->bytes[TF_S_MASKS] == NULL ||
        tf_kept_open(&f->machine, s->bytes[TF_S_MASKS], s->n_bytes[TF_S_MASKS], &f->arena, &what))
        return TOKFSM_OK;
    if (what == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    return tf_fail(err, TOKFSM_E_CORRUPT, "the artifact is damaged: %s", what);
}

tokfsm_status tokfsm_automaton_open(const uint8_t *bytes, size_t n_bytes, tokfsm_pack *pack,
                                    const tokfsm_allocator *allocator, const tokfsm_limits *limits,
                                    tokfsm_automaton **automaton, tokfsm_error *err)
{
    if ((bytes == NULL && n_bytes > 0) || automaton == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    sections s;
    TF_TRY(check_header(bytes, n_bytes, err));
    TF_TRY(check_sum(bytes, n_bytes, err));
    TF_TRY(find_sections(bytes, n_bytes, &s, err));
    tokfsm_allocator a = tf_allocator(allocator);
    tokfsm_automaton *made = tf_allocate(&a, sizeof *made);
    frozen *f = tf_allocate(&a, sizeof *f);
    if (made == NULL || f == NULL) {
        tf_release(&a, made);
        tf_release(&a, f);
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    }
    memset(made, 0, sizeof *made);
    memset(f, 0, sizeof *f);
    atomic_init(&made->references, 1);
    made->allocator = a;
    made->machine = &f->machine;
    made->free_machine = free_frozen;
    made->statistics = statistics_of;
    made->closed = 1;
    tf_arena_init(&f->arena, &a);
    tokfsm_limits_default(&f->machine.limits);
    if (limits != NULL)
        f->machine.limits = *limits;
    tokfsm_status status = choose_pack(bytes, &s, pack, &a, &made->pack, err);
    f->machine.pack = made->pack;
    f->machine.allocator = a;
    if (status == TOKFSM_OK) {
        f->machine.names_pair = made->pack->traces->facts.names_pair;
        f->machine.names_begun = made->pack->traces->facts.names_begun;
        status = read_all(bytes, &s, made, f, err);
        if (status == TOKFSM_OK && f->machine.unique != TF_UNIQUE_NEVER &&
            !tf_unique_pairs(&f->machine, &f->arena))
            status = tf_fail(err, TOKFSM_E_NOMEM, "no memory for an artifact");
    }
    if (status != TOKFSM_OK)
        tf_automaton_release(made);
    else
        *automaton = made;
    return status;
}

tokfsm_status tokfsm_artifact_probe(const uint8_t *bytes, size_t n_bytes, uint8_t fingerprint[32],
                                    int32_t *has_pack, tokfsm_error *err)
{
    if ((bytes == NULL && n_bytes > 0) || fingerprint == NULL || has_pack == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    sections s;
    TF_TRY(check_header(bytes, n_bytes, err));
    TF_TRY(find_sections(bytes, n_bytes, &s, err));
    memcpy(fingerprint, bytes + TF_H_FINGERPRINT, 32);
    *has_pack = s.bytes[TF_S_PACK] != NULL;
    return TOKFSM_OK;
}
