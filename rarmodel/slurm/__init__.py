"""A live Slurm queue: read it, plan it, and hand the plan back.

>>> from rarmodel import slurm
>>> reading = slurm.read()  # doctest: +SKIP
>>> made = slurm.plan(reading)  # doctest: +SKIP
>>> slurm.apply(made.schedule, carry_out=True)  # doctest: +SKIP
"""

from rarmodel.workloads.job_profile import Profile

from .applying import Applied, StaleError
from .caveats import caveats_of
from .job_profiles import Rule, Rules, read_rules
from .planned_jobs import Planned
from .plans import Plan
from .queue import Queue
from .queue_account import Reading
from .queue_choices import Choices
from .slurm_session import apply, plan, read, watch
from .watching import Watch

__all__ = [
    "Applied",
    "Choices",
    "Plan",
    "Planned",
    "Profile",
    "Queue",
    "Reading",
    "Rule",
    "Rules",
    "StaleError",
    "Watch",
    "apply",
    "caveats_of",
    "plan",
    "read",
    "read_rules",
    "watch",
]
