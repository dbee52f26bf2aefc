"""Strings: parts, places, splitting, joining, quoting."""

from typing import Any

from steersman.cel.checking.overloads import function, member
from steersman.cel.cost.factors import PER_CALL_LIMIT, TRAVERSAL
from steersman.cel.errors import CostExceeded, EvaluationError
from steersman.cel.evaluation.formatting import format_string
from steersman.cel.types import DYN, INT, STRING, list_of
from steersman.cel.values.values import display
from steersman.golang.text import ESCAPES

#: Looking at a longer text costs more than one evaluation may.
_LONGEST_RESULT = int(PER_CALL_LIMIT / TRAVERSAL)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code + 32: code for code in range(ord("A"), ord("Z") + 1)}
#: What Go calls white space.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = str.maketrans(ESCAPES)


def _out_of_range(place: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {place}")


def _char_at(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise _out_of_range(place)
    return text[place : place + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_of_from(text: str, part: str, start: int) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(text) * max(len(new), 1) > _LONGEST_RESULT:
        found = text.count(old) if count < 0 else min(text.count(old), count)
        _check_length(len(text) + found * (len(new) - len(old)))
    return text.replace(old, new, count)


def _check_length(length: int) -> None:
    """Reject a text before it is built if no evaluation could afford to look at it."""
    if length > _LONGEST_RESULT:
        raise CostExceeded


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


def _split_some(text: str, separator: str, count: int) -> list[str]:
    if count == 0:
        return []
    if count < 0:
        return _split(text, separator)
    if separator:
        return text.split(separator, count - 1)
    if len(text) <= count:
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_between(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, end):
        if not 0 <= place <= len(text):
            raise _out_of_range(place)
    return text[start:end]


def _join(parts: Any, separator: str = "") -> str:
    texts = list(parts)
    for text in texts:
        if text.__class__ is not str:
            raise EvaluationError(f"join: invalid input: {display(text)}")
    _check_length(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


_PARTS = list_of(STRING)

OVERLOADS = [
    member("charAt", "string_char_at_int", (STRING, INT), STRING, _char_at),
    member("indexOf", "string_index_of_string", (STRING, STRING), INT, _index_of),
    member("indexOf", "string_index_of_string_int", (STRING, STRING, INT), INT, _index_of),
    member("lastIndexOf", "string_last_index_of_string", (STRING, STRING), INT, _last_index_of),
    member("lastIndexOf", "string_last_index_of_string_int", (STRING, STRING, INT), INT, _last_index_of_from),
    member("lowerAscii", "string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER)),
    member("replace", "string_replace_string_string", (STRING, STRING, STRING), STRING, _replace),
    member("replace", "string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, _replace),
    member("split", "string_split_string", (STRING, STRING), _PARTS, _split),
    member("split", "string_split_string_int", (STRING, STRING, INT), _PARTS, _split_some),
    member("substring", "string_substring_int", (STRING, INT), STRING, _substring),
    member("substring", "string_substring_int_int", (STRING, INT, INT), STRING, _substring_between),
    member("trim", "string_trim", (STRING,), STRING, lambda text: text.strip(_SPACE)),
    member("upperAscii", "string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER)),
    member("format", "string_format", (STRING, list_of(DYN)), STRING, format_string),
    function("strings.quote", "strings_quote", (STRING,), STRING, _quote),
    member("join", "list_join", (_PARTS,), STRING, _join),
    member("join", "list_join_string", (_PARTS, STRING), STRING, _join),
]
