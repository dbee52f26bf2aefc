"""Searching with a constant pattern, fast where that is safe.

RE2 needs linear time for any pattern, but each call from Python costs microseconds. Python's own engine is faster for
short texts; it is used only for patterns that mean the same to both and cannot backtrack far.
"""

import re
from collections.abc import Callable
from typing import Any

from steersman.cel.library.regex import compiled

Search = Callable[[str], Any]

_LITERAL = r"[A-Za-z0-9_ \-/:@,=%#~&!;'\"<>]|\\[.\-/+*?()\[\]{}^$|\\]"
_CLASS = r"\[\^?(?:[A-Za-z0-9_ .:/@+*?(){}$,=%#~&!;'\"<>-]|\\[\]\\.\-/dw])+\]"
_TOKEN = re.compile(
    rf"(?P<atom>{_LITERAL}|{_CLASS}|\.|\\[dw])(?P<repeat>[*+?]|\{{[0-9]{{1,2}}(?:,[0-9]{{0,2}})?\}})?(?![*+?])"
    r"|(?P<open>\((?:\?:)?)|(?P<close>\)\??(?![*+?{]))|(?P<choice>\|)"
)
#: Repetitions in one pattern up to which a text of that many characters is searched quickly, whatever it is.
_MOST_REPEATS = 2
_LONGEST_TEXT = 256
_LONGEST_PATTERN = 1000
#: Python reserves these inside of character classes.
_SET_OPERATION = re.compile(r"--|&&|~~")
_DEEPEST_GROUP = 2


def _translated(pattern: str) -> str | None:
    """Write a simple pattern for Python's engine; ``None`` when it is not simple."""
    if len(pattern) > _LONGEST_PATTERN or _SET_OPERATION.search(pattern):
        return None
    body = pattern.removeprefix("^")
    ends = body.endswith("$") and not body.endswith("\\$")
    body = body[:-1] if ends else body
    repeats = depth = place = 0
    while place < len(body):
        match = _TOKEN.match(body, place)
        if match is None:
            return None
        repeats += match["repeat"] is not None and match["repeat"] != "?"
        depth += (match["open"] is not None) - (match["close"] is not None)
        if repeats > _MOST_REPEATS or not 0 <= depth <= _DEEPEST_GROUP:
            return None
        place = match.end()
    if depth:
        return None
    return ("^" if pattern.startswith("^") else "") + body + (r"\Z" if ends else "")


def searcher(pattern: str) -> Search:
    """Return a function that searches a text for the pattern; raises ``PatternError``."""
    careful: Search = compiled(pattern).search
    translated = _translated(pattern)
    if translated is None:
        return careful
    quick = re.compile(translated, re.ASCII).search

    def search(text: str) -> Any:
        return quick(text) if len(text) <= _LONGEST_TEXT else careful(text)

    return search
