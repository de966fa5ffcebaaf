"""Everything that is returned can go from process to process: pools, Dask, caches on disk."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import documents
import pyomo.environ as pyo
import pytest
from campaign_files import write_campaign, write_instance
from depth import first

import rarmodel
from rarmodel import campaigns, kubernetes, library, registry, slurm
from rarmodel.campaigns.run_pools import PoolLostError
from rarmodel.errors import Problem
from rarmodel.formulations import Formulation
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import make_sjf_bco
from rarmodel.kinds import LISTED, Kind
from rarmodel.methods import Neighbourhood
from rarmodel.model.objectives import MAKESPAN, Objective
from rarmodel.online.policies.attained import make_las
from rarmodel.online.policies.replan import make_replan
from rarmodel.solvers.lp_file import NonlinearError

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"


def passed_on(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - it is our own


# What is returned


def solved(**options: Any) -> Any:
    return rarmodel.solve(documents.instance_of(), method="fifo-backfill", **options)


def schedule() -> rarmodel.Schedule:
    return solved().schedule  # type: ignore[no-any-return]


def file_of(folder: Path, record: Any) -> Path:
    path = folder / "record.json"
    path.write_text(rarmodel.to_json(record), encoding="utf-8")
    return path


def listed(name: str, _: Path) -> Any:
    return getattr(rarmodel, name)()


RETURNED: dict[str, Callable[[Path], Any]] = {
    "audit": lambda _: rarmodel.audit("lemma-3-fails"),
    "calibrate": lambda _: rarmodel.calibrate(EXAMPLES / "measured.csv", instance="two-servers"),
    "certificate": lambda _: rarmodel.certificate(documents.instance_of(), solved()),
    "check": lambda _: rarmodel.check(
        documents.instance_of(), rarmodel.certificate(documents.instance_of(), solved())
    ),
    "compare": lambda _: rarmodel.compare(documents.instance_of(), methods=["first-fit"]),
    "compare_models": lambda _: rarmodel.compare_models(
        EXAMPLES / "testbed.csv", instance="two-servers"
    ),
    "compare_terms": lambda _: rarmodel.compare_terms(EXAMPLES / "pairs.csv"),
    "describe": lambda _: rarmodel.describe("two-servers"),
    "formulate": lambda _: rarmodel.formulate("two-servers", "time-indexed"),
    "generate": lambda _: rarmodel.generate("wide", jobs=5),
    "import_trace": lambda _: rarmodel.import_trace(
        EXAMPLES / "philly.csv",
        servers=4,
        gpus_per_server=8,
        rates={"network_gbps": 25, "intra_server_gbps": 300, "reduction_gbps": 600},
    ),
    "load_instance": lambda _: rarmodel.load_instance("two-servers"),
    "plot": lambda _: rarmodel.plot(documents.instance_of(), schedule()),
    "read_instance": lambda at: rarmodel.read_instance(file_of(at, documents.instance_of())),
    "read_schedule": lambda at: rarmodel.read_schedule(file_of(at, schedule())),
    "relax": lambda _: rarmodel.relax("two-servers", "time-indexed"),
    "report": lambda _: rarmodel.report(documents.instance_of(), schedule()),
    "report_simulations": lambda _: rarmodel.report_simulations(
        documents.instance_of(), schedule()
    ),
    "simulate": lambda _: rarmodel.simulate(documents.instance_of(), ["fifo", "las"]),
    "solve": lambda _: [
        rarmodel.solve("two-servers"),
        rarmodel.solve("two-servers", formulation="time-indexed", objective="total-flow"),
        solved(objective=["makespan", "max-flow"]),
    ],
    "to_json": lambda _: rarmodel.to_json(documents.instance_of()),
    "verify": lambda _: rarmodel.verify(documents.instance_of(), schedule()),
    "frontier": lambda _: rarmodel.frontier(
        EXAMPLES / "serving.json", latencies_ms=[8000.0], accuracies=[0.5]
    ),
    "import_requests": lambda _: rarmodel.import_requests(
        EXAMPLES / "azure-llm.csv", EXAMPLES / "serving.json", "chat", group="conv"
    ),
    "what_if": lambda _: [
        rarmodel.what_if("two-servers", "servers=+1", method="first-fit"),
        rarmodel.what_if("two-servers", "servers=+1", policy="fifo"),
    ],
    "write_text": lambda at: rarmodel.write_text(at / "text", "text"),
    **{name: partial(listed, name) for name in rarmodel.__all__ if name.startswith("list_")},
    "parts": lambda _: [rarmodel.parts(), *map(rarmodel.parts, LISTED)],
}
"""Something returned by each function of `rarmodel`."""


def functions_of(package: Any) -> set[str]:
    return {name for name in package.__all__ if inspect.isfunction(getattr(package, name))}


def test_there_is_a_case_for_each_public_function() -> None:
    assert functions_of(rarmodel) == set(RETURNED)


@pytest.mark.parametrize("function", RETURNED)
def test_what_a_function_returns_can_be_pickled(function: str, tmp_path: Path) -> None:
    made = RETURNED[function](tmp_path)
    found = passed_on(made)
    assert type(found) is type(made)
    if function not in {
        *("formulate", "verify", "solve", "compare", "simulate", "audit", "what_if")
    }:
        assert found == made  # The others hold models, or periods that are computed on demand.


def test_a_result_is_the_same_afterwards() -> None:
    result = solved(objective=["total-tardiness", "makespan"])
    found = passed_on(result)
    assert found.summary() == result.summary()
    assert found.lines() == result.lines()
    assert found.schedule == result.schedule
    assert list(found.report.periods) == list(result.report.periods)
    assert found.objective[1].objective is MAKESPAN


def test_a_model_is_solved_in_another_process_as_here() -> None:
    model, size = rarmodel.formulate("two-servers", "time-indexed")
    there, size_there = passed_on((model, size))
    assert size_there == size
    assert there.nvariables() == model.nvariables()
    for one, other in zip(
        model.component_data_objects(pyo.Constraint, sort=True),
        there.component_data_objects(pyo.Constraint, sort=True),
        strict=True,
    ):
        assert str(one.expr) == str(other.expr)


CAMPAIGN = "name: one\ninstances: [one.json]\nmethods: [first-fit]\n"


@pytest.mark.usefixtures("runs_here")
def test_what_campaigns_return_can_be_pickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_instance(tmp_path)
    write_campaign(tmp_path, CAMPAIGN)
    returned = {
        "run_campaigns": campaigns.run_campaigns("campaign.yaml", "out", workers=1),
        "standing": campaigns.standing("out"),
        "export": campaigns.export("out", "table.parquet"),
        "campaign_plot": campaigns.campaign_plot("out", ["profile"]),
        "campaign_report": campaigns.campaign_report("out"),
        "campaign_table": campaigns.campaign_table("out"),
        "simulations_report": campaigns.simulations_report("out"),
        "bundled_campaigns": campaigns.bundled_campaigns(),
        "read_campaigns": campaigns.read_campaigns("campaign.yaml"),
        "parse_campaign": campaigns.parse_campaign(CAMPAIGN),
        "plan_campaigns": campaigns.plan_campaigns(["campaign.yaml"]),
        "compare_figures": [campaigns.Compared.__mro__[0]],
    }
    assert functions_of(campaigns) == set(returned)
    for name, value in returned.items():
        assert type(passed_on(value)) is type(value), name


def test_what_slurm_returns_can_be_pickled() -> None:
    reading = slurm.read(EXAMPLES / "slurm-lab")
    made = slurm.plan(reading, time_limit=1)
    for one in (reading, made):
        assert type(passed_on(one)) is type(one)


def test_what_kubernetes_returns_can_be_pickled() -> None:
    reading = kubernetes.read(EXAMPLES / "kubernetes-volcano")
    assert passed_on(reading) == reading


def test_the_bundled_library_can_be_pickled() -> None:
    found = library.read_library()
    assert passed_on(found) == found


@pytest.mark.parametrize(
    "error",
    [
        rarmodel.InputError([Problem("jobs[0]", "wrong"), Problem("", "more")], "file.json"),
        rarmodel.UsageError("wrong"),
        rarmodel.VerificationError("wrong"),
        rarmodel.NoScheduleError("none"),
        slurm.StaleError(["job 1 is gone", "job 2 is held"]),
        PoolLostError("lost"),
        NonlinearError("square"),
    ],
)
def test_errors_can_be_pickled(error: rarmodel.RarmodelError) -> None:
    found = passed_on(error)
    assert (type(found), str(found)) == (type(error), str(error))


# Parts


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in get_args(Kind) for name in registry.names(kind)],
)
def test_an_installed_part_is_itself_in_another_process(kind: Kind, name: str) -> None:
    part = registry.find(kind, name)
    there = passed_on(part)
    assert there is part or (type(there) is type(part) and there.name == part.name)


def on_time(model: Any, scope: Any) -> None:
    model.on_time = pyo.Constraint(list(scope.jobs), rule=lambda m, j: m.completion[j] <= 9)


def last_start(model: Any, scope: Any) -> Any:
    return sum(model.start[job] for job in scope.jobs)


def test_an_extended_formulation_is_solved_alike_after_pickling() -> None:
    mine = TIME_INDEXED.extended("mine", on_time).extended("later", objective=last_start)
    there: Formulation = passed_on(mine)
    assert (there.name, there.objective, there.base) == ("later", "last start", TIME_INDEXED)
    instance = documents.instance_of()
    one, other = (rarmodel.solve(instance, formulation=each) for each in (mine, there))
    assert (one.status, one.objective) == (other.status, other.objective)
    assert one.status == "optimal"
    assert passed_on(one).summary() == one.summary()


def test_dask_takes_an_extension_with_functions_that_pickle_refuses() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    mine = TIME_INDEXED.extended(
        "mine",
        lambda model, scope: on_time(model, scope),  # noqa: PLW0108
        objective=lambda model, scope: last_start(model, scope),  # noqa: PLW0108
    )
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(mine)
    there = pickle.loads(cloudpickle.dumps(mine))  # noqa: S301
    instance = documents.instance_of()
    one, other = (rarmodel.solve(instance, formulation=each) for each in (mine, there))
    assert (one.status, one.objective) == (other.status, other.objective) != ("unknown", ())


def test_a_result_with_an_objective_of_ones_own_is_pickled_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_aims.py").write_text(
        "from rarmodel.model.objectives import Objective, Term\n"
        "LAST = Objective('last', 'the last', 'slots', greatest=True, term=lambda *_: Term())\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = solved(objective="own_aims:LAST")
    assert passed_on(result).objective[0].objective is result.objective[0].objective


def test_a_part_that_nobody_finds_is_pickled_as_far_as_its_functions_can_be() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Objective("stray", "mine", "slots", term=lambda *_: None))
    assert passed_on(Neighbourhood("mine", improve=print)).name == "mine"


@pytest.mark.parametrize(
    "made",
    [
        partial(make_las, thresholds=(1.0, 2.0)),
        partial(make_replan, method="first-fit", iterations=None, patience=None),
    ],
)
def test_policies_with_parameters_of_ones_own_play_alike_after_pickling(
    made: Callable[..., Any],
) -> None:
    policy = made("mine")
    instance = rarmodel.generate("small", jobs=4, features=["releases:within=0.5"])
    one, other = (rarmodel.simulate(instance, each) for each in (policy, passed_on(policy)))
    assert one.schedule == other.schedule


def test_methods_with_parameters_of_ones_own_solve_alike_after_pickling() -> None:
    method = make_sjf_bco("mine", servers_factor=2.0)
    assert method.vary is not None
    instance = documents.instance_of()
    for one in (method, method.vary(kappa=2)):
        schedules = [
            rarmodel.solve(instance, method=each).schedule for each in (one, passed_on(one))
        ]
        assert schedules[0] == schedules[1]


# Pools

POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import rarmodel

def job(seed):
    return rarmodel.solve(rarmodel.generate("small", seed=seed, jobs=4), method="sjf-bco")

if __name__ == "__main__":
    way, count = sys.argv[1], int(sys.argv[2])
    if way == "dask":
        from distributed import Client, LocalCluster
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            results = client.gather(client.map(job, range(count)))
    else:
        with ProcessPoolExecutor(1, multiprocessing.get_context(way)) as pool:
            results = list(pool.map(job, range(count)))
    assert all(result.report.feasible for result in results)
    assert [result.instance for result in results] == [job(s).instance for s in range(count)]
    print(len(results), "results")
"""


@pytest.mark.parametrize("way", first(2, ["fork", "dask", "spawn"]))
def test_a_pool_of_processes_returns_results(way: str, tmp_path: Path) -> None:
    if way == "dask":
        pytest.importorskip("distributed")
    elif way == "fork" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    script = tmp_path / "pool.py"
    script.write_text(POOL, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, way, "4"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "4 results\n", done.stderr
