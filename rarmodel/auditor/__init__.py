"""Check the paper's lemmas and theorem on one schedule, with the numbers of both sides."""

from .audit import Audit, audit
from .claims import Claim, Quantities, Range, claims_on

HANDLES: frozenset[str] = frozenset()
"""The features of instances about which the paper's claims say something."""

__all__ = ["HANDLES", "Audit", "Claim", "Quantities", "Range", "audit", "claims_on"]
