"""The ledger of a campaign: an SQLite file with the planned runs and their outcomes.

One process writes the ledger; others may read it meanwhile. Each outcome is one transaction, so a
finished run stays finished, whatever happens to the process later.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import may_exist

from .planned_runs import Planned
from .schema import ProcessLimits
from .task import Outcome, Task

VERSION = 1
LOCK = "ledger.lock"
"""A file beside the ledger with the lock of drivers."""
PATIENCE = 30.0
"""Seconds to wait for a lock that another process holds briefly."""
LOCK_PATIENCE = 0.5
"""Seconds to wait for the lock of drivers; of two that ask at the same time, none would get it."""

_TABLES = """
CREATE TABLE tasks (run TEXT PRIMARY KEY, task TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE plan (
    position INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES tasks,
    campaign TEXT NOT NULL,
    limits TEXT NOT NULL,
    instance_name TEXT NOT NULL,
    source TEXT NOT NULL,
    source_parameters TEXT NOT NULL
) STRICT;
CREATE TABLE outcomes (
    run TEXT PRIMARY KEY REFERENCES tasks,
    failed INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    recorded TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT, WITHOUT ROWID;
"""
_OWN = {"tasks", "plan", "outcomes"}
_LATER_TABLES = (
    "CREATE TABLE IF NOT EXISTS workplaces (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID"
)
"""Tables that the first ledgers of this version did not have."""


class Entry(NamedTuple):
    """A planned run and its outcome; None while it has none."""

    run: str
    planned: Planned
    outcome: Outcome | None


class Ledger:
    """An open ledger.

    Parameters
    ----------
    path
        The file; made if it does not exist and `writes` is true.
    writes
        Whether this process writes it: only one process may write at a time.

    Raises
    ------
    UsageError
        If another process writes it.
    InputError
        If there is no ledger to read, or the file is not a ledger.
    """

    def __init__(self, path: Path, *, writes: bool = False) -> None:
        if not writes and not may_exist(path):
            message = "no ledger here; `rarmodel campaign run FILE --output` this folder makes one"
            raise InputError([Problem("", message)], str(path.parent))
        self._lock: sqlite3.Connection | None = None
        if writes:
            # A transaction on a file of its own: it ends with the process, however that ends.
            self._lock = sqlite3.connect(path.with_name(LOCK), timeout=LOCK_PATIENCE)
            try:
                self._lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                self._lock.close()
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                message = f"{path.parent}: another process runs a campaign here"
                raise UsageError(message) from error
        self._connection = sqlite3.connect(path, timeout=PATIENCE)
        wrong = ""
        try:
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            rows = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
            tables = {name for (name,) in rows}
            if tables and not tables >= _OWN:
                wrong = "not a ledger but a database of something else"
            elif version != (0 if not tables else VERSION):
                wrong = f"a ledger of version {version}; {VERSION} is expected"
            elif not tables and not writes:
                wrong = "empty; a campaign begins here, or its driver was killed as it began"
            elif not tables:
                self._connection.executescript(
                    f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;"
                )
            if writes and not wrong:
                self._connection.execute(_LATER_TABLES)
        except sqlite3.OperationalError:  # The file may be sound: a full disk, a lock.
            self.close()
            raise
        except sqlite3.DatabaseError as error:
            wrong = f"not a ledger: {error}"
        if wrong:
            self.close()
            raise InputError([Problem("", wrong)], str(path))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def plan(self, runs: Iterable[Planned]) -> None:
        """Replace the plan by these runs, in this order; outcomes are kept."""
        rows = [(planned.task.run, planned) for planned in runs]
        with self._connection as ledger:
            ledger.execute("DELETE FROM plan")
            ledger.executemany(
                "INSERT OR IGNORE INTO tasks VALUES (?, ?)",
                ((run, planned.task.to_json()) for run, planned in rows),
            )
            ledger.executemany(
                "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        position,
                        run,
                        planned.campaign,
                        planned.limits.model_dump_json(),
                        planned.instance_name,
                        planned.source,
                        json.dumps(planned.source_parameters),
                    )
                    for position, (run, planned) in enumerate(rows)
                ),
            )

    def record(self, run: str, outcome: Outcome) -> None:
        """Record the outcome of a run."""
        self.record_all({run: outcome})

    def record_all(self, outcomes: Mapping[str, Outcome]) -> None:
        """Record the outcomes of several runs, all or none."""
        with self._connection as ledger:
            ledger.executemany(
                "INSERT OR REPLACE INTO outcomes (run, failed, outcome) VALUES (?, ?, ?)",
                (
                    (run, outcome.failure is not None, outcome.to_json())
                    for run, outcome in outcomes.items()
                ),
            )

    def workplaces(self) -> list[str]:
        """Names of working folders that are not removed yet."""
        rows = self._connection.execute("SELECT name FROM workplaces ORDER BY name")
        return [name for (name,) in rows]

    def add_workplace(self, name: str) -> None:
        """Note a new working folder."""
        with self._connection as ledger:
            ledger.execute("INSERT INTO workplaces VALUES (?)", (name,))

    def forget_workplace(self, name: str) -> None:
        """Note that a working folder is removed."""
        with self._connection as ledger:
            ledger.execute("DELETE FROM workplaces WHERE name = ?", (name,))

    def states(self) -> dict[str, str]:
        """State of each planned run, in the plan's order: `done`, `failed`, `skipped` or `open`."""
        rows = self._connection.execute(
            "SELECT run, CASE WHEN failed IS NULL THEN 'open' WHEN failed THEN 'failed' "
            "WHEN json_valid(outcome) AND json_extract(outcome, '$.result.status') = 'skipped' "
            "THEN 'skipped' ELSE 'done' END "
            "FROM plan LEFT JOIN outcomes USING (run) ORDER BY position"
        )
        return dict(rows)

    def scheduled(self) -> list[str]:
        """Each planned run that ended with a schedule, in the plan's order."""
        rows = self._connection.execute(
            "SELECT run FROM plan JOIN outcomes USING (run) "
            "WHERE NOT failed AND json_valid(outcome) "
            "AND json_extract(outcome, '$.result.makespan') IS NOT NULL "
            "GROUP BY run ORDER BY min(position)"
        )
        return [run for (run,) in rows]

    def failures(self) -> list[tuple[str, str]]:
        """Name and error of each failed planned run, in the plan's order."""
        rows = self._connection.execute(
            "SELECT run, outcome FROM plan JOIN outcomes USING (run) "
            "WHERE failed GROUP BY run ORDER BY min(position)"
        )
        found = []
        for run, outcome in rows:
            with _intact(run):
                found.append((run, Outcome.from_json(outcome).error))
        return found

    def entries(self) -> Iterator[Entry]:
        """The whole plan, in order; a run that two campaigns share occurs twice."""
        rows = self._connection.execute(
            "SELECT run, task, campaign, limits, instance_name, source, source_parameters, outcome "
            "FROM plan JOIN tasks USING (run) LEFT JOIN outcomes USING (run) ORDER BY position"
        )
        for run, task, campaign, limits, name, source, parameters, outcome in rows:
            with _intact(run):
                planned = Planned(
                    campaign=campaign,
                    task=Task(**json.loads(task)),
                    limits=ProcessLimits.model_validate_json(limits),
                    instance_name=name,
                    source=source,
                    source_parameters=json.loads(parameters),
                )
                became = Outcome.from_json(outcome) if outcome else None
            yield Entry(run, planned, became)


@contextmanager
def _intact(run: str) -> Iterator[None]:
    """Name the run whose data are damaged: SQLite only checks its own pages."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise sqlite3.DatabaseError(f"what it has of run {run} is damaged") from error


@contextmanager
def open_ledger(path: Path, *, writes: bool = False) -> Iterator[Ledger]:
    """Open a ledger as a context; see `Ledger`.

    Raises
    ------
    InputError
        If the ledger cannot be used any longer, for instance because a disk is full.
    """
    try:
        ledger = Ledger(path, writes=writes)
        try:
            yield ledger
        finally:
            ledger.close()
    except sqlite3.Error as error:
        raise InputError([Problem("", f"cannot be used: {error}")], str(path)) from error
