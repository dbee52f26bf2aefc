"""Values that must not be seen: tokens, passwords, private keys."""

from typing import Final, NoReturn, final

_HIDDEN: Final = "<secret>"


@final
class Secret:
    """Text that shows itself only where ``reveal()`` is written; printing, formatting and pickling do not show it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text itself: for the wire, never for a message."""
        return self._value

    def __repr__(self) -> str:
        return _HIDDEN

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")
