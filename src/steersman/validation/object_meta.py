"""`metadata` of every object: how it is read, and which rules it keeps.

Names, labels, annotations, finalizers and owner references, for custom objects, for embedded resources and for built-in
kinds. Filling in what the server sets (uid, times, generation) is not done here.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import msgspec

from steersman.golang.text import GoStruct, quoted
from steersman.json_types import JsonObject
from steersman.validation.field_errors import FieldError, forbidden, invalid, required, too_long
from steersman.validation.formats import is_go_time
from steersman.validation.names import (
    label_faults,
    label_value_faults,
    path_segment_faults,
    qualified_name_faults,
    subdomain_faults,
)
from steersman.validation.wire_types import (
    BOOL,
    INT64,
    JSON,
    STRING,
    TIME,
    Reading,
    Record,
    WireField,
    listed,
    mapped,
    text,
)

ANNOTATIONS_LIMIT: Final = 256 * 1024
_IMMUTABLE: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
#: The server fills these in from the stored object where an update leaves them out.
_FILLED_IN: Final = frozenset(_IMMUTABLE) - {"name"}
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})

#: Returns errors about a name; the flag is set if only its beginning is known.
NameFaults = Callable[[str, bool], list[str]]

_OWNER = Record(
    "OwnerReference",
    {
        "apiVersion": WireField(STRING, optional=False),
        "kind": WireField(STRING, optional=False),
        "name": WireField(STRING, optional=False),
        "uid": WireField(text("types.UID"), optional=False),
        "controller": WireField(BOOL, pointer=True),
        "blockOwnerDeletion": WireField(BOOL, pointer=True),
    },
)
_MANAGED = Record(
    "ManagedFieldsEntry",
    {
        "manager": WireField(STRING),
        "operation": WireField(text("v1.ManagedFieldsOperationType")),
        "apiVersion": WireField(STRING),
        "time": WireField(TIME, pointer=True),
        "fieldsType": WireField(STRING),
        "fieldsV1": WireField(JSON, pointer=True),
        "subresource": WireField(STRING),
    },
)
#: The structure of ``metadata``.
OBJECT_META: Final = Record(
    "ObjectMeta",
    {
        "name": WireField(STRING),
        "generateName": WireField(STRING),
        "namespace": WireField(STRING),
        "selfLink": WireField(STRING),
        "uid": WireField(text("types.UID")),
        "resourceVersion": WireField(STRING),
        "generation": WireField(INT64),
        "creationTimestamp": WireField(TIME),
        "deletionTimestamp": WireField(TIME, pointer=True),
        "deletionGracePeriodSeconds": WireField(INT64, pointer=True),
        "labels": WireField(mapped(STRING)),
        "annotations": WireField(mapped(STRING)),
        "ownerReferences": WireField(listed(_OWNER.type)),
        "finalizers": WireField(listed(STRING)),
        "managedFields": WireField(listed(_MANAGED.type)),
    },
    restarts=True,
)


class _PlainOwner(msgspec.Struct, forbid_unknown_fields=True):
    """An owner reference in which nothing needs to be changed."""

    apiVersion: str  # noqa: N815 - the name on the wire
    kind: str
    name: str
    uid: str
    controller: bool = False
    blockOwnerDeletion: bool = False  # noqa: N815 - the name on the wire


class _PlainManaged(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of managed fields in which nothing needs to be changed."""

    manager: str
    operation: str
    apiVersion: str  # noqa: N815 - the name on the wire
    time: str
    fieldsType: str  # noqa: N815 - the name on the wire
    fieldsV1: JsonObject  # noqa: N815 - the name on the wire
    subresource: str = ""


class _PlainMeta(msgspec.Struct, forbid_unknown_fields=True):
    """Metadata in its usual form: every field known and of its type, no nulls, nothing missing inside."""

    name: str = ""
    generateName: str = ""  # noqa: N815 - the name on the wire
    namespace: str = ""
    selfLink: str = ""  # noqa: N815 - the name on the wire
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the name on the wire
    generation: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] = 0
    creationTimestamp: str = ""  # noqa: N815 - the name on the wire
    deletionTimestamp: str = ""  # noqa: N815 - the name on the wire
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    ownerReferences: list[_PlainOwner] = []  # noqa: N815 - the name on the wire
    finalizers: list[str] = []
    managedFields: list[_PlainManaged] = []  # noqa: N815 - the name on the wire


