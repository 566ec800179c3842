/*
 * The inside of a JSON string as a byte automaton: RFC 8259 §7 (escapes; no raw control
 * characters), RFC 3629 §4 (well-formed UTF-8 only), surrogate escapes only in pairs.
 * Every state can still reach the closing quote.
 */
#include "pack.h"

/* Runs of equal entries. */
#define X2(a) a, a
#define X3(a) a, a, a
#define X4(a) a, a, a, a
#define X5(a) X4(a), a
#define X6(a) X4(a), X2(a)
#define X7(a) X4(a), X3(a)
#define X8(a) X4(a), X4(a)
#define X10(a) X8(a), X2(a)
#define X16(a) X8(a), X8(a)
#define X32(a) X16(a), X16(a)
#define X64(a) X32(a), X32(a)
#define X128(a) X64(a), X64(a)

#define D_ TF_STR_DEAD
#define N_ TF_STR_NORMAL

/* Bytes 80..FF where a character may begin. */
#define LEADS                                                                              \
    X64(D_), X2(D_), X16(TF_STR_C1), X8(TF_STR_C1), X6(TF_STR_C1), TF_STR_E0,              \
        X10(TF_STR_C2), X2(TF_STR_C2), TF_STR_ED, X2(TF_STR_C2), TF_STR_F0, X3(TF_STR_C3), \
        TF_STR_F4, X10(D_), D_

/* Between characters: 00..1F, 20..21, the quote, 23..5B, the backslash, 5D..7F. */
#define NORMAL_ROW                                                                         \
    {X32(D_), X2(N_), TF_STR_CLOSE, X32(N_), X16(N_), X8(N_), N_, TF_STR_E, X32(N_),       \
     X3(N_), LEADS}

/* One byte and nothing else. */
#define ONLY_BACKSLASH(a) {X64(D_), X16(D_), X8(D_), X4(D_), a, X32(D_), X3(D_), X128(D_)}
#define ONLY_U(a) {X64(D_), X32(D_), X16(D_), X5(D_), a, X10(D_), X128(D_)}

/* After a backslash; `slash` is what '/' leads to. */
#define ESCAPE_ROW(slash)                                                                  \
    {X32(D_),  X2(D_), N_, X8(D_), X4(D_), slash, X16(D_), X16(D_), X8(D_), X4(D_), N_,    \
     X5(D_), N_, X3(D_), N_, X7(D_), N_, X3(D_), N_, D_, N_, TF_STR_U0, X10(D_), X128(D_)}

/* Hex digits: 0, 1, 2..7, 8..9, then a b, c, d, e f in upper and in lower case. */
#define LETTERS_AB(a, b, c, d, ef) a, b, c, d, X2(ef)
#define LETTERS(ab, c, d, ef) LETTERS_AB(ab, ab, c, d, ef)
#define HEX_ROW(d0, d1, d2_7, d8_9, upper, lower)                                          \
    {X32(D_), X16(D_), d0, d1, X6(d2_7), X2(d8_9), X7(D_), upper, X16(D_), X10(D_), lower, \
     X16(D_), X8(D_), D_, X128(D_)}
#define ANY_HEX(a) \
    HEX_ROW(a, a, a, a, LETTERS(a, a, a, a), LETTERS(a, a, a, a))
#define FIRST_D(a, d) HEX_ROW(a, a, a, a, LETTERS(a, a, d, a), LETTERS(a, a, d, a))

/* Continuation bytes 80..8F, 90..9F, A0..BF. */
#define NEXT_ROW(x8, x9, xab) {X128(D_), X16(x8), X16(x9), X32(xab), X64(D_)}

#define UTF8_ROWS                                            \
    [TF_STR_C1] = NEXT_ROW(N_, N_, N_),                      \
    [TF_STR_C2] = NEXT_ROW(TF_STR_C1, TF_STR_C1, TF_STR_C1), \
    [TF_STR_C3] = NEXT_ROW(TF_STR_C2, TF_STR_C2, TF_STR_C2), \
    [TF_STR_E0] = NEXT_ROW(D_, D_, TF_STR_C1),               \
    [TF_STR_ED] = NEXT_ROW(TF_STR_C1, TF_STR_C1, D_),        \
    [TF_STR_F0] = NEXT_ROW(D_, TF_STR_C2, TF_STR_C2),        \
    [TF_STR_F4] = NEXT_ROW(TF_STR_C2, D_, D_)

