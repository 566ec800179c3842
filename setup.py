"""Build of the one shared library, ``tokfsm._core``: the Cython modules and C sources listed below.

The modules are linked together, so that the C library and its state are there once;
``tokfsm/_library.py`` gives each its name.

Two environment variables switch builds:

    TOKFSM_SANITIZE=address | undefined | address,undefined
    TOKFSM_CHECKS=1         internal assertions and audits (they never hang on NDEBUG)
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent

# A folder is a stage, in the order of the arrows in ARCHITECTURE.md.
SOURCES = {
    "base": "alloc budget lock sha256 status",
    "vocab": "facts groups json_follow pack_build pack_file string_table traces trie",
    "schema": "decimal dialect documents ir keywords keywords_typed metaschemas pointer record_graph refs "
              "relax relax_list resources scope tape tape_names tape_value uri",
    "regex": "charset escape formats parse unicode_names unicode_runs",
    "automaton": "atoms classes dfa formula intern lengths program shortest",
    "engine": "automaton bound bound_members bound_names budget_mask cache content content_cost counters "
              "distances edits emitted far frames glance items items_plan kept_masks machine mask match members_plan "
              "name_content name_cost name_lists name_parts options plan reach room safe search spelling step step_string "
              "text tour "
              "unique walk walk_content walk_literals walk_safe walk_safe_close walk_traces",
    "lower": "admitted alike alternatives blame build "
             "choices content_states cost count domain done equal_items evaluate expand "
             "explore holding hopeless index kinds literals name_classes names negate negate_unevaluated number_facts "
             "number_outcomes number_states numbers obligations patterns prune rehearse satisfiable shelf spelled_patterns "
             "strings told_apart unevaluated values witnesses",
    "artifact": "open read_content read_machine write write_content write_masks",
    "matcher": "accept batch compact draft fill forced history mask_view matcher row workers",
    "logits": "apply kernels kernels_avx2 kernels_avx512 kernels_neon",
    "": "api_compile api_runtime",
}
NOT_SHIPPED = ("oracle", "fuzz")
# Cython modules; the file is named for the first.
MODULES = ("_core", "_bitmask", "_mask_view", "_matcher", "_batch")


def c_sources() -> list[str]:
    """The sources, compared with what is there: neither may have what the other has not."""
    listed = {(Path("csrc") / folder / f"{name}.c").as_posix()
              for folder, names in SOURCES.items() for name in names.split()}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.c")
             if path.relative_to(ROOT / "csrc").parts[0] not in NOT_SHIPPED
             and not path.stem.endswith(("_test", "_dump"))}
    if listed != there:
        raise SystemExit(f"setup.py: not listed: {sorted(there - listed)}; "
                         f"listed, but not there: {sorted(listed - there)}")
    return sorted(listed)


def flags() -> tuple[list[str], list[str], list[tuple[str, str | None]]]:
    macros: list[tuple[str, str | None]] = []
    if os.environ.get("TOKFSM_CHECKS", "0") not in ("", "0"):
        macros.append(("TOKFSM_CHECKS", "1"))
    if sys.platform == "win32":
        return ["/std:c11", "/experimental:c11atomics", "/O2", "/utf-8"], [], macros
    compile_flags, link_flags = ["-std=c11", "-O3", "-fvisibility=hidden", "-pthread"], ["-pthread"]
    sanitize = os.environ.get("TOKFSM_SANITIZE", "")
    if sanitize:
        switch = f"-fsanitize={sanitize}"
        compile_flags += [switch, "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1", "-g"]
        link_flags += [switch]
    return compile_flags, link_flags, macros


class parallel_build_ext(build_ext):
    """Compile the sources of the extension side by side."""

    def build_extensions(self) -> None:
        if self.compiler.compiler_type == "unix":
            compile_some = self.compiler.compile

            def compile_all(sources, *args, **kwargs):
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    parts = pool.map(lambda source: compile_some([source], *args, **kwargs), sources)
                    return [name for part in parts for name in part]

            self.compiler.compile = compile_all
        super().build_extensions()


def library() -> Extension:
    """One extension of all modules: Cython translates each under its own name, then they are joined."""
    compile_flags, link_flags, macros = flags()
    parts = cythonize(
        [Extension(f"tokfsm.{name}", [f"tokfsm/{name}.pyx"]) for name in MODULES],
        compiler_directives={"language_level": 3, "freethreading_compatible": True},
    )
    return Extension(
        f"tokfsm.{MODULES[0]}",
        [*(source for part in parts for source in part.sources), *c_sources()],
        include_dirs=["csrc"],
        depends=sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.h")),
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
        define_macros=macros,
    )


setup(cmdclass={"build_ext": parallel_build_ext}, ext_modules=[library()])