def _is_plain(value: object) -> bool:
    """Return whether the typed structure would keep metadata unchanged, apart from empty fields."""
    try:
        plain = msgspec.convert(value, _PlainMeta)
    except (msgspec.ValidationError, RecursionError):
        return False
    times = [text for text in (plain.creationTimestamp, plain.deletionTimestamp) if text]
    if plain.managedFields:
        times += [entry.time for entry in plain.managedFields if entry.time]
    return all(map(is_go_time, times))


def read_object_meta(value: Any, path: str = "metadata") -> tuple[JsonObject, list[str]]:
    """Read ``metadata`` as the server's typed structure; return what is kept, and the paths of unknown fields.

    Raises `WireTypeError` with the decoder's message for a wrong type.
    """
    if value.__class__ is dict and _is_plain(value):
        return {name: part for name, part in value.items() if part}, []
    reading = Reading()
    owners = value.get("ownerReferences") if value.__class__ is dict else None
    if owners.__class__ is list and None in owners:
        # A null among the owners is an empty owner, and is complained about as such.
        value = {**value, "ownerReferences": [{} if owner is None else owner for owner in owners]}
    read = OBJECT_META.read(value, path, reading)
    return read or {}, reading.unknown


def subdomain_name_faults(name: str, prefix: bool) -> list[str]:
    """Return errors unless a name is a DNS subdomain, as for most kinds; a prefix may end in a dash."""
    if prefix and name.endswith("-") and len(name) > 1:
        name = name[:-1] + "a"
    return subdomain_faults(name)


def label_name_faults(name: str, prefix: bool) -> list[str]:
    """Return errors unless a name is a DNS label, for kinds whose names appear alone in DNS."""
    faults = label_faults(name[:-1] + "a" if prefix and name.endswith("-") else name)
    return [fault.replace("63 bytes", "63 characters") for fault in faults]


def url_name_faults(name: str, prefix: bool) -> list[str]:
    """Return errors unless a name can be part of a URL, for kinds that allow any other character."""
    return path_segment_faults(name, prefix=prefix)


