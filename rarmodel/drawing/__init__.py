"""Charts and HTML pages of schedules, campaigns and calibrations, drawn with Vega-Altair.

Each chart is declared once, for pages, notebooks and pictures. The content is plain data, which
needs no library that draws.

A new chart is a function from that data to an Altair chart, in a file of its own beside `gantt`,
`heat`, `lines` and `spreads`. `figures` makes it a part of `plot`, under the name that `parts`
gives it, and `linked_charts` puts it on pages.
"""

from typing import TYPE_CHECKING, Any

from rarmodel.lazy import exports
from rarmodel.model.features import ALL

from .extra import require_extra

if TYPE_CHECKING:
    from .alternatives import Panel as Panel
    from .alternatives import alternatives_chart as alternatives_chart
    from .alternatives import alternatives_page as alternatives_page
    from .calibrations import calibration_chart as calibration_chart
    from .calibrations import models_chart as models_chart
    from .campaign import campaign_page as campaign_page
    from .drawing import Bar as Bar
    from .drawing import Drawing as Drawing
    from .drawing import Drawn as Drawn
    from .drawing import LinkRings as LinkRings
    from .drawing import draw as draw
    from .figures import headed as headed
    from .figures import schedules_chart as schedules_chart
    from .frontier import frontier_chart as frontier_chart
    from .measured_terms import terms_chart as terms_chart
    from .method_tables import MethodTable as MethodTable
    from .method_tables import setting_table as setting_table
    from .method_tables import summary_table as summary_table
    from .objective_values import shown_bounds as shown_bounds
    from .output import form_of as form_of
    from .output import image_of as image_of
    from .page import report_page as report_page
    from .reserved import Away as Away
    from .serving import HeldByReplica as HeldByReplica
    from .shown import Shown as Shown
    from .side_by_side import draw_all as draw_all
    from .simulations import Group as Group
    from .simulations import simulations_page as simulations_page
    from .solve_charts import charts_of_solves as charts_of_solves
    from .solve_charts import require_solve_parts as require_solve_parts
    from .solve_charts import solves_chart as solves_chart
    from .steps import Steps as Steps
    from .style import finished as finished
    from .style import rows as rows
    from .trials import LogEntry as LogEntry
    from .trials import Trial as Trial

HANDLES = ALL
"""The features of instances whose schedules can be drawn."""
_PLAIN = {
    *("Away", "Bar", "Drawing", "Drawn", "LinkRings", "LogEntry", "Shown", "Steps", "Trial"),
    *("HeldByReplica", "draw", "draw_all", "shown_bounds"),
}
"""Names that need no library that draws."""

_get, __dir__, __all__ = exports(__name__)


def __getattr__(name: str) -> Any:
    if name in __all__ and name not in _PLAIN:
        require_extra()
    return _get(name)
