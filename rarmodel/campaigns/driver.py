"""Run campaigns: plan, do the open runs, record each outcome, export the table."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from rarmodel.errors import InputError, Problem, UsageError, listed
from rarmodel.files import unusable, write_text
from rarmodel.limits import processors
from rarmodel.table_files import check_table

from .campaign_arguments import asked
from .campaign_reader import read_campaigns
from .ledger import LOCK, Ledger, open_ledger
from .planned_runs import Plan, Planned, add_campaign
from .results_table import export_table, table_name
from .run_pools import Pool, dask_pool, local_pool, outcomes
from .run_process import versions
from .supervise import RESULT
from .task import Outcome, Work

PREFIX = ".rarmodel-run-"
"""Folders in which processes work. Nothing else is ever removed from a campaign's folder."""


LEDGER = "ledger.sqlite"
INSTANCES, SCHEDULES = "instances", "schedules"
"""Contents of a campaign's folder, besides working folders during runs."""


@dataclass(frozen=True)
class Standing:
    """Progress of a campaign.

    Attributes
    ----------
    planned
        Number of different planned runs.
    done, failed
        Number of finished runs, and of failed runs.
    skipped
        Number of runs whose method or formulation does not handle the instance. They are neither
        done nor failed.
    failures
        Name and error of each failed run.
    interrupted
        Whether Ctrl-C ended the campaign early.
    lost
        Number of finished runs whose schedules are gone: they are open again.
    """

    planned: int
    done: int
    failed: int
    failures: tuple[tuple[str, str], ...]
    interrupted: bool = False
    lost: int = 0
    skipped: int = 0

    @property
    def open(self) -> int:
        """Number of runs still to be done."""
        return self.planned - self.done - self.failed - self.skipped


@asked
def plan_campaigns(sources: Sequence[str | os.PathLike[str]]) -> Plan:
    """All runs of some campaign files or bundled campaigns, in order.

    Raises
    ------
    InputError
        If a file is malformed, or two campaigns have the same name.
    """
    plan = Plan()
    names: set[str] = set()
    for source in sources:
        for campaign, lines, folder in read_campaigns(source):
            if campaign.name in names:
                message = f"{campaign.name!r} names another campaign too; give each its own"
                raise InputError([Problem("name", message)], os.fspath(source))
            names.add(campaign.name)
            add_campaign(plan, campaign, lines, folder, os.fspath(source))
    return plan


@asked
def run_campaigns(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    tell: Callable[[Standing], None] | None = None,
) -> Standing:
    """Do all open runs of campaigns, and write the table of all runs.

    After Ctrl-C, return the progress so far.

    Parameters
    ----------
    sources
        Campaign files, or names of bundled campaigns.
    output
        A folder for ledger, instances, schedules and table; made if it does not exist. Runs that
        its ledger has recorded are not repeated.
    workers
        Number of processes at the same time on this machine. By default as many as cores, fewer if
        runs have several threads.
    scheduler
        Address of a Dask scheduler whose workers do the runs instead.
    retry_failed
        Whether to repeat failed runs.
    tell
        Called with the progress after each run.

    Raises
    ------
    InputError
        If a file is malformed, or the folder's ledger is unusable.
    UsageError
        If another process runs a campaign in the folder, or there is no such scheduler.
    PoolLostError
        If the scheduler goes away.
    """
    if workers is not None and scheduler is not None:
        raise UsageError("a scheduler has workers of its own; leave out their number")
    files = [sources] if isinstance(sources, str | os.PathLike) else sources
    plan = plan_campaigns(files)
    folder = _folder(Path(output))
    with open_ledger(folder / LEDGER, writes=True) as ledger:
        for inner in (INSTANCES, SCHEDULES):
            _make(folder / inner)
        _gather(ledger, folder)  # while what was planned before still is
        for digest, text in plan.instances.items():
            if not (file := folder / INSTANCES / f"{digest}.json").exists():
                write_text(file, text)
        ledger.plan(plan.runs)
        states = ledger.states() | dict.fromkeys(_lost(ledger, folder), "open")
        due = {"open", "failed"} if retry_failed else {"open"}
        todo = [run for run, state in states.items() if state in due]
        skips = [run for run in todo if run in plan.skipped]
        ledger.record_all(_skips(plan, skips))
        states |= dict.fromkeys(skips, "skipped")
        todo = [run for run in todo if states[run] in due]
        tally = Counter(states.values())
        interrupted = False
        if todo:
            place = make_workplace(ledger, folder)
            pool: AbstractContextManager[Pool]
            if scheduler is None:
                pool = local_pool(workers or _at_once(plan.runs), place)
            else:
                pool = dask_pool(scheduler)
            try:
                with pool as running:
                    for run, outcome in outcomes(running, _works(plan, todo)):
                        tally[states[run]] -= 1
                        _record(ledger, folder, run, outcome)
                        shutil.rmtree(place / run, ignore_errors=True)
                        states[run] = "failed" if outcome.failure else "done"
                        tally[states[run]] += 1
                        if tell:
                            tell(_counted(tally))
            except KeyboardInterrupt:
                interrupted = True
            finally:
                _gather(ledger, folder)
        export_table(ledger, folder / table_name())
        return _standing(ledger, folder, interrupted=interrupted)


