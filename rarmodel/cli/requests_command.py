"""The command `import-requests`."""

from __future__ import annotations

import rich_click as click

from rarmodel.counting import counted
from rarmodel.errors import one_line

from .input_files import share_stdin
from .options import INSTANCE, POSITIVE
from .output_files import check_output, write_json
from .terminal import say

FINE = 0


@click.command("import-requests")
@click.argument("requests")
@INSTANCE
@click.option("--service", required=True, metavar="NAME", help="The service that they are for.")
@click.option(
    "--group",
    metavar="NAME",
    help="Whose requests, by the column `service` of REQUESTS. By default the only one.",
)
@click.option(
    "--scale",
    type=POSITIVE,
    metavar="FACTOR",
    default=1.0,
    show_default=True,
    help="Multiply all rates by this factor.",
)
@click.option(
    "--output",
    metavar="FILE",
    default="-",
    show_default=True,
    help="Write the instance to this file; - for stdout.",
)
def import_requests(
    requests: str, instance: str, service: str, group: str | None, scale: float, output: str
) -> int:
    """Give a service of INSTANCE the demand of REQUESTS, a log by minute.

    REQUESTS is a CSV file with the columns `minute` and `requests`, and perhaps `service`; - for
    stdin.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import serving  # noqa: PLC0415

    check_output(output)
    share_stdin(requests, instance)
    found = serving.import_requests(requests, instance, service, group=group, scale=scale)
    write_json(files.to_json(found), output, "instance")
    (served,) = (one for one in found.services if one.name == service)
    rates = [entry.requests_per_second for entry in served.demand]
    last = served.in_order[-1].end
    say(
        one_line(
            f"{found.name}: service {service}: demand in {counted(len(rates), 'step')} up to slot "
            f"{last:,}, {min(rates):g} to {max(rates):g} requests a second"
        )
    )
    return FINE
