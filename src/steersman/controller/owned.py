"""`Owned`: a kind whose objects a reconciler creates, with the part of the kind that is cached."""

from collections.abc import Mapping
from types import MappingProxyType

from steersman.controller.predicates import Predicate
from steersman.controller.scope import Scope
from steersman.errors import DeclarationError
from steersman.objects.resource import KubeObject
from steersman.objects.selectors import LabelSelector, is_label_key, is_label_value

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class Owned(Scope, frozen=True):
    """An owned kind of which not all objects are cached: ``Owned(Secret, labels={"example.com/part-of": "sites"})``.

    With ``labels``, every object of the kind that the reconciler applies or creates as its own gets these labels, and
    only objects that have them are cached: the Secrets of all other programs cost nothing. An owned object without
    them, such as one that an earlier release created, is not seen until it is applied again.
    """

    kind: type[KubeObject]
    labels: Mapping[str, str] = _NO_LABELS
    #: Which changes matter; by default ``owns_when`` of the reconciler.
    when: Predicate | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, value in self.labels.items():
            if not (is_label_key(key) and is_label_value(value)):
                raise DeclarationError(f"{key}={value} is not a label")

    def label_selector(self) -> LabelSelector:
        """Return the labels of the objects that are cached."""
        own = LabelSelector.of(self.labels).requirements
        return LabelSelector((*own, *super().label_selector().requirements))
