"""Semantic versions: ``semver('1.2.3')``; build metadata does not count when they are compared."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

from steersman.cel.checking.overloads import function, member
from steersman.cel.errors import EvaluationError
from steersman.cel.types import BOOL, INT, SEMVER, STRING
from steersman.cel.values.values import UINT_MAX, Opaque
from steersman.golang.text import quoted

_NUMBER = re.compile(r"[0-9]+")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")
_PARTS = 3
_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Version(Opaque):
    """A semantic version; numeric parts of the pre-release are numbers."""

    numbers: tuple[int, int, int]
    prerelease: tuple[int | str, ...]
    build: str = field(default="", compare=False)

    type_name: ClassVar[str] = "kubernetes.Semver"


def parse_version(text: str) -> Version:
    """Read a version that is written strictly."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", _PARTS - 1)
    if len(parts) != _PARTS:
        raise EvaluationError("No Major.Minor.Patch elements found")
    patch, plus, build = parts[2].partition("+")
    patch, dash, prerelease = patch.partition("-")
    numbers = (_number(parts[0], "Major"), _number(parts[1], "Minor"), _number(patch, "Patch"))
    identifiers = tuple(map(_prerelease, prerelease.split("."))) if dash else ()
    if plus:
        for part in build.split("."):
            _check_build(part)
    return Version(numbers, identifiers, build)


def _number(text: str, name: str) -> int:
    if text.strip("0123456789"):
        raise EvaluationError(f"Invalid character(s) found in {name.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name} number must not contain leading zeroes {quoted(text)}")
    return _uint(text)


def _uint(text: str) -> int:
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > _MOST_DIGITS or int(text) > UINT_MAX:
        raise EvaluationError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return _uint(text)
    if not _IDENTIFIER.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _check_build(text: str) -> None:
    if not text:
        raise EvaluationError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(text)}")


def _tolerant(text: str) -> Version:
    """Parse a version that may begin with v, be short, or have leading zeros."""
    parts = text.removeprefix("v").split(".", _PARTS - 1)
    for place, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[place] = stripped if stripped and stripped[0] in "0123456789" else f"0{stripped}"
    if len(parts) < _PARTS and ("+" in parts[-1] or "-" in parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return parse_version(".".join([*parts, "0", "0"][:_PARTS]))


def _parse(text: str, normalize: bool = False) -> Version:
    return _tolerant(text) if normalize else parse_version(text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _parse(text, normalize)
    except EvaluationError:
        return False
    return True


def _rank(version: Version) -> tuple[object, ...]:
    """Return the sort key of a version: a pre-release is less than the release; numbers are less than words."""
    words = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in version.prerelease)
    return (version.numbers, not version.prerelease, words)


def _compare(left: Version, right: Version) -> int:
    first, second = _rank(left), _rank(right)
    return (first > second) - (first < second)


_TWO = (SEMVER, SEMVER)

OVERLOADS = [
    function("semver", "string_to_semver", (STRING,), SEMVER, _parse),
    function("semver", "string_bool_to_semver", (STRING, BOOL), SEMVER, _parse),
    function("isSemver", "is_semver_string", (STRING,), BOOL, _is_semver),
    function("isSemver", "is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver),
    member("isGreaterThan", "semver_is_greater_than", _TWO, BOOL, lambda a, b: _compare(a, b) > 0),
    member("isLessThan", "semver_is_less_than", _TWO, BOOL, lambda a, b: _compare(a, b) < 0),
    member("compareTo", "semver_compare_to", _TWO, INT, _compare),
    member("major", "semver_major", (SEMVER,), INT, lambda version: version.numbers[0]),
    member("minor", "semver_minor", (SEMVER,), INT, lambda version: version.numbers[1]),
    member("patch", "semver_patch", (SEMVER,), INT, lambda version: version.numbers[2]),
]
