"""Makes untrusted texts safe to print on a terminal.

A status, an event or the name of a field can contain anything. Escape sequences could clear the screen, forge lines,
set the clipboard or, on some terminals, type commands; marks of the writing direction could show a name as another.
"""

from typing import Final

#: Characters of category Cf that change nothing but the look of a word: joiners of emoji and of some scripts.
_HARMLESS: Final = frozenset("\u200c\u200d")


def printable(text: str) -> str:
    r"""Return a text on one line, with every character that a terminal may act upon as an escape such as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _HARMLESS else _escaped(char) for char in text)


def printable_json(text: str) -> str:
    r"""Return a JSON document that means the same, with such characters as ``\u009b``; its line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" or char in _HARMLESS else _json_escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _json_escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
