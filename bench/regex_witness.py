"""Do patterns mean what an ECMA-262 engine says they mean?

    python bench/regex_witness.py [--seed N] [--random N] [--strings N] [--quickjs] [FILE.jsonl.gz ...]

Builds csrc/{base,regex,automaton} as one shared library with cc and compares it with an ECMA-262
engine, node or, where there is none or with --quickjs, the package python-quickjs-ng:
the flag u first, no flag where u refuses the pattern (Annex B). Random patterns over a small
alphabet times random strings; then every pattern of the schemas in FILEs times strings made
from it: walks through its automaton, mutations of them, and strings of its own characters.
Prints the mismatches, and percentiles of the time of building and walking.
"""

import argparse
import ctypes
import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NODE = r"""
const vm = require("vm");
const context = vm.createContext({ regex: null, strings: null });
// With u, places inside a pair of surrogates are no places (22.2.7.2); V8 tries them.
const script = new vm.Script(`strings.map((s) => {
  if (!regex.unicode) return regex.test(s);
  for (let i = 0; i <= s.length; i += s.codePointAt(i) > 0xFFFF ? 2 : 1) {
    regex.lastIndex = i;
    if (regex.test(s)) return true;
  }
  return false;
})`);
let input = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text) => { input += text; });
process.stdin.on("end", () => {
  const out = [];
  for (const line of input.split("\n")) {
    if (!line) continue;
    const { pattern, strings } = JSON.parse(line);
    let regex = null, flag = "u";
    try { regex = new RegExp(pattern, "uy"); } catch (e) {
      flag = "";
      try { regex = new RegExp(pattern, ""); } catch (e2) { flag = null; }
    }
    let results = null;
    try {
      Object.assign(context, { regex, strings });
      if (regex) results = Array.from(script.runInContext(context, { timeout: 1000 }));
    } catch (e) { flag = "slow"; }
    out.push(JSON.stringify({ flag, results }));
  }
  process.stdout.write(out.join("\n"));
});
"""

QUICKJS = r"""
function answer(line) {
  const { pattern, strings } = JSON.parse(line);
  let regex = null, flag = "u";
  try { regex = new RegExp(pattern, "uy"); } catch (e) {
    flag = "";
    try { regex = new RegExp(pattern, ""); } catch (e2) { return JSON.stringify({ flag: null, results: null }); }
  }
  return JSON.stringify({ flag, results: strings.map((s) => {
    if (!regex.unicode) return regex.test(s);
    for (let i = 0; i <= s.length; i += s.codePointAt(i) > 0xFFFF ? 2 : 1) {
      regex.lastIndex = i;
      if (regex.test(s)) return true;
    }
    return false;
  }) });
}
"""

#: Patterns, each with strings and our answers.
Cases = list[tuple[str, list[str], list[bool]]]


def by_node(cases: Cases) -> list[dict[str, Any]]:
    lines = "\n".join(json.dumps({"pattern": p, "strings": s}) for p, s, _ in cases)
    out = subprocess.run(["node", "-e", NODE], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in out.stdout.split("\n")]


def by_quickjs(cases: Cases) -> list[dict[str, Any]]:
    import quickjs

    found = []
    for pattern, strings, _ in cases:
        context = quickjs.Context()
        context.eval(QUICKJS)
        context.set_time_limit(1)
        try:
            found.append(json.loads(context.get("answer")(json.dumps({"pattern": pattern, "strings": strings}))))
        except quickjs.JSException:  # "interrupted", or its stack is full
            found.append({"flag": "slow", "results": None})
    return found


def engine(name: str | None = None) -> Any:
    """The ECMA-262 engine at hand: node, else quickjs, else None."""
    if name != "quickjs" and shutil.which("node"):
        return by_node
    try:
        import quickjs  # noqa: F401
    except ImportError:
        return None
    return by_quickjs


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("reserved", ctypes.c_uint32), ("where", ctypes.c_uint64),
                ("keyword", ctypes.c_char * 64), ("pointer", ctypes.c_char * 1024),
                ("message", ctypes.c_char * 1024)]


class Budget(ctypes.Structure):
    _fields_ = [("left", ctypes.c_uint64), ("limit", ctypes.c_uint64), ("cancel", ctypes.c_void_p)]


class Refused(Exception):
    pass


def load(folder: str) -> ctypes.CDLL:
    sources = [str(path) for stage in ("base", "regex", "automaton")
               for path in sorted((ROOT / "csrc" / stage).glob("*.c"))]
    target = Path(folder) / "regex.so"
    subprocess.run(["cc", "-std=c11", "-O2", "-shared", "-fPIC", "-o", str(target), *sources], check=True)
    return ctypes.CDLL(str(target))


