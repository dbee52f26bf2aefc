"""Owners of the number of replicas: the object's entries as its ``scale`` subresource sees them, and back.

A write to ``scale`` is tracked on the ``Scale`` object, which has entries only for those who own the replicas. What
comes of it is then brought home to the object, where the replicas stand at a path of its own in each version.
"""

from collections.abc import Mapping
from typing import Final

from steersman.apiserver.managed_fields.entries import Managers, OwnedFields, read, write
from steersman.apiserver.managed_fields.field_set import Fields, difference, is_subset, set_of
from steersman.json_types import JsonObject

#: Where the replicas stand in each version of the object; ``None`` in a version that cannot be scaled.
ReplicasPaths = Mapping[str, tuple[str, ...] | None]
Entries = list[JsonObject]

SCALE_VERSION: Final = "autoscaling/v1"
_IN_SCALE: Final = set_of(("spec", "replicas"))


def scale_entries(parent: Entries, paths: ReplicasPaths) -> Entries:
    """Return the entries of the ``Scale`` of an object."""
    result: Managers = {}
    for key, ownership in read(parent).items():
        replicas = _replicas(paths, ownership.api_version)
        if replicas and is_subset(replicas, ownership.fields):
            result[key] = OwnedFields(_IN_SCALE, SCALE_VERSION, ownership.time)
    return write(result)


def parent_entries(parent: Entries, scale: Entries, paths: ReplicasPaths, api_version: str) -> Entries:
    """Return the entries of an object after a write to its ``Scale``; ``api_version`` is the written one."""
    left = read(scale)
    before = read(parent)
    result: Managers = {}
    doubles: Entries = []
    for key, ownership in before.items():
        if ownership.api_version not in paths:
            continue
        replicas = _replicas(paths, ownership.api_version)
        if not replicas or not is_subset(replicas, ownership.fields) or left.pop(key, None) is not None:
            result[key] = ownership
        else:
            result[key] = ownership._replace(fields=difference(ownership.fields, replicas))
    for key, ownership in left.items():
        if is_subset(_IN_SCALE, ownership.fields):
            # Its time is not known: recorded entries of scale writers have none.
            home = key._replace(api_version=api_version if key.operation == "Update" else "")
            added = {home: OwnedFields(_replicas(paths, api_version), api_version)}
            if home not in result:
                result |= added
            else:
                # The same writer's rest stays beside it, until the next write takes the two for one.
                doubles += write(added)
    written = write(result)
    applied = [entry for entry in written if entry["operation"] == "Apply"]
    # Entries without a time come first among those of their operation.
    return [*applied, *doubles, *(entry for entry in written if entry["operation"] != "Apply")]


def _replicas(paths: ReplicasPaths, version: str) -> Fields:
    path = paths.get(version)
    return set_of(path) if path is not None else {}
