"""Rules of ownership for every object, and corner cases that no recording covers."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from steersman.apiserver.builtin.types import type_builder
from steersman.apiserver.managed_fields import entries, updater
from steersman.apiserver.managed_fields.endpoint import Endpoint, Versioned
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.managed_fields.typed import fields_of
from steersman.errors import ApiError, Conflict, InternalError
from steersman.golang.equality import json_equal

STRING = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "a": STRING,
                "n": {"type": "integer"},
                "map": {"type": "object", "additionalProperties": STRING},
                "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": STRING},
                "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
                "plain": {"type": "array", "items": STRING},
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "properties": {"name": STRING, "v": STRING, "tags": {"type": "array", "items": STRING}},
                    },
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
    },
}
GADGET = Endpoint(
    api_version="demo.dev/v1", type=type_builder().custom_resource(SCHEMA), reset_fields=set_of(("status",))
)
TIME = "2026-01-01T00:00:00Z"

texts = st.sampled_from(["x", "y"])
keys = st.sampled_from(["p", "q", "r"])
specs = st.fixed_dictionaries(
    {},
    optional={
        "a": texts,
        "n": st.integers(0, 2),
        "map": st.dictionaries(keys, texts, min_size=1, max_size=3),
        "atomic": st.dictionaries(keys, texts, min_size=1, max_size=2),
        "tags": st.lists(keys, unique=True, min_size=1, max_size=3),
        "plain": st.lists(keys, min_size=1, max_size=3),
        "items": st.lists(
            st.fixed_dictionaries({"name": keys}, optional={"v": texts}), unique_by=lambda one: one["name"], min_size=1
        ),
        "free": st.dictionaries(keys, texts | st.integers(0, 1) | st.booleans(), min_size=1, max_size=2),
    },
).filter(bool)
managers = st.sampled_from(["A", "B", "C"])


def gadget(spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object, or a configuration to apply."""
    return {"apiVersion": "demo.dev/v1", "kind": "Gadget", "metadata": {"name": "x"}, "spec": spec, **more}


def apply(live: dict[str, Any], spec: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]:
    """Apply a configuration."""
    return updater.apply(live, gadget(spec), manager, endpoint=GADGET, time=TIME, force=force)


def refusal_of(live: dict[str, Any], spec: dict[str, Any], manager: str) -> Conflict | None:
    """Return the conflict of an apply, or None."""
    try:
        apply(live, spec, manager)
    except Conflict as conflict:
        return conflict
    return None


def stored(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the server stores it after a create."""
    return {**obj, "metadata": {**obj["metadata"], "uid": "u"}}


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of each manager, by name."""
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())}


@settings(deadline=None)
@given(specs)
def test_an_applier_owns_exactly_what_it_applies(spec: dict[str, Any]) -> None:
    """All other rules depend on this one."""
    obj = apply({}, spec, "A")
    assert obj["spec"] == spec
    assert owners(obj) == {"A": {"f:spec": fields_of(gadget(spec), GADGET.type)["f:spec"]}}


@settings(deadline=None)
@given(specs, specs, specs)
def test_a_forced_apply_wins_and_a_second_one_changes_nothing(one: Any, other: Any, update: Any) -> None:
    """Controllers apply the same configuration again and again; that must not be a write."""
    live = stored(apply(stored(updater.create(gadget(update), "U", endpoint=GADGET, time=TIME)), one, "A", force=True))
    obj = apply(live, other, "B", force=True)
    for key in other.keys() & {"a", "n", "atomic", "plain"}:
        assert json_equal(obj["spec"][key], other[key])
    again = updater.apply(obj, gadget(other), "B", endpoint=GADGET, time="2027-01-01T00:00:00Z")
    assert json_equal(again, obj)


