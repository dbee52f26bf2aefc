"""Declaring and running operators.

Start reading at ``operator`` (what authors declare) and ``manager`` (start and stop order). ``main`` runs it as a
program; ``install`` and ``definitions`` are about CRDs, ``rbac`` and ``permission`` about the least privileged roles.
Rooms: ``leader`` (election), ``clusters`` (several of them), ``process`` (signals, log, watchdog), ``metrics``.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.manager.clusters.provider import ClusterProvider
    from steersman.manager.install import install_definitions
    from steersman.manager.operator import Operator
    from steersman.manager.rbac import Grant, grants_of

__all__ = [
    "ClusterProvider",
    "Grant",
    "Operator",
    "grants_of",
    "install_definitions",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.manager.clusters.provider": ("ClusterProvider",),
        "steersman.manager.install": ("install_definitions",),
        "steersman.manager.operator": ("Operator",),
        "steersman.manager.rbac": ("Grant", "grants_of"),
    },
)
