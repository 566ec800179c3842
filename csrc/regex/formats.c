#include "formats.h"

/* One pattern is longer than what C11 promises; all compilers that this is built with take it. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif

#include <string.h>

/* ---- RFC 3339, 5.6 and 5.7 ---- */

#define LEAP_YEAR "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
#define DATE                                                                              \
    "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)" \
    "|02-(?:0[1-9]|1\\d|2[0-8]))|" LEAP_YEAR "-02-29)"
#define HOUR "(?:[01]\\d|2[0-3])"
#define FRACTION "(?:\\.\\d+)?"
#define DD "\\d\\d"

/*
 * A leap second is 23:59:60 UTC: local time less the offset. East by oh:00 it is
 * (23 + oh):59, by oh:om it is oh:(om - 1); west it is (23 - oh):(59 - om). Digits of both
 * are tied by lookaheads, each over a digit or two.
 */
#define EAST(h, oh) h ":59:60" FRACTION "\\+" oh ":00|"
#define EAST_FULL_HOURS                                                                   \
    "(?:" EAST("23", "00") EAST("00", "01") EAST("01", "02") EAST("02", "03") EAST("03", "04") \
    EAST("04", "05") EAST("05", "06") EAST("06", "07") EAST("07", "08") EAST("08", "09")  \
    EAST("09", "10") EAST("10", "11") EAST("11", "12") EAST("12", "13") EAST("13", "14")  \
    EAST("14", "15") EAST("15", "16") EAST("16", "17") EAST("17", "18") EAST("18", "19")  \
    EAST("19", "20") EAST("20", "21") EAST("21", "22") EAST("22", "23") "$.)"
#define H1(sign, d, e) d "\\d:" DD ":60" FRACTION sign e
#define H2(sign, d, e) "\\d" d ":" DD ":60" FRACTION sign "\\d" e
#define M1(sign, d, e) DD ":" d "\\d:60" FRACTION sign DD ":" e
#define M2(sign, d, e) DD ":\\d" d ":60" FRACTION sign DD ":\\d" e
#define ANY_LEAP(sign) HOUR ":[0-5]\\d:60" FRACTION sign HOUR ":[0-5]\\d"
#define P "\\+"
#define EAST_MINUTES                                                                      \
    "(?:(?=" H1(P, "0", "0") "|" H1(P, "1", "1") "|" H1(P, "2", "2") ")"                  \
    "(?=" H2(P, "0", "0") "|" H2(P, "1", "1") "|" H2(P, "2", "2") "|" H2(P, "3", "3") "|" \
    H2(P, "4", "4") "|" H2(P, "5", "5") "|" H2(P, "6", "6") "|" H2(P, "7", "7") "|"       \
    H2(P, "8", "8") "|" H2(P, "9", "9") ")"                                               \
    "(?=" M2(P, "0", "1") "|" M2(P, "1", "2") "|" M2(P, "2", "3") "|" M2(P, "3", "4") "|" \
    M2(P, "4", "5") "|" M2(P, "5", "6") "|" M2(P, "6", "7") "|" M2(P, "7", "8") "|"       \
    M2(P, "8", "9") "|" M2(P, "9", "0") ")"                                               \
    "(?=" M1(P, "0", "0[1-9]") "|" M1(P, "1", "1[1-9]") "|" M1(P, "2", "2[1-9]") "|"      \
    M1(P, "3", "3[1-9]") "|" M1(P, "4", "4[1-9]") "|" M1(P, "5", "5[1-9]") "|"            \
    M1(P, "0", "10") "|" M1(P, "1", "20") "|" M1(P, "2", "30") "|" M1(P, "3", "40") "|"   \
    M1(P, "4", "50") ")" ANY_LEAP(P) ")"