class Pattern:
    """One pattern, one automaton."""

    def __init__(self, lib: ctypes.CDLL, text: str, units: int = 50_000_000) -> None:
        self.lib, self.handle, self.error = lib, ctypes.c_void_p(), Error()
        self.budget, start = Budget(units, units, None), ctypes.c_uint32()
        data = text.encode()
        self.check(lib.tf_dfa_of_pattern(
            ctypes.byref(self.handle), data, ctypes.c_size_t(len(data)), None, ctypes.byref(self.budget),
            ctypes.byref(start), ctypes.byref(self.error)))
        self.start = start.value

    def check(self, status: int) -> None:
        if status:
            raise Refused(status, self.error.message.decode(errors="replace"))

    def step(self, state: int, byte: int) -> int:
        out = ctypes.c_uint32()
        self.check(self.lib.tf_dfa_step(self.handle, state, ctypes.c_uint8(byte), ctypes.byref(self.budget),
                                        ctypes.byref(out), ctypes.byref(self.error)))
        return out.value

    def walk(self, text: str) -> int:
        state = self.start
        for byte in text.encode():
            if state == 0:
                break
            state = self.step(state, byte)
        return state

    def accepts(self, state: int) -> bool:
        return bool(self.lib.tf_dfa_accepts(self.handle, ctypes.c_uint32(state)) & 1)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.lib.tf_dfa_free(self.handle)


# ---- random patterns and strings ----

LETTERS = ["a", "b", "c", "1", "_", " ", "-", "\n", "é", "Ω", "日", "😀", "\u2028", "ſ", "K", "k", "K"]


def atom(rng: random.Random, depth: int) -> str:
    pick = rng.random()
    if depth > 0 and pick < 0.30:
        inner = alternatives(rng, depth - 1)
        return f"(?:{inner})" if rng.random() < 0.7 else f"({inner})"
    if depth > 0 and pick < 0.38:
        inner = alternatives(rng, depth - 1)
        return rng.choice(["(?=", "(?!"]) + inner + ")"
    if depth > 0 and pick < 0.45:
        inner = alternatives(rng, depth - 1, looks=False)
        return rng.choice(["(?<=", "(?<!"]) + inner + ")"
    if pick < 0.60:
        return rng.choice([".", r"\d", r"\w", r"\W", r"\s", r"\S", r"\D", r"\p{L}", r"\P{Lu}", r"\p{sc=Greek}"])
    if pick < 0.70:
        return rng.choice(["^", "$", r"\b", r"\B"])
    if pick < 0.80:
        parts = [rng.choice(["a", "b", "1", r"\d", r"\w", "a-c", "é", "\\-", r"\n", "Ω-日", "😀", r"\W"])
                 for _ in range(rng.randint(1, 3))]
        return "[" + rng.choice(["", "^"]) + "".join(parts) + "]"
    return rng.choice(LETTERS)


def piece(rng: random.Random, depth: int, looks: bool) -> str:
    for _ in range(9):
        text = atom(rng, depth)
        if looks or ("(?=" not in text and "(?!" not in text):
            break
    else:
        text = "a"
    if text not in ("^", "$", r"\b", r"\B") and not text.startswith("(?") or text.startswith("(?:"):
        text += rng.choice(["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,3}", "*?", "+?", "{2,}"])
    return text


def alternatives(rng: random.Random, depth: int, looks: bool = True) -> str:
    return "|".join("".join(piece(rng, depth, looks) for _ in range(rng.randint(0, 4)))
                    for _ in range(rng.choice([1, 1, 1, 2, 3])))


def random_string(rng: random.Random, letters: list[str]) -> str:
    return "".join(rng.choice(letters) for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 12])))


# ---- strings out of a pattern ----

def sample(rng: random.Random, pattern: Pattern, bytes_: list[int], most: int) -> str | None:
    """A walk through live states; None if it ends inside a character."""
    state, out = pattern.start, bytearray()
    while len(out) < most:
        if pattern.accepts(state) and rng.random() < 0.15:
            break
        for _ in range(60):
            byte = rng.choice(bytes_) if rng.random() < 0.9 else rng.randrange(256)
            after = pattern.step(state, byte)
            if after:
                break
        else:
            live = [b for b in range(256) if pattern.step(state, b)]
            if not live:
                break
            byte = rng.choice(live)
            after = pattern.step(state, byte)
        out.append(byte)
        state = after
    try:
        return out.decode()
    except UnicodeDecodeError:
        return None


def mutate(rng: random.Random, text: str, letters: list[str]) -> str:
    chars = list(text)
    for _ in range(rng.randint(1, 2)):
        at = rng.randint(0, len(chars))
        pick = rng.random()
        if pick < 0.4:
            chars.insert(at, rng.choice(letters))
        elif at < len(chars):
            chars[at:at + 1] = [] if pick < 0.7 else [rng.choice(letters)]
    return "".join(chars)


