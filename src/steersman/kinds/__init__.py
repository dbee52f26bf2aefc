"""The built-in kinds, one generated module per group-version; each is imported on first use.

``tools/generate_kinds.py`` writes the modules from the OpenAPI documents of a real server; do not edit them. `index`
maps kinds to modules, and `class_for` finds the class of a kind, declared or built-in.
"""

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
