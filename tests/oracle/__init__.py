from .alternatives import AlternativesOracle as Oracle
from .base import BadSchema, Undecided, Unsatisfiable, Unsupported
