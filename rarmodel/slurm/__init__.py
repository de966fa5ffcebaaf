"""A live Slurm queue: read it, plan it, and hand the plan back.

>>> from rarmodel import slurm
>>> reading = slurm.read()  # doctest: +SKIP
>>> made = slurm.plan(reading)  # doctest: +SKIP
>>> slurm.apply(made.schedule, carry_out=True)  # doctest: +SKIP
"""

from .applying import Applied, StaleError
from .choices import Choices
from .planning import Plan, Planned
from .profiles import Profile, Rule, Rules, read_rules
from .queue import Queue
from .reading import Reading
from .session import apply, plan, read, watch
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
    "plan",
    "read",
    "read_rules",
    "watch",
]
