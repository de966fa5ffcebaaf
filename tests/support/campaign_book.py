"""A campaign's ledger that is filled by hand, with outcomes as a test needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rarmodel.campaigns import Compared, compare_figures
from rarmodel.campaigns.ledger import open_ledger
from rarmodel.campaigns.planned_runs import Planned
from rarmodel.campaigns.schema import ProcessLimits
from rarmodel.campaigns.task import Outcome, Task


class Book:
    """Runs of some campaigns and their outcomes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planned: list[Planned] = []
        self.outcomes: dict[str, Outcome] = {}

    def add(
        self,
        campaign: str,
        method: str,
        seed: int,
        makespan: int | None,
        *,
        bound: int = 1,
        servers: int | None = None,
        failed: bool = False,
        told: Mapping[str, Any] | None = None,
        log: Sequence[tuple[float, int | None, int | None]] = (),
        **parameters: int,
    ) -> None:
        task = Task(
            instance=f"{seed}-{servers}",
            method=method,
            formulation=None,
            solver=None,
            parameters=parameters,
            options={},
            data=None,
            seed=seed,
        )
        told = told or ({} if servers is None else {"servers": servers})
        self.planned.append(
            Planned(campaign, task, ProcessLimits(), "drawn", "generate paper", told)
        )
        known = {"makespan": makespan, "mean_completion": makespan, "lower_bound": bound}
        entries = [dict(zip(("seconds", "value", "bound"), one, strict=True)) for one in log]
        result = {**known, **({"log": entries} if log else {})}
        self.outcomes[task.run] = (
            Outcome(failure="died", error="gone") if failed else Outcome(result=result)
        )

    def write(self) -> None:
        with open_ledger(self.folder / "ledger.sqlite", writes=True) as ledger:
            ledger.plan(self.planned)
            for run, outcome in self.outcomes.items():
                ledger.record(run, outcome)

    def compared(self) -> dict[tuple[str, str, str, str], Compared]:
        self.write()
        return {
            (one.figure, one.measure, one.setting, one.method): one
            for one in compare_figures(self.folder)
        }
