"""Requirements and their environment markers, evaluated for the image and not for this machine.

The Python of the base may be another patch release than the one that runs `steer`: a package that is needed only before
3.11.3 is not installed here, and the operator would not start there. The grammar is that of PEP 508.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from steersman.errors import ConfigError

_REQUIREMENT: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<rest>[^;]*)(?:;(?P<marker>.*))?",
    re.DOTALL,
)
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<operator>===|~=|==|!=|<=|>=|<|>)|(?P<bracket>[()])|(?P<word>[A-Za-z_.]+))"""
)
#: Variables whose values are versions.
_VERSIONS: Final = frozenset({"python_version", "python_full_version", "implementation_version"})
_VERSION: Final = re.compile(r"(\d+(?:\.\d+)*)(?:(a|b|rc|c)(\d+))?(\+?)")
_MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
#: Where a release without a suffix stands among its pre-releases.
_FINAL: Final = ("z", 0)

Environment = Mapping[str, str]


def target_environment(python: str, platform: str) -> dict[str, str]:
    """Return the variables of markers inside an image with a CPython of a full version, such as ``3.11.2``."""
    system, _, machine = platform.partition("/")
    return {
        "implementation_name": "cpython",
        "implementation_version": python,
        "os_name": "posix",
        "platform_machine": _MACHINES.get(machine, machine),
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": system.capitalize(),
        "platform_version": "",
        "python_full_version": python,
        "python_version": ".".join(python.split(".")[:2]),
        "sys_platform": system,
        "extra": "",
    }


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a project or a package."""

    #: Normalised, as package indexes compare names.
    name: str
    extras: frozenset[str]
    marker: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a requirement such as ``redis[hiredis]>=5; python_version < "3.12"``."""
        match = _REQUIREMENT.fullmatch(text)
        if match is None:
            raise ConfigError(f"{text!r} is not a requirement")
        extras = frozenset(normal_name(extra) for extra in (match["extras"] or "").split(",") if extra.strip())
        return cls(normal_name(match["name"]), extras, (match["marker"] or "").strip())

    def is_needed(self, environment: Environment, extras: frozenset[str] = frozenset()) -> bool:
        """Return whether it is needed in an environment, by a package that was asked for with some extras."""
        if not self.marker:
            return True
        return any(evaluate(self.marker, {**environment, "extra": extra}) for extra in ("", *extras))


def normal_name(name: str) -> str:
    """Return the name of a package or an extra as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def evaluate(marker: str, environment: Environment) -> bool:
    """Return whether a marker holds in an environment; ``ConfigError`` if it cannot be read."""
    parser = _Parser(_tokens(marker), environment, marker)
    value = parser.either()
    if parser.tokens:
        raise ConfigError(f"the marker {marker!r} cannot be read after {parser.tokens[0]!r}")
    return value


def _tokens(marker: str) -> list[str]:
    found, position, text = [], 0, marker.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ConfigError(f"the marker {marker!r} cannot be read from {text[position:]!r}")
        found.append(match[0].strip())
        position = match.end()
    return found


class _Parser:
    """Evaluates while it reads: markers are short, and each is read once."""

    def __init__(self, tokens: list[str], environment: Environment, marker: str) -> None:
        self.tokens = tokens
        self._environment = environment
        self._marker = marker

    def either(self) -> bool:
        value = self._both()
        while self._accept("or"):
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._one()
        while self._accept("and"):
            value = self._one() and value
        return value

    def _one(self) -> bool:
        if self._accept("("):
            value = self.either()
            if not self._accept(")"):
                raise ConfigError(f"the marker {self._marker!r} lacks a closing bracket")
            return value
        left, operator, right = self._next(), self._operator(), self._next()
        is_version = left in _VERSIONS or right in _VERSIONS
        return _holds(self._value(left), operator, self._value(right), is_version=is_version)

    def _operator(self) -> str:
        token = self._next()
        if token == "not":  # noqa: S105 - a word of the grammar
            return f"not {self._next()}"
        return token

    def _accept(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False

    def _next(self) -> str:
        if not self.tokens:
            raise ConfigError(f"the marker {self._marker!r} ends too early")
        return self.tokens.pop(0)

    def _value(self, token: str) -> str:
        if token[:1] in ("'", '"'):
            return token[1:-1]
        if token not in self._environment:
            raise ConfigError(f"the marker {self._marker!r} names {token!r}, which is not known")
        return self._environment[token]


def _holds(left: str, operator: str, right: str, *, is_version: bool) -> bool:
    match operator:
        case "in":
            return left in right
        case "not in":
            return left not in right
        case "===":
            return left == right
        case "==" | "!=":
            return _equals(left, right, is_version=is_version) is (operator == "==")
        case "~=":
            release = right.split(".")[:-1]
            return _key(left) >= _key(right) and left.split(".")[: len(release)] == release
    one: Any = _key(left) if is_version else left
    other: Any = _key(right) if is_version else right
    comparisons: dict[str, bool] = {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}
    if operator not in comparisons:
        raise ConfigError(f"{operator!r} is not an operator of markers")
    return comparisons[operator]


def _equals(left: str, right: str, *, is_version: bool) -> bool:
    if not is_version:
        return left == right
    if right.endswith(".*"):
        prefix = right[:-2].split(".")
        return left.split(".")[: len(prefix)] == prefix
    return _key(left) == _key(right)


def _key(version: str) -> tuple[tuple[int, ...], tuple[str, int]]:
    """Return what versions are ordered by: the release without trailing zeros, then the pre-release."""
    match = _VERSION.match(version)
    if match is None:
        raise ConfigError(f"{version!r} in a marker is not a version")
    release = [int(part) for part in match[1].split(".")]
    while release and not release[-1]:
        release.pop()
    return tuple(release), (match[2], int(match[3])) if match[2] else _FINAL
