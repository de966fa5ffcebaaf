"""Charts and HTML pages of schedules, campaigns and calibrations, drawn with Vega-Altair.

Each chart is declared once, for pages, notebooks and pictures. The content is plain data, which
needs no library that draws.
"""

from typing import TYPE_CHECKING, Any

from rarmodel.lazy import exports
from rarmodel.model.features import ALL

from .extra import require_extra

if TYPE_CHECKING:
    from .aims import shown_bounds
    from .calibrations import calibration_chart, models_chart
    from .campaign import campaign_page
    from .comparison import draw_all
    from .drawing import Bar, Drawing, Drawn, LinkRings, draw
    from .figures import schedules_chart
    from .output import form_of, image_of
    from .page import report_page
    from .reserved import Away
    from .shown import Shown
    from .simulations import Group, simulations_page
    from .steps import Steps
    from .style import finished

HANDLES = ALL
"""The features of instances whose schedules can be drawn."""

_HOMES = {
    "Away": "reserved",
    "Bar": "drawing",
    "Drawing": "drawing",
    "Drawn": "drawing",
    "LinkRings": "drawing",
    "Shown": "shown",
    "Steps": "steps",
    "draw": "drawing",
    "draw_all": "comparison",
    "shown_bounds": "aims",
}
_WITH_EXTRA = {
    "Group": "simulations",
    "calibration_chart": "calibrations",
    "campaign_page": "campaign",
    "finished": "style",
    "form_of": "output",
    "image_of": "output",
    "models_chart": "calibrations",
    "report_page": "page",
    "schedules_chart": "figures",
    "simulations_page": "simulations",
}

__all__ = [
    "HANDLES",
    "Away",
    "Bar",
    "Drawing",
    "Drawn",
    "Group",
    "LinkRings",
    "Shown",
    "Steps",
    "calibration_chart",
    "campaign_page",
    "draw",
    "draw_all",
    "finished",
    "form_of",
    "image_of",
    "models_chart",
    "report_page",
    "schedules_chart",
    "shown_bounds",
    "simulations_page",
]

_get, __dir__ = exports(__name__, _HOMES | _WITH_EXTRA)


def __getattr__(name: str) -> Any:
    if name in _WITH_EXTRA:
        require_extra()
    return _get(name)
