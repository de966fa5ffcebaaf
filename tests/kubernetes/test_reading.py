"""Recorded clusters: every object is used or explained, and each difficulty is read as it is."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from depth import first

from rarmodel import files, kubernetes, solve
from rarmodel.errors import InputError, UsageError
from rarmodel.kubernetes.choices import Choices
from rarmodel.kubernetes.objects import objects_of
from rarmodel.kubernetes.reading import reading_of
from rarmodel.schema import Job

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CLUSTERS = ("kueue", "volcano", "cloud")


def items_of(cluster: str) -> list[dict[str, Any]]:
    """All objects of a recorded cluster, in the order of its files."""
    folder = EXAMPLES / f"kubernetes-{cluster}"
    lists = [json.loads(path.read_text("utf-8")) for path in sorted(folder.iterdir())]
    return [one for some in lists for one in some["items"]]


def read_items(items: Sequence[Mapping[str, Any]], **choices: Any) -> kubernetes.Reading:
    """A reading of some objects."""
    document = {"apiVersion": "v1", "kind": "List", "items": [*items]}
    return reading_of(objects_of([("cluster.json", document)]), Choices(**choices), "cluster")


def read(cluster: str, **choices: Any) -> kubernetes.Reading:
    """A reading of a recorded cluster."""
    return kubernetes.read(EXAMPLES / f"kubernetes-{cluster}", **choices)


def job(reading: kubernetes.Reading, name: str) -> Job:
    """A job of the instance."""
    return next(one for one in reading.instance.jobs if one.name == name)


def reason(reading: kubernetes.Reading, called: str) -> str:
    """Why an object was left out."""
    found = [why for why, names in reading.account.left_out.items() if called in names]
    assert len(found) == 1, called
    return found[0]


def noted(reading: kubernetes.Reading, name: str) -> set[str]:
    """What was assumed of a job, a node or a queue."""
    return {note for note, names in reading.notes.items() if name in names}


# The account -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_every_object_is_used_or_explained(cluster: str) -> None:
    account = read(cluster).account
    explained = [name for names in account.left_out.values() for name in names]
    assert account.total == len(items_of(cluster)) == len(account.used) + len(explained)
    assert not {key.called for key in account.used} & set(explained)
    assert account.total > 30


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("seed", range(5))
def test_order_and_repetition_of_objects_do_not_matter(cluster: str, seed: int) -> None:
    rng, items = random.Random(seed), items_of(cluster)
    first = read_items(items)
    shuffled = [*items, *rng.sample(items, len(items) // 2)]
    rng.shuffle(shuffled)
    again = read_items(shuffled)
    assert again.instance == first.instance
    assert again.notes == first.notes
    assert again.account.used == first.account.used
    assert again.account.total == len(shuffled)
    told = sum(map(len, again.account.left_out.values()))
    assert told + len(again.account.used) == len(shuffled)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("seed", range(20))
def test_any_part_of_a_cluster_is_accounted_for(cluster: str, seed: int) -> None:
    rng, items = random.Random(seed), items_of(cluster)
    nodes = [one for one in items if one["kind"] == "Node"]
    some = [*nodes, *rng.sample(items, rng.randint(1, len(items)))]
    try:
        reading = read_items(some)
    except InputError:  # `test_files_without_nodes_or_jobs_are_refused` has the messages.
        pytest.skip("no job with GPUs was drawn")
    account = reading.account
    assert account.total == len(some)
    assert len(account.used) + sum(map(len, account.left_out.values())) == len(some)
    json.loads(files.to_json(reading.instance))
    files.parse_instance(files.to_json(reading.instance))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_instance_is_planned_like_any_other(cluster: str) -> None:
    made = solve(read(cluster).instance, iterations=20, threads=1)
    assert made.schedule is not None
    assert made.report is not None
    assert made.report.feasible


def test_newest_copy_of_an_object_counts() -> None:
    items = items_of("kueue")
    stale = copy.deepcopy(next(one for one in items if one["metadata"]["name"] == "gpu-5"))
    stale["metadata"]["resourceVersion"] = "1"
    stale["spec"]["unschedulable"] = True
    assert read_items([stale, *items]).instance == read_items(items).instance


def test_items_of_a_typed_list_have_its_kind() -> None:
    items = [one for one in items_of("kueue") if one["kind"] == "Node"]
    others = [one for one in items_of("kueue") if one["kind"] != "Node"]
    bare = [{k: v for k, v in one.items() if k not in {"kind", "apiVersion"}} for one in items]
    documents = [
        ("nodes.json", {"apiVersion": "v1", "kind": "NodeList", "items": bare}),
        ("others.json", {"apiVersion": "v1", "kind": "List", "items": others}),
    ]
    made = reading_of(objects_of(documents), Choices(), "cluster")
    assert made.instance == read_items([*items, *others]).instance


# Jobs --------------------------------------------------------------------------------------------


def test_one_job_told_four_times_is_one_job() -> None:
    reading = read("kueue")
    names = [one.name for one in reading.instance.jobs]
    assert names == [
        *("team-a/llama", "team-b/bert", "team-a/eval", "team-c/distill", "team-c/pretrain"),
        *("team-b/grid-1", "team-b/grid-2"),
    ]
    used = {key.called for key in reading.account.used}
    assert {
        "JobSet team-a/llama",
        "Workload team-a/jobset-llama-1a2b3",
        "Job team-a/llama-workers-0",
        "Pod team-a/llama-workers-0-1-abcde",
    } <= used


def test_running_pods_are_one_ring_with_its_progress() -> None:
    reading = read("kueue")
    llama = job(reading, "team-a/llama")
    assert llama.running is not None
    assert {name: len(gpus) for name, gpus in llama.running.gpus.items()} == {
        "gpu-1": 8,
        "gpu-2": 8,
    }
    # It has run since 7:00 of the six hours that its profile says; the last moment is 9:58.
    done = llama.running.iterations_done / llama.iterations
    assert done == pytest.approx(178 / 360)
    assert reading.instance.time.origin is not None
    assert reading.instance.time.origin.isoformat() == "2026-11-23T09:58:00+00:00"


def test_waiting_jobs_are_in_the_order_of_priority_and_age() -> None:
    waiting = [one for one in read("kueue").instance.jobs if one.running is None]
    assert [one.name for one in waiting][:2] == ["team-b/bert", "team-a/eval"]
    assert [one.release for one in waiting] == [-118, -88, -83, -58, -18, -17]
    assert (waiting[0].priority, waiting[0].weight) == (1000, 100)


def test_required_topology_is_a_level_of_the_network() -> None:
    reading = read("kueue")
    spread = job(reading, "team-b/bert").spread
    assert spread is not None
    assert spread.within == "cloud.provider.com/topology-rack"
    assert reading.instance.cluster.nodes_at(spread.within)["gpu-3"] == "b1/r2"
    assert job(reading, "team-a/eval").spread is None  # A preference binds nobody.


def test_what_a_job_may_use_is_what_the_queue_and_the_nodes_allow() -> None:
    reading = read("kueue")
    # Nodes with 8 GPUs left: services hold some of gpu-3 and gpu-4, and gpu-10 is cordoned.
    assert job(reading, "team-c/pretrain").servers == ("gpu-1", "gpu-2", "gpu-5")
    assert reason(reading, "Job team-c/cold") == "its queue is stopped"
    assert reason(reading, "Workload team-c/parked") == "suspended"
    assert reason(reading, "Pod team-c/done-0-zzzzz") == "over"


def test_services_hold_gpus_that_are_not_in_the_instance() -> None:
    reading = read("kueue")
    gpus = {one.name: one.gpus for one in reading.instance.cluster.servers}
    assert gpus == {"gpu-1": 8, "gpu-2": 8, "gpu-3": 7, "gpu-4": 6, "gpu-5": 8}
    waiting = "a service, which never ends, and has no GPUs yet"
    assert reason(reading, "Pod serving/chat-6d5f7c9b8-y3y3y") == waiting


def test_queues_are_tenants_below_their_cohorts() -> None:
    told = {
        one.name: (one.parent, one.gpus, one.guaranteed) for one in read("kueue").instance.tenants
    }
    assert told == {
        "org": (None, 40, None),
        "research": ("org", 40, None),
        "team-a": ("research", 32, 24),  # Its borrowing limit is 8.
        "team-b": ("research", 40, 8),
        "team-c": ("org", 36, 8),  # team-b lends no more than 4 of its 8.
        "frozen": (None, 8, 8),
    }
    told = {
        one.name: (one.parent, one.gpus, one.guaranteed) for one in read("volcano").instance.tenants
    }
    assert told["vision"] == (None, 32, 16)
    assert told["video"] == ("vision", None, 8)


def test_job_that_a_queue_may_never_run_is_left_out() -> None:
    items = items_of("kueue")
    queue = next(one for one in items if one["metadata"]["name"] == "team-c")
    quota = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][-1]
    quota |= {"nominalQuota": "8", "borrowingLimit": "0"}
    reading = read_items(items)
    expected = "asks for more than the 8 GPUs that 'team-c' may use"
    assert reason(reading, "Workload team-c/pretrain") == expected


def test_gang_that_lacks_pods_holds_its_gpus() -> None:
    reading = read("volcano")
    mae = job(reading, "vision/mae")
    assert mae.running is not None
    assert mae.running.size == 12
    assert mae.gradient_mb == 0
    note = "some of their pods lack GPUs: the others hold theirs, and exchange nothing"
    assert note in noted(reading, "vision/mae")


def test_hard_tiers_bind_and_soft_ones_do_not() -> None:
    reading = read("volcano")
    for name in ("vision/clip", "video/clips"):  # By number, and by name.
        spread = job(reading, name).spread
        assert spread is not None
        assert spread.within == "tier-1"
    dino = job(reading, "vision/dino").spread
    assert dino is not None
    assert dino.within is None


def test_pods_stay_whole() -> None:
    # Three pods of 2 GPUs on two servers would be 3 GPUs each, so one server it is.
    spread = job(read("volcano"), "vision/dino").spread
    assert spread is not None
    assert (spread.min_servers, spread.max_servers, spread.equal) == (1, 1, True)


def test_pods_of_different_sizes_need_one_node() -> None:
    items = items_of("volcano")
    why = "its pods ask for different numbers of GPUs, and no one node has room for all"
    assert reason(read_items(items), "Job video/mixed") == why
    mixed = next(one for one in items if one["metadata"]["name"] == "mixed")
    for task in mixed["spec"]["tasks"]:
        resources = task["template"]["spec"]["containers"][0]["resources"]
        gpus = "2" if task["name"] == "ps" else "4"
        resources["limits"]["nvidia.com/gpu"] = resources["requests"]["nvidia.com/gpu"] = gpus
    found = job(read_items(items), "video/mixed")
    assert found.gpus == 6
    assert found.spread is not None
    assert found.spread.max_servers == 1


def test_gang_of_plain_pods_is_one_job_on_the_nodes_that_it_selects() -> None:
    sweep = job(read("volcano"), "lab/sweep")
    assert sweep.gpus == 8
    assert sweep.servers == ("n-4",)  # A service has all of n-5.


def test_pods_apart_are_on_nodes_of_their_own() -> None:
    moe = job(read("cloud"), "nlp/moe")
    assert moe.spread is not None
    assert (moe.gpus, moe.spread.min_servers, moe.spread.max_servers) == (12, 3, 3)
    assert moe.iterations  # Its time limit is its duration.
    assert "duration from the time limit" in noted(read("cloud"), "nlp/moe")


def test_ring_on_a_node_that_is_left_out_still_holds_its_other_gpus() -> None:
    items = items_of("cloud")
    kept = [one for one in items if one.get("metadata", {}).get("name") != "ip-10-0-0-3"]
    reading = read_items(kept)
    gpt = job(reading, "nlp/gpt")
    assert gpt.running is not None
    assert [*gpt.running.gpus] == ["ip-10-0-0-1"]
    assert gpt.gradient_mb == 0
    assert any("some of their nodes are left out" in one for one in noted(reading, "nlp/gpt"))


def test_jobs_of_a_cron_job_have_nothing_to_do_with_each_other() -> None:
    names = {one.name for one in read("cloud").instance.jobs}
    assert {"apps/nightly-29", "apps/nightly-30"} <= names


def test_cordoned_node_keeps_its_running_job_and_gets_no_other() -> None:
    reading = read("cloud")
    gpt = job(reading, "nlp/gpt")
    assert gpt.running is not None
    assert "ip-10-0-0-3" in gpt.running.gpus
    for one in reading.instance.jobs:
        assert one.running is not None or "ip-10-0-0-3" not in (one.servers or ("ip-10-0-0-3",))
    assert reason(reading, "Node ip-10-0-0-6") == "not ready, and no job runs there"


def test_parts_of_gpus_are_never_whole_ones() -> None:
    reading = read("cloud")
    gpus = {one.name: one.gpus for one in reading.instance.cluster.servers}
    assert gpus["ip-10-0-1-1"] == 4  # The other four are slices.
    slices = {one.name: one.gpu_slices for one in reading.instance.cluster.servers}
    assert (gpus["ip-10-0-1-2"], slices["ip-10-0-1-2"]) == (8, 7)
    assert slices["ip-10-0-1-3"] == 8
    assert reason(reading, "Node ip-10-0-1-4") == "it has no GPUs to give"
    assert reason(reading, "Pod apps/probe").startswith("runs on a part of a GPU of 'ip-10-0-1-1'")
    assert job(reading, "apps/slice").slices == 1


def test_pods_that_are_about_to_go_hold_their_gpus_for_a_slot() -> None:
    leaving = job(read("cloud"), "apps/leaving (ending)")
    assert leaving.iterations == 1
    assert leaving.running is not None
    assert leaving.running.size == 2


def test_broken_objects_are_left_out_with_their_place() -> None:
    reading = read("cloud")
    assert "spec.containers" in reason(reading, "Pod apps/bent")
    assert "'half' is no quantity" in reason(reading, "Pod apps/odd")
    assert reason(reading, "cluster.json: items[35]") == "no object with kind and name"
    assert "annotation not used: not JSON" in noted(reading, "apps/bare")


# Profiles, network, choices ----------------------------------------------------------------------


def test_profiles_by_rules_and_default_model(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "profiles:\n"
        "  - {namespace: team-c, kind: Workload, profile: {model: vgg16, seconds: 3600}}\n"
        "  - {queue: main, name: ev*, profile: {seconds: 60}}\n",
        encoding="utf-8",
    )
    reading = read("kueue", profiles=rules, default_model="none")
    assert job(reading, "team-c/pretrain").gradient_mb > 500
    assert job(reading, "team-a/eval").gradient_mb == 0
    assert job(reading, "team-a/eval").iterations == 1
    assert "duration from the profiles" in noted(reading, "team-c/pretrain")


def test_models_bring_measured_pressures_where_contention_is_by_duty(tmp_path: Path) -> None:
    contention = {
        "concurrency": 1.0,
        "degradation": {"kind": "linear", "alpha": 0.1},
        "overhead_ms_per_server": 1.0,
        "model": "duty",
    }
    rates = tmp_path / "rates.json"
    rates.write_text(json.dumps({"contention": contention}), encoding="utf-8")
    folder, model = EXAMPLES / "kubernetes-kueue", "mobilenet_v3_large"
    by_duty = kubernetes.read(folder, default_model=model, cluster=rates).instance.jobs
    by_count = read("kueue", default_model=model).instance.jobs
    assert {job.network_pressure for job in by_count} == {None}
    assert {job.network_pressure for job in by_duty if job.sizes[-1] > 1} >= {0.3241}
    assert {job.network_pressure for job in by_duty if job.sizes[-1] == 1} <= {None}


@pytest.mark.parametrize("labels", ["fabric.topograph.run/tier-{}", "x.example/{}"])
def test_levels_by_labels(labels: str) -> None:
    items = [one for one in items_of("volcano") if one["kind"] in {"Node", "Pod"}]
    for i, one in enumerate(one for one in items if one["kind"] == "Node"):
        one["metadata"]["labels"] |= {labels.format(0): f"leaf-{i // 2}", labels.format(1): "spine"}
    names = tuple(labels.format(n) for n in (1, 0))
    reading = read_items(items, levels=() if "topograph" in labels else names)
    assert reading.instance.cluster.levels() == tuple(reversed(names)) or (
        set(reading.instance.cluster.levels()) == set(names)
    )
    assert reading.instance.cluster.nodes_at(names[1])["n-0"] == "spine/leaf-0"
    kind = "labels of Topograph" if "topograph" in labels else "the labels named"
    assert reading.network == kind


def test_without_labels_the_network_is_a_star() -> None:
    items = [one for one in items_of("volcano") if one["kind"] in {"Node", "Pod"}]
    reading = read_items(items)
    assert reading.instance.cluster.network.kind == "star"
    assert reading.network == ""


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"slot_seconds": 0}, "slot_seconds 0: "),
        ({"default_model": "resnet-5000"}, "no profile of model"),
        ({"now": "soon"}, "now 'soon'"),
        ({"levels": ("a", "a")}, "levels: "),
        ({"partition": "x"}, "partition"),
    ],
)
def test_wrong_choices_are_refused_in_one_line(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read("kueue", **choices)
    assert "\n" not in str(caught.value)


def test_files_without_nodes_or_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no node has GPUs"):
        read_items([one for one in items_of("kueue") if one["kind"] == "Pod"])
    with pytest.raises(InputError, match="no job with GPUs is left"):
        read_items([one for one in items_of("kueue") if one["kind"] == "Node"])
    with pytest.raises(InputError, match=r"no file in it ends in \.json"):
        kubernetes.read(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        kubernetes.read(tmp_path / "missing.json")


# Hostile input -----------------------------------------------------------------------------------


def _mutated(value: Any, rng: random.Random) -> Any:
    """A copy with something in it replaced by nonsense."""
    nonsense: tuple[Any, ...] = (
        None,
        -1,
        2**80,
        "",
        "a\nb\x1b[31m\ud800",
        [],
        {},
        [None],
        {"a": {}},
        True,
        1e300,
    )
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice([*value])
        return {**value, key: _mutated(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return [*value[:i], _mutated(value[i], rng), *value[i + 1 :]]
    return rng.choice(nonsense)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("seed", first(15, range(40)))
def test_nonsense_in_any_object_breaks_nothing_else(cluster: str, seed: int) -> None:
    rng, items = random.Random(seed), items_of(cluster)
    for i in rng.sample(range(len(items)), 3):
        items[i] = _mutated(items[i], rng)
    reading = read_items(items)
    account = reading.account
    assert account.total == len(account.used) + sum(map(len, account.left_out.values()))
    assert all(line.isprintable() for line in reading.lines())
    files.parse_instance(files.to_json(reading.instance))


def test_hostile_names_are_only_names() -> None:
    items = items_of("kueue")
    for one in items:
        if one["metadata"]["name"].startswith("pretrain"):
            one["metadata"]["name"] += "\n'; rm -rf / #\x1b[2J"
            for owner in one["metadata"].get("ownerReferences", ()):
                owner["name"] += "\n'; rm -rf / #\x1b[2J"
    reading = read_items(items)
    assert all(line.isprintable() for line in reading.lines())
    assert len(reading.instance.jobs) >= 4