@settings(deadline=None)
@given(specs, specs)
def test_fields_without_an_owner_are_removed(first: Any, second: Any) -> None:
    """An apply is the full intent of its manager: fields that it alone owned and dropped are removed."""
    obj = apply(stored(apply({}, first, "A")), second, "A")
    fresh = apply({}, second, "A")
    assert owners(obj) == owners(fresh)
    assert fields_of(_without_nulls(obj), GADGET.type) == fields_of(fresh, GADGET.type)


def _without_nulls(obj: dict[str, Any]) -> dict[str, Any]:
    """Leave out fields that became null because they were emptied, and the uid that only one of the objects has."""
    spec = {key: value for key, value in obj["spec"].items() if value is not None}
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "uid"}, "spec": spec}


@settings(deadline=None)
@given(specs, specs)
def test_an_update_is_the_only_owner_of_what_it_changed(before: Any, after: Any) -> None:
    """Otherwise an applier would never notice that its value was overwritten."""
    live = stored(apply({}, before, "A"))
    new = {**live, "spec": after}
    obj = updater.update(live, new, "U", endpoint=GADGET, time=TIME)
    left = set(entries.read(obj["metadata"]["managedFields"])) if "managedFields" in obj["metadata"] else set()
    if json_equal(before, after):
        assert owners(obj) == owners(live)
    for key in after:
        changed = key in ("a", "n", "atomic", "plain") and not json_equal(before.get(key), after[key])
        if changed:
            assert f"f:{key}" in owners(obj)["U"]["f:spec"]
            assert f"f:{key}" not in owners(obj).get("A", {}).get("f:spec", {})
    assert all(key.name in ("A", "U") for key in left)


@settings(deadline=None)
@given(specs, specs)
def test_without_force_a_conflict_lists_the_fields_and_changes_nothing(mine: Any, theirs: Any) -> None:
    """Conflicts exist so that no manager overwrites another by accident."""
    live = stored(apply({}, mine, "A"))
    before = repr(live)
    changed = [
        key
        for key in theirs
        if key in mine and key in ("a", "n", "atomic", "plain") and not json_equal(mine[key], theirs[key])
    ]
    conflict = refusal_of(live, theirs, "B")
    if conflict is None:
        assert not changed
    else:
        assert {f".spec.{key}" for key in changed} <= {cause.field for cause in conflict.causes}
        assert {cause.message for cause in conflict.causes} == {'conflict with "A"'}
    assert repr(live) == before


