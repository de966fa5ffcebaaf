"""Schemas of the two file formats: instances and schedules."""

from .cluster import Cluster, Link, Network, Server, StarNetwork, TreeNetwork
from .instance import Contention, Instance, Job, LinearDegradation
from .schedule import Assignment, ProvenBound, Schedule
from .time import SlotTime, Time

__all__ = [
    "Assignment",
    "Cluster",
    "Contention",
    "Instance",
    "Job",
    "LinearDegradation",
    "Link",
    "Network",
    "ProvenBound",
    "Schedule",
    "Server",
    "SlotTime",
    "StarNetwork",
    "Time",
    "TreeNetwork",
]
