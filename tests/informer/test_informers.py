"""Informers that start and stop while others run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steersman.informer.changes import Added, Change, record_of
from steersman.informer.informer import Selection
from steersman.informer.informers import Informers
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.meta import meta
from steersman.objects.resource import resource_of
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock

CONFIG_MAPS = resource_of(ConfigMap)


class RecordingHandler:
    """A handler that records its changes."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, change: Change) -> None:
        """Record the change."""
        initial = isinstance(change, Added) and change.is_initial
        self.lines.append(f"{'initial ' if initial else ''}{type(change).__name__} {record_of(change).key.name}")


@asynccontextmanager
async def informers_of(cluster: Cluster) -> AsyncIterator[Informers]:
    """Run a collection of informers on the cluster."""
    async with Informers(ApiConnection(cluster.transport, cluster.clock, cluster.randomness)) as informers:
        yield informers


async def test_a_follower_gets_existing_objects_and_later_changes(cluster: Cluster, fake_clock: FakeClock) -> None:
    """With a boundary between the two a notifier can ignore old objects."""
    await cluster.client.create(ConfigMap(meta("old")))
    async with informers_of(cluster) as informers:
        told = RecordingHandler()
        informers.follow(CONFIG_MAPS, told)
        await fake_clock.settle()
        await cluster.client.create(ConfigMap(meta("new")))
        await fake_clock.settle()
    assert told.lines == ["initial Added old", "Added new"]


async def test_followers_share_a_watch_and_the_last_one_ends_it(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Ten notifiers of one kind must not open ten watches, and must not leave one behind."""
    async with informers_of(cluster) as informers:
        first, second = RecordingHandler(), RecordingHandler()
        one, two = informers.follow(CONFIG_MAPS, first), informers.follow(CONFIG_MAPS, second)
        await fake_clock.settle()
        assert len(cluster.faults.watches("/configmaps")) == 1

        one.end()
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.settle()
        assert (first.lines, second.lines) == ([], ["Added a"])

        two.end()
        await fake_clock.settle()
        assert cluster.faults.watches("/configmaps") == []
        assert len(informers) == 0


async def test_a_selector_has_its_own_watch(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Followers with different selectors do not see each other's objects."""
    async with informers_of(cluster) as informers:
        told = RecordingHandler()
        informers.follow(CONFIG_MAPS, RecordingHandler())
        informers.follow(CONFIG_MAPS, told, Selection(label_selector="app=web"))
        await fake_clock.settle()
        await cluster.client.create(ConfigMap(meta("other")))
        await cluster.client.create(ConfigMap(meta("web", labels={"app": "web"})))
        await fake_clock.settle()
    assert told.lines == ["Added web"]


async def test_an_informer_that_was_requested_outlives_its_followers(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A controller's cache must not end because a follower leaves."""
    async with informers_of(cluster) as informers:
        kept = informers.get(ConfigMap)
        following = informers.follow(CONFIG_MAPS, RecordingHandler())
        assert following.informer is kept
        await fake_clock.settle()
        following.end()
        following.end()
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.settle()
        assert [one.name for one in kept.list()] == ["a"]


async def test_following_again_starts_over(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A handler that is added again gets the current state, marked as initial."""
    async with informers_of(cluster) as informers:
        informers.follow(CONFIG_MAPS, RecordingHandler()).end()
        await cluster.client.create(ConfigMap(meta("a")))
        told = RecordingHandler()
        informers.follow(CONFIG_MAPS, told)
        await fake_clock.settle()
    assert told.lines == ["initial Added a"]
