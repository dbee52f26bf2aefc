"""Which objects a list or a watch selects: by namespace, labels and fields; errors are worded as Kubernetes' are."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from steersman.apiserver.messages.options import ListOptions
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import bad_request
from steersman.apiserver.storage.record import Record
from steersman.errors import SelectorError
from steersman.objects.selectors import FieldRequirement, FieldSelector, LabelSelector, Requirement
from steersman.validation.field_errors import NO_FIELD, invalid
from steersman.validation.names import label_value_faults, qualified_name_faults

_TOKEN = re.compile(r"\s*(!=|==|=|!|>|<|\(|\)|,|[^\s!=<>(),]+|$)")
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = frozenset({"!=", "==", "=", "!", ">", "<", "(", ")", ",", ""})


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or a watch selects; ``namespace`` is ``None`` for all namespaces."""

    namespace: str | None = None
    labels: LabelSelector | None = None
    #: Conditions on fields beyond name and namespace.
    fields: tuple[FieldRequirement, ...] = ()
    name: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether only the namespace is selected."""
        return self.labels is None and not self.fields and self.name is None

    def matches(self, record: Record) -> bool:
        """Return whether an object is selected."""
        if self.namespace is not None and record.namespace != self.namespace:
            return False
        if self.name is not None and record.name != self.name:
            return False
        if self.labels is not None and not self.labels.matches(record.labels):
            return False
        return all((_field(record, need.field) == need.value) is need.equal for need in self.fields)


def _field(record: Record, label: str) -> str:
    if label == "metadata.name":
        return record.name
    if label == "metadata.namespace":
        return record.namespace
    return record.fields.get(label, "")


def select(served: ServedResource, namespace: str | None, options: ListOptions) -> Selection:
    """Read the selectors of a request."""
    if not options.label_selector and not options.field_selector:
        return Selection(namespace)
    labels = parse_labels(options.label_selector) if options.label_selector.strip() else None
    needs = _parse_fields(served, options.field_selector) if options.field_selector else ()
    name = next((need.value for need in needs if need.field == "metadata.name" and need.equal), None)
    rest = tuple(need for need in needs if not (need.field == "metadata.name" and need.equal and need.value == name))
    return Selection(namespace, labels, rest, name)


def _parse_fields(served: ServedResource, text: str) -> tuple[FieldRequirement, ...]:
    for part in re.findall(r"(?:\\.|[^,\\])+", text, re.DOTALL):
        if not re.search(r"!=|==|=", part):
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        if bad := re.search(r"\\[^\\,=]", part):
            raise bad_request(f"invalid field selector: invalid escape sequence: {bad[0]}")
    try:
        needs = FieldSelector.parse(text).requirements
    except SelectorError:
        label, _, _ = text.partition("=")
        if not label.rstrip("!"):
            raise bad_request(served.strategy.field_label_error("") or "field label not supported: ") from None
        raise bad_request(f"invalid selector: '{text}'; can't understand '{text}'") from None
    for need in needs:
        if why := served.strategy.field_label_error(need.field):
            raise bad_request(why)
    return needs


def parse_labels(text: str) -> LabelSelector | None:
    """Parse a label selector; errors are those of Kubernetes' parser."""
    requirements = _LabelReader(text).read()
    return LabelSelector(tuple(requirements)) if requirements else None


class _LabelReader:
    """Parses one selector; its errors come in the order of Kubernetes' own parser."""

    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)]
        while len(self._tokens) > 1 and self._tokens[-2:] == ["", ""]:
            self._tokens.pop()
        self._at = 0

    @property
    def _ahead(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._ahead
        self._at += 1
        return token

    def read(self) -> list[Requirement]:
        found: list[Requirement] = []
        if not self._ahead:
            return found
        while True:
            if self._ahead in _SYMBOLS and self._ahead != "!":
                raise bad_request(f"found '{self._ahead}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            mark = self._take()
            if not mark:
                return found
            if mark != ",":
                raise bad_request(f"found '{mark}', expected: ',' or 'end of string'")
            if self._ahead in _SYMBOLS and self._ahead != "!":
                raise bad_request(f"found '{self._ahead}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._ahead == "!"
        if negated:
            self._take()
        key = self._take()
        if key in _SYMBOLS:
            raise self._refuse(f"found '{key}', expected: identifier")
        if faults := qualified_name_faults(key):
            raise self._refuse(str(invalid(NO_FIELD, key, faults[0])))
        if negated:
            return Requirement(key, "!")
        if self._ahead in ("", ","):
            return Requirement(key, "exists")
        operator = self._take()
        reader = self._READERS.get(operator)
        if reader is None:
            raise self._refuse(f"found '{operator}', expected: {_OPERATORS}")
        return reader(self, key, operator)

    def _equality(self, key: str, operator: str) -> Requirement:
        value = "" if self._ahead in ("", ",") else self._take()
        self._check(key, [value])
        return Requirement(key, "!=" if operator == "!=" else "=", (value,))

    def _order(self, key: str, operator: str) -> Requirement:
        value = "" if self._ahead in ("", ",") else self._take()
        if not re.fullmatch(r"[+-]?\d{1,19}", value):
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise self._refuse(str(invalid("values[0]", value, text)))
        return Requirement(key, "gt" if operator == ">" else "lt", (value,))

    def _set(self, key: str, operator: str) -> Requirement:
        if self._ahead != "(":
            raise self._refuse(f"found '{self._ahead}' expected: '('")
        self._take()
        values = [self._listed()]
        while self._ahead == ",":
            self._take()
            values.append(self._listed())
        if self._take() != ")":
            self._at -= 1
            raise self._refuse(f"found '{self._ahead}', expected: ',' or ')'")
        values = sorted(set(values))
        self._check(key, values)
        return Requirement(key, "in" if operator == "in" else "notin", tuple(values))

    def _listed(self) -> str:
        return "" if self._ahead in (",", ")", "") else self._take()

    def _check(self, key: str, values: list[str]) -> None:
        for index, value in enumerate(values):
            if faults := label_value_faults(value):
                raise self._refuse(str(invalid(f"values[{index}][{key}]", value, faults[0])))

    @staticmethod
    def _refuse(why: str) -> Exception:
        return bad_request(f"unable to parse requirement: {why}")

    _READERS: "dict[str, Callable[[_LabelReader, str, str], Requirement]]" = {
        "=": _equality,
        "==": _equality,
        "!=": _equality,
        ">": _order,
        "<": _order,
        "in": _set,
        "notin": _set,
    }
