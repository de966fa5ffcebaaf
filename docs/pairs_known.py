"""How well slowdowns on shared GPUs are predicted when few pairs were measured.

    python docs/pairs_known.py TABLE [GPU_TYPE]

prints a table of `docs/how-true.md`. Of the pairs in a published layout a part is known; the others
are predicted. Each number is the mean of five draws.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any, cast

import numpy as np

from rarmodel.calibration import of_gpu_type, read_published
from rarmodel.calibration.asked import Asked
from rarmodel.calibration.colocated_pairs import SpeedBeside
from rarmodel.calibration.scoped_fit import fit_scoped
from rarmodel.calibration.term_questions import asked_of

KNOWN = (0.1, 0.2, 0.4, 0.6, 0.8, 0.9)
DRAWS = 5
FORM = "sensitivity × pressure"


def errors(asks: Asked, known: Any, left: Any) -> dict[str, float]:
    """Mean relative error of each predictor."""
    (term,) = (one for one in asks.terms if one.name == FORM)
    question = asks.question(term.constants, known)
    predicted = {FORM: question.predicted(fit_scoped(question, known).values, left)}
    predicted |= {one.name: one.predict(known, left) for one in asks.predictors}
    measured = asks.measured[left]
    return {name: float(np.abs(one / measured - 1).mean()) for name, one in predicted.items()}


def main(source: str, gpu_type: str | None = None) -> None:
    """Print the table."""
    table = read_published(source)
    if gpu_type is not None:
        table = of_gpu_type(table, gpu_type)
    rows = cast("tuple[SpeedBeside, ...]", table.rows)
    pair = [(row.gpu_type, *sorted((row.kind, row.beside))) for row in rows]
    asks = asked_of(table, 0)
    found: dict[float, list[dict[str, float]]] = {}
    for part in KNOWN:
        for draw in range(DRAWS):
            pairs = sorted(set(pair))
            Random(draw).shuffle(pairs)  # noqa: S311 - no secrets here
            chosen = set(pairs[: round(part * len(pairs))])
            is_known = np.array([one in chosen for one in pair])
            known, left = np.flatnonzero(is_known), np.flatnonzero(~is_known)
            found.setdefault(part, []).append(errors(asks, known, left))
    print("| pairs known |", " | ".join(f"{part:.0%}" for part in KNOWN), "|")
    print("|---|" + "---:|" * len(KNOWN))
    for name in found[KNOWN[0]][0]:
        means = [float(np.mean([one[name] for one in found[part]])) for part in KNOWN]
        print("|", name, "|", " | ".join(f"{mean:.1%}" for mean in means), "|")


if __name__ == "__main__":
    main(*sys.argv[1:])
