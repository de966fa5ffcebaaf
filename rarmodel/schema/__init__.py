"""Schemas of the two file formats: instances and schedules."""

from .cluster import Cluster, Link, Network, Server, StarNetwork, TreeNetwork
from .instance import Contention, Instance, Job, LinearDegradation, Time
from .schedule import Assignment, ProvenBound, Schedule

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
    "StarNetwork",
    "Time",
    "TreeNetwork",
]
