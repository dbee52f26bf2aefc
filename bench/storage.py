"""The store alone: writes, reads, lists, pages, watchers, snapshots and memory, with 10,000 objects of 1.6 KB."""

import gc
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import msgspec

from bench.managed_fields import widget
from steersman.apiserver.storage.history import HistoryLimits
from steersman.apiserver.storage.store import Delete, PageQuery, Put, Store

_OBJECTS = 10_000
_RESOURCE = "widgets.demo.dev"


def _objects() -> list[dict[str, Any]]:
    raw = msgspec.json.encode(widget())
    result = []
    for index in range(_OBJECTS):
        obj: dict[str, Any] = msgspec.json.decode(raw)
        obj["metadata"].update(name=f"widget-{index:05}", namespace=f"ns-{index % 10}", uid=f"uid-{index}")
        result.append(obj)
    return result


def _timed(name: str, count: int, work: Callable[[], object]) -> None:
    start = perf_counter()
    work()
    took = perf_counter() - start
    print(f"  {name:44} {took * 1e3:9.2f} ms  {took / count * 1e6:8.2f} µs each  {count / took:12,.0f} /s")


def _fill(store: Store, objects: list[dict[str, Any]]) -> None:
    for obj in objects:
        store.commit([Put(_RESOURCE, obj)], 0)


def _page_through(store: Store) -> None:
    page = store.list(_RESOURCE, PageQuery(limit=500))
    while page.continue_token:
        page = store.list(_RESOURCE, PageQuery(limit=500, continue_token=page.continue_token))


def main() -> None:
    """Print the table."""
    objects = _objects()
    # As a server does: objects that exist at the start are excluded from garbage collection.
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    store = Store(HistoryLimits(events=2 * _OBJECTS))
    _timed("create", _OBJECTS, lambda: _fill(store, objects))
    version = store.resource_version
    _timed("update", _OBJECTS, lambda: _fill(store, objects))
    names = [(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in objects]
    _timed("get and decode", _OBJECTS, lambda: sum(len(_decoded(store, *name)) for name in names))
    _timed("list all, bytes only", _OBJECTS, lambda: store.list(_RESOURCE))
    _timed("list one namespace, bytes only", _OBJECTS // 10, lambda: store.list(_RESOURCE, PageQuery(namespace="ns-3")))
    _timed("page through, 500 a page", _OBJECTS, lambda: _page_through(store))
    exact = PageQuery(resource_version=version, match="Exact")
    _timed("list as of before the updates", _OBJECTS, lambda: store.list(_RESOURCE, exact))
    _timed(
        "100 watchers read the updates",
        100 * _OBJECTS,
        lambda: [store.events_since(_RESOURCE, version) for _ in range(100)],
    )
    _timed("snapshot and restore", _OBJECTS, lambda: store.restore(store.snapshot()))
    _timed("delete", _OBJECTS, lambda: [store.commit([Delete(_RESOURCE, *name)], 0) for name in names])
    tracemalloc.start()
    small = Store(HistoryLimits(events=1))
    _fill(small, objects)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    print(f"  {'memory an object':44} {kept / _OBJECTS:9.0f} bytes for {len(msgspec.json.encode(objects[0]))} of JSON")


def _decoded(store: Store, namespace: str, name: str) -> dict[str, Any]:
    record = store.get(_RESOURCE, namespace, name)
    assert record is not None
    return record.decode()


if __name__ == "__main__":
    main()
