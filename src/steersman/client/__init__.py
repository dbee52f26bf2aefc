"""The client: typed verbs over a transport to read, write, watch and wait for objects; discovery; events.

Start reading at ``client``. ``interfaces`` has the protocols that other packages ask for (`Reader`, `Writer`);
``session`` is what all verbs share.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.client.interfaces import Reader, Ref, Writer
    from steersman.client.storage_migration import Migration, Progress, rewrite, trim
    from steersman.client.wait import has_condition

__all__ = [
    "Client",
    "Migration",
    "Progress",
    "Reader",
    "Ref",
    "Writer",
    "has_condition",
    "rewrite",
    "trim",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.client.client": ("Client",),
        "steersman.client.interfaces": ("Reader", "Ref", "Writer"),
        "steersman.client.storage_migration": ("Migration", "Progress", "rewrite", "trim"),
        "steersman.client.wait": ("has_condition",),
    },
)