class FlatApply(RuleBasedStateMachine):
    """Apply and update of one flat map, for which the rules fit in a few lines."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[str, Any] = stored(apply({}, {"a": "x", "map": {"p": "x"}}, "A"))
        self.values: dict[str, str] = {"p": "x"}
        self.owned: dict[str, set[str]] = {"A": {"p"}}

    @rule(manager=managers, wanted=st.dictionaries(keys, texts, min_size=1, max_size=3), force=st.booleans())
    def apply(self, manager: str, wanted: dict[str, str], force: bool) -> None:
        """Apply a map."""
        others = {key for name, owned in self.owned.items() if name != manager for key in owned}
        changed = {key for key, value in wanted.items() if self.values.get(key) != value}
        spec = {"map": wanted, **({"a": "x"} if manager == "A" else {})}
        if not force and (conflict := refusal_of(self.live, spec, manager)):
            assert {cause.field for cause in conflict.causes} == {f".spec.map.{key}" for key in changed & others}
            return
        assert force or not changed & others
        self.live = stored(apply(self.live, spec, manager, force=force))
        dropped = self.owned.get(manager, set()) - wanted.keys() - others
        self.values = {key: value for key, value in {**self.values, **wanted}.items() if key not in dropped}
        for name in self.owned:
            self.owned[name] -= changed
        self.owned[manager] = set(wanted)

    @rule(values=st.dictionaries(keys, texts, min_size=1, max_size=3))
    def update(self, values: dict[str, str]) -> None:
        """Replace the map."""
        new = {**self.live, "spec": {**self.live["spec"], "map": values}}
        self.live = updater.update(self.live, new, "U", endpoint=GADGET, time=TIME)
        set_now = {key for key, value in values.items() if self.values.get(key) != value}
        gone = self.values.keys() - values.keys()
        for name in self.owned:
            self.owned[name] -= set_now | gone
        self.owned.setdefault("U", set()).update(set_now)
        self.values = values

    @invariant()
    def object_and_owners_are_as_expected(self) -> None:
        """Compare with the model."""
        assert self.live["spec"]["map"] == self.values
        owned = {
            name: {element[2:] for element in fields["f:spec"].get("f:map", {}) if element != "."}
            for name, fields in owners(self.live).items()
        }
        assert {name: keys for name, keys in owned.items() if keys} == {
            name: keys for name, keys in self.owned.items() if keys
        }


TestFlatApply = FlatApply.TestCase
TestFlatApply.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)


def test_a_manager_keeps_its_identity_when_it_applies_another_version() -> None:
    """Fields that it applied in the old version and drops now must still be removed."""
    old = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"old": STRING, "a": STRING}}}}
    new = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"new": STRING, "a": STRING}}}}
    types = {f"demo.dev/{name}": type_builder().custom_resource(one) for name, one in (("v1", old), ("v2", new))}

    def convert(obj: dict[str, Any], version: str) -> Versioned | None:
        if version not in types:
            return None
        names = {"old": "new"} if version.endswith("v2") else {"new": "old"}
        spec = {names.get(key, key): value for key, value in obj.get("spec", {}).items()}
        return Versioned({**obj, "apiVersion": version, "spec": spec}, types[version], {})

    def endpoint(version: str) -> Endpoint:
        return Endpoint(api_version=version, type=types[version], convert=convert)

    first = updater.apply(
        {},
        {**gadget({"old": "x", "a": "y"}), "apiVersion": "demo.dev/v1"},
        "A",
        endpoint=endpoint("demo.dev/v1"),
        time=TIME,
    )
    live = convert(stored(first), "demo.dev/v2")
    assert live is not None
    config = {**gadget({"a": "y"}), "apiVersion": "demo.dev/v2"}
    second = updater.apply(live.object, config, "A", endpoint=endpoint("demo.dev/v2"), time=TIME)
    assert second["spec"] == {"a": "y"}
    (entry,) = second["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsV1"]) == ("demo.dev/v2", {"f:spec": {"f:a": {}}})


def test_managers_of_versions_no_longer_served_are_dropped() -> None:
    """Their fields can no longer be read."""
    live = stored(apply({}, {"a": "x"}, "A"))
    gone = {
        "manager": "B",
        "operation": "Update",
        "apiVersion": "demo.dev/v0",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:n": {}}},
    }
    live["metadata"]["managedFields"].append(gone)
    obj = updater.update(live, {**live, "spec": {"a": "y"}}, "U", endpoint=GADGET, time=TIME)
    assert list(owners(obj)) == ["U"]


def test_the_oldest_of_too_many_updaters_are_merged() -> None:
    """The list must not grow with every client that ever wrote."""
    obj = stored(updater.create(gadget({"map": {"m00": "x"}}), "m00", endpoint=GADGET, time="2026-01-01T00:00:00Z"))
    for index in range(1, 12):
        spec = {"map": {**obj["spec"]["map"], f"m{index:02}": "x"}}
        obj = updater.update(
            obj, {**obj, "spec": spec}, f"m{index:02}", endpoint=GADGET, time=f"2026-01-01T00:00:{index:02}Z"
        )
    names = [entry["manager"] for entry in obj["metadata"]["managedFields"]]
    assert names == ["ancient-changes", *(f"m{index:02}" for index in range(3, 12))]
    ancient = owners(obj)["ancient-changes"]["f:spec"]["f:map"]
    assert set(ancient) == {".", "f:m00", "f:m01", "f:m02"}
    assert obj["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:02Z"


def test_a_bucket_that_is_not_the_oldest_is_merged_like_any_other() -> None:
    """At equal times the names decide, and 'a' sorts before 'ancient-changes'."""
    keys = [entries.key_of(name, "Update", "v1", "") for name in ("a", entries.ANCIENT_CHANGES, *"bcdefghij")]
    managers = {key: entries.OwnedFields({f"f:{key.name}": {}}, "v1", TIME) for key in keys}
    capped = entries.capped(managers)
    assert len(capped) == 10
    bucket = capped[entries.key_of(entries.ANCIENT_CHANGES, "Update", "v1", "")]
    assert bucket.fields == {"f:a": {}, "f:ancient-changes": {}}


def test_times_of_clients_are_stored_in_one_format() -> None:
    """They determine the order of entries, so they must be comparable."""
    sent = {
        "manager": "M",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {}},
        "time": "2026-01-01T02:00:00.5+02:00",
    }
    (ownership,) = entries.read_foreign([sent]).values()
    assert ownership.time == TIME


@pytest.mark.parametrize("broken", [[1], "x", [{"operation": "Update"}], [{"operation": "Apply", "apiVersion": "v1"}]])
def test_an_object_created_with_a_broken_list_is_not_tracked(broken: Any) -> None:
    """Recorded: the create is accepted, and the object has no list of managed fields."""
    new = gadget({"a": "x"})
    new["metadata"]["managedFields"] = broken
    assert "managedFields" not in updater.create(new, "U", endpoint=GADGET, time=TIME)["metadata"]


def test_an_object_with_an_invalid_value_that_is_reset_later_is_not_tracked() -> None:
    """Recorded for updates: validation does not see a value that is reset, and an invalid value has no owners."""
    misfit = gadget({"a": "x"}, status={"n": "no number"})
    assert owners(updater.create(misfit, "U", endpoint=GADGET, time=TIME)) == {}
    live = stored(updater.create(gadget({"a": "x"}), "U", endpoint=GADGET, time=TIME))
    assert owners(updater.update(live, {**live, "status": {"n": []}}, "U", endpoint=GADGET, time=TIME)) == {}


def test_a_stored_object_that_does_not_fit_its_type_is_an_internal_error() -> None:
    """Its list items have no keys, so their owners cannot be determined."""
    live = stored(apply({}, {"a": "x"}, "A"))
    live["spec"]["items"] = [{"v": "no name"}]
    with pytest.raises(InternalError, match=r"failed to create typed live object \(/x; demo.dev/v1, Kind=Gadget\)"):
        apply(live, {"items": [{"name": "p"}]}, "A")


anything = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | texts | st.floats(0, 1),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "n", "name", "map", "items", "tags", "free", "other"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(specs, anything, anything)
def test_any_configuration_returns_an_object_or_an_api_error(spec: Any, wanted: Any, metadata: Any) -> None:
    """Configurations come from clients; an invalid one is rejected with a message and changes nothing."""
    live = stored(apply({}, spec, "A"))
    before = repr(live)
    config = {"apiVersion": "demo.dev/v1", "kind": "Gadget", "metadata": metadata, "spec": wanted}
    with suppress(ApiError):
        updater.apply(live, config, "kubectl", endpoint=GADGET, time=TIME)
    with suppress(ApiError):
        updater.apply({}, config, "kubectl", endpoint=GADGET, time=TIME, force=True)
    assert repr(live) == before


@settings(deadline=None)
@given(specs, anything, anything)
def test_any_update_returns_an_object(spec: Any, wanted: Any, listed: Any) -> None:
    """An update is validated only after its owners are computed, so it may contain anything, also as managed fields."""
    live = stored(apply({}, spec, "A"))
    new = {**live, "spec": wanted, "metadata": {**live["metadata"], "managedFields": listed}}
    result = updater.update(live, new, "U", endpoint=GADGET, time=TIME)
    assert json_equal(result["spec"], wanted)
