"""The paper's claims on every bundled instance, as the two tables of docs/notes/audit.md.

    python tests/benchmarks/audits.py [SECONDS]

SECONDS limits the search for bounds on each instance; 60 if not given.
"""

from __future__ import annotations

import sys

import rarmodel

VERDICT = {True: "yes", False: "**no**", None: "open"}


def main(seconds: float) -> None:
    audits = [
        rarmodel.audit(row["name"], time_limit=seconds)
        for row in rarmodel.list_instances("examples")
    ]
    row("instance", *(claim.claim for claim in audits[0].claims))
    row(*["---"] * (1 + len(audits[0].claims)))
    for audit in audits:
        row(f"`{audit.instance}`", *(VERDICT[claim.holds] for claim in audit.claims))
    print()
    row("instance", "makespan", "θ̃_u", "Ŵ_max", "W_max", "n_g", "φ·(u/l)", "attained", "θ*_u", "T*")
    row(*["---"] * 10)
    for audit in audits:
        q = audit.quantities
        busiest = q.estimated_load, q.real_load, q.largest_job
        factors = q.factor, q.attained_factor
        row(
            f"`{audit.instance}`", q.makespan, q.limit, *busiest, *factors, q.least_limit, q.optimum
        )


def row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
