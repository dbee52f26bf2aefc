"""Which programs of this machine stand for which image. Nothing that is not named here is ever executed."""

import difflib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from steersman.errors import ConfigError
from steersman.localcluster.process_node.containers.problem import ImageError, ProgramError

_DEFAULT_PLACES = ("docker.io/library/", "docker.io/", "index.docker.io/library/")
_FORMS = 'write "path", ["path", "argument"] or {command = […], programs = {name = "path"}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The programs of an image: the command that it runs by default, and all that it contains."""

    #: Without a command, a container must bring its own.
    command: tuple[str, ...] = ()
    #: Name → path on this machine, or a name that is looked up in ``PATH``.
    programs: Mapping[str, str] = field(default_factory=dict)
    #: By which entry of the map it was found.
    pattern: str = ""
    #: What relative paths are relative to.
    root: Path = Path()

    def program(self, name: str) -> str:
        """Return the path of a program that a container calls by its name, or by a path inside the image."""
        base = name.rpartition("/")[2]
        wanted = self.programs.get(name) or self.programs.get(base)
        if wanted is None:
            known = ", ".join(sorted(self.programs)) or "none"
            raise ProgramError(
                f'exec: "{name}": executable file not found: image "{self.pattern}" has the programs {known}; '
                f'add it as programs = {{ {base or "name"} = "/path" }} of the image'
            )
        return _located(wanted, self.root)


class Images:
    """The map from images to programs, by name or by a pattern such as ``redis:*``."""

    def __init__(self, entries: Mapping[str, Any], root: Path | None = None) -> None:
        """Parse an image map; relative paths are below ``root``, the current directory by default."""
        self._images = {pattern: _image(pattern, entry, root or Path()) for pattern, entry in entries.items()}

    def __len__(self) -> int:
        return len(self._images)

    def find(self, image: str) -> Image:
        """Return what stands for an image: the entry of its very name, else the longest pattern that fits."""
        for name in _spellings(image):
            if name in self._images:
                return self._images[name]
        fitting = [pattern for pattern in self._images if any(fnmatchcase(name, pattern) for name in _spellings(image))]
        if fitting:
            return self._images[max(fitting, key=lambda pattern: (len(pattern), pattern))]
        near = difflib.get_close_matches(image, self._images, n=1)
        hint = f' (did you mean "{near[0]}"?)' if near else ""
        raise ImageError(
            f'no program stands for image "{image}" on a process node: '
            f'add "{_spellings(image)[-1]}" = "/path/to/program" to [tool.steersman.images]{hint}'
        )


def _spellings(image: str) -> list[str]:
    """Return the names of an image: as written, without the default registry, without its tag."""
    names = [image]
    for place in _DEFAULT_PLACES:
        if image.startswith(place):
            names.append(image.removeprefix(place))
            break
    short = names[-1].partition("@")[0]
    head, colon, tag = short.rpartition(":")
    names.append(head if colon and "/" not in tag else short)
    return list(dict.fromkeys(names))


def _image(pattern: str, entry: object, root: Path) -> Image:
    match entry:
        case Image():
            command, programs = entry.command, dict(entry.programs)
        case str():
            command, programs = (entry,), {}
        case Mapping():
            command, programs = _parts(pattern, entry)
        case Sequence():
            command, programs = _strings(pattern, entry), {}
        case _:
            raise _wrong(pattern)
    if command and not command[0]:
        raise _wrong(pattern)
    if command:
        programs.setdefault(command[0].rpartition("/")[2], command[0])
    if not programs:
        raise _wrong(pattern)
    return Image(command=command, programs=programs, pattern=pattern, root=root)


def _parts(pattern: str, entry: Mapping[str, object]) -> tuple[tuple[str, ...], dict[str, str]]:
    programs = entry.get("programs", {})
    if set(entry) - {"command", "programs"} or not isinstance(programs, Mapping):
        raise _wrong(pattern)
    command = entry.get("command", ())
    words = (command,) if isinstance(command, str) else _strings(pattern, command)
    return words, dict(zip(_strings(pattern, list(programs)), _strings(pattern, list(programs.values())), strict=True))


def _strings(pattern: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, Sequence) or not all(isinstance(value, str) for value in values):
        raise _wrong(pattern)
    return tuple(values)


def _wrong(pattern: str) -> ConfigError:
    return ConfigError(f'[tool.steersman.images] "{pattern}" names no program: {_FORMS}')


def _located(program: str, root: Path) -> str:
    # A name is looked up in PATH; a path is a path.
    found = shutil.which((root / program).absolute() if "/" in program else program)
    if found is None:
        raise ProgramError(
            f'"{program}" is not a program on this machine: install it, or correct [tool.steersman.images]'
        )
    return str(found)