#define WEST(h, oh) h ":" DD ":60" FRACTION "-" oh ":|"
#define WEST_ALL                                                                          \
    "(?:(?=" WEST("23", "00") WEST("22", "01") WEST("21", "02") WEST("20", "03")          \
    WEST("19", "04") WEST("18", "05") WEST("17", "06") WEST("16", "07") WEST("15", "08")  \
    WEST("14", "09") WEST("13", "10") WEST("12", "11") WEST("11", "12") WEST("10", "13")  \
    WEST("09", "14") WEST("08", "15") WEST("07", "16") WEST("06", "17") WEST("05", "18")  \
    WEST("04", "19") WEST("03", "20") WEST("02", "21") WEST("01", "22") WEST("00", "23") "$.)" \
    "(?=" M1("-", "0", "5") "|" M1("-", "1", "4") "|" M1("-", "2", "3") "|"               \
    M1("-", "3", "2") "|" M1("-", "4", "1") "|" M1("-", "5", "0") ")"                     \
    "(?=" M2("-", "0", "9") "|" M2("-", "1", "8") "|" M2("-", "2", "7") "|"               \
    M2("-", "3", "6") "|" M2("-", "4", "5") "|" M2("-", "5", "4") "|" M2("-", "6", "3") "|" \
    M2("-", "7", "2") "|" M2("-", "8", "1") "|" M2("-", "9", "0") ")" ANY_LEAP("-") ")"
#define TIME                                                                              \
    "(?:" HOUR ":[0-5]\\d:[0-5]\\d" FRACTION "(?:[Zz]|[+-]" HOUR ":[0-5]\\d)"             \
    "|23:59:60" FRACTION "[Zz]|" EAST_FULL_HOURS "|" EAST_MINUTES "|" WEST_ALL ")"

/* RFC 3339, appendix A */
#define DURATION_TIME "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"
#define DURATION                                                                          \
    "P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:" DURATION_TIME ")?|"      \
    DURATION_TIME "|\\d+W)"

/* ---- RFC 3986 and 3987; addresses ---- */

#define OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4 "(?:" OCTET "\\.){3}" OCTET
#define H16 "[0-9A-Fa-f]{1,4}"
#define LS32 "(?:" H16 ":" H16 "|" IPV4 ")"
#define IPV6                                                                              \
    "(?:(?:" H16 ":){6}" LS32 "|::(?:" H16 ":){5}" LS32 "|(?:" H16 ")?::(?:" H16 ":){4}" LS32 \
    "|(?:(?:" H16 ":){0,1}" H16 ")?::(?:" H16 ":){3}" LS32                                \
    "|(?:(?:" H16 ":){0,2}" H16 ")?::(?:" H16 ":){2}" LS32                                \
    "|(?:(?:" H16 ":){0,3}" H16 ")?::" H16 ":" LS32 "|(?:(?:" H16 ":){0,4}" H16 ")?::" LS32 \
    "|(?:(?:" H16 ":){0,5}" H16 ")?::" H16 "|(?:(?:" H16 ":){0,6}" H16 ")?::)"

#define UCS "\\p{iri:ucs}"
#define PRIVATE "\\p{iri:private}"
#define PERCENT "%[0-9A-Fa-f]{2}"
/* Characters of a part: unreserved, sub-delims, and what else; u: UCS, or nothing. */
#define PART(u, more) "(?:[A-Za-z0-9\\-._~!$&'()*+,;=" more u "]|" PERCENT ")"
#define PCHAR(u) PART(u, ":@")
#define AUTHORITY(u)                                                                      \
    "(?:" PART(u, ":") "*@)?(?:\\[(?:" IPV6 "|[Vv][0-9A-Fa-f]+\\.[A-Za-z0-9\\-._~!$&'()*+,;=:]+)\\]|" \
    PART(u, "") "*)(?::\\d*)?"
#define AFTER_AUTHORITY(u) "(?:/" PCHAR(u) "*)*"
#define ABSOLUTE(u) "/(?:" PCHAR(u) "+" AFTER_AUTHORITY(u) ")?"
#define HIER(u)                                                                           \
    "(?://" AUTHORITY(u) AFTER_AUTHORITY(u) "|" ABSOLUTE(u) "|" PCHAR(u) "+" AFTER_AUTHORITY(u) ")?"
#define RELATIVE(u)                                                                       \
    "(?://" AUTHORITY(u) AFTER_AUTHORITY(u) "|" ABSOLUTE(u) "|" PART(u, "@") "+" AFTER_AUTHORITY(u) ")?"
#define TAIL(u, private) "(?:\\?(?:" PCHAR(u) "|[/?" private "])*)?(?:#(?:" PCHAR(u) "|[/?])*)?"
#define SCHEME "[A-Za-z][A-Za-z0-9+\\-.]*:"

