"""English plurals of kinds: where a kind is served unless its class says otherwise."""

from typing import Final

_SIBILANTS: Final = ("s", "x", "z", "ch", "sh")
_VOWELS: Final = frozenset("aeiou")


def plural_of(kind: str) -> str:
    """Give the plural of a kind in lower case: `FooBar` → `foobars`, `Policy` → `policies`, `Mgors` → `mgorses`."""
    word = kind.lower()
    if word.endswith(_SIBILANTS):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}s"
