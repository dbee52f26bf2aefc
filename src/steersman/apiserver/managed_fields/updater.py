"""Create, update and apply: the object that results, with its managedFields.

Every manager owns a set of fields, in the version of the API in which it wrote them. There are two kinds of managers,
and the difference explains the order of everything below:

    Update   create, update, patch   owns what it *changed*: found by comparing the live with the new object
    Apply    server-side apply       owns what it *asked for*: all fields of its last configuration

An update runs through these steps (`update`, `_after_update`):

    managers of the request, or else of the live object
      ─► sets in terms of the current types (`_reconciled`: a schema may have become atomic)
      ─► everything that changed is taken from all managers (`_dispossessed`)
      ─► what is set now goes to the writer, in addition to what it owned
      ─► the oldest entries are joined when there are too many (`entries.capped`)

An apply decides first what the writer owns, and compares after that (`apply`, `_Application`):

    configuration merged into the live object
      ─► the writer owns the fields of the configuration, instead of those of its last one
      ─► fields that it does not apply any more are pruned, unless another manager owns them (`_pruned`)
      ─► fields that others own and that would change are conflicts, unless forced (`_claims`)
      ─► everything that changed is taken from all other managers (`_dispossessed`)

Pruning comes before the comparison, so that no manager keeps a field that has disappeared. The comparison is made in
every version in which a manager owns fields, because an owner knows the names of its own version only
(`_Change.in_version`); managers of versions that are no longer served are dropped. The fields that an endpoint resets
(``status`` in a write of the whole object) never get an owner there.

Nothing is tracked rather than wrong: an object that does not fit its type loses its entries on an update, and an apply
to it fails. Objects come in and go out whole, and nothing is changed in place.
"""

from typing import Any

from steersman.apiserver.managed_fields import entries, last_applied
from steersman.apiserver.managed_fields.compare import Comparison, compare
from steersman.apiserver.managed_fields.conflicts import Claim, conflict_of, without_fields
from steersman.apiserver.managed_fields.endpoint import Endpoint, Object
from steersman.apiserver.managed_fields.entries import Managers, OwnedFields
from steersman.apiserver.managed_fields.field_set import (
    Fields,
    difference,
    intersection,
    is_subset,
    recursive_difference,
    union,
)
from steersman.apiserver.managed_fields.merge import merge
from steersman.apiserver.managed_fields.prune import collapse_atomic, prune
from steersman.apiserver.managed_fields.typed import TypeMismatch, checked_fields_of, explanation, fits
from steersman.errors import BadRequest, InternalError
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject


def create(new: Object, manager: str, *, endpoint: Endpoint, time: str) -> Object:
    """Return a new object with its managedFields: its creator owns everything in it, defaults included.

    ``new`` is defaulted already; a list of entries in it is honoured if it makes sense, else nothing is tracked. Nor is
    an object that does not fit its type.
    """
    given = _list_in(new)
    writer = entries.key_of(manager, "Update", endpoint.api_version, endpoint.subresource)
    if given is None and (mine := _created_fields(new, endpoint)) is not None:
        return _with_list(new, entries.write_one(writer, OwnedFields(mine, endpoint.api_version, time)))
    try:
        managers = entries.read_foreign(given) if given and not entries.is_reset(given) else {}
    except ValueError:
        return _with_list(new, [])
    if not _fits(endpoint.empty, new, endpoint):
        return _with_list(new, [])
    return _with_list(new, _after_update(_Change(endpoint.empty, new, endpoint), managers, writer, time))


def _created_fields(new: Object, endpoint: Endpoint) -> Fields | None:
    """Return what the creator owns, if that is known without a comparison: the object fits its type."""
    if endpoint.creation is None or new.get("apiVersion") != endpoint.api_version:
        return None
    return endpoint.creation.fields(new)


def update(live: Object, new: Object, manager: str, *, endpoint: Endpoint, time: str) -> Object:
    """Return the new object with the managedFields that follow from replacing the live one.

    An object that was never tracked, or whose tracking is reset by the request, is not tracked; nor is one that does
    not fit its type, or did not before.
    """
    managers = _managers_for(live, new, endpoint)
    if not managers or not _fits(live, new, endpoint):
        return _with_list(new, [])
    writer = entries.key_of(manager, "Update", endpoint.api_version, endpoint.subresource)
    return _with_list(new, _after_update(_Change(live, new, endpoint), managers, writer, time))