def patterns_of(files: list[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in files:
        with gzip.open(name, "rt") as lines:
            for line in lines:
                stack = [json.loads(line)["schema"]]
                while stack:
                    node = stack.pop()
                    if isinstance(node, dict):
                        if isinstance(node.get("pattern"), str):
                            found[node["pattern"]] = None
                        if isinstance(node.get("patternProperties"), dict):
                            found.update(dict.fromkeys(node["patternProperties"]))
                        stack += node.values()
                    elif isinstance(node, list):
                        stack += node
    return list(found)


def percentiles(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    picks = [ordered[min(len(ordered) - 1, int(len(ordered) * q))] * 1e6 for q in (0.5, 0.99, 1)]
    print(f"{name}: p50 {picks[0]:.1f}, p99 {picks[1]:.1f}, max {picks[2]:.1f} µs")


def compare(title: str, cases: Cases, ask: Any) -> int:
    wrong, plain, invalid, slow, n = 0, 0, 0, 0, 0
    name = ask.__name__.removeprefix("by_")
    for (pattern, strings, ours), answer in zip(cases, ask(cases), strict=True):
        if answer["flag"] is None:
            invalid += 1
            print(f"  {name} refuses", ascii(pattern))
            continue
        if answer["flag"] == "slow":
            slow += 1
            continue
        plain += answer["flag"] == ""
        for text, mine, theirs in zip(strings, ours, answer["results"], strict=True):
            n += 1
            if mine != theirs:
                wrong += 1
                if wrong <= 30:
                    print(f"  {pattern!a} flag {answer['flag']!r} on {text!a}: tokfsm {mine}, {name} {theirs}")
    print(f"{title}: {len(cases)} patterns, {n} strings, {wrong} mismatches; "
          f"{plain} by Annex B, {invalid} refused by {name} alone, {slow} took it over a second")
    return wrong


def random_cases(rng: random.Random, lib: ctypes.CDLL, n: int, n_strings: int) -> tuple[Cases, list[tuple[Any, ...]]]:
    """Random patterns with strings and our answers; and what was refused, with the reasons."""
    cases: Cases = []
    refused = []
    for _ in range(n):
        text = alternatives(rng, 3)
        try:
            pattern = Pattern(lib, text, 3_000_000)
            strings = [random_string(rng, LETTERS) for _ in range(n_strings)]
            walks = [sample(rng, pattern, list("ab1_ ".encode()), 12) for _ in range(10)] if pattern.start else []
            strings += [s for s in walks if s is not None]
            cases.append((text, strings, [pattern.accepts(pattern.walk(s)) for s in strings]))
        except Refused as error:
            refused.append((text, *error.args))
    return cases, refused


def strings_for(rng: random.Random, pattern: Pattern, text: str, n: int) -> list[str]:
    """Strings of the pattern's own characters, walks through its automaton, and mutations of them."""
    own = [c for c in text if c not in "\\^$(|)*+?"] + ["a", "B", "0", " ", "é", "日", "😀", "\n"]
    bytes_ = list("".join(own).encode())
    walks = [sample(rng, pattern, bytes_, rng.choice([20, 20, 200])) for _ in range(n)] if pattern.start else []
    good = [s for s in walks if s is not None]
    return [random_string(rng, own) for _ in range(n)] + good + [mutate(rng, s, own) for s in good]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=3000)
    parser.add_argument("--strings", type=int, default=40)
    parser.add_argument("--quickjs", action="store_true", help="ask quickjs even where node is")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    rng, ask = random.Random(options.seed), engine("quickjs" if options.quickjs else None)
    if ask is None:
        parser.error("neither node nor python-quickjs-ng is here")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        lib = load(folder)
        cases, refused = random_cases(rng, lib, options.random, options.strings)
        for text, code, message in refused:
            if code != 200:
                print("  refused", ascii(text), code, message)
        if cases:
            wrong += compare("random", cases, ask)
            print(f"  {len(refused)} refused")
        cases, building, walking = [], [], []
        for text in patterns_of(options.files):
            began = time.perf_counter()
            try:
                pattern = Pattern(lib, text)
                building.append(time.perf_counter() - began)
                strings = strings_for(rng, pattern, text, options.strings)
                began = time.perf_counter()
                answers = [pattern.accepts(pattern.walk(s)) for s in strings]
                walking.append((time.perf_counter() - began) / max(1, sum(len(s) + 1 for s in strings)))
                cases.append((text, strings, answers))
            except Refused as error:
                print("  refused", ascii(text), *error.args)
        if cases:
            wrong += compare("real", cases, ask)
            percentiles("building", building)
            percentiles("walking, a byte, from Python", walking)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
