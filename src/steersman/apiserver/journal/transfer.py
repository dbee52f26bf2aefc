"""A whole cluster as JSON lines: a head, one line an object, and an end that tells how many there were.

A file that breaks off, or has a line too few, is noticed before anything is written.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.apiserver.journal.directory import DataDirectory
from steersman.apiserver.storage.record import Record
from steersman.errors import ConfigError
from steersman.json_types import JsonObject

_NAME: Final = "steersman-cluster"
_FORMAT: Final = 1


class _Head(msgspec.Struct):
    format: str
    version: int
    resource_version: int = msgspec.field(name="resourceVersion")


class _Line(msgspec.Struct):
    resource: str
    version: int
    fields: dict[str, str]
    object: JsonObject

    def __repr__(self) -> str:
        # The content stays out: some lines are Secrets.
        return f"<_Line {self.resource} version={self.version}>"


class _End(msgspec.Struct):
    objects: int


def exported(directory: DataDirectory) -> tuple[int, bytes]:
    """Return the number of objects in a directory and their export; a server may be using the directory meanwhile."""
    version, records = directory.read()
    encode = msgspec.json.encode
    lines = [encode(_Head(_NAME, _FORMAT, version))]
    lines += (
        encode(_Line(resource, record.version, dict(record.fields), record.decode())) for resource, record in records
    )
    lines.append(encode(_End(len(records))))
    return len(records), b"\n".join(lines) + b"\n"


def import_cluster(directory: DataDirectory, path: Path) -> int:
    """Read a file into a directory that has no cluster yet; give how many objects it has."""
    version, records = read_lines(path)
    with directory.locked():
        directory.fill(version, records)
    return len(records)


def read_lines(path: Path) -> tuple[int, list[tuple[str, Record]]]:
    """Read the whole file; raises ConfigError, which names the line, if it is not what it should be."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if len(lines) < 2:  # noqa: PLR2004 - the head and the end
        raise ConfigError(f"{path} is not an export of `steer server export`, or it is incomplete")
    head = _decoded(path, 1, lines[0], _Head)
    if head.format != _NAME:
        raise ConfigError(f"{path} is not an export of `steer server export`")
    if head.version > _FORMAT:
        raise ConfigError(f"{path} was written by a newer Steersman (format {head.version}, this one knows {_FORMAT})")
    records = list(_records(path, lines[1:-1]))
    end = _decoded(path, len(lines), lines[-1], _End)
    if end.objects != len(records):
        raise ConfigError(f"{path} should have {end.objects} objects, but has {len(records)}")
    return head.resource_version, records


def _records(path: Path, lines: list[bytes]) -> Iterator[tuple[str, Record]]:
    for number, data in enumerate(lines, 2):
        line = _decoded(path, number, data, _Line)
        try:
            yield line.resource, Record(line.object, line.version, line.fields)
        except (KeyError, TypeError, AttributeError):
            raise ConfigError(f"{path} line {number}: the object has no usable metadata") from None


def _decoded(path: Path, number: int, data: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not an export of `steer server export`: line {number}: {error}") from None
