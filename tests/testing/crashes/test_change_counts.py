"""How often objects were changed in a run, as far as it matters."""

from steersman import meta
from steersman.json_types import JsonObject
from steersman.kinds.core_v1 import ConfigMap, Namespace
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.change_counts import ChangeCounts, Counts, excess
from steersman.testing.crashes.end_state import as_it_is


def _without_config_maps(document: JsonObject) -> JsonObject | None:
    return None if document["kind"] == "ConfigMap" else document


async def test_creates_updates_and_deletes_are_counted_by_object(cluster: Cluster) -> None:
    """A write that changes nothing does not count; objects with generated names count together."""
    counts = ChangeCounts(cluster.server, as_it_is)
    made = await cluster.client.create(ConfigMap(meta("a")))
    for value in ("1", "1", "2"):
        made = await cluster.client.patch(made, {"data": {"key": value}})
    for _ in range(2):
        await cluster.client.create(ConfigMap(meta(generate_name="web-")))
    await cluster.client.delete(made)
    assert counts.counts() == {
        ("created", "ConfigMap default/a"): 1,
        ("updated", "ConfigMap default/a"): 2,
        ("deleted", "ConfigMap default/a"): 1,
        ("created", "ConfigMap default/web-*"): 2,
    }


async def test_an_update_of_a_time_does_not_count(cluster: Cluster) -> None:
    """No two runs share their times."""
    made = await cluster.client.create(ConfigMap(meta("a", annotations={"at": "2030-01-01T00:00:00Z"})))
    counts = ChangeCounts(cluster.server, as_it_is)
    await cluster.client.patch(made, {"metadata": {"annotations": {"at": "2031-01-01T00:00:00Z"}}})
    assert counts.counts() == {}


async def test_an_update_of_the_status_does_not_count(cluster: Cluster) -> None:
    """It reports the progress, and a restarted operator may observe other states."""
    made = await cluster.client.create(Namespace(meta("a")))
    counts = ChangeCounts(cluster.server, as_it_is)
    conditions = [{"type": "Seen", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}]
    await cluster.client.status.patch(made, {"status": {"conditions": conditions}})
    assert not [verb for verb, name in counts.counts() if (verb, name) == ("updated", "Namespace a")]


async def test_a_child_of_a_deleted_owner_does_not_count(cluster: Cluster) -> None:
    """An operator may see the deletion of a child before that of its owner, with or without a crash."""
    counts = ChangeCounts(cluster.server, as_it_is)
    owner = await cluster.client.create(ConfigMap(meta("owner")))
    first = await cluster.client.create(ConfigMap(meta("child", owner_references=[owner.owner_reference()])))
    await cluster.client.delete(owner)
    await cluster.eventually(lambda: not cluster.list(ConfigMap))
    await cluster.client.create(ConfigMap(meta("child", owner_references=first.metadata.owner_references)))
    await cluster.eventually(lambda: not cluster.list(ConfigMap))
    assert counts.counts()["created", "ConfigMap default/child"] == 1
    assert counts.counts()["deleted", "ConfigMap default/child"] == 1


async def test_what_is_normalised_does_not_count(cluster: Cluster) -> None:
    """One rule applies to end states and to counts."""
    counts = ChangeCounts(cluster.server, _without_config_maps)
    await cluster.client.create(ConfigMap(meta("a")))
    assert counts.counts() == {}


def test_only_more_frequent_changes_are_reported() -> None:
    """Fewer changes do no harm: if something is missing, the end states differ."""
    expected: Counts = {("created", "Pod a"): 1, ("updated", "Pod a"): 2, ("deleted", "Pod a"): 1}
    found: Counts = {("created", "Pod a"): 2, ("updated", "Pod a"): 1, ("created", "Pod b"): 3}
    assert list(excess(expected, found)) == [
        "Pod a was created twice, without a crash once",
        "Pod b was created 3 times, without a crash never",
    ]
