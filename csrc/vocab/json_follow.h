/*
 * What can follow in a JSON text, whatever the schema: RFC 8259's grammar of structure,
 * numbers and literals, run over the bytes of one token from an unknown position. Of the
 * containers open before the token nothing is known but what the bytes say. Exact: a
 * token survives if and only if some JSON text, inside some container, has it there.
 */
#ifndef TF_JSON_FOLLOW_H
#define TF_JSON_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether `bytes` can follow the closing quote of a value or a key. `scratch` has room for
 * n_bytes bytes in all functions.
 */
bool tf_json_follows_string(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch);

/*
 * Whether `bytes` can stand where no lexeme is under way: where a value, a key, a colon or what
 * follows a value may begin.
 */
bool tf_json_follows_structure(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch);

/* Whether `bytes` can continue or end a number that is under way. */
bool tf_json_follows_number(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch);

/*
 * Most containers, open before it, that the token closes, begun at any position: inside a
 * string, number or literal, before or after any value or key.
 */
uint32_t tf_json_max_closes(const uint8_t *bytes, uint32_t n_bytes, uint8_t *scratch);

#endif
