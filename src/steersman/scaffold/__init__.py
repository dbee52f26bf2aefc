"""Files that `steer` writes: new projects, manifests of an operator, and container images.

`files` renders the templates of a new project and of added kinds (`api`, `webhooks`), `registration` edits its
``main.py``, `project` reads its ``pyproject.toml``, and `tree` writes safely. ``manifests/`` derives what an operator
needs in a cluster from its declarations; ``image/`` builds and pushes OCI images without a daemon.
"""

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
