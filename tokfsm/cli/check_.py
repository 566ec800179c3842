"""``tokfsm check``: an artifact and a text -> accepted, or where and why not."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .common import Inputs, load_artifact, one_line
from .locate import Place, locate

ACCEPTED, REFUSED = 0, 1
_KINDS = {"{": "an object", "[": "an array", '"': "a string", "t": "true", "f": "false", "n": "null",
          "-": "a number", **dict.fromkeys("0123456789", "a number")}
_SPACES = {"compact": "no white space", "spaced": "one space after ',' and ':'",
           "flexible": "white space inside the value"}


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "check", help="check a JSON text against an artifact",
        description="Say whether an artifact can write a JSON text, byte for byte: also its white space "
                    "and its escapes count. One line break at the end of the file does not. "
                    "Exit status: 0 accepted, 1 refused, 2 bad input.")
    parser.add_argument("artifact", help="a .tokfsm file; - reads standard input")
    parser.add_argument("value", help="file with the JSON text; - reads standard input")
    parser.add_argument("--tokenizer", metavar="file",
                        help="for an artifact without its pack: the tokenizer that it was made for")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    inputs = Inputs()
    automaton, _ = load_artifact(args.artifact, args.tokenizer, inputs)
    data = inputs.read(args.value, "value")
    data = data[:-1].removesuffix(b"\r") if data.endswith(b"\n") else data
    n_taken, complete, allowed = automaton.matcher().check_bytes(data)
    if complete:
        print(f"accepted: {len(data)} bytes")
        return ACCEPTED
    line = data.count(b"\n", 0, n_taken) + 1
    column = len(data[data.rfind(b"\n", 0, n_taken) + 1:n_taken].decode("utf-8", "replace")) + 1
    place = locate(data[:n_taken])
    at_end = n_taken == len(data)
    print("\n".join((
        f"refused at byte {n_taken} of {len(data)} (line {line}, column {column})",
        f"  where    {one_line(place.pointer) or 'the root'}, {place.part}",
        f"  found    {'the end' if at_end else byte_set(data[n_taken:n_taken + 1])}",
        f"  allowed  {byte_set(allowed) or 'nothing'}",
        f"  why      {one_line(_why(place, data, n_taken, automaton.options))}",
    )))
    return REFUSED


def _why(place: Place, data: bytes, at: int, options: dict[str, Any]) -> str:
    """The likeliest reason, read off the place and the byte; the mask itself gives none."""
    if at == len(data):
        return "the text ends before the value is whole"
    byte, part = chr(data[at]), place.part
    if place.complete and part == "after the value":
        return "nothing can follow the value"
    if byte in " \t\r\n" and not place.inside:
        style = (f"indent={options['indent']}" if options.get("indent") is not None
                 else _SPACES.get(str(options.get("whitespace")), "other white space"))
        return f"white space does not fit here: the artifact was compiled for {style}"
    if not _goes_on_as_json(data, at):
        return "the text is not JSON from here on"
    if part == "in a name":
        name = place.text
        if byte == '"':
            if name in place.names:
                return f"the name {json.dumps(name)} was given before"
            return f"no property is named {json.dumps(name)} here"
        return f"no property's name here goes on from {json.dumps(name)} so"
    if part == "in a string":
        return ("the string ends too early: too short, or not one of the allowed values" if byte == '"'
                else "no allowed string goes on so: too long, or not one of the allowed values")
    if byte == "}":
        return "the object cannot end here: a property is missing"
    if byte == "]":
        return "the array cannot end here: too few items"
    if byte == ",":
        return ("no further property is allowed" if place.container == "object" else "no further item is allowed"
                ) if place.container else "the value cannot end here"
    if part in ("in a number", "in a word"):
        return "no allowed value goes on so"
    if part == "before a name":
        return "no property is allowed here"
    if byte not in _KINDS:
        return "the text is not JSON from here on"
    return f"{_KINDS[byte]} is not allowed here"


def _goes_on_as_json(data: bytes, at: int) -> bool:
    """Whether the byte at `at` is not itself the first fault of the text as JSON."""
    try:
        text = data.decode()
        json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        return len(text[:error.pos].encode()) > at
    except UnicodeDecodeError as error:
        return error.start > at
    except RecursionError:
        return True
    return True


def byte_set(data: bytes) -> str:
    """Bytes as people read them: ``'"' '-' '0'-'9' 0x80-0xBF``."""
    shown, values, i = [], sorted(set(data)), 0
    while i < len(values):
        j = i
        while j + 1 < len(values) and values[j + 1] == values[j] + 1 and _group(values[j + 1]) == _group(values[i]):
            j += 1
        if j - i < 2:
            shown += [_byte(value) for value in values[i:j + 1]]
        else:
            shown.append(f"{_byte(values[i])}-{_byte(values[j])}")
        i = j + 1
    return " ".join(shown)


def _byte(value: int) -> str:
    if 0x20 < value < 0x7F:
        return f"'{chr(value)}'"
    return {0x20: "space", 0x09: "tab", 0x0A: "line feed", 0x0D: "carriage return"}.get(value, f"0x{value:02X}")


def _group(value: int) -> int:
    """Ranges do not run across these kinds: they would read badly."""
    char = chr(value)
    if char in " \t\r\n":
        return 0x100 + value
    if value >= 0x7F:
        return 0
    return 1 if value < 0x20 else 2 if char.isdigit() else 3 if char.islower() else 4 if char.isupper() else 5
