"""The formulas of sections 14 and 20 of the model in columns: one number for each measurement.

They are the model's own functions of numbers, which take columns as well, but for those that choose
by a condition. A test compares all of them with `rarmodel.model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rarmodel.model import exchange_bits, overhead_seconds
from rarmodel.model.timing import latency_seconds, pass_seconds

Column = Any
"""A column of numbers, one for each measurement."""

Values = Mapping[str, Column]
"""A column for each constant; a constant that is absent has no effect."""

FORWARD, BACKWARD = "forward_ms_per_sample", "backward_ms"
GRADIENT = "gradient_mb"
WITHIN, BETWEEN = "intra_server_gbps", "network_gbps"
OVERHEAD = "overhead_ms_per_server"
LATENCY, OVERLAP, CARDS = "latency_ms", "overlap", "network_cards"
JOINED = "gpus_joined"
"""GPUs of a server that are joined by its fast links. A ring with more of them crosses slower ones,
as between servers: in an instance, each group is a server of its own."""
CONCURRENCY = "concurrency"
SENSITIVITY, PRESSURE = "network_sensitivity", "network_pressure"
GPU_SENSITIVITY, GPU_PRESSURE, MEMORY = "sensitivity", "pressure", "memory_gb"
LOSS_OF_KIND, LOSS_OF_ALL = "loss of a kind", "loss of all"
"""Sensitivity at pressure 1: of each kind, and of all."""


@dataclass(frozen=True)
class Rings:
    """Rings in placements, as columns.

    Attributes
    ----------
    workers, servers
        Workers, and the servers that they use.
    least
        Fewest workers on one of these servers.
    samples
        Samples in the mini-batch of each GPU.
    message_mb
        Size of the message in MB where it is known; NaN where it is a gradient.
    """

    workers: Column
    servers: Column
    least: Column
    samples: Column
    message_mb: Column

    def taken(self, rows: Column) -> Rings:
        """Some of the rings."""
        return Rings(*(getattr(self, field.name)[rows] for field in fields(self)))


def ring_seconds(rings: Rings, values: Values) -> Column:
    """Time of an iteration, or of an all-reduce: equation (8) with the terms of section 20."""
    joined = values.get(JOINED, np.inf)
    groups = np.ceil(rings.workers / joined)
    servers = np.where(rings.servers > 1, rings.servers, np.maximum(groups, 1.0))
    least = np.where(rings.servers > 1, rings.least, np.minimum(rings.least, joined))
    between = values[BETWEEN] * np.minimum(1.0, least / values.get(CARDS, 1.0))
    gbps = np.where(servers > 1, between, values[WITHIN])
    mb: Column = np.where(np.isnan(rings.message_mb), values.get(GRADIENT, 0.0), rings.message_mb)
    latency = latency_seconds(values.get(LATENCY, 0.0), rings.workers)
    exchange = exchange_bits(mb, rings.workers) / (gbps * 1e9) + latency
    compute = pass_seconds(values.get(FORWARD, 0.0), rings.samples, values.get(BACKWARD, 0.0))
    overhead = overhead_seconds(values.get(OVERHEAD, 0.0), servers)
    return together(compute, exchange, values.get(OVERLAP, 1.0)) + overhead


def together(compute: Column, exchange: Column, overlap: Column) -> Column:
    """Seconds of compute and exchange that overlap, `(c^γ + e^γ)^(1/γ)`, without rounding."""
    more = np.maximum(np.maximum(compute, exchange), 1e-60)
    parts = (np.minimum(compute, exchange) / more) ** overlap
    return more * (1.0 + parts) ** (1.0 / np.asarray(overlap))


def ratio_beside(sensitivity: Column, pressure: Column) -> Column:
    """Throughput beside another ring, as a part of that alone: `1 / (1 + a·b)`.

    By section 20 the exchange takes `1 + ξ1·a'·b'` times as long; it is the part d of an
    iteration, so that `a` is the product of duty and sensitivity, `d·a'`, at ξ1 = 1.
    """
    return 1.0 / (1.0 + sensitivity * pressure)
