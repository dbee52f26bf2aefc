"""The libraries that a shared library needs: as much of the ELF format as it takes to read its dynamic section.

An extension module whose library is missing fails at its import, in the cluster. All of it can be known before: the
names that a file needs, and the files that the image has.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from steersman.scaffold.image.layer import File

_MAGIC: Final = b"\x7fELF"
_64_BIT, _LITTLE_ENDIAN = 2, 1
_PROGRAM_HEADER: Final = struct.Struct("<IIQQQQQQ")
_DYNAMIC_ENTRY: Final = struct.Struct("<qQ")
_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRING_TABLE = 0, 1, 5
#: Machines by the number in the header, as images name them.
_MACHINES: Final = {62: "amd64", 183: "arm64"}


@dataclass(frozen=True, slots=True)
class SharedObject:
    """An ELF file: the machine it is for, and the libraries that it needs."""

    machine: str
    needed: tuple[str, ...]


def read_elf(data: bytes) -> SharedObject | None:
    """Read a 64-bit little-endian ELF file; ``None`` for any other content, also for a damaged one."""
    if data[:4] != _MAGIC or data[4:6] != bytes((_64_BIT, _LITTLE_ENDIAN)):
        return None
    try:
        (number,) = struct.unpack_from("<H", data, 18)
        return SharedObject(_MACHINES.get(number, f"machine {number}"), tuple(_needed(data)))
    except (struct.error, ValueError, OverflowError):
        return None


def _needed(data: bytes) -> Iterable[str]:
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [_PROGRAM_HEADER.unpack_from(data, offset + number * size) for number in range(count)]
    dynamic = next((header for header in headers if header[0] == _DYNAMIC), None)
    if dynamic is None:
        return
    entries = [
        _DYNAMIC_ENTRY.unpack_from(data, place)
        for place in range(dynamic[2], dynamic[2] + dynamic[5], _DYNAMIC_ENTRY.size)
    ]
    address = next((value for tag, value in entries if tag == _STRING_TABLE), 0)
    table = next((header[2] + address - header[3] for header in headers if _holds(header, address)), 0)
    for tag, value in entries:
        if tag == _END:
            return
        if tag == _NEEDED:
            yield data[table + value : data.index(b"\0", table + value)].decode()


def _holds(header: tuple[int, ...], address: int) -> bool:
    """Return whether a segment that is loaded holds an address."""
    kind, _, _, start, _, _, size, _ = header
    return kind == _LOAD and start <= address < start + size


def library_problems(files: Iterable[File], present: Iterable[str], machine: str) -> list[str]:
    """Return what is wrong with the extension modules among some files, given the names of all other files.

    Names are compared without folders: the search path is the image's, and a name that is nowhere is missing
    everywhere.
    """
    found = [(file.path, library) for file in files if (library := read_elf(file.data)) is not None]
    names = {PurePosixPath(path).name for path, _ in found} | set(present)
    problems = []
    for path, library in found:
        place = path.partition("/packages/")[2] or path
        if library.machine != machine:
            problems.append(f"{place} is built for {library.machine}, not for {machine}")
        problems += [f"{place} needs {name}" for name in library.needed if name not in names]
    return problems
