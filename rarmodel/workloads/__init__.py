"""Workloads: random instances of families, and instances imported from traces of clusters."""

from .account import Account, Group
from .cluster_rates import Rates
from .families import FAMILIES
from .formats import FORMATS
from .generate import generate
from .import_choices import Choices
from .importer import Imported, import_trace
from .platform import platform_of
from .settings import Settings
from .slurm import slurm_cluster
from .stars import Stars
from .timed import Timed

__all__ = [
    "FAMILIES",
    "FORMATS",
    "Account",
    "Choices",
    "Group",
    "Imported",
    "Rates",
    "Settings",
    "Stars",
    "Timed",
    "generate",
    "import_trace",
    "platform_of",
    "slurm_cluster",
]
