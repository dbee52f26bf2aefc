"""Caches: the objects of a kind, kept current by one watch, for any number of readers and handlers.

``informer`` is what callers use. Below it ``reflector`` keeps a ``store`` of ``record`` values equal to the server; the
requests are sent by ``list_watch_driver``, which ``Client.watch`` uses, too, by the rules of ``protocol.list_watch``.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.informer.changes import Added, Change, Deleted, Updated, record_of
    from steersman.informer.informer import Informer, InformerOptions, Selection
    from steersman.informer.informers import Informers
    from steersman.informer.list_watch_driver import ApiConnection

__all__ = [
    "Added",
    "ApiConnection",
    "Change",
    "Deleted",
    "Informer",
    "InformerOptions",
    "Informers",
    "Selection",
    "Updated",
    "record_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.informer.changes": ("Added", "Change", "Deleted", "Updated", "record_of"),
        "steersman.informer.informer": ("Informer", "InformerOptions", "Selection"),
        "steersman.informer.informers": ("Informers",),
        "steersman.informer.list_watch_driver": ("ApiConnection",),
    },
)
