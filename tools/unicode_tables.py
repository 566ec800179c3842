"""Write csrc/regex/unicode_runs.c and unicode_names.c: Unicode properties as run lengths.

    pip install regex==2025.11.3 fonttools idna
    python tools/unicode_tables.py csrc/regex

All values come from one source, the tables inside the PyPI package `regex` (its Unicode
version is VERSION below); `fonttools` gives the spelling of script names only, `idna` the code points that RFC 5892
permits (taken where they are assigned in that version).
A property is the lengths of its runs, outside and inside in turn, from code point 0 on, as
base-128 integers. Simple case folding is a list of orbits: sets of characters that fold
to one another.
"""

import sys
from pathlib import Path

import idna.idnadata
import regex
import regex._regex_core as core
from fontTools.unicodedata import Scripts

VERSION = "17.0.0"
ALL = "".join(map(chr, range(0x110000)))

CATEGORIES = """Lu Uppercase_Letter|Ll Lowercase_Letter|Lt Titlecase_Letter|Lm Modifier_Letter|Lo Other_Letter
Mn Nonspacing_Mark|Mc Spacing_Mark|Me Enclosing_Mark|Nd Decimal_Number|Nl Letter_Number|No Other_Number
Pc Connector_Punctuation|Pd Dash_Punctuation|Ps Open_Punctuation|Pe Close_Punctuation|Pi Initial_Punctuation
Pf Final_Punctuation|Po Other_Punctuation|Sm Math_Symbol|Sc Currency_Symbol|Sk Modifier_Symbol|So Other_Symbol
Zs Space_Separator|Zl Line_Separator|Zp Paragraph_Separator|Cc Control|Cf Format|Cs Surrogate|Co Private_Use
Cn Unassigned""".replace("\n", "|").split("|")

BINARY = """AHex ASCII_Hex_Digit|Alpha Alphabetic|Bidi_C Bidi_Control|Bidi_M Bidi_Mirrored|CI Case_Ignorable|Cased Cased
DI Default_Ignorable_Code_Point|Dash Dash|Dep Deprecated|Dia Diacritic|EBase Emoji_Modifier_Base|EComp Emoji_Component
EMod Emoji_Modifier|EPres Emoji_Presentation|Emoji Emoji|ExtPict Extended_Pictographic|Ext Extender
Gr_Base Grapheme_Base|Gr_Ext Grapheme_Extend|Hex Hex_Digit|IDC ID_Continue|IDS ID_Start|Ideo Ideographic
Join_C Join_Control|Lower Lowercase|Math Math|NChar Noncharacter_Code_Point|Pat_Syn Pattern_Syntax
Pat_WS Pattern_White_Space|QMark Quotation_Mark|RI Regional_Indicator|Radical Radical|SD Soft_Dotted
STerm Sentence_Terminal|Term Terminal_Punctuation|UIdeo Unified_Ideograph|Upper Uppercase|VS Variation_Selector
space White_Space|XIDC XID_Continue|XIDS XID_Start""".replace("\n", "|").split("|")


def varint(n: int) -> bytes:
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def runs(expression: str) -> list[int]:
    out, at = [], 0
    for match in regex.finditer(f"{expression}+", ALL):
        out += [match.start() - at, match.end() - match.start()]
        at = match.end()
    return out


# Sets for internationalized host names; all but the first are within PERMITTED.
IDNA = {"permitted": "", "left": r"\p{bc=L}", "right": r"[\p{bc=R}\p{bc=AL}]", "arabic_number": r"\p{bc=AN}",
        "number": r"\p{bc=EN}", "mark": r"\p{bc=NSM}", "virama": r"\p{ccc=9}",
        "neutral": r"[\p{bc=ES}\p{bc=CS}\p{bc=ET}\p{bc=ON}\p{bc=BN}]",
        "joins_left": r"[\p{jt=L}\p{jt=D}]", "joins_right": r"[\p{jt=R}\p{jt=D}]", "transparent": r"\p{jt=T}",
        "may_compose": r"\P{NFC_QC=Y}", "reorders": r"\P{ccc=0}"}
# Separators of labels (RFC 3490, 3.1); ucschar and iprivate (RFC 3987, 2.2).
RANGES = {"idna:dot": [(0x2E, 0x2E), (0x3002, 0x3002), (0xFF0E, 0xFF0E), (0xFF61, 0xFF61)],
          "iri:ucs": [(0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF), (0xE1000, 0xEFFFD)]
          + [(plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14)],
          "iri:private": [(0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)]}
CONTEXTUAL = "\u00b7\u0375\u05f3\u05f4\u30fb\u200c\u200d" + "".join(
    chr(c) for low in (0x660, 0x6F0) for c in range(low, low + 10))


