"""Bundled instances: found by name, with the best values and bounds known."""

if __name__ != "rarmodel.instances":
    raise ImportError(
        f"this folder is imported as rarmodel.instances, not as {__name__}; "
        "install the project (pip install -e .) and import rarmodel.instances"
    )

from typing import TYPE_CHECKING

from rarmodel.lazy import exports

if TYPE_CHECKING:
    from .catalogue import EXAMPLES as EXAMPLES
    from .catalogue import LIBRARY as LIBRARY
    from .catalogue import names as names
    from .catalogue import names_of_families as names_of_families
    from .catalogue import text_of as text_of
    from .library import Family as Family
    from .library import Generated as Generated
    from .library import Known as Known
    from .library import Library as Library
    from .library import Listed as Listed
    from .library import Recorded as Recorded
    from .library import bundled_library as bundled_library
    from .library import changed as changed
    from .library import entries as entries

__getattr__, __dir__, __all__ = exports(__name__)