/* ---- names of hosts ---- */

#define ASCII_LABEL "(?![Xx][Nn]--)[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?"
#define HOSTNAME ASCII_LABEL "(?:\\." ASCII_LABEL ")*"

/* RFC 5890 to 5893: labels of permitted code points, contexts of RFC 5892 A, Bidi of 5893. */
#define DOT "\\p{idna:dot}"
#define NOT_DOT "\\P{idna:dot}"
#define U(name) "\\p{idna:" name "}"
#define NFC "|" U("may_compose") "|" U("reorders") "{2}"
#define CONTEXTS(nfc)                                                                          \
    "(?!" NOT_DOT "{2}--)(?![\\p{M}\\-])"                                                 \
    "(?!" NOT_DOT "*(?:(?<!l)\\xB7|\\xB7(?!l)|\\u0375(?!\\p{sc=Greek})"                   \
    "|(?<!\\p{sc=Hebrew})[\\u05F3\\u05F4]|(?<!" U("virama") ")\\u200D"                    \
    "|(?<!" U("virama") "|" U("joins_left") U("transparent") "*)\\u200C"                  \
    "|(?<!" U("virama") ")\\u200C(?!" U("transparent") "*" U("joins_right") ")"           \
    nfc "))"                                                                              \
    "(?!" NOT_DOT "*\\u30FB)(?!" NOT_DOT "*[\\u0660-\\u0669]" NOT_DOT "*[\\u06F0-\\u06F9]" \
    "|" NOT_DOT "*[\\u06F0-\\u06F9]" NOT_DOT "*[\\u0660-\\u0669])"
/* The same with U+30FB, which wants Hiragana, Katakana or Han in its label. */
#define KATAKANA_DOT(nfc)                                                                      \
    "(?!" NOT_DOT "{2}--)(?![\\p{M}\\-])"                                                 \
    "(?=" NOT_DOT "*[\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Han}])(?=" NOT_DOT "*\\u30FB)"        \
    "(?!" NOT_DOT "*(?:[\\xB7\\u0375\\u05F3\\u05F4\\u200C\\u200D\\u0660-\\u0669\\u06F0-\\u06F9]" \
    nfc "))"
#define SIZES                                                                             \
    "(?=" NOT_DOT "{1,14}(?:" DOT "|$)|(?=" NOT_DOT "{1,40}(?:" DOT "|$))"                \
    "[a-z0-9\\-]*(?:[^\\0-\\x7F\\p{idna:dot}][a-z0-9\\-]*){1,4}(?:" DOT "|$))"
#define U_LABEL(nfc)                                                                           \
    "(?=[a-z0-9\\-]*[^\\0-\\x7F\\p{idna:dot}])" SIZES "(?:" CONTEXTS(nfc) "|" KATAKANA_DOT(nfc) ")" \
    U("permitted") "*(?!\\-)" U("permitted") "(?=" DOT "|$)"
#define IDN_LABEL(nfc) "(?:(?!..--)" ASCII_LABEL "(?=" DOT "|$)|" U_LABEL(nfc) ")"
#define IDN_PLAIN(nfc) IDN_LABEL(nfc) "(?:" DOT IDN_LABEL(nfc) ")*"
#define RIGHT_LABEL                                                                       \
    "(?!" NOT_DOT "*" U("number") NOT_DOT "*" U("arabic_number") "|" NOT_DOT "*"          \
    U("arabic_number") NOT_DOT "*" U("number") ")" U("right")                             \
    "(?:[" U("right") U("arabic_number") U("number") U("neutral") U("mark") "]*"          \
    "[" U("right") U("arabic_number") U("number") "])?" U("mark") "*"
#define LEFT_LABEL                                                                        \
    "[A-Z" U("left") "](?:[A-Z" U("left") U("number") U("neutral") U("mark") "]*"         \
    "[A-Z" U("left") U("number") "])?" U("mark") "*"
#define BIDI                                                                              \
    "(?:(?![^]*[" U("right") U("arabic_number") "])|(?=(?:" RIGHT_LABEL "|" LEFT_LABEL ")" \
    "(?:" DOT "(?:" RIGHT_LABEL "|" LEFT_LABEL "))*$))"
