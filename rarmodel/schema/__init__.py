"""Schemas of the two file formats: instances and schedules."""

from .cluster import Cluster, Link, Network, Reservation, Server, StarNetwork, TreeNetwork
from .colocation import Colocated
from .instance import Contention, Instance, LinearDegradation, Preemption
from .job import GpuTimes, Job, Running, Spread
from .resources import CapacityWindow, Resource
from .schedule import (
    AnyAssignment,
    Assignment,
    Held,
    InterruptedAssignment,
    ProvenBound,
    ProvenLater,
    ProvenValue,
    Schedule,
    Segment,
)
from .tenants import Tenant
from .time import SlotTime, Time

__all__ = [
    "AnyAssignment",
    "Assignment",
    "CapacityWindow",
    "Cluster",
    "Colocated",
    "Contention",
    "GpuTimes",
    "Held",
    "Instance",
    "InterruptedAssignment",
    "Job",
    "LinearDegradation",
    "Link",
    "Network",
    "Preemption",
    "ProvenBound",
    "ProvenLater",
    "ProvenValue",
    "Reservation",
    "Resource",
    "Running",
    "Schedule",
    "Segment",
    "Server",
    "SlotTime",
    "Spread",
    "StarNetwork",
    "Tenant",
    "Time",
    "TreeNetwork",
]
