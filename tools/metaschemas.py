"""Write csrc/schema/metaschemas.c: the official metaschemas as C strings.

    pip install jsonschema-specifications==2025.9.1
    python tools/metaschemas.py csrc/schema

The texts are those of https://json-schema.org, as the PyPI package `jsonschema-specifications` has them, without
white space. Their authors publish them under the BSD licence or the AFL (LICENSE of json-schema-org/json-schema-spec).
"""

import json
import sys
from pathlib import Path

import jsonschema_specifications

DRAFTS = ("draft4", "draft6", "draft7", "draft201909", "draft202012")
WIDTH = 108
HEAD = """/*
 * The official metaschemas and their vocabularies, without white space. Written by
 * tools/metaschemas.py: do not edit. Source: https://json-schema.org; published by their
 * authors under the BSD licence or the AFL. A text is cut into lines because C bounds the
 * length of one literal.
 */
#include "metaschemas.h"

"""


def lines(text: str) -> list[str]:
    """C literals of at most WIDTH bytes; no escape is cut."""
    found, line = [], ""
    for c in text:
        piece = {'"': '\\"', "\\": "\\\\", "?": "\\?"}.get(c, c)
        if len(line) + len(piece) > WIDTH:
            found.append(line)
            line = ""
        line += piece
    return [*found, line]


def write(target: Path) -> None:
    folder = Path(jsonschema_specifications.__file__).parent / "schemas"
    texts, table = [], []
    for draft in DRAFTS:
        for path in sorted(p for p in (folder / draft).rglob("*") if p.is_file()):
            schema = json.loads(path.read_text(encoding="utf-8"))
            uri = (schema.get("$id") or schema["id"]).rstrip("#")
            text = json.dumps(schema, separators=(",", ":"))
            assert text.isascii()
            cut = lines(text)
            name = f"text_{len(table)}"
            body = "".join(f'    "{line}",\n' for line in cut)
            texts.append(f"static const char *const {name}[] = {{\n{body}}};\n")
            table.append(f'    {{"{uri.split("//")[1]}", {len(text)}, {name}, sizeof {name} / sizeof *{name}}},\n')
    found = HEAD + "".join(texts) + "\nconst tf_metaschema tf_metaschemas[] = {\n" + "".join(table) + "};\n"
    found += "const uint32_t tf_n_metaschemas = sizeof tf_metaschemas / sizeof *tf_metaschemas;\n"
    (target / "metaschemas.c").write_text(found, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
