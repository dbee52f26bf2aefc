"""Objects: the base of every kind, custom resources, and objects of kinds that have no class."""

from copy import deepcopy
from datetime import datetime
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from msgspec import Struct

from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.objects.fields import fields_of
from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey
from steersman.objects.meta import Condition, ObjectMeta, OwnerReference
from steersman.objects.model import Model, absent, field, sparse

SpecT = TypeVar("SpecT", bound=Model)
StatusT = TypeVar("StatusT", bound=Model)


class KubeObject(Model, kw_only=False, dict=True):
    """An object of a kind that has a class. Its metadata is its first positional field."""

    #: How this kind is served. Only a declared kind has it; ``declare`` sets it.
    __resource__: ClassVar[ApiResource]
    #: Cached result of ``parts_with_empty_value``. Stored in the class; a cache would keep the class alive.
    __parts__: ClassVar[dict[str, type[Struct]]]

    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    def __post_init__(self) -> None:
        """Set absent parts to the empty value of their type, and record that these are stand-ins."""
        for name, empty in parts_with_empty_value(type(self)).items():
            if getattr(self, name) is None:
                stand_in = empty()
                setattr(self, name, stand_in)
                self.__dict__.setdefault("_stand_ins", {})[name] = stand_in

    def __copy__(self) -> Self:
        # msgspec copies only the fields; the recorded bytes and stand-ins belong to the copy too.
        duplicate = cast("Self", cast("Any", super()).__copy__())
        duplicate.__dict__.update(self.__dict__)
        return duplicate

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        duplicate = self.__copy__()
        for name in self.__struct_fields__:
            setattr(duplicate, name, deepcopy(getattr(self, name), memo))
        # After the fields: the memo then knows which copies are stand-ins.
        duplicate.__dict__.update(deepcopy(self.__dict__, memo))
        return duplicate

    @property
    def name(self) -> str:
        """The name; empty while only ``generateName`` is set."""
        return self.metadata.name or ""

    @property
    def namespace(self) -> str:
        """The namespace; empty for cluster-scoped objects."""
        return self.metadata.namespace or ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        metadata = self.metadata
        return ObjectKey(metadata.namespace or "", metadata.name or "")

    @property
    def uid(self) -> str:
        """The uid that the server gave; empty before."""
        return self.metadata.uid or ""

    @property
    def resource_version(self) -> str:
        """The version that was read; empty before the object was stored."""
        return self.metadata.resource_version or ""

    @property
    def generation(self) -> int:
        """How often the desired state changed; 0 where the kind does not count."""
        return self.metadata.generation or 0

    @property
    def labels(self) -> dict[str, str]:
        """The labels, to read and to change."""
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, to read and to change."""
        return self.metadata.annotations

    @property
    def is_deleting(self) -> bool:
        """Whether its deletion was requested."""
        return self.metadata.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls this object, if any."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)

    def is_controlled_by(self, owner: "KubeObject") -> bool:
        """Return whether that very object controls this one, by its uid: another one of the same name does not."""
        return self.controller is not None and self.controller.uid == owner.uid

    def owner_reference(self, *, controller: bool = True) -> OwnerReference:
        """Return the reference by which a child names this object as its owner."""
        if not self.uid:
            raise ValueError(f"{self!r} has no uid yet: only a stored object can own others")
        gvk = gvk_of(self)
        return OwnerReference(
            api_version=gvk.api_version,
            kind=gvk.kind,
            name=self.name,
            uid=self.uid,
            controller=controller,
            block_owner_deletion=controller,
        )

    def __repr__(self) -> str:
        # The content stays out: objects end up in logs, and some of them are Secrets.
        name = self.name or f"{self.metadata.generate_name or ''}*"
        return f"<{type(self).__name__} {self.namespace + '/' if self.namespace else ''}{name}>"


class Status(Model):
    """The usual base of a status: the generation it speaks of, and conditions."""

    observed_generation: int | None = None
    conditions: list[Condition] = sparse(list)

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of that type, if there is one."""
        for condition in self.conditions:
            if condition.type == type_:
                return condition
        return None

    def set_condition(
        self, type_: str, status: bool | None, reason: str, message: str = "", *, now: datetime, generation: int = 0
    ) -> bool:
        """Set a condition and return whether anything changed.

        ``status`` None means Unknown. The transition time moves only when the status itself changes.
        """
        if status is not None and status.__class__ is not bool:
            raise TypeError(f"the status of the condition {type_} must be True, False or None, not {status!r}")
        value = "Unknown" if status is None else str(status)
        old = self.condition(type_)
        new = Condition(
            type=type_,
            status=cast("Any", value),
            reason=reason,
            message=message,
            # Kubernetes writes whole seconds; a custom resource would keep fractions, and differ from what other
            # clients write.
            last_transition_time=old.last_transition_time
            if old and old.status == value
            else now.replace(microsecond=0),
            observed_generation=generation or None,
        )
        if old == new:
            return False
        if old is None:
            self.conditions.append(new)
        else:
            self.conditions[self.conditions.index(old)] = new
        return True


