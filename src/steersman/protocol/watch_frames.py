"""Turns the bytes of a watch into events: one JSON document per line, cut anywhere by the network.

Objects stay bytes: the consumer decodes what it needs. Nothing here reads from a server.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from steersman.errors import ApiError, ConnectionLost, DecodeError
from steersman.protocol.responses import error_from_status

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: The annotation of the bookmark that ends the initial events of a WatchList stream.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
#: Bytes of one event. An object has at most 3 MiB; its JSON as a server may write it is not much longer.
MAX_FRAME = 16 * 1024 * 1024


class Applied(Struct, Generic[T], frozen=True, gc=False, tag_field="type", tag="APPLIED"):
    """An object exists in this state. Instances are ``Added`` or ``Modified``; callers rarely need the difference."""

    object: T


class Added(Applied[T], Generic[T], frozen=True, gc=False, tag_field="type", tag="ADDED"):
    """An object that this watch did not show before."""


class Modified(Applied[T], Generic[T], frozen=True, gc=False, tag_field="type", tag="MODIFIED"):
    """An object that this watch showed before, in its new state."""


class Deleted(Struct, Generic[T], frozen=True, gc=False, tag_field="type", tag="DELETED"):
    """An object was deleted, or is no longer selected. It carries its last state with the version of its deletion."""

    object: T


class _BookmarkMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _BookmarkObject(Struct, frozen=True):
    metadata: _BookmarkMeta


class Bookmark(Struct, frozen=True, tag_field="type", tag="BOOKMARK"):
    """Everything up to ``version`` was sent. It contains no object.

    Matched by keyword: ``case Bookmark(version=version, initial_events_end=True)``.
    """

    object: _BookmarkObject

    @classmethod
    def of(cls, version: str, *, initial_events_end: bool = False) -> "Bookmark":
        """Create a bookmark."""
        annotations = {INITIAL_EVENTS_END: "true"} if initial_events_end else None
        return cls(_BookmarkObject(_BookmarkMeta(version, annotations)))

    @property
    def version(self) -> str:
        """The resource version from which a watch may be resumed."""
        return self.object.metadata.resource_version

    @property
    def initial_events_end(self) -> bool:
        """Whether the state at the beginning of a WatchList stream is now complete."""
        annotations = self.object.metadata.annotations
        return annotations is not None and annotations.get(INITIAL_EVENTS_END) == "true"


class Failed(Struct, frozen=True, gc=False, tag_field="type", tag="ERROR"):
    """The server ends the watch, with a reason."""

    object: Raw

    @property
    def error(self) -> ApiError:
        """The exception of the server's ``Status``."""
        return error_from_status(self.object)


#: An event whose object is still bytes. A ``Raw`` keeps the whole chunk alive that it came in: keep ``bytes(raw)``.
RawEvent: TypeAlias = Applied[Raw] | Deleted[Raw] | Bookmark | Failed

_Wire: TypeAlias = Added[Raw] | Modified[Raw] | Deleted[Raw] | Bookmark | Failed
_decoder: msgspec.json.Decoder[_Wire] = msgspec.json.Decoder(_Wire)


class _AnyFrame(Struct):
    """The fields of every frame, whatever its type."""

    type: str
    object: Raw


_decode_any = msgspec.json.Decoder(_AnyFrame).decode
_KNOWN = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})


class WatchFrames:
    """Collects bytes and returns events as soon as they are complete; holds at most one unfinished frame.

    Events before a malformed frame are returned first, then ``DecodeError`` is raised; after that the stream is
    unusable. A frame of an unknown type is logged and skipped.
    """

    def __init__(self, *, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        #: The beginning of a frame whose end has not come. Invariant: no newline in it, and ``_held`` is its length.
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> Iterable[RawEvent]:
        """Feed the next bytes; return the events that are complete now."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._parts.append(chunk)
            self._held += len(chunk)
            self._check_size()
            return ()
        if self._parts:
            # Only up to the frame's end: its tail must not make the check of its size blind.
            self._held += chunk.find(b"\n")
            self._check_size()
            self._parts.append(chunk[:end])
            lines = b"".join(self._parts)
            self._parts = []
        else:
            lines = chunk[:end]
        # The size of the rest is checked with the next chunk: complete events come first.
        self._held = len(chunk) - end
        if self._held:
            self._parts.append(chunk[end:])
        return _events(lines)

    def finish(self) -> Iterable[RawEvent]:
        """End the stream: a last frame may lack its newline; a truncated one is a lost connection."""
        rest = b"".join(self._parts)
        self._parts, self._held = [], 0
        if not rest.strip():
            return ()
        try:
            _decode_any(rest)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConnectionLost(f"the watch ended in the middle of an event, after {len(rest)} bytes of it") from None
        return _events(rest)

    def _check_size(self) -> None:
        if self._held > self._max_frame:
            self._parts, self._held = [], 0
            raise DecodeError(f"an event of the watch exceeds {self._max_frame} bytes")

    def __repr__(self) -> str:
        return f"<WatchFrames held={self._held}>"


def _events(lines: bytes) -> Iterable[RawEvent]:
    try:
        return _decoder.decode_lines(lines)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _one_by_one(lines)


def _one_by_one(lines: bytes) -> Iterator[RawEvent]:
    """Yield the valid events of lines that are not all valid; raise at the first malformed one."""
    for line in lines.split(b"\n"):
        if not line.strip():
            continue
        try:
            event_type = _decode_any(line).type
            if event_type in _KNOWN:
                yield _decoder.decode(line)
            else:
                logger.warning("left out a watch event of unknown type", extra={"type": event_type})
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DecodeError(f"not a watch event: {error}") from None
        except RecursionError:
            raise DecodeError("not a watch event that can be read: nested too deeply") from None
