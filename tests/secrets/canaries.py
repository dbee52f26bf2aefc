"""Canaries: fake secrets, each planted in one place, and searched for in everything that is written."""

import base64
import gc
import io
import logging
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from urllib.parse import quote

from steersman.manager.process.logs import JsonFormatter, TextFormatter
from tests.support.suite_process import unfreeze

_WRITTEN = "steersman"


def _forms(value: str) -> set[str]:
    """Return the forms of a value: unchanged, quoted for a URL, and inside base64 at any offset."""
    forms = {value, quote(value, safe="")}
    for offset in range(3):
        # Characters at both ends depend on their neighbours.
        encoded = base64.b64encode(b"x" * offset + value.encode()).decode().rstrip("=")
        forms.add(encoded[4 if offset else 0 : -2])
    return forms


@dataclass
class Canaries:
    """The planted secrets, and the texts that were written since."""

    planted: dict[str, str] = field(default_factory=dict)
    #: Texts by where they were seen.
    seen: dict[str, list[str]] = field(default_factory=dict)

    def plant(self, place: str) -> str:
        """Return the secret of a place, always the same one."""
        return self.planted.setdefault(place, f"canary-{len(self.planted):02}-7Zq{len(self.planted) * 7919 + 11:06}Kw")

    def see(self, where: str, text: object) -> None:
        """Record a text that was written."""
        self.seen.setdefault(where, []).append(text if isinstance(text, str) else repr(text))

    def see_failure(self, where: str, error: BaseException) -> None:
        """Record an exception: text, repr, traceback, and the same of every exception that it refers to.

        ``raise … from None`` only keeps the context out of Python's own traceback. It stays in ``__context__``, where
        error trackers and debuggers read it.
        """
        for one in _chain(error):
            self.see(where, str(one))
            self.see(where, repr(one))
            self.see(where, "".join(traceback.format_exception(one)))

    def leaks(self) -> list[str]:
        """Return every canary that was seen, with where."""
        found = []
        for where, texts in self.seen.items():
            text = "\n".join(texts)
            found += [
                f"{place} in {where}"
                for place, value in self.planted.items()
                if any(form in text for form in _forms(value))
            ]
        return found

    @contextmanager
    def logging(self) -> Iterator[None]:
        """Record every log line of the block, of every logger and level, in both formats."""
        root, handlers = logging.getLogger(), []
        for formatter in (TextFormatter(), JsonFormatter()):
            handler = logging.StreamHandler(io.StringIO())
            handler.setFormatter(formatter)
            handlers.append(handler)
            root.addHandler(handler)
        level = root.level
        root.setLevel(logging.NOTSET + 1)
        try:
            yield
        finally:
            root.setLevel(level)
            for handler in handlers:
                root.removeHandler(handler)
                self.see("logs", handler.stream.getvalue())

    def see_reprs(self) -> int:
        """Record the repr of every living object of the framework's classes; return how many there are."""
        count = 0
        for thing in _living():
            count += 1
            try:
                self.see(f"repr of {type(thing).__module__}.{type(thing).__qualname__}", repr(thing))
            except Exception as error:  # noqa: BLE001 - half-made objects may have no repr; that is for other tests
                self.see("repr that failed", repr(error))
        return count


def _is_ours(thing: Any) -> bool:
    module = getattr(type(thing), "__module__", None)
    return isinstance(module, str) and module.startswith(f"{_WRITTEN}.") and not isinstance(thing, type)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it refers to, suppressed or not."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def _living() -> Iterable[Any]:
    """Return living objects of our classes, also those that the collector does not track."""
    # An exception whose own frames refer to it is garbage that cannot be written; when it is collected differs between
    # Python versions.
    unfreeze()  # the suite freezes modules, whose caches are looked into, too
    gc.collect()
    # Inspecting a module itself adds nothing: its namespace is a tracked dict. On Python 3.12 it also does harm:
    # _asyncio then returns the dead objects of its free list, and taking references to those makes the next collection
    # endless.
    tracked = [thing for thing in gc.get_objects() if not isinstance(thing, ModuleType)]
    found = {id(thing): thing for thing in tracked if _is_ours(thing)}
    for thing in tracked:
        for inner in gc.get_referents(thing):
            if id(inner) not in found and _is_ours(inner):
                found[id(inner)] = inner
    return found.values()