class Resource(KubeObject, Generic[SpecT, StatusT], kw_only=False):
    """A custom resource: the desired state (``spec``) and the observed one (``status``).

    An absent status reads as its empty value, so that a reconciler can simply set its fields; while it is empty it is
    not sent. The same holds for a spec all of whose fields have defaults.
    """

    spec: SpecT = absent()
    status: StatusT = absent()

    def __post_init__(self) -> None:
        """Reject an object without the spec that its kind requires."""
        super().__post_init__()
        if self.spec is None:
            raise ValueError(f"{type(self).__name__} {self.key} has no spec")


def parts_with_empty_value(kind: type[KubeObject]) -> dict[str, type[Struct]]:
    """Return the fields of a kind that are declared ``absent()`` and whose type can be empty, with that type."""
    parts: dict[str, type[Struct]] | None = kind.__dict__.get("__parts__")
    if parts is None:
        # One level is enough; walking a Pod's whole tree would take longer than decoding thousands of them.
        parts = kind.__parts__ = {
            part.name: part.type
            for part in fields_of(kind)
            if part.default is None and isinstance(part.type, type) and _can_be_empty(part.type)
        }
    return parts


def _can_be_empty(part: type) -> bool:
    return issubclass(part, Struct) and not any(inner.required for inner in fields_of(part))


def absent_parts(obj: KubeObject) -> list[str]:
    """Return the parts that were not set: they still hold the stand-in, and it is still empty."""
    stand_ins: dict[str, Struct] | None = obj.__dict__.get("_stand_ins")
    if stand_ins is None:
        return []
    return [
        name for name, stand_in in stand_ins.items() if getattr(obj, name) is stand_in and stand_in == type(stand_in)()
    ]


class Unstructured:
    """An object of a kind that has no class: its JSON, with the same shortcuts as typed objects."""

    __slots__ = ("_read", "content")

    def __init__(self, content: JsonObject) -> None:
        if not isinstance(content.get("kind"), str) or not isinstance(content.get("apiVersion"), str):
            raise ValueError("an object needs apiVersion and kind")  # noqa: TRY004 - the content is wrong, not its type
        self.content = content
        self._read: bytes | None = None

    @classmethod
    def of(cls, gvk: GroupVersionKind, name: str, namespace: str | None = None, **content: object) -> Self:
        """Create a new object of a kind: ``Unstructured.of(gvk, "a", spec={…})``."""
        metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
        return cls({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, **content})

    @property
    def gvk(self) -> GroupVersionKind:
        """Its kind, from its own content."""
        return GroupVersionKind.of(self.content["apiVersion"], self.content["kind"])

    @property
    def metadata(self) -> JsonObject:
        """Its metadata as it is on the wire, to read and to change."""
        return _member(self.content, "metadata")

    @property
    def name(self) -> str:
        """The name; empty while only ``generateName`` is set."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """The namespace; empty for cluster-scoped objects."""
        return str(self.metadata.get("namespace") or "")

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def uid(self) -> str:
        """The uid that the server gave; empty before."""
        return str(self.metadata.get("uid") or "")

    @property
    def resource_version(self) -> str:
        """The version that was read; empty before the object was stored."""
        return str(self.metadata.get("resourceVersion") or "")

    @property
    def generation(self) -> int:
        """How often the desired state changed; 0 where the kind does not count."""
        return int(self.metadata.get("generation") or 0)

    @property
    def labels(self) -> dict[str, str]:
        """The labels, to read and to change."""
        return _member(self.metadata, "labels")

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, to read and to change."""
        return _member(self.metadata, "annotations")

    @property
    def is_deleting(self) -> bool:
        """Whether its deletion was requested."""
        return self.metadata.get("deletionTimestamp") is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unstructured) and self.content == other.content

    __hash__ = None  # type: ignore[assignment] # mutable, like every object

    def __repr__(self) -> str:
        return f"<{self.gvk} {self.key}>"


def _member(document: JsonObject, name: str) -> JsonObject:
    """Return an object inside an object, which is made when there is none or null."""
    member: JsonObject | None = document.get(name)
    if member is None:
        member = document[name] = {}
    return member


class PartialObjectMetadata(KubeObject):
    """Only the metadata of an object of any kind, as metadata-only watches return it."""


def resource_of(kind: type[KubeObject]) -> ApiResource:
    """Return how a declared kind is served; raise ``DeclarationError`` for a class that was never declared."""
    resource: ApiResource | None = getattr(kind, "__resource__", None)
    if resource is None:
        raise DeclarationError(
            f"{kind.__module__}.{kind.__qualname__} is not a declared kind: decorate it with "
            f'@custom_resource("group/version")'
        )
    return resource


def gvk_of(obj: KubeObject | Unstructured | type[KubeObject]) -> GroupVersionKind:
    """Return the kind of an object or of a class."""
    if isinstance(obj, Unstructured):
        return obj.gvk
    return resource_of(obj if isinstance(obj, type) else type(obj)).gvk
