"""What differs between two servers that behave alike: uids, versions, times, generated names, addresses.

The renaming is learned: if the recording and the answer have such a value at the same place, the two correspond from
then on, and every later request and answer is translated.
"""

import re
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"10\.0\.0\.\d{1,3}")
_AGE = re.compile(r"\d+[smhdy](?:\d+[smhdy])?|<unknown>|<invalid>")
_AGO = re.compile(r"\(\w+ ago\)")


class Renaming:
    """Values of the recording and the corresponding values of this server."""

    def __init__(self) -> None:
        self._here: dict[str, str] = {}

    def learn(self, recorded: str, actual: str) -> bool:
        """Record that two values correspond; return false if the recorded one already corresponds to another."""
        known = self._here.setdefault(recorded, actual)
        return known == actual

    def here(self, recorded: str) -> str | None:
        """Return the value that corresponds to a recorded one."""
        return self._here.get(recorded)

    def translate(self, text: str) -> str:
        """Translate every known value in a text, the longest first."""
        for recorded in sorted(self._here, key=len, reverse=True):
            if len(recorded) > 3 and recorded in text and not recorded.isdigit():
                text = text.replace(recorded, self._here[recorded])
        return text

    def translate_versions(self, text: str) -> str:
        """Translate known versions that stand alone in a text and are not part of a uid."""

        def swap(match: re.Match[str]) -> str:
            return self._here.get(f"rv:{match[0]}", match[0])

        return re.sub(r"(?<![\w.-])\d+(?![\w.-])", swap, text)

    def translated_version(self, recorded: str) -> str | None:
        """Return the version that corresponds to a recorded one."""
        return self._here.get(f"rv:{recorded}")

    def learn_version(self, recorded: str, actual: str) -> bool:
        """Record that two versions correspond."""
        return self.learn(f"rv:{recorded}", actual)


def is_time(value: Any) -> bool:
    """Return whether a value is a time."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def is_uid(value: Any) -> bool:
    """Return whether a value is a uid."""
    return isinstance(value, str) and _UID.fullmatch(value) is not None


def is_address(value: Any) -> bool:
    """Return whether a value is an address of the service range."""
    return isinstance(value, str) and _ADDRESS.fullmatch(value) is not None


def is_age(value: Any) -> bool:
    """Return whether a value is an age as tables show it."""
    return isinstance(value, str) and _AGE.fullmatch(value) is not None


def masked(text: str) -> str:
    """Replace times and ages in a text."""
    return _AGO.sub("(<age> ago)", _TIME.sub("<time>", text))
