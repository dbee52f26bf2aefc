"""Watch frames: events a second from bytes to typed events, for typical chunk sizes.

Beside it: reading every frame with the standard library, which is what clients do that keep no bytes.
"""

import json
import time
from collections.abc import Callable

from steersman.protocol.watch_frames import Applied, WatchFrames

EVENTS = 60_000
CHUNKS = (1_400, 16_384, 65_536, 262_144)


def _line() -> bytes:
    metadata = {
        "name": "widget-00042",
        "namespace": "default",
        "uid": "9b80bbb6-af46-4f90-94f1-2ab4482171db",
        "resourceVersion": "1234567",
        "generation": 7,
        "labels": {"app": "widget", "tier": "backend"},
        "managedFields": [{"manager": "bench", "operation": "Update", "fieldsV1": {"f:spec": {"f:color": {}}}}],
    }
    items = [{"key": f"k{number}", "value": "x" * 60, "weight": number} for number in range(13)]
    obj = {
        "apiVersion": "demo.dev/v1",
        "kind": "Widget",
        "metadata": metadata,
        "spec": {"color": "red", "items": items},
    }
    return json.dumps({"type": "MODIFIED", "object": obj}, separators=(",", ":")).encode() + b"\n"


def _ours(chunks: list[bytes]) -> int:
    frames = WatchFrames()
    count = 0
    for chunk in chunks:
        for event in frames.feed(chunk):
            count += isinstance(event, Applied)
    return count


def _standard(chunks: list[bytes]) -> int:
    rest = b""
    count = 0
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            count += json.loads(line)["type"] == "MODIFIED"
    return count


def _rate(read: Callable[[list[bytes]], int], chunks: list[bytes], events: int) -> float:
    begin = time.perf_counter()
    assert read(chunks) == events
    return events / (time.perf_counter() - begin)


def main() -> None:
    """Print a table."""
    line = _line()
    print(f"{EVENTS} frames of {len(line)} bytes")
    print(f"{'chunk':>10}  {'steersman':>12}  {'json.loads':>12}")
    for size in CHUNKS:
        data = line * EVENTS
        chunks = [data[start : start + size] for start in range(0, len(data), size)]
        few = chunks[: len(chunks) // 10]
        standard = b"".join(few).count(b"\n")
        print(f"{size:>10}  {_rate(_ours, chunks, EVENTS):>10,.0f}/s  {_rate(_standard, few, standard):>10,.0f}/s")
