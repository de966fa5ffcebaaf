"""Changes to an instance, written as in `servers=+4,network-gbps=100`: a small closed grammar."""

from __future__ import annotations

from .grammar import KNOWN as KNOWN
from .grammar import UNCHANGED as UNCHANGED
from .grammar import Alternative as Alternative
from .grammar import Change as Change
from .grammar import parse_alternatives as parse_alternatives
from .grammar import place_of as place_of
from .making import changed as changed
from .making import stopped_jobs as stopped_jobs
