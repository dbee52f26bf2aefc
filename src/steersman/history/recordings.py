"""Reconciles with what they read and sent, so that they can be run again: with other code, or as a test.

A `Recording` holds whole objects, unlike the records of the history. So it is kept only where a user has asked for it,
of the last few runs of each object, within a limit of bytes. The contents of confidential kinds are replaced before a
recording is made, and so are the contents of Secrets wherever else they occur (``controller.recording.run_notes``).
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from datetime import datetime
from threading import Lock
from typing import Any, Final

import msgspec
from msgspec import Struct

from steersman.errors import DecodeError
from steersman.golang.yaml_reader import YamlError, read_yaml
from steersman.golang.yaml_writer import write_yaml
from steersman.history.records import CauseRecord, EventRecord, ObjectName, Result
from steersman.json_types import JsonObject

#: Recordings that are kept of one object, and bytes of all of them together.
PER_OBJECT: Final = 5
MOST_BYTES: Final = 32 * 1024 * 1024
#: A recording that is larger is not kept.
LARGEST: Final = 4 * 1024 * 1024
#: The first field of an exported file.
FORMAT: Final = "steersman.dev/recordings/v1"


class RecordedWrite(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One request of a run that changes something, and how it was answered."""

    #: ``create``, ``apply``, ``patch``, ``update`` or ``delete``.
    verb: str
    #: The path of the API server, without the query.
    path: str
    body: Any = None
    #: The name that the server has made from ``generateName``.
    generated_name: str = ""
    #: The status code of the response; 0 if there was none.
    code: int = 200
    #: The response to a request that was rejected.
    error: JsonObject | None = None
    #: Whether the object was different afterwards, as far as that is known.
    has_effect: bool = True

    def __repr__(self) -> str:
        return f"<RecordedWrite {self.verb} {self.path} {self.code}>"  # whole objects must not end up in a log


class Recording(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One reconcile: what it was about, every object that it read as it was then, and every request that it sent."""

    object: ObjectName
    #: The reconciler, and the operator as ``module:name`` if that is known.
    controller: str
    operator: str = ""
    number: int
    started: datetime
    seconds: float = 0.0
    failures_before: int = 0
    causes: tuple[CauseRecord, ...] = ()
    reads: tuple[JsonObject, ...] = ()
    writes: tuple[RecordedWrite, ...] = ()
    events: tuple[EventRecord, ...] = ()
    #: Systems outside of the cluster that it wrote to.
    external_systems: tuple[str, ...] = ()
    result: Result = Result.DONE
    message: str = ""

    @property
    def title(self) -> str:
        """The reconcile in words: ``reconcile 7 of Site default/a``."""
        return f"reconcile {self.number} of {self.object}"

    def __repr__(self) -> str:
        return f"<Recording of {self.title}: {len(self.reads)} reads, {len(self.writes)} writes>"


class _File(Struct, frozen=True):
    format: str
    reconciles: tuple[Recording, ...]


def export(recordings: Iterable[Recording]) -> bytes:
    """Return recordings as a JSON file."""
    return msgspec.json.format(msgspec.json.encode(_File(FORMAT, tuple(recordings)))) + b"\n"


def export_yaml(recording: Recording) -> str:
    """Return one recording as YAML, for people who read and edit it."""
    return write_yaml([msgspec.to_builtins(_File(FORMAT, (recording,)))])


def load_recordings(data: bytes | str, *, source: str) -> tuple[Recording, ...]:
    """Return the recordings of an export, in JSON or YAML; raises ``DecodeError`` that names the source."""
    text = data.encode() if isinstance(data, str) else data
    try:
        if text.lstrip().startswith(b"{"):
            file = msgspec.json.decode(text, type=_File)
        else:
            file = msgspec.convert(read_yaml(text).value, _File)
    except (msgspec.MsgspecError, YamlError, UnicodeDecodeError) as error:
        raise DecodeError(f"{source} is not an export of `steer why --export`: {error}") from None
    if file.format != FORMAT:
        raise DecodeError(f"{source} has the format {file.format!r}; this version of Steersman reads {FORMAT}")
    return file.reconciles


class Recordings:
    """The newest recordings of an operator. Add and read from any thread."""

    def __init__(self, *, per_object: int = PER_OBJECT, most_bytes: int = MOST_BYTES) -> None:
        self._per_object = per_object
        self._most_bytes = most_bytes
        self._lock = Lock()
        #: Invariant: each number in ``_by_object`` is a key of ``_kept`` and the other way round, oldest first.
        self._kept: OrderedDict[int, tuple[ObjectName, bytes]] = OrderedDict()
        self._by_object: dict[ObjectName, deque[int]] = {}
        self._next = 0
        self._bytes = 0

    def add(self, recording: Recording) -> None:
        """Keep a recording, unless it is too large; the oldest of its object and of all make room."""
        data = _encoder.encode(recording)
        if len(data) > min(LARGEST, self._most_bytes):
            return
        with self._lock:
            self._kept[self._next] = recording.object, data
            numbers = self._by_object.setdefault(recording.object, deque())
            numbers.append(self._next)
            self._next += 1
            self._bytes += len(data)
            if len(numbers) > self._per_object:
                self._drop(numbers[0])
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))

    def of(self, name: ObjectName) -> list[Recording]:
        """Return the recordings of one object, oldest first."""
        with self._lock:
            data = [self._kept[number][1] for number in self._by_object.get(name, ())]
        return [_decoder.decode(one) for one in data]

    @property
    def bytes(self) -> int:
        """Size of all recordings."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"<Recordings of {len(self._by_object)} objects: {len(self._kept)} reconciles, {self._bytes} bytes>"

    def _drop(self, number: int) -> None:
        name, data = self._kept.pop(number)
        self._bytes -= len(data)
        numbers = self._by_object[name]
        numbers.popleft()
        if not numbers:
            del self._by_object[name]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Recording)


def most_telling(recordings: Iterable[Recording]) -> Recording | None:
    """Return the newest recording of a run that failed or changed something, or else the newest; ``None`` of none."""
    found = list(recordings)
    telling = [one for one in found if one.result is Result.FAILED or any(write.has_effect for write in one.writes)]
    return telling[-1] if telling else found[-1] if found else None
