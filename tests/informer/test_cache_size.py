"""What a cache does not have, and the warning that names the one that grows."""

import pytest

from steersman.informer.growth import CacheGrowth
from steersman.informer.informer import Informer, InformerOptions, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.meta import meta
from steersman.randomness import Randomness
from steersman.testing.cluster import Cluster


def test_a_growing_cache_is_warned_about_whenever_it_doubles() -> None:
    """One line for each doubling: a cache that shrinks and grows again, or that stays large, adds none."""
    growth = CacheGrowth(100)
    sizes = [10, 99, 100, 150, 90, 199, 200, 950, 1599, 1600]
    assert [size for size in sizes if growth.is_due(size)] == [100, 200, 950, 1600]


async def test_content_that_is_not_cached_is_not_made_up(cluster: Cluster) -> None:
    """Decoded as its own class, an object of which only the metadata is cached would look empty."""
    await cluster.client.create(ConfigMap(meta("a"), data={"x": "1"}))
    async with cluster.client.informer(ConfigMap, metadata_only=True) as cache:
        found = cache.get_metadata("default/a")
        assert found is not None
        assert found.uid
        for read in (lambda: cache.get("default/a"), cache.list, lambda: list(cache)):
            with pytest.raises(LookupError, match="cached without content: use get_metadata or list_metadata"):
                read()


async def test_the_warning_names_the_cache_and_what_limits_it(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Out of memory is the last message of an operator otherwise, and it does not say of what."""
    connection = ApiConnection(cluster.transport, cluster.clock, Randomness())
    selection, options = Selection(namespaces=("default",), label_selector="a=b"), InformerOptions(large=5_000)
    async with Informer(ConfigMap, connection, selection, options=options) as cache:
        for number in range(3):
            config_map = ConfigMap(meta(f"c{number}", labels={"a": "b"}), data={"text": "x" * 2_000})
            await cluster.client.create(config_map)
        await cluster.eventually(lambda: len(cache) == 3)
    (warning,) = [one for one in caplog.records if "a cache is large" in one.getMessage()]
    assert warning.getMessage().endswith("namespaces, a selector or metadata_only")
    assert vars(warning)["cache"] == "configmaps.v1"
    assert vars(warning)["objects"] == 3
    assert vars(warning)["bytes"] == cache.store.bytes > 6_000
    assert (vars(warning)["namespaces"], vars(warning)["selector"]) == (["default"], "a=b")
