"""Compressed caches: which objects are compressed, and that no reader notices."""

import json
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.informer.changes import Change, record_of
from steersman.informer.compression import HOT_SECONDS, Compression, train_zstd
from steersman.informer.index import by_namespace
from steersman.informer.informer import Informer, InformerOptions
from steersman.informer.list_watch_driver import ApiConnection
from steersman.informer.record import Codec, Record, RecordReader
from steersman.informer.store import Store
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.identity import GroupVersionKind
from steersman.objects.meta import meta
from steersman.randomness import Randomness
from steersman.testing.cluster import Cluster
from tests.informer.conftest import document, wire

READER = RecordReader(GroupVersionKind("example.com", "v1", "Widget"))
ZLIB = Codec(zlib.compress, zlib.decompress)
needs_zstd = pytest.mark.skipif(
    train_zstd([wire(document(f"w{number}", spec={"text": "the same " * 20})) for number in range(50)]) is None,
    reason="the extra steersman[zstd] is not installed",
)


class Seconds:
    """A time that moves only by ``advance``."""

    def __init__(self) -> None:
        self._elapsed = 0.0

    def __call__(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move the time on."""
        self._elapsed += seconds


def widget(name: str, version: str = "1", *, text: str = "the same text " * 50, **more: Any) -> Record:
    """Create a record of an object that compresses well."""
    return READER.read(wire(document(name, version, spec={"text": text}, **more)))


def store_above(size: int | None, clock: Seconds | None = None) -> Store:
    """Create a store that compresses above a size, with a codec that needs no training."""
    compression = Compression(clock or Seconds(), size, train=lambda _: ZLIB)
    return Store({"namespace": by_namespace}, compression=compression)


def compressed(store: Store) -> set[str]:
    """Return the names of the compressed objects."""
    return {record.key.name for record in store.records() if record.codec is not None}


def test_a_small_cache_is_not_compressed() -> None:
    """Most caches are small, and reading them stays as cheap as it was."""
    store = store_above(10_000)
    for number in range(10):
        store.put(widget(f"w{number}"))
    assert compressed(store) == set()


def test_a_cache_that_grows_large_is_compressed_whole() -> None:
    """All that was there before is as cold as anything can be."""
    store = store_above(3_000)
    plain = [widget(f"w{number}") for number in range(6)]
    for record in plain:
        store.put(record)
    assert {f"w{number}" for number in range(4)} <= compressed(store)
    assert store.bytes == sum(len(record.content) for record in store.records()) < 3_000
    assert [record.data for record in store.records()] == [record.data for record in plain]


def test_an_object_is_compressed_again_when_it_has_not_changed_for_a_minute() -> None:
    """What changed a moment ago will be reconciled and change again: compressing it would be work for nothing."""
    clock = Seconds()
    store = store_above(500, clock)
    store.replace([widget(f"w{number}") for number in range(3)])
    assert compressed(store) == {"w0", "w1", "w2"}
    store.put(widget("w0", "2"))
    clock.advance(HOT_SECONDS / 2)
    store.put(widget("w1", "2"))
    store.put(widget("w0", "3"))
    clock.advance(HOT_SECONDS - 1)
    store.compress_cold()
    assert compressed(store) == {"w2"}
    clock.advance(1)
    store.compress_cold()
    assert compressed(store) == {"w0", "w1", "w2"}
    assert store.bytes == sum(len(record.content) for record in store.records())


def test_a_deleted_object_does_not_come_back_when_it_would_be_compressed() -> None:
    """The list of hot objects must not be a second source of truth."""
    clock = Seconds()
    store = store_above(500, clock)
    store.replace([widget(f"w{number}") for number in range(4)])
    for name in ("w0", "w1", "w2"):
        store.put(widget(name, "2"))
    store.remove(widget("w0", "3"))
    store.replace([widget("w2", "3"), widget("w3")])
    clock.advance(HOT_SECONDS)
    store.compress_cold()
    assert compressed(store) == {"w2", "w3"}
    assert len(store) == 2


def test_many_cold_objects_are_compressed_a_part_at_a_time() -> None:
    """After a flood of changes thousands are due at once, and the event loop must not stand still for them."""
    clock = Seconds()
    store = store_above(500, clock)
    store.replace([widget("w0")])
    for number in range(1500):
        store.put(widget(f"w{number}", "2"))
    clock.advance(HOT_SECONDS)
    counts = []
    for _ in range(3):
        store.compress_cold()
        counts.append(len(compressed(store)))
    assert counts == [1000, 1500, 1500]


def test_an_object_that_does_not_become_smaller_stays_as_it_is() -> None:
    """Reading it would cost time and save nothing: certificates and other random content."""
    store = store_above(100)
    store.replace([widget("a", text="xqzjkv"), widget("b")])
    assert compressed(store) == {"b"}


def test_without_zstd_nothing_is_compressed_and_it_is_looked_for_once() -> None:
    """The extra is optional; looking for it at every change would cost more than it could save."""
    asked = []
    store = Store(compression=Compression(Seconds(), 100, train=lambda samples: asked.append(len(samples))))
    for number in range(5):
        store.put(widget(f"w{number}"))
    assert compressed(store) == set()
    assert asked == [1]


def _described(changes: list[Change]) -> list[tuple[str, str, str, bytes]]:
    return [
        (type(one).__name__, str(record_of(one).key), record_of(one).resource_version, record_of(one).data)
        for one in changes
    ]


def test_training_sees_a_bounded_part_of_a_cache() -> None:
    """It blocks the event loop: some MB are enough for it, and caches of the largest objects would take seconds."""
    seen: list[int] = []

    def train(samples: list[bytes]) -> None:
        seen.extend(map(len, samples))

    store = Store(compression=Compression(Seconds(), 100, train=train))
    store.replace([widget(f"w{number}", text="long " * 2_000) for number in range(1_000)])
    assert 300 < len(seen) <= 400
    assert max(seen) <= 4096


names, versions = st.sampled_from("abcdef"), st.integers(1, 9).map(str)
steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "remove", "replace", "namespace"]), st.lists(st.tuples(names, versions), max_size=6)
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_compression_changes_nothing_that_a_reader_sees(script: list[tuple[str, list[tuple[str, str]]]]) -> None:
    """The same changes and the same content come out of a store that compresses and of one that does not."""
    clock = Seconds()
    plain, packed = store_above(None), store_above(900, clock)
    for verb, objects in script:
        records = [widget(name, version) for name, version in objects]
        seen = []
        for store in (plain, packed):
            if verb in ("put", "remove"):
                seen.append(_described([change for record in records for change in getattr(store, verb)(record)]))
            else:
                seen.append(_described(store.replace(records, namespace="ns" if verb == "namespace" else "")))
        assert seen[0] == seen[1]
        clock.advance(HOT_SECONDS / 3)
        packed.compress_cold()
        contents = [{record.key: record.data for record in store.records()} for store in (plain, packed)]
        assert contents[0] == contents[1]
        assert packed.bytes == sum(len(record.content) for record in packed.records())


@needs_zstd
def test_a_trained_dictionary_makes_objects_of_a_kind_small() -> None:
    """That is the reason for all of this: what objects have in common is stored once."""
    records = [
        widget(f"w{number}", uid=f"{number * 7919:032x}", text=f"port {number} " + "of the same kind " * 60)
        for number in range(300)
    ]
    store = Store(compression=Compression(Seconds(), 50_000))
    store.replace(records)
    assert store.bytes * 6 < sum(len(record.data) for record in records)
    assert [record.data for record in store.records()] == [record.data for record in records]


@needs_zstd
def test_threads_read_compressed_objects_at_the_same_time() -> None:
    """A synchronous reconciler reads caches in its thread, while others do, too."""
    records = [widget(f"w{number}", text=f"{number} " * 200) for number in range(200)]
    store = Store(compression=Compression(Seconds(), 50_000))
    store.replace(records)
    assert len(compressed(store)) == len(records)
    expected = [record.data for record in records]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: [record.data for record in store.records()], range(8)))
    assert all(one == expected for one in found)


@needs_zstd
async def test_a_large_first_state_is_compressed_as_it_comes(cluster: Cluster) -> None:
    """Otherwise the memory of an operator would be the largest at its start, which is when it is restarted for it."""
    text = json.dumps({f"key{number}": "value" for number in range(40)})
    for number in range(80):
        await cluster.client.create(ConfigMap(meta(f"c{number}"), data={"text": text, "number": str(number)}))
    options = InformerOptions(compress_above=20_000)
    connection = ApiConnection(cluster.transport, cluster.clock, Randomness())
    async with Informer(ConfigMap, connection, options=options) as cache:
        assert len(compressed(cache.store)) == len(cache) >= 80
        assert cache.store.bytes < 20_000
        found = cache.get("default/c7")
        assert found is not None
        assert found.data == {"text": text, "number": "7"}
        await cluster.client.patch(found, {"data": {"number": "8"}})
        await cluster.eventually(lambda: "c7" not in compressed(cache.store))
        changed = cache.get("default/c7")
        assert changed is not None
        assert changed.data["number"] == "8"


def test_zstd_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator starts and runs without the extra."""
    monkeypatch.setitem(sys.modules, "backports", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    assert train_zstd([b"{}"] * 50) is None


def test_training_on_too_little_gives_up() -> None:
    """The library refuses to train on a few bytes; the cache stays as it is."""
    assert train_zstd([b"{}"]) is None
