"""Workloads: instances drawn at random in families, and imported from traces of clusters."""

from .families import FAMILIES
from .generate import generate
from .settings import Settings

__all__ = ["FAMILIES", "Settings", "generate"]
