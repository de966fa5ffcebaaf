"""Campaigns: fault-tolerant batches of runs from one file, each run in its own process.

Each name below loads its module on first use: a run's process needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarmodel.lazy import exports

if TYPE_CHECKING:
    from .driver import Standing, export, plan_campaigns, run_campaigns, standing
    from .published import Compared, compare_figures
    from .reader import bundled_campaigns, parse_campaign, read_campaigns
    from .report import campaign_report, simulations_report
    from .schema import Campaign
    from .task import Outcome, Task

_HOMES = {
    "Campaign": "schema",
    "Compared": "published",
    "Outcome": "task",
    "Standing": "driver",
    "Task": "task",
    "bundled_campaigns": "reader",
    "campaign_report": "report",
    "compare_figures": "published",
    "export": "driver",
    "parse_campaign": "reader",
    "plan_campaigns": "driver",
    "read_campaigns": "reader",
    "run_campaigns": "driver",
    "simulations_report": "report",
    "standing": "driver",
}

__all__ = [
    "Campaign",
    "Compared",
    "Outcome",
    "Standing",
    "Task",
    "bundled_campaigns",
    "campaign_report",
    "compare_figures",
    "export",
    "parse_campaign",
    "plan_campaigns",
    "read_campaigns",
    "run_campaigns",
    "simulations_report",
    "standing",
]

__getattr__, __dir__ = exports(__name__, _HOMES)
