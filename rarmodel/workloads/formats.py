"""All known trace formats by name."""

from __future__ import annotations

from collections.abc import Mapping

from .accounting import SACCT, SACCT_JSON, SUPERCLOUD
from .published_traces import PUBLISHED
from .standard_workload_format import SWF
from .sweep_scores import SCORES
from .trace_format import Format

FORMATS: Mapping[str, Format] = {
    known.name: known for known in (*PUBLISHED, SWF, SACCT, SACCT_JSON, SUPERCLOUD, SCORES)
}
"""All known formats by name."""
