"""`Contents`: the few contents that runs have read of kinds whose cache has only metadata.

The cache of metadata shows which version of an object is current. So a content that was read before is current as long
as the cache does not show a newer version, and need not be read again: a Secret that 1,000 objects name is read once
for each of its versions. That is as current as a cache of whole objects.
"""

from collections import OrderedDict

from msgspec import Struct

from steersman.controller.reports.writes import Target
from steersman.informer.record import Record
from steersman.informer.store import is_newer

#: Bytes of contents that one controller keeps; the longest unused go first.
MOST_BYTES = 8 * 1024 * 1024


class _Content(Struct, frozen=True, gc=False):
    uid: str
    version: str
    data: bytes

    def __repr__(self) -> str:
        # Without the content: some of them are Secrets.
        return f"<Content version={self.version}>"


class Contents:
    """Contents by object, at most so many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._known: OrderedDict[Target, _Content] = OrderedDict()
        self._bytes = 0

    def find(self, target: Target, record: Record) -> bytes | None:
        """Return the content of an object if it is at least as new as its cached metadata."""
        known = self._known.get(target)
        if known is None or known.uid != record.uid or is_newer(record.resource_version, known.version):
            return None
        self._known.move_to_end(target)
        return known.data

    def remember(self, target: Target, uid: str, version: str, data: bytes) -> None:
        """Keep a content that was read from the server."""
        self.forget(target)
        self._known[target] = _Content(uid, version, data)
        self._bytes += len(data)
        while self._bytes > self._most:
            _, oldest = self._known.popitem(last=False)
            self._bytes -= len(oldest.data)

    def forget(self, target: Target) -> None:
        """Drop the content of an object."""
        known = self._known.pop(target, None)
        if known is not None:
            self._bytes -= len(known.data)

    @property
    def bytes(self) -> int:
        """Bytes of all contents."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<Contents objects={len(self._known)} bytes={self._bytes}>"
