"""Read YAML as Kubernetes does: values of JSON, scalars by Go's rules, bounded work.

One reader for everything: bodies of requests, manifests, kubeconfigs. PyYAML (libyaml, where it is built in) only
parses; what its events mean is decided here, by the rules of the library that kube-apiserver and kubectl use::

    bytes ──PyYAML──► events ──_Builder──► values of JSON + remarks (duplicate keys, keys that are not strings)

* Anchors are decoded once and their *cost* is added at every alias, so a bomb of aliases or merge keys is refused
  before anything is copied. The limits on aliases are Go's own.
* ``<<`` merges in the order in which it is written: a key before it is overwritten, a key after it wins.
* Nothing recurses: a text of brackets only costs as much as it is long. libyaml's own work for a token grows with the
  nesting around it, so nesting counts towards the budget.
* A fault in the syntax is reported before any other, wherever it stands: Go parses a document before it decodes it.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Final, NamedTuple

import msgspec
import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from steersman.errors import DecodeError
from steersman.golang.text import quoted, syntax
from steersman.golang.yaml_scalars import MERGE_TAG, ScalarError, key_text, plain_value, tagged_value
from steersman.json_types import JsonObject, copied

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: Levels of nesting of one document. Go allows ten times as many, and no object has a tenth.
MAX_DEPTH: Final = 1_000
#: Steps of work that one document may take: about one for each value, more inside deep nesting.
MAX_STEPS: Final = 500_000
#: Levels of nesting that cost as much as one more event.
_DEPTH_PER_STEP: Final = 128
#: Characters that aliases may add to a document: the largest body of a request.
_MAX_ALIASED_TEXT: Final = 3 * 1024 * 1024

#: Go's limits on aliases: the share of all decoding that may come from them falls as a document grows.
_FREE_ALIASES, _FREE_STEPS = 100, 1_000
_LOW, _HIGH = 400_000, 4_000_000
_SHARE_LOW, _SHARE_HIGH = 0.99, 0.10

_NO_KEY: Any = object()
_MERGE_KEY: Any = object()


class YamlError(DecodeError):
    """A text is not YAML that can become JSON. ``str()`` is Go's message; ``line`` counts from 1, 0 if unknown."""

    def __init__(self, problem: str, *, line: int = 0, shown_line: int = 0, prefix: str = "yaml: ") -> None:
        super().__init__(f"{prefix}line {shown_line}: {problem}" if shown_line else f"{prefix}{problem}")
        self.problem = problem
        self.line = line


class Remark(NamedTuple):
    """A key that is read differently from how it is written, and the line on which it stands."""

    line: int
    key: str
    #: The key as Go prints it, such as ``"a"`` or ``1``.
    shown: str
    #: Whether the key came with a ``<<``, where overwriting is intended.
    is_merged: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: key {self.shown} already set in map"


class YamlDocument(msgspec.Struct):
    """The value of one document, and remarks about its keys."""

    value: Any
    line: int
    #: Keys that are set more than once; the last one counts.
    duplicates: list[Remark]
    #: Keys that are not strings, such as ``1`` or ``yes``, and became strings.
    renamed: list[Remark]

    @property
    def strict_error(self) -> str:
        """Go's error about duplicate keys in strict decoding; empty if there are none."""
        if not self.duplicates:
            return ""
        return "yaml: unmarshal errors:\n" + "\n".join(f"  {duplicate}" for duplicate in self.duplicates)

    def __repr__(self) -> str:
        return f"<YamlDocument line={self.line} duplicates={len(self.duplicates)}>"


def read_yaml(data: bytes | str) -> YamlDocument:
    """Read the first document of a text and nothing after it, as the API server does; raises ``YamlError``."""
    for document in read_yaml_documents(data):
        return document
    return YamlDocument(None, 1, [], [])