static const uint8_t ALL[TF_N_STR][256] = {
    [TF_STR_NORMAL] = NORMAL_ROW,
    [TF_STR_E] = ESCAPE_ROW(N_),
    [TF_STR_U0] = FIRST_D(TF_STR_U1, TF_STR_U1D),
    [TF_STR_U1] = ANY_HEX(TF_STR_U2),
    [TF_STR_U1D] = HEX_ROW(TF_STR_U2, TF_STR_U2, TF_STR_U2, TF_STR_U2H,
                           LETTERS(TF_STR_U2H, D_, D_, D_), LETTERS(TF_STR_U2H, D_, D_, D_)),
    [TF_STR_U2] = ANY_HEX(TF_STR_U3),
    [TF_STR_U2H] = ANY_HEX(TF_STR_U3H),
    [TF_STR_U3] = ANY_HEX(N_),
    [TF_STR_U3H] = ANY_HEX(TF_STR_HS),
    [TF_STR_HS] = ONLY_BACKSLASH(TF_STR_HE),
    [TF_STR_HE] = ONLY_U(TF_STR_HU0),
    [TF_STR_HU0] = FIRST_D(D_, TF_STR_HU1),
    [TF_STR_HU1] = HEX_ROW(D_, D_, D_, D_, LETTERS(D_, TF_STR_HU2, TF_STR_HU2, TF_STR_HU2),
                           LETTERS(D_, TF_STR_HU2, TF_STR_HU2, TF_STR_HU2)),
    [TF_STR_HU2] = ANY_HEX(TF_STR_HU3),
    [TF_STR_HU3] = ANY_HEX(N_),
    UTF8_ROWS,
};

const uint8_t (*tf_string_table(void))[256] { return ALL; }

/*
 * Only the escapes that are needed: no \/, and of \uXXXX the lower-case \u00xx of the
 * control characters that have no short form: all below 20 but 08, 09, 0A, 0C, 0D.
 */
#define NO_LETTERS LETTERS(D_, D_, D_, D_)
#define DEAD_ROW {X128(D_), X128(D_)}

static const uint8_t MINIMAL[TF_N_STR_MINIMAL][256] = {
    [TF_STR_NORMAL] = NORMAL_ROW,
    [TF_STR_E] = ESCAPE_ROW(D_),
    [TF_STR_U0] = HEX_ROW(TF_STR_U1, D_, D_, D_, NO_LETTERS, NO_LETTERS),
    [TF_STR_U1] = HEX_ROW(TF_STR_U2, D_, D_, D_, NO_LETTERS, NO_LETTERS),
    [TF_STR_U2] = HEX_ROW(TF_STR_MINIMAL_U30, TF_STR_MINIMAL_U31, D_, D_, NO_LETTERS,
                          NO_LETTERS),
    [TF_STR_MINIMAL_U30] = HEX_ROW(N_, N_, N_, D_, NO_LETTERS, LETTERS_AB(D_, N_, D_, D_, N_)),
    [TF_STR_MINIMAL_U31] = HEX_ROW(N_, N_, N_, N_, NO_LETTERS, LETTERS(N_, N_, N_, N_)),
    [TF_STR_U1D] = DEAD_ROW,
    [TF_STR_U2H] = DEAD_ROW,
    [TF_STR_U3] = DEAD_ROW,
    [TF_STR_U3H] = DEAD_ROW,
    [TF_STR_HS] = DEAD_ROW,
    [TF_STR_HE] = DEAD_ROW,
    [TF_STR_HU0] = DEAD_ROW,
    [TF_STR_HU1] = DEAD_ROW,
    [TF_STR_HU2] = DEAD_ROW,
    [TF_STR_HU3] = DEAD_ROW,
    UTF8_ROWS,
};

const uint8_t (*tf_string_minimal_table(void))[256] { return MINIMAL; }
