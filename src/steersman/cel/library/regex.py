"""Regular expressions: ``find``, ``findAll``, and how patterns are compiled.

The engine is RE2, whose syntax Kubernetes uses; its time is linear in the text for every pattern.
"""

import re
from functools import lru_cache
from typing import Any

import re2

from steersman.cel.checking.overloads import member
from steersman.cel.errors import EvaluationError
from steersman.cel.types import INT, STRING, list_of

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

#: RE2's message for an invalid pattern, and Go's.
_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid character class range": "invalid character class range",
    "invalid character class": "invalid character class",
    "invalid escape sequence": "invalid escape sequence",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "invalid UTF-8": "invalid UTF-8",
}
#: ``\C`` matches half a character: RE2 has it, Go does not.
_HALF_CHARACTER = re.compile(r"(?:\\[^C]|[^\\])*\\C")


class PatternError(EvaluationError):
    """A pattern is not a regular expression; the text is Go's."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """Compile a pattern, or raise ``PatternError``."""
    if _HALF_CHARACTER.match(pattern):
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        raise PatternError(_explain(error)) from None


def _explain(error: Exception) -> str:
    raw = error.args[0] if error.args else ""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    word, _, part = text.partition(": ")
    explained = f"error parsing regexp: {_WORDS.get(word, word)}"
    return f"{explained}: `{part}`" if part else explained


def _usable(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    match = _usable(pattern).search(text)
    found: str = "" if match is None else match.group()
    return found


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = []
    if limit == 0:
        return found
    end = -1
    for match in _usable(pattern).finditer(text):
        # An empty match right behind another match does not count.
        if match.start() == match.end() == end:
            continue
        end = match.end()
        found.append(match.group())
        if len(found) == limit:
            break
    return found


OVERLOADS = [
    member("find", "string_find_string", (STRING, STRING), STRING, _find),
    member("findAll", "string_find_all_string", (STRING, STRING), list_of(STRING), _find_all),
    member("findAll", "string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), _find_all),
]
