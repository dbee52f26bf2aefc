"""The changes between the CRDs of a release and the current ones, and whether they break users."""

from collections.abc import Iterable

from steersman.json_types import JsonObject
from steersman.schema.crd_diff import crd_diff
from steersman.schema.schema_diff import Change, breaking


def release_changes(before: Iterable[JsonObject], after: Iterable[JsonObject]) -> dict[str, list[Change]]:
    """Return the changes of each CRD by its name; a removed CRD breaks all users with objects of it."""
    new = {definition["metadata"]["name"]: definition for definition in after}
    found: dict[str, list[Change]] = {}
    for definition in before:
        name = definition["metadata"]["name"]
        if name in new:
            changes = crd_diff(definition, new[name])
        else:
            changes = [breaking("spec", "the CRD is gone: its objects would be deleted with it")]
        if changes:
            found[name] = changes
    return found
