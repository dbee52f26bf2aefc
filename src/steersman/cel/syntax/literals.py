"""The values of written strings, bytes and numbers."""

import re

from steersman.cel.values.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(r"\\(?:([abfnrtv\"'\\?`])|([0-7]{3})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_TRIPLE = 3
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def string_value(text: str) -> str:
    """Return what a written string stands for; ``ValueError`` when an escape stands for no character."""
    body, raw = _body(text)
    return body if raw else _ESCAPE.sub(_string_escape, body)


def bytes_value(text: str) -> bytes:
    """Return the bytes that a bytes literal stands for; characters become UTF-8, an escaped ``xff`` is one byte."""
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    parts: list[bytes] = []
    place = 0
    for match in _ESCAPE.finditer(body):
        parts += [body[place : match.start()].encode(), _bytes_escape(match)]
        place = match.end()
    return b"".join([*parts, body[place:].encode()])


def int_value(text: str) -> int:
    """Return the number; ``ValueError`` when it does not fit into 64 bits."""
    number = _integer(text)
    if not INT_MIN <= number <= INT_MAX:
        raise ValueError("invalid int literal")
    return number


def uint_value(text: str) -> Uint:
    """Return the number; ``ValueError`` when it does not fit into 64 bits."""
    number = _integer(text[:-1])
    if number > UINT_MAX:
        raise ValueError("invalid uint literal")
    return Uint(number)


def double_value(text: str) -> float:
    """Return the number; ``ValueError`` when it is too large."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return number


#: No 64-bit number has more digits; longer texts are not parsed.
_MOST_DIGITS = 20


def _integer(text: str) -> int:
    digits = text.lstrip("-").removeprefix("0x").lstrip("0")
    if len(digits) > _MOST_DIGITS:
        return UINT_MAX + 1
    return int(text, 16) if "0x" in text else int(text)


def _body(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = _TRIPLE if len(text) >= 2 * _TRIPLE and text[:_TRIPLE] in ("'''", '"""') else 1
    return text[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n"), raw


def _code(match: re.Match[str]) -> int:
    code = int(match[2], 8) if match[2] else int(match[3] or match[4] or match[5], 16)
    if code > _LAST_CODE_POINT or code in _SURROGATES:
        raise ValueError("invalid unicode code point")
    return code


def _string_escape(match: re.Match[str]) -> str:
    return _SIMPLE[match[1]] if match[1] else chr(_code(match))


def _bytes_escape(match: re.Match[str]) -> bytes:
    if match[1]:
        return _SIMPLE[match[1]].encode()
    if match[2] or match[3]:
        return bytes([_code(match)])
    return chr(_code(match)).encode()
