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
    Replica,
    Schedule,
    Segment,
)
from .services import Batch, Demand, Service, Variant
from .tenants import Tenant
from .time import SlotTime, Time

__all__ = [
    "AnyAssignment",
    "Assignment",
    "Batch",
    "CapacityWindow",
    "Cluster",
    "Colocated",
    "Contention",
    "Demand",
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
    "Replica",
    "Reservation",
    "Resource",
    "Running",
    "Schedule",
    "Segment",
    "Server",
    "Service",
    "SlotTime",
    "Spread",
    "StarNetwork",
    "Tenant",
    "Time",
    "TreeNetwork",
    "Variant",
]
