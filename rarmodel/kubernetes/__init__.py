"""A Kubernetes cluster as it was recorded: read it, and plan it as any other instance.

>>> from rarmodel import kubernetes
>>> reading = kubernetes.read("cluster.json")  # doctest: +SKIP
>>> reading.instance  # doctest: +SKIP
"""

from .account import Account
from .choices import Choices
from .cluster_account import Reading
from .profiles import Rule, Rules, read_rules
from .session import compare, read

__all__ = ["Account", "Choices", "Reading", "Rule", "Rules", "compare", "read", "read_rules"]
