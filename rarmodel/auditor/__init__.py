"""The paper's lemmas and theorem on one schedule: both sides' numbers, and whether they hold."""

from .audit import Audit, audit
from .claims import Claim, Quantities, Range, claims_on

__all__ = ["Audit", "Claim", "Quantities", "Range", "audit", "claims_on"]