def permitted() -> list[bool]:
    """RFC 5892, with the code points that need a context."""
    out = [False] * 0x110000
    for packed in idna.idnadata.codepoint_classes["PVALID"]:
        for c in range(packed >> 32, packed & 0xFFFFFFFF):
            out[c] = regex.match(r"\p{Cn}", chr(c)) is None
    for c in CONTEXTUAL:
        out[ord(c)] = True
    return out


def runs_of(inside: list[bool]) -> list[int]:
    out, at, c = [], 0, 0
    while c < len(inside):
        low = c
        while low < len(inside) and not inside[low]:
            low += 1
        high = low
        while high < len(inside) and inside[high]:
            high += 1
        if high > low:
            out += [low - at, high - low]
        at = c = high
    return out


def orbits() -> list[list[int]]:
    """Characters that match one another when case is ignored, as `regex` has them."""
    # U+0130 and U+0131 fold to i for Turkic languages only (CaseFolding.txt, status T)
    cased = [chr(c) for c in range(0x110000) if c not in (0x130, 0x131) and regex.match(r"[\p{CWCM}\p{CWCF}]", chr(c))]
    text, seen, out = "".join(cased), set(), []
    for c in cased:
        if c in seen:
            continue
        orbit = set(regex.findall(regex.escape(c), text, regex.I | regex.V0)) | {c}
        seen |= orbit
        if len(orbit) > 1:
            out.append(sorted(map(ord, orbit)))
    return sorted(out)


def bytes_table(name: str, data: bytes) -> str:
    lines, line = [], ""
    for byte in data:
        item = f"{byte},"
        if len(line) + len(item) > 196:
            lines.append(line)
            line = ""
        line += item
    return f"const uint8_t {name}[{len(data)}] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def main() -> None:
    folder = Path(sys.argv[1])
    properties = core.PROPERTIES
    scripts = sorted((short, long.replace(" ", "_")) for short, long in Scripts.NAMES.items()
                     if short.upper() in properties["SCRIPT"][1] and runs(rf"\p{{Script={short}}}"))
    wanted = [("CATEGORY", *names.split(), rf"\p{{gc={names.split()[0]}}}") for names in CATEGORIES]
    wanted += [("BINARY", *names.split(), rf"\p{{{names.split()[1]}}}") for names in BINARY]
    wanted += [("SCRIPT", short, long, rf"\p{{Script={short}}}") for short, long in scripts]
    wanted += [("EXTENSIONS", short, long, rf"\p{{scx={short}}}") for short, long in scripts]
    wanted += [("OTHER", f"idna:{name}", name, expression) for name, expression in IDNA.items()]
    wanted += [("OTHER", name, name, ranges) for name, ranges in RANGES.items()]
    allowed = permitted()
    blob, entries, known = b"", [], {}
    for kind, short, long, expression in wanted:
        lengths = runs(expression) if kind != "OTHER" else []
        if short in RANGES:
            lengths = runs_of([any(low <= c <= high for low, high in expression) for c in range(0x110000)])
        elif kind == "OTHER":
            inside = list(allowed) if not expression else [False] * 0x110000
            for match in regex.finditer(expression, ALL) if expression else ():
                inside[match.start()] = allowed[match.start()]
            lengths = runs_of(inside)
        if short == "Cs":
            lengths = [0xD800, 0x800]
        data = b"".join(map(varint, lengths))
        if data not in known:
            known[data] = len(blob)
            blob += data
        entries.append(f'    {{"{short}", "{long}", {known[data]}, {len(lengths)}, TF_UNICODE_{kind}}},')
    folds, last = b"", 0
    listed = orbits()
    for orbit in listed:
        folds += varint(len(orbit)) + varint(orbit[0] - last)
        last = orbit[0]
        for before, after in zip(orbit, orbit[1:], strict=False):
            folds += varint(after - before)
    head = f"/* Unicode {VERSION}; written by tools/unicode_tables.py, not by hand. */\n#include \"unicode.h\"\n\n"
    (folder / "unicode_runs.c").write_text(
        head + bytes_table("tf_unicode_runs", blob) + "\n" + bytes_table("tf_unicode_folds", folds)
        + f"const uint32_t tf_unicode_n_folds = {len(listed)};\n")
    (folder / "unicode_names.c").write_text(
        head + f"const tf_unicode_property tf_unicode_properties[{len(entries)}] = {{\n"
        + "\n".join(entries) + f"\n}};\nconst uint32_t tf_unicode_n_properties = {len(entries)};\n")
    print(len(blob), "bytes of runs,", len(folds), "of orbits,", len(entries), "properties")


if __name__ == "__main__":
    main()