def apply(live: Object, config: Object, manager: str, *, endpoint: Endpoint, time: str, force: bool = False) -> Object:
    """Return the live object with a configuration applied to it; ``live`` is ``endpoint.empty`` for a new one.

    The result is neither defaulted nor validated. Raises Conflict, BadRequest or InternalError with the answer's text.
    """
    if _metadata_of(config).get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil", code=400, reason="BadRequest")
    managers = entries.read(_list_in(live))
    bare = _without_list(live)
    if not managers and not fits(bare, endpoint.type):
        text = "failed to create manager for existing fields: failed to convert new object "
        why = explanation(bare, endpoint.type)
        raise InternalError(f"{text}({_description(live)}) to smd typed: {why}", code=500)
    try:
        wanted = checked_fields_of(config, endpoint.type)
    except TypeMismatch as mismatch:
        raise InternalError(
            f"failed to create typed patch object ({_description(config)}): {mismatch}", code=500
        ) from None
    if not managers:
        managers = _before_first_apply(bare, endpoint, time)
    elif endpoint.is_custom and not fits(bare, endpoint.type):
        text = f"failed to create typed live object ({_description(live)}): {explanation(bare, endpoint.type)}"
        raise InternalError(text, code=500)
    try:
        merged = merge(bare, config, endpoint.type)
        application = _Application(_Change(bare, merged, endpoint), wanted, managers, manager, time)
        result = application.result(force=force)
    except ValueError as error:
        raise InternalError(f"failed to create typed live object ({_description(live)}): {error}", code=500) from None
    if manager == last_applied.KUBECTL and last_applied.annotation_of(result):
        result = last_applied.refreshed(result, config)
    return result


class _Application:
    """One configuration on its way into an object."""

    def __init__(self, change: "_Change", wanted: Fields, managers: Managers, manager: str, time: str) -> None:
        endpoint = change.endpoint
        self._live = change.live
        self._endpoint = endpoint
        self._time = time
        self._key = entries.key_of(manager, "Apply", endpoint.api_version, endpoint.subresource)
        self._managers = _reconciled(managers, change.live, endpoint)
        self._last = self._managers.get(self._key)
        mine = recursive_difference(wanted, endpoint.reset_fields)
        self._managers[self._key] = OwnedFields(mine, endpoint.api_version, self._last.time if self._last else None)
        self._new = self._pruned(change.new, mine)
        self._change = change if self._new is change.new else _Change(change.live, self._new, endpoint)

    def _pruned(self, merged: Object, mine: Fields) -> Object:
        last, version = self._last, self._endpoint.api_version
        if last is None or not last.fields or (last.api_version == version and is_subset(last.fields, mine)):
            return merged
        owned: dict[str, Fields] = {}
        for ownership in self._managers.values():
            owned[ownership.api_version] = union(owned.get(ownership.api_version, {}), ownership.fields)
        pruned = prune(merged, (last.api_version, last.fields), owned, self._endpoint.in_version)
        back = self._endpoint.in_version(pruned, version)
        return back.object if back is not None else pruned

    def _claims(self) -> list[Claim]:
        claims = []
        for key, ownership in self._managers.items():
            comparison = self._change.in_version(ownership.api_version) if key != self._key else None
            if comparison is not None:
                wanted = intersection(ownership.fields, comparison.set_now)
                if wanted:
                    claims.append(Claim(key, wanted))
        return claims

    def result(self, *, force: bool) -> Object:
        """Return the object and its owners; raise Conflict unless forced."""
        claims = [] if force else self._claims()
        if claims and self._key.name == last_applied.KUBECTL:
            # What kubectl applied on the client side it may take back.
            claims = without_fields(claims, last_applied.unchanged_since(self._live, self._endpoint.type))
        if claims:
            raise conflict_of(claims)
        mine = self._managers[self._key]
        managers = _dispossessed(self._managers, self._change, self._key)
        is_changed = not json_equal(self._live, self._new)
        time = self._time if is_changed else mine.time
        managers[self._key] = OwnedFields(entries.stripped(mine.fields), mine.api_version, time)
        return _with_list(self._new if is_changed else self._live, entries.write(entries.capped(managers)))


class _Change:
    """A live and a new object, compared in every version in which a manager owns fields."""

    __slots__ = ("_by_version", "endpoint", "live", "new")

    def __init__(self, live: Object, new: Object, endpoint: Endpoint) -> None:
        #: The object before the change, without its managedFields.
        self.live = _without_list(live)
        self.new = _without_list(new)
        self.endpoint = endpoint
        self._by_version: dict[str, Comparison | None] = {}

    def in_version(self, version: str) -> Comparison | None:
        """Return the comparison in a version; ``None`` if that is not served any more."""
        if version not in self._by_version:
            self._by_version[version] = self._compared(version)
        return self._by_version[version]

    def _compared(self, version: str) -> Comparison | None:
        new = self.endpoint.in_version(self.new, version)
        if new is None:
            return None
        # The object may not have existed before, which is the same in every version.
        live = self.endpoint.in_version(self.live, version) if self.live.get("apiVersion") else None
        return compare(live.object if live else self.live, new.object, new.type).without(new.reset_fields)


