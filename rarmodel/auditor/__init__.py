"""Check the paper's lemmas and theorem on one schedule, with the numbers of both sides."""

from .audit import Audit, audit
from .claims import Claim, Quantities, Range, claims_on

__all__ = ["Audit", "Claim", "Quantities", "Range", "audit", "claims_on"]
