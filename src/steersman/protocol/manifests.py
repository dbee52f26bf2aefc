"""Manifests: objects in YAML or JSON texts with any number of documents, read strictly and written plainly.

Reading refuses what people do not mean: duplicate keys, keys that are not text, and documents that are built to exhaust
memory (depth, aliases, size). Values follow YAML as Kubernetes reads it; times stay texts.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from math import isfinite
from typing import Any, ClassVar, Final

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from yaml.nodes import ScalarNode

from steersman.errors import DecodeError
from steersman.objects.codec import to_json
from steersman.objects.resource import KubeObject, Unstructured

_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: Characters of one text; a server takes 3 MiB an object, and a file may hold many.
MAX_SIZE: Final = 64 * 1024 * 1024
#: Levels of nesting of one document.
MAX_DEPTH: Final = 200
#: Values that one document may hold once its aliases are followed.
MAX_VALUES: Final = 2_000_000

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_NULL, _BOOL, _INT, _FLOAT = (f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
#: The tags that a mapping or a sequence may have.
_COLLECTIONS = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
#: Stands for ``<<`` among the keys, which are texts.
_MERGE_KEY: Any = object()

#: Plain words that are no text, as Go's library and therefore every server reads them. Unlike in Python's, ``y`` is a
#: truth, ``1e3`` a number, and ``22:22`` neither a number of minutes nor a time, but a text.
_PLAIN: tuple[tuple[str, re.Pattern[str], str], ...] = (
    (_NULL, re.compile(r"(?:~|null|Null|NULL|)\Z"), "~nN\0"),
    (
        _BOOL,
        re.compile(r"(?:y|Y|n|N|(?:[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF))\Z"),
        "yYnNtTfFoO",
    ),
    (_INT, re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)\Z"), "-+0123456789"),
    (_FLOAT, re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?\Z"), "-+.0123456789"),
    (_FLOAT, re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"), "-+."),
    (_MERGE, re.compile(r"<<\Z"), "<"),
)


class _Loader(_SafeLoader):  # type: ignore[misc] # chosen at run time: the C loader where it is built
    """The safe loader, with Go's idea of plain words."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}


class _Dumper(_SafeDumper):  # type: ignore[misc] # chosen at run time: the C dumper where it is built
    """Puts every text in quotes that either library would read as something else, and writes no aliases."""

    # Own lists: those of the base class are shared with every other user of the library.
    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {
        first: list(resolvers) for first, resolvers in _SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:
        """Never write an alias: they are hard to read and to patch."""
        del data
        return True


for _tag, _pattern, _firsts in _PLAIN:
    for _first in _firsts:
        for _table in (_Loader.yaml_implicit_resolvers, _Dumper.yaml_implicit_resolvers):
            _table.setdefault("" if _first == "\0" else _first, []).append((_tag, _pattern))


def _represent_text(dumper: Any, text: str) -> Any:
    """Write texts of several lines as blocks, as people do."""
    return dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text.rstrip("\n") else None)


_Dumper.add_representer(str, _represent_text)


def _truth(text: str) -> bool:
    return text[:1] in "yYtT" or text in ("on", "On", "ON")


def _integer(text: str) -> int:
    digits = text.replace("_", "").lower()
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8), ("0", 8)):
        if digits.startswith(prefix) and len(digits) > len(prefix):
            return sign * int(digits[len(prefix) :], base)
    return sign * int(digits)


def _number(text: str) -> float:
    digits = text.replace("_", "").lower()
    value = float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    if not isfinite(value):
        raise ValueError(text)
    # Without a point or an exponent it is a whole number with leading zeros that is not octal.
    return value if set(digits) & {".", "e"} else int(digits)


_VALUES: dict[str, Callable[[str], Any]] = {
    _NULL: lambda _: None,
    _BOOL: _truth,
    _INT: _integer,
    _FLOAT: _number,
    _TEXT: str,
}


def load(text: str | bytes, *, source: str = "") -> list[dict[str, Any]]:
    """Read every document of a text as JSON; empty documents are left out and ``List`` objects are opened.

    Whatever is wrong is a ``DecodeError`` that names the source, the line and the key.
    """
    return [item for document in load_documents(text, source=source) for item in _opened(document, source)]


def load_documents(text: str | bytes, *, source: str = "") -> list[dict[str, Any]]:
    """Read every document of a text as JSON, just as strictly, whatever it describes: a kubeconfig is no object."""
    if len(text) > MAX_SIZE:
        raise DecodeError(f"{_place(source)}exceeds {MAX_SIZE} bytes")
    return list(_documents(text, source))


def load_objects(text: str | bytes, *, source: str = "") -> list[Unstructured]:
    """Read every object of a text."""
    return [Unstructured(document) for document in load(text, source=source)]


def dump(objects: Iterable[KubeObject | Unstructured | dict[str, Any]]) -> str:
    """Write objects as YAML documents: fields in their order, no aliases, multi-line texts readable."""
    documents = [obj if isinstance(obj, dict) else to_json(obj) for obj in objects]
    return str(
        yaml.dump_all(
            documents,
            Dumper=_Dumper,
            default_flow_style=False,
            sort_keys=False,
            allow_unicode=True,
            explicit_start=len(documents) > 1,
            width=120,
        )
    )


