"""Property names that CEL cannot spell: how they are written in rules, and back."""

import re

RESERVED = frozenset(
    {
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_SPECIAL = re.compile(r"__|[-./]")
_WORDS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_CHARACTERS = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_ESCAPED = re.compile(r"__[^_]+__")


def escape(name: str) -> str | None:
    """Return a property name as an identifier; ``None`` if rules cannot name it."""
    if not _NAME.fullmatch(name):
        return None
    if name in RESERVED:
        return f"__{name}__"
    return _SPECIAL.sub(lambda match: _WORDS[match[0]], name)


def unescape(identifier: str) -> str | None:
    """Return the property name that an identifier stands for; ``None`` for an unknown escape."""
    if "__" not in identifier:
        return identifier
    broken = False

    def replace(match: re.Match[str]) -> str:
        nonlocal broken
        word = match[0][2:-2]
        if word in RESERVED:
            broken = broken or len(match[0]) != len(identifier)
            return word
        broken = broken or word not in _CHARACTERS
        return _CHARACTERS.get(word, "")

    plain = _ESCAPED.sub(replace, identifier)
    return None if broken else plain
