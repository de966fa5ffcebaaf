"""Colours: those of jobs are the same in each schedule, and can be told apart by everybody."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from documents import instance_of, job_data
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.drawing.colours import (
    INK,
    MAX_CLASSES,
    NETWORK,
    PAPER,
    SIZES,
    Colouring,
    colouring,
    ink_on,
    mixed,
    ramp,
)
from rarmodel.drawing.gantt import OPACITIES

Matrix = npt.NDArray[np.float64]
# Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
# Deficiency (2009), severity 1.0, on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> Matrix:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, eye: Matrix) -> Matrix:
    """CIELAB of a colour as someone sees it."""
    xyz = TO_XYZ @ np.clip(eye @ linear(colour), 0, 1) / np.array([0.95047, 1, 1.08883])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """As WCAG defines it."""
    light = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


@pytest.mark.parametrize("eye", EYES.values(), ids=list(EYES))
def test_sizes_of_jobs_are_told_apart_by_everybody(eye: Matrix) -> None:
    for number in range(2, MAX_CLASSES + 1):
        colours = [lab(colour, eye) for colour in ramp(SIZES, number)]
        assert min(np.linalg.norm(a - b) for a, b in combinations(colours, 2)) >= 9
        lightness = [colour[0] for colour in colours]
        assert lightness == sorted(lightness, reverse=True)  # Also without any colour.
        network = lab(NETWORK, eye)
        assert min(np.linalg.norm(network - colour) for colour in colours) >= 40


@given(st.lists(st.integers(1, 512), min_size=1, max_size=30))
def test_colours_follow_the_number_of_gpus(sizes: list[int]) -> None:
    jobs = [job_data(f"j{i}", gpus=gpus) for i, gpus in enumerate(sizes)]
    found = colouring(instance_of(*jobs, servers=(512,)))
    assert 1 <= len(found.classes) <= MAX_CLASSES
    light = [lab(colour_of(found, i, size), EYES["normal"])[0] for i, size in enumerate(sizes)]
    for one, other in combinations(range(len(sizes)), 2):
        if sizes[one] == sizes[other]:
            assert abs(light[one] - light[other]) < 14  # Shades of one class.
        elif sizes[one] > 2 * sizes[other]:
            assert light[one] < light[other] + 14  # As dark, or darker.
    if len(set(sizes)) <= MAX_CLASSES:
        names = [f"{size} GPU{'' if size == 1 else 's'}" for size in sorted(set(sizes))]
        assert [one.name for one in found.classes] == names
    assert found.class_of(len(sizes), 1) is found.class_of(0, None) is None


def colour_of(found: Colouring, job: int, size: int) -> str:
    """The colour of a job's bar on white: that of its class, let through."""
    number = found.class_of(job, size)
    assert number is not None
    return mixed(PAPER, found.classes[number].colour, OPACITIES[found.shades[job]])


def test_many_sizes_are_classes_of_neighbours() -> None:
    jobs = [job_data(f"j{gpus}", gpus=gpus) for gpus in range(1, 65)]
    names = [one.name for one in colouring(instance_of(*jobs, servers=(64,))).classes]
    assert names == [
        "1 GPU",
        "2 GPUs",
        "3–4 GPUs",
        "5–8 GPUs",
        "9–16 GPUs",
        "17–32 GPUs",
        "33–64 GPUs",
    ]


def test_neighbours_of_one_size_have_different_shades() -> None:
    jobs = [job_data(f"j{i}") for i in range(4)]
    colours = colouring(instance_of(*jobs))
    shades = [colour_of(colours, i, 1) for i in range(4)]
    assert len(set(shades[:3])) == 3
    assert shades[3] == shades[0]


@given(st.integers(0, 0xFFFFFF))
def test_text_is_readable_on_any_colour(number: int) -> None:
    colour = f"#{number:06x}"
    assert ink_on(colour) in (INK, PAPER)
    assert contrast(colour, ink_on(colour)) >= 3.9