def _after_update(change: _Change, managers: Managers, writer: entries.ManagerKey, time: str) -> list[JsonObject]:
    """Return the list after a change by an updating manager, which becomes the only owner of what it changed."""
    endpoint = change.endpoint
    try:
        managers = _reconciled(managers, change.live, endpoint)
        result = _dispossessed(managers, change, None)
        comparison = change.in_version(endpoint.api_version)
    except ValueError:
        # The fields of an object that does not fit its type have no owners.
        return []
    mine = entries.stripped(comparison.set_now) if comparison else {}
    if mine:
        before = result.get(writer)
        result[writer] = OwnedFields(union(before.fields, mine) if before else mine, endpoint.api_version, time)
    return entries.write(entries.capped(result))


def _dispossessed(managers: Managers, change: _Change, writer: entries.ManagerKey | None) -> Managers:
    """Take from every manager but the writer what changed; those of versions no longer served go."""
    result: Managers = {}
    for key, ownership in managers.items():
        comparison = change.in_version(ownership.api_version)
        if key == writer or comparison is None:
            continue
        fields = difference(ownership.fields, comparison.all)
        if fields:
            result[key] = OwnedFields(fields, ownership.api_version, ownership.time)
    return result


def _reconciled(managers: Managers, live: Object, endpoint: Endpoint) -> Managers:
    """Return what managers own in terms of the current types; a schema may have become atomic since."""
    result: Managers = {}
    for key, ownership in managers.items():
        versioned = endpoint.in_version(live, ownership.api_version)
        if versioned is not None:
            fields = collapse_atomic(ownership.fields, versioned.type)
            result[key] = ownership if fields is ownership.fields else ownership._replace(fields=fields)
    return result


def _before_first_apply(live: Object, endpoint: Endpoint, time: str) -> Managers:
    """Attribute the fields of a live object without managedFields."""
    writer = entries.key_of(entries.BEFORE_FIRST_APPLY, "Update", endpoint.api_version, endpoint.subresource)
    return entries.read(_after_update(_Change(endpoint.empty, live, endpoint), {}, writer, time))


def _managers_for(live: Object, new: Object, endpoint: Endpoint) -> Managers:
    """Return the managers before an update: those of the request if they are valid, else the live ones."""
    given, known = _list_in(new), _list_in(live)
    if given and not endpoint.subresource:
        if entries.is_reset(given):
            return {}
        if given != known:
            try:
                return entries.read_foreign(given)
            except ValueError:
                return entries.read(known)
    return entries.read(known)


#: Decoded by their types, whatever the kind.
_ALWAYS_FIT = frozenset({"apiVersion", "kind", "metadata"})


def _fits(live: Object, new: Object, endpoint: Endpoint) -> bool:
    """Return whether an object fits its type, and did before.

    Objects of built-in kinds are decoded by their types. Validation lets custom ones pass that do not fit: parts that
    the endpoint resets, lists where a text has a format, and what was stored before its schema changed.
    """
    declared = endpoint.type.map.fields if endpoint.type.map is not None else {}
    names = declared if endpoint.is_custom else [element[2:] for element in endpoint.reset_fields]
    for key in names:
        if key in _ALWAYS_FIT or key not in declared:
            continue
        value, before = new.get(key), live.get(key)
        if endpoint.is_custom and not fits(value, declared[key]):
            return False
        if value != before and not fits(before if endpoint.is_custom else value, declared[key]):
            return False
    return True


def _metadata_of(obj: Object) -> JsonObject:
    """Return the metadata of a document that may not fit its type."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _list_in(obj: Object) -> Any:
    return _metadata_of(obj).get("managedFields")


def _without_list(obj: Object) -> Object:
    if _list_in(obj) is None:
        return obj
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def _with_list(obj: Object, listed: list[JsonObject]) -> Object:
    if not listed:
        return _without_list(obj)
    return {**obj, "metadata": {**_metadata_of(obj), "managedFields": listed}}


def _description(obj: Object) -> str:
    """Name an object as error messages do: ``namespace/name; group/version, Kind=Kind``."""
    metadata = _metadata_of(obj)
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return f"{where}; {group}/{version}, Kind={obj.get('kind', '')}"
