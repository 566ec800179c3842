from .alternatives import AlternativesOracle
from .base import BadSchema, Undecided, Unsatisfiable, Unsupported
from .by_value import ValuesOracle
Oracle=AlternativesOracle
