"""tokfsm: JSON Schema × tokenizer -> a token automaton that samplers index.

Re-exports only; importing it pulls in NumPy and nothing heavier.
"""

from tokfsm import _library  # noqa: F401, I001 - first: it names the modules that the next lines import
from tokfsm._batch import fill_batch
from tokfsm._core import Cancel
from tokfsm._mask_view import MaskView
from tokfsm._matcher import Matcher
from tokfsm.automaton import Automaton, Relaxed, load
from tokfsm.bitmask import Bitmask, Logits, allocate_token_bitmask, apply_token_bitmask_inplace
from tokfsm.compiler import Limits, compile
from tokfsm.compiler_cache import CompilerCache
from tokfsm.errors import (
    ArtifactCorruptError,
    ArtifactError,
    ArtifactVersionError,
    BitmaskError,
    BudgetError,
    BusyError,
    CancelledError,
    InternalError,
    LimitError,
    PackMissingError,
    RangeError,
    SchemaError,
    TokfsmError,
    TokfsmWarning,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    VocabularyError,
    VocabularyMismatchError,
)
from tokfsm.vocabulary import Vocabulary

__version__ = "0.1.0.dev0"

__all__ = [
    "ArtifactCorruptError",
    "ArtifactError",
    "ArtifactVersionError",
    "Automaton",
    "Bitmask",
    "BitmaskError",
    "BudgetError",
    "BusyError",
    "Cancel",
    "CancelledError",
    "CompilerCache",
    "InternalError",
    "LimitError",
    "Limits",
    "Logits",
    "MaskView",
    "Matcher",
    "PackMissingError",
    "RangeError",
    "Relaxed",
    "SchemaError",
    "TokfsmError",
    "TokfsmWarning",
    "UnsatisfiableSchemaError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "VocabularyMismatchError",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "compile",
    "fill_batch",
    "load",
]