#define IDN_HOSTNAME BIDI IDN_PLAIN(NFC)

/* RFC 5321, 4.1.2; with RFC 6531 any other character counts as an atom's. */
#define ATEXT(u) "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~" u "]+"
/*
 * At most 64 characters before the @, told so that nothing is left to be counted behind it: an
 * atom has no @, and the first quote inside that no odd number of backslashes precedes is the last.
 */
#define ESCAPED "[^\\\\]\\\\(?:\\\\\\\\)*"
#define LOCAL(u)                                                                          \
    "(?:(?=[^@]{1,64}@)" ATEXT(u) "(?:\\." ATEXT(u) ")*"                                 \
    "|(?=[^]{1,63}(?<!" ESCAPED ")\"@)\"(?:[ !#-\\[\\]-~" u "]|\\\\[ -~])*\")"
#define EMAIL(u, host)                                                                    \
    LOCAL(u) "@(?:\\[(?:" IPV4 "|[Ii][Pp][Vv]6:" IPV6 ")\\]|" host ")"

/* RFC 6570, 2, with erratum 6937: the apostrophe is a literal */
#define VARCHAR "(?:[A-Za-z0-9_]|" PERCENT ")"
#define VARSPEC VARCHAR "+(?:\\." VARCHAR "+)*(?::[1-9]\\d{0,3}|\\*)?"
#define TEMPLATE                                                                          \
    "(?:[!#$&-;=?-\\[\\]_a-z~" UCS PRIVATE "]|" PERCENT                                  \
    "|\\{[+#./;?&=,!@|]?" VARSPEC "(?:," VARSPEC ")*\\})*"

#define POINTER "(?:/(?:[^~/]|~[01])*)*"
#define WHOLE(pattern) "^(?:" pattern ")$"

static const tf_format formats[] = {
    {"date-time", WHOLE(DATE "[Tt]" TIME), TF_FORMAT_ANY_LENGTH},
    {"date", WHOLE(DATE), TF_FORMAT_ANY_LENGTH},
    {"time", WHOLE(TIME), TF_FORMAT_ANY_LENGTH},
    {"duration", WHOLE(DURATION), TF_FORMAT_ANY_LENGTH},
    {"email", WHOLE(EMAIL("", HOSTNAME)), 254},
    {"idn-email", WHOLE(EMAIL("\\x80-\\u{10FFFF}", BIDI IDN_PLAIN(""))), 254},
    {"hostname", WHOLE(HOSTNAME), 253},
    {"idn-hostname", WHOLE(IDN_HOSTNAME), 253},
    {"ipv4", WHOLE(IPV4), TF_FORMAT_ANY_LENGTH},
    {"ipv6", WHOLE(IPV6), TF_FORMAT_ANY_LENGTH},
    {"uri", WHOLE(SCHEME HIER("") TAIL("", "")), TF_FORMAT_ANY_LENGTH},
    {"uri-reference", WHOLE("(?:" SCHEME HIER("") "|" RELATIVE("") ")" TAIL("", "")),
     TF_FORMAT_ANY_LENGTH},
    {"iri", WHOLE(SCHEME HIER(UCS) TAIL(UCS, PRIVATE)), TF_FORMAT_ANY_LENGTH},
    {"iri-reference", WHOLE("(?:" SCHEME HIER(UCS) "|" RELATIVE(UCS) ")" TAIL(UCS, PRIVATE)),
     TF_FORMAT_ANY_LENGTH},
    {"uuid", WHOLE("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"), TF_FORMAT_ANY_LENGTH},
    {"uri-template", WHOLE(TEMPLATE), TF_FORMAT_ANY_LENGTH},
    {"json-pointer", WHOLE(POINTER), TF_FORMAT_ANY_LENGTH},
    {"relative-json-pointer", WHOLE("(?:0|[1-9]\\d*)(?:#|" POINTER ")"), TF_FORMAT_ANY_LENGTH},
};

const tf_format *tf_format_at(size_t i)
{
    return i < sizeof formats / sizeof *formats ? &formats[i] : NULL;
}

const tf_format *tf_format_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strlen(formats[i].name) == n && memcmp(formats[i].name, name, n) == 0)
            return &formats[i];
    return NULL;
}