def read_yaml_documents(data: bytes | str, *, max_steps: int = MAX_STEPS) -> Iterator[YamlDocument]:
    """Yield every document of a text; raises ``YamlError``. The budget is that of each document."""
    try:
        parser = _Parser(data)
    except (yaml.YAMLError, UnicodeError) as error:
        raise _syntax_error(error) from None
    try:
        while (line := _next_document(parser)) is not None:
            yield _Builder(parser, line, max_steps).build()
    finally:
        parser.dispose()


def _next_document(parser: Any) -> int | None:
    """Skip to the next document and return its line; ``None`` at the end of the text."""
    while True:
        event = _next_event(parser)
        kind, line = event.__class__, event.start_mark.line
        if kind is DocumentStartEvent:
            return int(line) + 1
        if kind is StreamEndEvent:
            return None


def _next_event(parser: Any) -> Any:  # the stubs call every field of an event optional
    try:
        return parser.get_event()
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise _syntax_error(error) from None


def _syntax_error(error: Exception) -> YamlError:
    """Return PyYAML's error in Go's words and with the line that Go names, which is off by one for parser errors."""
    if isinstance(error, yaml.reader.ReaderError):
        return YamlError(_READER_PROBLEMS.get(str(error.reason), str(error.reason)))
    if not isinstance(error, yaml.MarkedYAMLError):
        return YamlError(" ".join(str(error).split()))
    mark = error.problem_mark
    line = mark.line if mark is not None else 0
    shown = line + 1 if line and isinstance(error, yaml.scanner.ScannerError) else line
    if not line and error.context_mark is not None:
        shown = error.context_mark.line
    return YamlError(str(error.problem or error.context), line=line + 1, shown_line=shown)


#: PyYAML's own reader words it differently from libyaml.
_READER_PROBLEMS: Final = {"special characters are not allowed": "control characters are not allowed"}


class _Anchor:
    """The value of an anchor, once it is complete, and the cost of decoding it."""

    __slots__ = ("is_complete", "steps", "text", "value")

    def __init__(self, steps: int, text: int) -> None:
        #: Until the value is complete: the counts at which it began.
        self.steps, self.text = steps, text
        self.value: Any = None
        self.is_complete = False


class _Sequence:
    """A list that is being read."""

    __slots__ = ("anchor", "line", "value")
    is_key_next: ClassVar[bool] = False

    def __init__(self, anchor: _Anchor | None, line: int) -> None:
        self.anchor, self.line = anchor, line
        self.value: list[Any] = []


class _Mapping:
    """An object that is being read."""

    __slots__ = ("anchor", "key", "line", "value")

    def __init__(self, anchor: _Anchor | None, line: int) -> None:
        self.anchor, self.line = anchor, line
        self.value: JsonObject = {}
        #: The key whose value comes next.
        self.key: Any = _NO_KEY

    @property
    def is_key_next(self) -> bool:
        """Whether what comes next is a key."""
        return self.key is _NO_KEY


