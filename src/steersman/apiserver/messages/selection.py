"""Which objects a list or a watch selects: by namespace, labels and fields; errors are worded as Kubernetes' are."""

import re
from dataclasses import dataclass

from steersman.apiserver.messages.options import ListOptions
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, bad_request
from steersman.apiserver.storage.record import Record
from steersman.errors import SelectorError
from steersman.objects.selectors import (
    FieldRequirement,
    FieldSelector,
    LabelSelector,
    SelectorTexts,
    parse_requirements,
)
from steersman.validation.field_errors import NO_FIELD, invalid
from steersman.validation.names import label_value_faults, qualified_name_faults


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
        raise _malformed_selector(served, text) from None
    for need in needs:
        if why := served.strategy.field_label_error(need.field):
            raise bad_request(why)
    return needs


def _malformed_selector(served: ServedResource, text: str) -> Refusal:
    label, _, _ = text.partition("=")
    if not label.rstrip("!"):
        return bad_request(served.strategy.field_label_error("") or "field label not supported: ")
    if re.search(r"=[^=,]*(?<!\\)=", text):
        return bad_request(f"invalid field selector: unescaped character in value: {ord('=')}")
    return bad_request(f"invalid selector: '{text}'; can't understand '{text}'")


_TEXTS = SelectorTexts(
    key_faults=qualified_name_faults,
    value_faults=label_value_faults,
    invalid=lambda path, value, fault: str(invalid(path or NO_FIELD, value, fault)),
)


def parse_labels(text: str) -> LabelSelector | None:
    """Parse a label selector; errors are those of Kubernetes' parser."""
    try:
        requirements = parse_requirements(text, _TEXTS)
    except SelectorError as error:
        raise bad_request(str(error)) from None
    return LabelSelector(tuple(requirements)) if requirements else None