@asked
def standing(folder: str | os.PathLike[str]) -> Standing:
    """Progress of the campaign in a folder.

    Raises
    ------
    InputError
        If there is no campaign.
    """
    with open_ledger(Path(folder) / LEDGER) as ledger:
        return _standing(ledger, Path(folder))


@asked
def export(folder: str | os.PathLike[str], output: str | os.PathLike[str]) -> int:
    """Write the table of the campaign in a folder; return the number of rows.

    Parameters
    ----------
    folder
        The campaign's folder.
    output
        A file whose name ends in `.csv`, `.parquet`, `.tex` (LaTeX) or `.xlsx` (Excel).

    Raises
    ------
    InputError
        If there is no campaign, or the file cannot be written.
    UsageError
        If the name ends otherwise, or a library for the format is not installed.
    """
    check_table(output)
    with open_ledger(Path(folder) / LEDGER) as ledger:
        return export_table(ledger, output)


def _lost(ledger: Ledger, folder: Path) -> list[str]:
    """Finished runs whose schedules somebody has removed."""
    there = {path.stem for path in (folder / SCHEDULES).glob("*.json")}
    return [run for run in ledger.scheduled() if run not in there]


def _standing(ledger: Ledger, folder: Path, *, interrupted: bool = False) -> Standing:
    lost = _lost(ledger, folder)
    tally = Counter((ledger.states() | dict.fromkeys(lost, "open")).values())
    failures = tuple(ledger.failures())
    return replace(_counted(tally), failures=failures, interrupted=interrupted, lost=len(lost))


def _counted(tally: Counter[str]) -> Standing:
    """Progress in numbers alone."""
    return Standing(tally.total(), tally["done"], tally["failed"], (), skipped=tally["skipped"])


def _folder(output: Path) -> Path:
    """A campaign's folder; made if it does not exist.

    Raises
    ------
    InputError
        If the folder cannot be made, or has other files, which would mix with the campaign's.
    """
    _make(output)
    try:
        theirs = sorted(entry.name for entry in output.iterdir() if not entry.name.startswith(LOCK))
        if theirs and not (output / LEDGER).exists():
            message = (
                f"holds {listed(theirs)} and no campaign; name a new or an empty folder, "
                "or one in which a campaign was run"
            )
            raise InputError([Problem("", message)], str(output))
    except OSError as error:
        raise unusable(error, str(output), "cannot be read") from error
    return output


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise unusable(error, str(folder), "cannot be made") from error


def _at_once(runs: Sequence[Planned]) -> int:
    """Number of processes that keep all processors busy, each with the most threads of any run."""
    most: int = max(run.task.options.get("threads", 1) for run in runs)
    return max(1, processors() // most)


def _works(plan: Plan, todo: Sequence[str]) -> Iterator[Work]:
    """The work for each run; its instance is loaded only when needed."""
    planned = {run.task.run: run for run in plan.runs}
    for name in todo:
        run = planned[name]
        text = plan.instances[run.task.instance]
        yield Work(name, run.task, text, run.limits.seconds, run.limits.memory_mb)


def _skips(plan: Plan, names: Sequence[str]) -> dict[str, Outcome]:
    """The outcomes of runs that are skipped, and need no process to find out why."""
    here, host = versions(), platform.node()
    return {name: Outcome(result=plan.skipped[name], versions=here, host=host) for name in names}


def _record(ledger: Ledger, folder: Path, run: str, outcome: Outcome) -> None:
    """Record an outcome, its schedule first."""
    if outcome.schedule is not None:
        write_text(folder / SCHEDULES / f"{run}.json", outcome.schedule)
    ledger.record(run, replace(outcome, schedule=None))


def _gather(ledger: Ledger, folder: Path) -> None:
    """Record finished runs that an earlier driver could not record."""
    states = ledger.states() | dict.fromkeys(_lost(ledger, folder), "open")
    for place in workplaces(ledger, folder):
        for result in place.glob(f"*/{RESULT}"):
            run = result.parent.name
            if states.get(run) in {"open", "failed"}:  # A failed one may have been done again.
                _record(ledger, folder, run, Outcome.from_json(result.read_text("utf-8")))
        remove_workplace(ledger, place)


def make_workplace(ledger: Ledger, folder: Path) -> Path:
    """A new folder in a campaign's folder.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    try:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    except OSError as error:
        raise unusable(error, str(folder), "no folder can be made in it") from error
    ledger.add_workplace(place.name)
    return place


def workplaces(ledger: Ledger, folder: Path) -> list[Path]:
    """Those that are still there: drivers that were killed have left them."""
    names = [Path(name).name for name in ledger.workplaces()]
    return [folder / name for name in names if name.startswith(PREFIX)]


def remove_workplace(ledger: Ledger, place: Path) -> None:
    """Remove one with all it holds; the ledger keeps it in mind if it cannot be removed."""
    shutil.rmtree(place, ignore_errors=True)
    if not place.exists():
        ledger.forget_workplace(place.name)
