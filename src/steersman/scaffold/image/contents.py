"""What goes into the image: the packages that the project needs, as they are installed here, and its own code."""

import importlib.util
import json
import platform
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Final

from steersman.errors import ConfigError
from steersman.scaffold.image.layer import File
from steersman.scaffold.image.markers import Environment, Requirement, target_environment

#: Where packages and code lie in the image; both are on Python's path.
PACKAGES: Final = "app/packages"
CODE: Final = "app/code"
_PYTHON: Final = platform.python_version()
_MACHINE: Final = platform.machine()
_LEFT_OUT: Final = frozenset({"__pycache__", ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache"})
#: Files of installed packages that depend on where and how they were installed.
_INSTALLER: Final = frozenset({"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"})


def needed_distributions(requirements: list[str], environment: Environment | None = None) -> list[Distribution]:
    """Return the installed distributions that some requirements need in an image, and their dependencies.

    Markers are evaluated for the image's environment, by default that of this machine. ``ConfigError`` names a package
    that is needed there and not installed here, and the one that needs it.
    """
    environment = environment if environment is not None else target_environment(_PYTHON, f"linux/{_MACHINE}")
    found: dict[str, Distribution] = {}
    #: The extras that were followed of each.
    followed: dict[str, frozenset[str]] = {}
    waiting = [(Requirement.parse(text), "the project") for text in requirements]
    waiting = [(one, of) for one, of in waiting if one.is_needed(environment)]
    while waiting:
        requirement, of = waiting.pop()
        name, extras = requirement.name, requirement.extras
        if name in found and extras <= followed[name]:
            continue
        found[name] = _installed_distribution(requirement, of, environment)
        followed[name] = followed.get(name, frozenset()) | extras
        inner = [Requirement.parse(text) for text in found[name].requires or ()]
        waiting += [(one, name) for one in inner if one.is_needed(environment, followed[name])]
    return [found[name] for name in sorted(found)]


def _installed_distribution(requirement: Requirement, of: str, environment: Environment) -> Distribution:
    try:
        return distribution(requirement.name)
    except PackageNotFoundError:
        python = environment["python_full_version"]
        why = f" in an image with Python {python} ({requirement.marker})" if requirement.marker else ""
        raise ConfigError(
            f"{requirement.name}, which {of} needs{why}, is not installed here: run 'pip install {requirement.name}'"
        ) from None


def package_files(distributions: list[Distribution]) -> Iterator[File]:
    """Yield the files of installed distributions; those of editable installs from their source."""
    for found in distributions:
        if _is_editable(found):
            yield from _linked(found)
        else:
            yield from _installed(found)


def _is_editable(found: Distribution) -> bool:
    url = json.loads(found.read_text("direct_url.json") or "{}")
    return bool(url.get("dir_info", {}).get("editable"))


def _installed(found: Distribution) -> Iterator[File]:
    for file in found.files or ():
        path = PurePosixPath(file.as_posix())
        is_outside = path.is_absolute() or ".." in path.parts
        if is_outside or "__pycache__" in path.parts or path.name in _INSTALLER:
            continue  # scripts lie outside: the image starts modules
        place = Path(str(file.locate()))
        if place.is_file():
            yield File(f"{PACKAGES}/{path}", place.read_bytes(), _mode(place))


def _linked(found: Distribution) -> Iterator[File]:
    name = str(found.metadata["Name"])
    package = name.replace("-", "_").replace(".", "_")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"{name} is installed as a link, and its package cannot be found: install it properly")
    yield from tree_files(Path(spec.submodule_search_locations[0]), f"{PACKAGES}/{package}")
    metadata = found.read_text("METADATA") or ""
    yield File(f"{PACKAGES}/{package}-{found.version}.dist-info/METADATA", metadata.encode())


def tree_files(folder: Path, place: str) -> Iterator[File]:
    """Yield the files of a folder, without caches; links are not followed."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} does not exist")
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and _LEFT_OUT.isdisjoint(inner.parts):
            yield File(f"{place}/{inner.as_posix()}", path.read_bytes(), _mode(path))


def _mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644
