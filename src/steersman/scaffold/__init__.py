"""New projects and what they become in a cluster: templates, and manifests derived from an operator."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.scaffold.manifests.shape import shape_from
    from steersman.scaffold.project import settings_of

__all__ = [
    "settings_of",
    "shape_from",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.scaffold.manifests.shape": ("shape_from",),
        "steersman.scaffold.project": ("settings_of",),
    },
)
