"""Label and field selectors: parse, print, match.

A selector is a list of requirements that must all hold. Texts are those of Kubernetes: ``a=b,c in (x,y)`` for labels,
``metadata.name=x,status.phase!=Running`` for fields.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal, Self

from msgspec import Struct

from steersman.errors import SelectorError
from steersman.objects.model import Model

Operator = Literal["=", "!=", "in", "notin", "exists", "!", "gt", "lt"]

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_PREFIX = 253


def is_label_key(key: str) -> bool:
    """Return whether a text may be a label or annotation key: ``[prefix/]name``."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (_SUBDOMAIN.fullmatch(prefix) and len(prefix) <= _MAX_PREFIX):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Return whether a text may be a label's value."""
    return value == "" or _NAME.fullmatch(value) is not None


def _integer(text: str) -> int | None:
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,19}", text) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


_TESTS: dict[Operator, Callable[[str | None, tuple[str, ...]], bool]] = {
    "=": lambda value, wanted: value == wanted[0],
    "!=": lambda value, wanted: value != wanted[0],
    "in": lambda value, wanted: value in wanted,
    "notin": lambda value, wanted: value not in wanted,
    "exists": lambda value, _: value is not None,
    "!": lambda value, _: value is None,
    "gt": lambda value, wanted: _compare(value, wanted[0]) > 0,
    "lt": lambda value, wanted: _compare(value, wanted[0]) < 0,
}


def _compare(value: str | None, bound: str) -> int:
    """Return the sign of value - bound; 0 if either is not an integer, so that neither > nor < holds."""
    left, right = _integer(value or ""), _integer(bound)
    return 0 if left is None or right is None else (left > right) - (left < right)


