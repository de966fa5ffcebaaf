"""Features that random instances may have beside the paper's problem: named, to be combined."""

from .feature import Drawn
from .named import KNOWN, features_of, told

__all__ = ["KNOWN", "Drawn", "features_of", "told"]
