"""Compares an answer with the recorded one, field by field, under a renaming."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.contract.renaming import Renaming, is_address, is_age, is_time, is_uid, masked

#: Values that servers sign, or names derived from signed values.
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+|JTI=[0-9a-f-]{36}")
#: Parts of messages that come in any order, since Go iterates over maps in random order.
_PARTS = re.compile(r", |\n|; ")
#: A rejected patch is quoted in the patch's own spelling and order.
_QUOTED = re.compile(r'((?:patch: |^)Invalid value: )"(?:\{|map\[).*"(?=: )', re.DOTALL)


def _parts(text: str) -> list[str]:
    head, mark, rest = masked(text).partition("is invalid: ")
    if not mark:
        head, rest = "", masked(text)
    return [head, *sorted({part.strip("[] ") for part in _PARTS.split(_QUOTED.sub(r"\1<object>", rest))})]


class Comparison:
    """Compares one answer with the recording and learns which values correspond."""

    def __init__(self, renaming: Renaming, *, one_second: bool) -> None:
        self._renaming = renaming
        self._one_second = one_second

    def differences(self, recorded: Any, actual: Any) -> list[str]:
        """Yield every place at which two documents differ."""
        return list(self._value(recorded, actual, "", ""))

    def _value(self, recorded: Any, actual: Any, path: str, key: str) -> Iterator[str]:
        if isinstance(recorded, dict) and isinstance(actual, dict):
            yield from self._maps(recorded, actual, path)
        elif isinstance(recorded, list) and isinstance(actual, list):
            yield from self._lists(recorded, actual, path, key)
        elif not self._same(recorded, actual, key):
            yield f"{path or '/'}: recorded {_short(recorded)}, got {_short(actual)}"

    def _maps(self, recorded: dict[str, Any], actual: dict[str, Any], path: str) -> Iterator[str]:
        if recorded.get("kind") == "Status" and actual.get("kind") == "Status":
            recorded, actual = dict(recorded), dict(actual)
            yield from self._messages(recorded.pop("message", ""), actual.pop("message", ""), path)
        if any(key.startswith('k:{"uid"') for key in recorded):
            recorded = {self._renaming.translate(key): value for key, value in recorded.items()}
        # Names are learned before they occur elsewhere.
        for key in sorted(recorded.keys() | actual.keys(), key=lambda key: (key != "metadata", key != "name", key)):
            below = f"{path}/{key}"
            if key not in actual:
                yield f"{below}: missing, recorded {_short(recorded[key])}"
            elif key not in recorded:
                yield f"{below}: unexpected {_short(actual[key])}"
            else:
                yield from self._value(recorded[key], actual[key], below, key)

    def _messages(self, recorded: str, actual: str, path: str) -> Iterator[str]:
        wanted, *others = self._translations(recorded)
        if "resource version" in recorded:
            # The current version of the recorded server is meaningless here.
            wanted, actual = re.sub(r"\d+", "N", wanted), re.sub(r"\d+", "N", actual)
        if all(_parts(text) != _parts(actual) for text in (wanted, *others)):
            yield f"{path}/message: recorded {_short(wanted, 7000)}, got {_short(actual, 7000)}"

    def _lists(self, recorded: list[Any], actual: list[Any], path: str, key: str) -> Iterator[str]:
        if key == "causes":
            recorded, actual = _sorted_causes(recorded, self._renaming), _sorted_causes(actual, None)
        elif key in ("resourceRules", "nonResourceRules"):
            recorded, actual = sorted(recorded, key=json.dumps), sorted(actual, key=json.dumps)
        elif key == "managedFields" and not self._one_second:
            recorded, actual = _sorted_entries(recorded), _sorted_entries(actual)
        if len(recorded) != len(actual):
            yield f"{path}: recorded {len(recorded)} items, got {len(actual)}: {_short(recorded)} / {_short(actual)}"
            return
        for index, (left, right) in enumerate(zip(recorded, actual, strict=True)):
            yield from self._value(left, right, f"{path}/{index}", key)

    def _same(self, recorded: Any, actual: Any, key: str) -> bool:
        if type(recorded) is not type(actual) and not (_is_number(recorded) and _is_number(actual)):
            return False
        if recorded == actual and key != "resourceVersion":
            return True
        if isinstance(recorded, str):
            return self._same_text(recorded, actual, key)
        return key in ("nodePort", "healthCheckNodePort")

    def _same_text(self, recorded: str, actual: str, key: str) -> bool:
        if key == "resourceVersion":
            if not recorded.isdigit() or not actual.isdigit():
                return recorded == actual
            return self._renaming.learn_version(recorded, actual)
        for test in (is_time, is_age):
            if test(recorded):
                return test(actual)
        if _are_made_up(recorded, actual, key):
            return self._renaming.learn(recorded, actual)
        if key == "cells" and _NODE_PORT.search(recorded):
            return _NODE_PORT.sub(":N/", recorded) == _NODE_PORT.sub(":N/", actual)
        return any(_parts(wanted) == _parts(actual) for wanted in self._translations(recorded))

    def _translations(self, recorded: str) -> tuple[str, str, str]:
        """Yield the possible forms of a recorded text: a number in it may be a version, or the same everywhere."""
        named = self._renaming.translate(recorded)
        return self._renaming.translate_versions(named), named, recorded


#: A port of a node in the table of Services, such as ``80:31872/TCP``; each server allocates its own.
_NODE_PORT = re.compile(r":3\d{4}/")


def _are_made_up(recorded: str, actual: str, key: str) -> bool:
    """Return whether both texts are values that each server generates: uids, addresses, tokens, suffixes of names."""
    if any(test(recorded) and test(actual) for test in (is_uid, is_address, _TOKEN.fullmatch)):
        return True
    return (key == "continue" and bool(recorded and actual)) or (key == "name" and _are_generated(recorded, actual))


def _are_generated(recorded: str, actual: str) -> bool:
    """Return whether two names differ only in their generated suffix."""
    return recorded[:-5] == actual[:-5] and len(recorded) == len(actual) and recorded[-6:-5] == "-"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _sorted_causes(causes: list[Any], renaming: Renaming | None) -> list[Any]:
    """Return causes in an order of their own, each once: Kubernetes repeats what several of its parts have found."""

    def order(cause: Any) -> tuple[str, str, str]:
        message = cause.get("message", "")
        if renaming is not None:
            message = renaming.translate_versions(renaming.translate(message))
        return cause.get("field", ""), "".join(_parts(message)), cause.get("reason", "")

    return [cause for _, cause in sorted({order(cause): cause for cause in causes}.items())]


def _sorted_entries(entries: list[Any]) -> list[Any]:
    def order(entry: Any) -> tuple[str, ...]:
        return tuple(str(entry.get(name, "")) for name in ("operation", "manager", "subresource", "apiVersion"))

    return sorted(entries, key=order)


def _short(value: Any, limit: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