class Requirement(Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_label_key(self.key):
            raise SelectorError(f"not a label key: {self.key!r}")
        needs = {"exists": 0, "!": 0, "=": 1, "!=": 1, "gt": 1, "lt": 1}.get(self.operator)
        if len(self.values) != needs if needs is not None else not self.values:
            raise SelectorError(f"{self.operator!r} on {self.key!r} cannot have {len(self.values)} values")
        if self.operator in ("gt", "lt") and _integer(self.values[0]) is None:
            raise SelectorError(f"{self.key!r}: for > and < the value must be an integer, not {self.values[0]!r}")
        if bad := [value for value in self.values if not is_label_value(value)]:
            raise SelectorError(f"{self.key!r}: not a label value: {bad[0]!r}")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels meets the condition."""
        return _TESTS[self.operator](labels.get(self.key), self.values)

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                # One empty value alone is written as a comma, for () would be nothing to choose from.
                return f"{self.key} {self.operator} ({','.join(sorted(self.values)) or ','})"
            case _:
                return f"{self.key}{ {'gt': '>', 'lt': '<'}.get(self.operator, self.operator) }{self.values[0]}"


class LabelSelectorRequirement(Model):
    """One expression of a ``metav1.LabelSelector``."""

    key: str
    operator: str
    values: list[str] | None = None


_EXPRESSIONS: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class LabelSelector(Struct, frozen=True):
    """All of its requirements must hold; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form, as in ``app=web,tier in (a,b),!canary``."""
        return cls(tuple(_LabelParser(text).parse()))

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Self:
        """Return a selector of objects that have all of these labels."""
        return cls(tuple(Requirement(key, "=", (value,)) for key, value in sorted(labels.items())))

    @classmethod
    def from_expressions(
        cls, match_labels: Mapping[str, str] | None, match_expressions: "list[LabelSelectorRequirement] | None"
    ) -> Self:
        """Read the structured form that specs hold (``matchLabels`` and ``matchExpressions``)."""
        requirements = list(cls.of(match_labels or {}).requirements)
        for expression in match_expressions or ():
            operator = _EXPRESSIONS.get(expression.operator)
            if operator is None:
                raise SelectorError(f"{expression.operator!r} is not a label selector operator")
            requirements.append(Requirement(expression.key, operator, tuple(expression.values or ())))
        return cls(tuple(requirements))

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels is selected."""
        present = labels or {}
        return all(requirement.matches(present) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_TOKEN = re.compile(r"\s*(!=|==|=|!|>|<|\(|\)|,|[^\s!=<>(),]+|$)")


class _LabelParser:
    """Reads one selector text token by token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._ahead = ""
        self._next()

    def _next(self) -> str:
        """Advance, and return the token just passed."""
        passed = self._ahead
        match = _TOKEN.match(self._text, self._position)
        if match is None:  # pragma: no cover - the pattern accepts any character
            raise self._error("unexpected text")
        self._ahead, self._position = match[1], match.end()
        return passed

    def _error(self, what: str) -> SelectorError:
        return SelectorError(f"unable to parse the selector {self._text!r}: {what} at {self._ahead or 'the end'!r}")

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        if not self._ahead:
            return requirements
        while True:
            requirements.append(self._requirement())
            if not self._ahead:
                return requirements
            if self._next() != ",":
                raise self._error("expected ','")

    def _word(self) -> str:
        if not self._ahead or self._ahead in "!=<>(),":
            raise self._error("expected a name")
        return self._next()

    def _requirement(self) -> Requirement:
        if self._ahead == "!":
            self._next()
            return Requirement(self._word(), "!")
        if self._ahead in ("in", "notin"):
            raise self._error("expected a name")
        key = self._word()
        operator = self._ahead
        if operator in ("", ","):
            return Requirement(key, "exists")
        self._next()
        match operator:
            case "=" | "==" | "!=":
                return Requirement(key, "!=" if operator == "!=" else "=", (self._value(),))
            case ">" | "<":
                return Requirement(key, "gt" if operator == ">" else "lt", (self._word(),))
            case "in":
                return Requirement(key, "in", self._values())
            case "notin":
                return Requirement(key, "notin", self._values())
            case _:
                raise self._error(f"{operator!r} is not an operator")

    def _value(self) -> str:
        return "" if self._ahead in ("", ",") else self._word()

    def _values(self) -> tuple[str, ...]:
        if self._ahead != "(":
            raise self._error("expected '('")
        self._next()
        if self._ahead == ")":
            raise self._error("expected a value")
        values = [self._listed()]
        while self._ahead == ",":
            self._next()
            values.append(self._listed())
        if self._ahead != ")":
            raise self._error("expected ')'")
        self._next()
        return tuple(dict.fromkeys(values))

    def _listed(self) -> str:
        return "" if self._ahead in (",", ")") else self._word()


class FieldRequirement(Struct, frozen=True):
    """One condition on one field: it equals, or does not equal, a text."""

    field: str
    equal: bool
    value: str

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{_escape(self.value)}"


def _escape(value: str) -> str:
    return re.sub(r"([\\,=])", r"\\\1", value)


def _unescape(text: str, whole: str) -> str:
    if re.search(r"(?<!\\)(?:\\\\)*\\(?![\\,=])", text) or re.search(r"(?<!\\)(?:\\\\)*[,=]", text):
        raise SelectorError(f"invalid field selector {whole!r}: bad escape or '=' in {text!r}")
    return re.sub(r"\\([\\,=])", r"\1", text)


class FieldSelector(Struct, frozen=True):
    """All of its requirements must hold; which fields a server supports depends on the kind."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form, as in ``metadata.name=a,status.phase!=Running``."""
        requirements = []
        for part in re.findall(r"(?:\\.|[^,])+", text, re.DOTALL):
            match = re.match(r"((?:\\.|[^\\=!]|!(?!=))*)(!=|==|=)(.*)\Z", part, re.DOTALL)
            if match is None or not match[1]:
                raise SelectorError(f"invalid field selector {text!r}: can't understand {part!r}")
            requirements.append(FieldRequirement(match[1], match[2] != "!=", _unescape(match[3], text)))
        return cls(tuple(requirements))

    def matches(self, value_of: Callable[[str], str]) -> bool:
        """Return whether an object is selected; ``value_of`` returns the text of one of its fields."""
        return all((value_of(need.field) == need.value) is need.equal for need in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))
