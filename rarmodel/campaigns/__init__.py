"""Campaigns: fault-tolerant batches of runs from one file, each run in its own process.

Each name below loads its module on first use: a run's process needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarmodel.lazy import exports

if TYPE_CHECKING:
    from .campaign_reader import bundled_campaigns as bundled_campaigns
    from .campaign_reader import parse_campaign as parse_campaign
    from .campaign_reader import read_campaigns as read_campaigns
    from .driver import Standing as Standing
    from .driver import export as export
    from .driver import plan_campaigns as plan_campaigns
    from .driver import run_campaigns as run_campaigns
    from .driver import standing as standing
    from .published_figures import Compared as Compared
    from .published_figures import compare_figures as compare_figures
    from .report_page import campaign_plot as campaign_plot
    from .report_page import campaign_report as campaign_report
    from .report_page import campaign_table as campaign_table
    from .report_page import simulations_report as simulations_report
    from .schema import Campaign as Campaign
    from .task import Outcome as Outcome
    from .task import Task as Task

__getattr__, __dir__, __all__ = exports(__name__)
