"""Keep the library of instances: check its file, take improvements, write instances as files.

`rarmodel.instances` has the bundled library, and the schema of its file.
"""

from .improve import Change, Improved, improve
from .library_check import Checked, Recomputed, check
from .write import read_library, read_schedules, write_instances

__all__ = [
    "Change",
    "Checked",
    "Improved",
    "Recomputed",
    "check",
    "improve",
    "read_library",
    "read_schedules",
    "write_instances",
]
