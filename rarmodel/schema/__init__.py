"""Schemas of the two file formats: instances and schedules."""

from .cluster import Cluster, Link, Network, Reservation, Server, StarNetwork, TreeNetwork
from .instance import Contention, Instance, LinearDegradation, Preemption, Tenant
from .job import GpuTimes, Job, Running, Spread
from .schedule import Assignment, ProvenBound, ProvenValue, Schedule
from .time import SlotTime, Time

__all__ = [
    "Assignment",
    "Cluster",
    "Contention",
    "GpuTimes",
    "Instance",
    "Job",
    "LinearDegradation",
    "Link",
    "Network",
    "Preemption",
    "ProvenBound",
    "ProvenValue",
    "Reservation",
    "Running",
    "Schedule",
    "Server",
    "SlotTime",
    "Spread",
    "StarNetwork",
    "Tenant",
    "Time",
    "TreeNetwork",
]
