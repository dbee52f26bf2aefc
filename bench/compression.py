"""Compressed caches: bytes of a cached object, and what it costs to compress one and to read one.

Two processes cache the same widgets, one of them without compression; each reports its own memory and CPU time.
"""

import gc
import json
import subprocess
import sys
import time

from bench._memory import rss
from bench._results import Results
from bench.scripted import Widgets
from steersman.informer.compression import COMPRESS_ABOVE, Compression, return_free_memory
from steersman.informer.index import by_namespace
from steersman.informer.record import Record, RecordReader
from steersman.informer.store import Store
from steersman.objects.codec import decode
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured

OBJECTS = 50_000
READS = 10_000
CHANGES = 10_000


def measure(above: int | None) -> dict[str, float]:
    """Fill a store as a reflector does, then read and change objects."""
    widgets, reader = Widgets(), RecordReader(GroupVersionKind("bench.example.com", "v1", "Widget"))
    compression = Compression(time.monotonic, above)
    store = Store({"namespace": by_namespace}, compression=compression)
    gc.collect()
    before, seconds, size = rss(), 0.0, 0
    buffer: list[Record] = []
    for number in range(OBJECTS):
        raw = widgets.json(number, 1000 + number).encode()
        started = time.process_time()
        record = compression.compressed(reader.read(raw))
        buffer.append(record)
        size += len(record.content)
        compression.begin(buffer, size)
        seconds += time.process_time() - started
    started = time.process_time()
    store.replace(buffer, initial=True)
    seconds += time.process_time() - started
    del buffer, record
    gc.collect()
    return_free_memory()
    memory = rss() - before
    started = time.process_time()
    for record in store.records()[:READS]:
        decode(Unstructured, record.data)
    read = (time.process_time() - started) / READS
    changed = 0.0
    for number in range(CHANGES):
        raw = widgets.json(number, 1_000_000 + number).encode()
        started = time.process_time()
        store.put(reader.read(raw))
        changed += time.process_time() - started
    return {
        "KiB of memory an object": memory * 1024 / OBJECTS,
        "bytes of content an object": store.bytes / OBJECTS,
        "CPU, µs to cache one": seconds / OBJECTS * 1e6,
        "CPU, µs to read and decode one": read * 1e6,
        "CPU, µs to apply a change": changed / CHANGES * 1e6,
    }


def main() -> None:
    """Measure both in turns, each in its own process."""
    results = Results("compression", f"A cache of {OBJECTS:,} objects of 2.7 KB, compressed and plain")
    code = (
        "import json, sys; from bench.compression import measure; print(json.dumps(measure(json.loads(sys.argv[1]))))"
    )
    for _ in range(3):
        for name, above in (("compressed", COMPRESS_ABOVE), ("plain", None)):
            command = [sys.executable, "-c", code, json.dumps(above)]
            shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - ourselves
            results.add(name, **json.loads(shown.stdout))
    results.show()


if __name__ == "__main__":
    main()