def annotation_errors(annotations: dict[str, str], path: str) -> list[FieldError]:
    """Return errors about annotations: invalid keys, too much text."""
    errors = [invalid(path, key, fault) for key in annotations for fault in qualified_name_faults(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    return [*errors, too_long(path, ANNOTATIONS_LIMIT)] if size > ANNOTATIONS_LIMIT else errors


def label_errors(labels: dict[str, str], path: str) -> list[FieldError]:
    """Return errors about labels: invalid keys, invalid values."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        if faults := qualified_name_faults(key):
            errors += [invalid(path, key, fault) for fault in faults]
        if faults := label_value_faults(value):
            errors += [invalid(path, value, fault) for fault in faults]
    return errors


def _owner_errors(owner: JsonObject, path: str) -> list[FieldError]:
    group, _, version = owner["apiVersion"].rpartition("/")
    errors = []
    if not version or "/" in group:
        errors.append(invalid(f"{path}.apiVersion", owner["apiVersion"], "version must not be empty"))
    errors += [
        invalid(f"{path}.{name}", "", "must not be empty") for name in ("kind", "name", "uid") if not owner[name]
    ]
    if owner["kind"] == "Event" and owner["apiVersion"] in ("v1", "events.k8s.io/v1"):
        text_ = f"{group}/{version}, Kind=Event is disallowed from being an owner"
        errors.append(invalid(path, GoStruct(owner), text_))
    return errors


def owner_reference_errors(owners: Sequence[JsonObject], path: str) -> list[FieldError]:
    """Return errors about owner references: empty parts, more than one controller."""
    errors = [error for owner in owners for error in _owner_errors(owner, path)]
    controllers = [f"{owner['kind']}/{owner['name']}" for owner in owners if owner.get("controller")]
    text_ = 'Only one reference can have Controller set to true. Found "true" in references for {} and {}'
    shown = [GoStruct({name: owner[name] for name in _OWNER.fields if name in owner}) for owner in owners]
    errors += [invalid(path, shown, text_.format(controllers[0], other)) for other in controllers[1:]]
    return errors


def finalizer_errors(finalizers: Sequence[str], path: str) -> list[FieldError]:
    """Return errors about finalizers: invalid names, and two that contradict each other."""
    errors = [invalid(path, name, fault) for name in finalizers for fault in qualified_name_faults(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text_ = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, list(finalizers), text_))
    return errors


def finalizer_warnings(finalizers: Sequence[str], path: str = "metadata.finalizers") -> list[str]:
    """Return warnings about finalizers without a domain, which may collide with those of other controllers."""
    return [
        f'{path}: "{name}": prefer a domain-qualified finalizer name to avoid accidental conflicts with other '
        "finalizer writers"
        for name in finalizers
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _name_errors(meta: JsonObject, name_faults: NameFaults, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    prefix = meta.get("generateName", "")
    if prefix:
        errors += [invalid(f"{path}.generateName", prefix, fault) for fault in name_faults(prefix, True)]  # noqa: FBT003 - positional in NameFaults
    name = meta.get("name", "")
    if not name:
        errors.append(required(f"{path}.name", "name or generateName is required"))
    elif faults := name_faults(name, False):  # noqa: FBT003 - positional in NameFaults
        errors += [invalid(f"{path}.name", name, fault) for fault in faults]
    return errors


def _namespace_errors(meta: JsonObject, path: str, *, namespaced: bool) -> list[FieldError]:
    namespace = meta.get("namespace", "")
    if not namespaced:
        return [forbidden(f"{path}.namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(f"{path}.namespace")]
    faults = label_faults(namespace)
    return [invalid(f"{path}.namespace", namespace, fault) for fault in faults] if faults else []


def _common_errors(meta: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if labels := meta.get("labels"):
        errors += label_errors(labels, f"{path}.labels")
    if annotations := meta.get("annotations"):
        errors += annotation_errors(annotations, f"{path}.annotations")
    if owners := meta.get("ownerReferences"):
        errors += owner_reference_errors(owners, f"{path}.ownerReferences")
    return errors


def validate_object_meta(
    meta: JsonObject,
    *,
    namespaced: bool,
    name_faults: NameFaults = subdomain_name_faults,
    path: str = "metadata",
) -> list[FieldError]:
    """Check metadata that `read_object_meta` gave."""
    errors = _name_errors(meta, name_faults, path)
    errors += _namespace_errors(meta, path, namespaced=namespaced)
    generation = meta.get("generation", 0)
    if generation < 0:
        errors.append(invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    errors += _common_errors(meta, path)
    if finalizers := meta.get("finalizers"):
        errors += finalizer_errors(finalizers, f"{path}.finalizers")
    return errors


def validate_object_meta_update(meta: JsonObject, old: JsonObject, path: str = "metadata") -> list[FieldError]:
    """Validate metadata that replaces other metadata: identity and deletion never change."""
    errors = _late_finalizer_errors(meta, old, path) if old.get("deletionTimestamp") else []
    errors += [
        invalid(f"{path}.{name}", meta.get(name), "field is immutable")
        for name in _IMMUTABLE
        if meta.get(name) != old.get(name) and (meta.get(name) or name not in _FILLED_IN)
    ]
    return errors + _common_errors(meta, path)


def _late_finalizer_errors(meta: JsonObject, old: JsonObject, path: str) -> list[FieldError]:
    added = [name for name in meta.get("finalizers") or () if name not in (old.get("finalizers") or ())]
    if not added:
        return []
    listed_ = ", ".join(quoted(name) for name in sorted(added))
    text_ = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed_}}}"
    return [forbidden(f"{path}.finalizers", text_)]


def validate_any_change(meta: JsonObject, old: JsonObject, *, namespaced: bool) -> list[FieldError]:
    """Validate changed metadata by the rules of all kinds; most kinds validate it again by their own."""
    whole = validate_object_meta(meta, namespaced=namespaced, name_faults=url_name_faults)
    return whole + validate_object_meta_update(meta, old)