class _Builder:
    """Builds the value of one document from the parser's events."""

    def __init__(self, parser: Any, line: int, max_steps: int) -> None:
        self._parser = parser
        self._document = YamlDocument(None, line, [], [])
        self._max_steps = max_steps
        self._anchors: dict[str, _Anchor] = {}
        self._open: list[_Sequence | _Mapping] = []
        #: Go's count of decoded nodes: the document itself is one.
        self._steps = 1
        self._aliased = 0
        #: What nesting adds to the budget.
        self._nesting = 0
        self._text = 0
        self._aliased_text = 0
        #: A fault that Go finds only when it makes JSON of a document that it has decoded.
        self._late: YamlError | None = None

    def build(self) -> YamlDocument:
        """Read up to the end of the document."""
        while (event := _next_event(self._parser)).__class__ is not DocumentEndEvent:
            try:
                _TAKE[event.__class__](self, event)
            except YamlError:
                self._skip_rest()
                raise
        if self._late is not None:
            raise self._late
        self._check_aliases(0)
        return self._document

    def _skip_rest(self) -> None:
        """Check the syntax of the rest of the document: a syntax error takes precedence over any other."""
        if len(self._open) > MAX_DEPTH or self._steps + self._nesting > self._max_steps:
            return
        steps = self._max_steps
        while steps and _next_event(self._parser).__class__ not in (DocumentEndEvent, StreamEndEvent):
            steps -= 1

    def scalar(self, event: Any) -> None:
        """Handle a scalar: a value or a key."""
        text = event.value
        self._count(event, len(text))
        is_open = bool(self._open) and self._open[-1].is_key_next
        if is_open and text == "<<" and (event.implicit[0] or event.tag == MERGE_TAG):
            self._steps -= 1
            self._place(_MERGE_KEY, event)
            return
        try:
            value = self._scalar_value(event)
        except ScalarError as error:
            raise YamlError(str(error), line=event.start_mark.line + 1) from None
        if event.anchor is not None:
            self._complete(self._anchored(event), value)
        self._place(value, event)

    @staticmethod
    def _scalar_value(event: Any) -> Any:
        if event.tag is not None:
            return tagged_value(event.tag, event.value)
        return plain_value(event.value) if event.implicit[0] else event.value

    def mapping(self, event: Any) -> None:
        """Begin an object."""
        self._enter(_Mapping(self._anchored(event), event.start_mark.line + 1), event)

    def sequence(self, event: Any) -> None:
        """Begin a list."""
        self._enter(_Sequence(self._anchored(event), event.start_mark.line + 1), event)

    def end(self, event: Any) -> None:
        """Complete the innermost object or list."""
        done = self._open.pop()
        if done.anchor is not None:
            self._complete(done.anchor, done.value)
        self._place(done.value, event, line=done.line)

    def alias(self, event: Any) -> None:
        """Handle an alias: insert the value of its anchor, and charge the cost of decoding it again."""
        anchor = self._anchors.get(event.anchor)
        line = event.start_mark.line + 1
        if anchor is None:
            raise YamlError(f"unknown anchor '{event.anchor}' referenced", line=line)
        if not anchor.is_complete:
            raise YamlError(f"anchor '{event.anchor}' value contains itself", line=line)
        self._count(event, anchor.text)
        self._steps += anchor.steps
        self._aliased += anchor.steps
        self._aliased_text += anchor.text
        self._check_aliases(line)
        # A copy, so that a change in one place does not change the other. Its cost has been checked.
        self._place(copied(anchor.value), event, is_alias=True)

    def _anchored(self, event: Any) -> _Anchor | None:
        if event.anchor is None:
            return None
        is_scalar = event.__class__ is ScalarEvent
        # A scalar has been counted already.
        anchor = _Anchor(self._steps - is_scalar, self._text - (len(event.value) if is_scalar else 0))
        self._anchors[event.anchor] = anchor
        return anchor

    def _complete(self, anchor: _Anchor | None, value: Any) -> None:
        assert anchor is not None  # noqa: S101 - the caller has checked
        anchor.value, anchor.is_complete = value, True
        anchor.steps, anchor.text = self._steps - anchor.steps, self._text - anchor.text

    def _enter(self, part: _Sequence | _Mapping, event: Any) -> None:
        self._count(event, 0)
        self._open.append(part)
        if len(self._open) > MAX_DEPTH:
            raise YamlError(f"exceeded max depth of {MAX_DEPTH}", line=part.line)

    def _count(self, event: Any, text: int) -> None:
        self._steps += 1
        self._text += text
        self._nesting += len(self._open) // _DEPTH_PER_STEP
        if self._steps + self._nesting > self._max_steps:
            self._refuse_size(event)

    def _refuse_size(self, event: Any) -> None:
        raise YamlError(f"document has more than {self._max_steps} values", line=event.start_mark.line + 1)

    def _check_aliases(self, line: int) -> None:
        too_long = self._aliased_text > _MAX_ALIASED_TEXT
        if self._aliased > _FREE_ALIASES and self._steps > _FREE_STEPS:
            share = (self._steps - _LOW) / (_HIGH - _LOW)
            allowed = _SHARE_LOW - (_SHARE_LOW - _SHARE_HIGH) * min(max(share, 0.0), 1.0)
            too_long = too_long or self._aliased / self._steps > allowed
        if too_long or self._steps > self._max_steps:
            raise YamlError("document contains excessive aliasing", line=line)

    def _place(self, value: Any, event: Any, *, line: int = 0, is_alias: bool = False) -> None:
        """Insert a complete value into the innermost object or list."""
        if not self._open:
            self._document.value = value
            self._check_finite(value, event)
            return
        inner = self._open[-1]
        if inner.__class__ is _Sequence:
            self._check_finite(value, event)
            inner.value.append(value)
        elif inner.key is _NO_KEY:  # type: ignore[union-attr] # a mapping
            inner.key = value if value is _MERGE_KEY else self._key(value, event)  # type: ignore[union-attr]
        else:
            self._pair(inner, value, event, line or event.start_mark.line + 1, is_alias=is_alias)  # type: ignore[arg-type]

    def _pair(self, mapping: _Mapping, value: Any, event: Any, line: int, *, is_alias: bool) -> None:
        key, mapping.key = mapping.key, _NO_KEY
        if key is _MERGE_KEY:
            self._merge(mapping, value, line, is_alias=is_alias)
            return
        text, shown = key
        if text in mapping.value:
            self._document.duplicates.append(Remark(line, text, shown))
        if text is None:
            self._refuse_later(f"{shown}, value: {_shown(value)}", event)
        else:
            self._check_finite(value, event)
            mapping.value[text] = value

    def _merge(self, mapping: _Mapping, value: Any, line: int, *, is_alias: bool) -> None:
        """Merge the members of one or several objects; of several, the first wins."""
        sources = [value]
        if value.__class__ is list and not is_alias:
            self._steps -= 1
            sources = value[::-1]
        for source in sources:
            if source.__class__ is not dict:
                raise YamlError("map merge requires map or sequence of maps as the value", line=line)
            for key, part in source.items():
                if key in mapping.value:
                    self._document.duplicates.append(Remark(line, key, quoted(key), is_merged=True))
                mapping.value[key] = part

    def _key(self, value: Any, event: Any) -> tuple[str | None, str]:
        """Return a key as JSON has it, and as Go shows it; without the former the document cannot become JSON."""
        if value.__class__ is str:
            return value, quoted(value)
        line = event.start_mark.line + 1
        if value.__class__ in (list, dict):
            raise YamlError(f"invalid map key: {_shown(value)}", line=line)
        written = event.value if event.__class__ is ScalarEvent else _shown(value)
        self._document.renamed.append(Remark(line, written, written))
        try:
            text = key_text(written, value)
        except ScalarError as error:
            return None, str(error)
        return text, text

    def _check_finite(self, value: Any, event: Any) -> None:
        """Report a number that JSON does not have."""
        if value.__class__ is float and not -_INFINITE < value < _INFINITE:
            name = "NaN" if value != value else f"{'+' if value > 0 else '-'}Inf"  # noqa: PLR0124 - only NaN is not itself
            self._refuse_later(f"json: unsupported value: {name}", event)

    def _refuse_later(self, problem: str, event: Any) -> None:
        if self._late is None:
            self._late = YamlError(problem, line=event.start_mark.line + 1, prefix="")


_INFINITE: Final = float("inf")
_TAKE: Final[dict[type, Any]] = {
    ScalarEvent: _Builder.scalar,
    MappingStartEvent: _Builder.mapping,
    SequenceStartEvent: _Builder.sequence,
    MappingEndEvent: _Builder.end,
    SequenceEndEvent: _Builder.end,
    AliasEvent: _Builder.alias,
}


def _shown(value: Any) -> str:
    """Return a value as Go's ``%#v`` prints it."""
    return syntax(value, "map[interface {}]interface {}") if value is not None else "<nil>"
