"""Errors of Go's JSON scanner: nesting that is too deep, and the first wrong character of a text that is not JSON.

The second is only used after decoding has failed.
"""

import re
from itertools import accumulate
from typing import Final

_BLANK: Final = " \t\r\n"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_WORDS: Final = {"t": "true", "f": "false", "n": "null"}
_ESCAPED: Final = frozenset('"\\/bfnrt')
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_END: Final = "unexpected end of JSON input"
_SPECIAL: Final = {"'": r"'\''", '"': "'\"'"}
#: Levels of nesting that Go's scanner accepts.
_MAX_DEPTH: Final = 10_000
#: A string, closed or not: an open one ends with the text, so that no part of it is scanned twice.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS: Final = bytes(code for code in range(256) if code not in _STEPS)


def is_too_deep(raw: bytes) -> bool:
    """Return whether a text nests deeper than Go accepts.

    How deep our decoder gets depends on the version of Python and on the stack of the thread.
    """
    if raw.count(b"{") + raw.count(b"[") <= _MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)
    return any(depth > _MAX_DEPTH for depth in accumulate(_STEPS[bracket] for bracket in brackets))


class _FaultError(Exception):
    """The text is wrong here; the message is the scanner's."""


def _shown(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char.isprintable():
        return f"'{char}'"
    return {"\t": r"'\t'", "\n": r"'\n'", "\r": r"'\r'"}.get(char) or f"'\\x{ord(char):02x}'"


class _Scanner:
    """Reads a text up to the first wrong character. Nesting is an explicit stack, so it does not recurse."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, where: str) -> _FaultError:
        """Return the error about the current character."""
        if self.at >= len(self.text):
            return _FaultError(_END)
        return _FaultError(f"invalid character {_shown(self.text[self.at])} {where}")

    def skip_blanks(self) -> str:
        while self.at < len(self.text) and self.text[self.at] in _BLANK:
            self.at += 1
        return self.text[self.at : self.at + 1]

    def string(self) -> None:
        self.at += 1
        while True:
            char = self.text[self.at : self.at + 1]
            if not char or char < " ":
                raise self.fail("in string")
            self.at += 1
            if char == '"':
                return
            if char == "\\":
                self.escape()

    def escape(self) -> None:
        char = self.text[self.at : self.at + 1]
        if char == "u":
            for _ in range(4):
                self.at += 1
                if self.text[self.at : self.at + 1] not in _HEX:
                    raise self.fail("in \\u hexadecimal character escape")
        elif char not in _ESCAPED:
            raise self.fail("in string escape code")
        self.at += 1

    def scalar(self, char: str) -> None:
        if char == '"':
            self.string()
        elif char in _WORDS:
            self.word(_WORDS[char])
        elif char == "-" or char.isdecimal():
            self.number()
        else:
            raise self.fail("looking for beginning of value")

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            self.at += 1
            raise self.fail("in numeric literal")
        self.at = match.end()
        # Characters that may follow in a number, but are not valid here.
        where = {".": "after decimal point in numeric literal", "e": "in exponent of numeric literal"}
        following = self.text[self.at : self.at + 1].lower()
        if following in where:
            self.at += 1
            raise self.fail(where[following])

    def word(self, word: str) -> None:
        for wanted in word:
            if self.text[self.at : self.at + 1] != wanted:
                raise self.fail(f"in literal {word} (expecting '{wanted}')")
            self.at += 1

    def key(self) -> None:
        if self.skip_blanks() != '"':
            raise self.fail("looking for beginning of object key string")
        self.string()
        if self.skip_blanks() != ":":
            raise self.fail("after object key")
        self.at += 1

    def opened(self, char: str, stack: list[str]) -> bool:
        """Enter an object or a list; return whether a value is expected next."""
        self.at += 1
        closing = "}" if char == "{" else "]"
        if self.skip_blanks() == closing:
            self.at += 1
            return False
        stack.append(closing)
        if closing == "}":
            self.key()
        return True

    def after_value(self, stack: list[str]) -> None:
        """Close what ends here, up to the next value; at the top level, nothing may follow."""
        while stack:
            char = self.skip_blanks()
            if char == stack[-1]:
                stack.pop()
                self.at += 1
            elif char == ",":
                self.at += 1
                if stack[-1] == "}":
                    self.key()
                return
            else:
                raise self.fail("after object key:value pair" if stack[-1] == "}" else "after array element")
        if self.skip_blanks():
            raise self.fail("after top-level value")

    def run(self) -> None:
        stack: list[str] = []
        while True:
            char = self.skip_blanks()
            if char and char in "{[":
                if self.opened(char, stack):
                    continue
            else:
                self.scalar(char)
            self.after_value(stack)
            if not stack:
                return


def json_fault(text: str) -> str:
    """Return the scanner's message about a text; empty if the text is JSON."""
    try:
        _Scanner(text).run()
    except _FaultError as fault:
        return str(fault)
    return ""
