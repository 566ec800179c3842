"""The modules of the one shared library, ``tokfsm._core``, under their names.

The C library must be in a process once, so the Cython modules that call it are linked with it into
one file. Python finds the module that the file is named for; the others are taken from it here, by
the functions that it exports for them. The order is that in which they import one another.

Source: PEP 489, "Multiple modules in one library".
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

from tokfsm import _core

__all__ = ["MODULES"]

MODULES = ("_bitmask", "_mask_view", "_matcher", "_batch")


def _take(name: str) -> None:
    loader = ExtensionFileLoader(name, _core.__file__)
    spec = spec_from_file_location(name, _core.__file__, loader=loader)
    if spec is None:
        raise ImportError(f"{_core.__file__} cannot be loaded as {name}", name=name, path=_core.__file__)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    package, _, stem = name.rpartition(".")
    setattr(sys.modules[package], stem, module)


for _name in MODULES:
    if f"tokfsm.{_name}" not in sys.modules:
        _take(f"tokfsm.{_name}")
