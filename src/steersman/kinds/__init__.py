"""The built-in kinds, one module a group-version; nothing is imported before it is asked for."""

from importlib import import_module

from steersman.kinds.index import MODULES
from steersman.objects.identity import GroupVersionKind
from steersman.objects.registry import registry
from steersman.objects.resource import KubeObject


def class_for(gvk: GroupVersionKind) -> type[KubeObject] | None:
    """Return the class of a kind: a declared one, otherwise a built-in one, whose module is imported on demand."""
    declared = registry.find(gvk)
    if declared is not None or gvk.api_version not in MODULES:
        return declared
    import_module(f"{__name__}.{MODULES[gvk.api_version]}")
    return registry.find(gvk)