def _documents(text: str | bytes, source: str) -> Iterator[dict[str, Any]]:
    try:
        loader = _Loader(text)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DecodeError(f"{_place(source)}{_what(error)}") from None
    try:
        reader = _Reader(loader, source)
        while (document := reader.next_document()) is not _END:
            if document is not None:
                yield document
    finally:
        loader.dispose()


_END: Any = object()


class _Reader:
    """Makes documents of a parser's events.

    Not of its nodes: the C loader composes those by recursion, and a text of nothing but brackets overflows its stack.
    """

    def __init__(self, loader: Any, source: str) -> None:
        self._loader = loader
        self._source = source
        #: What each anchor of this document stands for, and how many values that is.
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0

    def next_document(self) -> Any:
        """Give the next document, ``None`` for an empty one, ``_END`` after the last."""
        self._anchors, self._values = {}, 0
        event = self._next()
        while not isinstance(event, DocumentStartEvent):
            if isinstance(event, StreamEndEvent):
                return _END
            event = self._next()
        first = self._next()
        document = self._value(first, 0)
        if document is not None and document != "" and not isinstance(document, dict):
            raise self._error(first, f"a document must be an object, not {type(document).__name__}")
        return document or None

    def _next(self) -> Any:
        try:
            return self._loader.get_event()
        except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
            raise DecodeError(f"{_place(self._source)}{_what(error)}") from None

    def _error(self, event: Event, what: str) -> DecodeError:
        mark = event.start_mark
        return DecodeError(f"{_place(self._source)}line {mark.line + 1 if mark else '?'}: {what}")

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if depth > MAX_DEPTH:
            raise self._error(event, f"nested more than {MAX_DEPTH} levels deep")
        before = self._values
        self._count(event, 1)
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
        elif event.tag not in _COLLECTIONS:
            raise self._error(event, f"{event.tag} has no JSON form")
        elif isinstance(event, MappingStartEvent):
            value = self._mapping(depth)
        else:
            value = self._sequence(depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _count(self, event: Event, values: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise self._error(event, f"more than {MAX_VALUES} values: too many aliases?")

    def _alias(self, event: AliasEvent) -> Any:
        if event.anchor not in self._anchors:
            raise self._error(event, f"the alias *{event.anchor} names nothing that is complete")
        value, size = self._anchors[event.anchor]
        self._count(event, size)
        # Its own copy: whoever changes one place must not change another.
        return deepcopy(value)

    def _sequence(self, depth: int) -> list[Any]:
        made = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            made.append(self._value(event, depth + 1))
        return made

    def _mapping(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._key(event)
            if key is _MERGE_KEY:
                merged = {**self._merged(event, depth), **merged}
            elif key in made:
                raise self._error(event, f"the key {key!r} is there twice")
            else:
                made[key] = self._value(self._next(), depth + 1)
        return {**merged, **made} if merged else made

    def _key(self, event: Any) -> Any:
        if not isinstance(event, ScalarEvent):
            raise self._error(event, "a key is not text but a collection or an alias")
        tag = self._tag(event)
        if tag == _MERGE:
            return _MERGE_KEY
        if tag != _TEXT:
            raise self._error(event, f"the key {event.value!r} is not text: put it in quotes")
        return event.value

    def _merged(self, event: Event, depth: int) -> dict[str, Any]:
        """Give what a ``<<`` key brings in; earlier ones of a list win."""
        value = self._value(self._next(), depth + 1)
        merged: dict[str, Any] = {}
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise self._error(event, "'<<' merges objects only")
            merged = {**source, **merged}
        return merged

    def _tag(self, event: ScalarEvent) -> str:
        if event.tag is not None and event.tag != "!":
            return event.tag
        return str(self._loader.resolve(ScalarNode, event.value, event.implicit))

    def _scalar(self, event: ScalarEvent) -> Any:
        tag = self._tag(event)
        make = _VALUES.get(tag)
        if make is None:
            raise self._error(event, f"{tag} has no JSON form")
        try:
            return make(event.value)
        except (ValueError, IndexError):
            raise self._error(event, f"{event.value!r} is no {tag.rpartition(':')[2]} that JSON has") from None


def _opened(document: dict[str, Any], source: str) -> list[dict[str, Any]]:
    """Give the items of a ``v1/List``, or the object itself; refuse what is no object."""
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        raise DecodeError(f"{_place(source)}a document needs apiVersion and kind, got {sorted(document)[:5]}")
    if (api_version, kind) != ("v1", "List"):
        return [document]
    items = document.get("items") or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DecodeError(f"{_place(source)}the items of a List must be objects")
    return [found for item in items for found in _opened(item, source)]


def _place(source: str) -> str:
    return f"{source}: " if source else ""


def _what(error: Exception) -> str:
    """Say what a YAML error says, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return " ".join(str(error).split())
