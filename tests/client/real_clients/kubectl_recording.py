"""The output of kubectl with a real kube-apiserver, its input files, and the values that may differ."""

import json
import lzma
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden"
#: The recording keeps this many lines of a longer output.
_KEPT_LINES = 14
_SHORTEST_CUT = 12


@dataclass(frozen=True, slots=True)
class Recorded:
    """One command and its output."""

    command: str
    output: str


def recorded_commands() -> list[Recorded]:
    """Return the commands in order."""
    text = lzma.decompress((GOLDEN / "kubectl-output.txt.xz").read_bytes()).decode()
    # Some outputs end without a line break, so that the next command is on their last line.
    parts = re.split(r"(?:^|(?<=\n)|(?<=ok)|(?<=KoA))\$ kubectl ", text)[1:]
    found = []
    for part in parts:
        command, _, output = part.partition("\n")
        found.append(Recorded(command, output))
    return found


def arguments(command: str) -> list[str]:
    """Split a command into its arguments: JSON arguments contain no blanks, so blanks separate."""
    return command.split(" ")


def _widget(color: str, tags: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "demo.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w1", "labels": {"app": "x"}},
        "spec": {
            "color": color,
            "tags": tags,
            "items": [{"key": "a", "value": "1"}],
            "free": {"x": 1},
            "immutable": "one",
        },
    }


def _deployment(image: str) -> dict[str, Any]:
    labels = {"app": "d1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d1", "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


#: An Event that existed before the first command.
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "event-1", "namespace": "default"},
    "involvedObject": {"apiVersion": "demo.dev/v1", "kind": "Widget", "name": "w1", "namespace": "default"},
    "reason": "Made",
    "message": "hi",
    "type": "Normal",
    "source": {"component": "kopf"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:00Z",
}


def write_files(folder: Path) -> None:
    """Write the manifests that the commands name."""
    (folder / "crd.yaml").write_bytes((GOLDEN / "widgets-crd.yaml").read_bytes())
    documents = {
        "w1": _widget("red", ["t1"]),
        "w1b": _widget("blue", ["t1", "t2"]),
        "cm": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm1"}, "data": {"a": "b"}},
        "dep": _deployment("nginx"),
        "dep2": _deployment("nginx:2"),
        "event": EVENT,
    }
    for name, document in documents.items():
        (folder / f"{name}.yaml").write_text(json.dumps(document))


#: Values that differ from run to run: pattern and replacement.
_GENERATED = (
    (r"https?://127\.0\.0\.1:\d+", "<url>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+\d{4}|Z)", "<time>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\S*(LIVE|MERGED)-\d+", r"\1"),
    (r"(Resource Version: +|resourceVersion: \")\d+", r"\1<version>"),
    (r"^(UID +)\S+$", r"\1<uid>"),
    (r"\b10\.\d+\.\d+\.(?!1\b)\d+", "<address>"),
    (r"(?<!\S)(<unknown>|(\d+d)?(\d+h)?(\d+m)?(\d+s)?)(?=\s|$)", lambda match: "<age>" if match[0] else ""),
)


def normalised(text: str) -> list[str]:
    """Return the lines of an output with every generated value replaced; widths of columns follow the values."""
    lines = []
    for line in text.splitlines()[:_KEPT_LINES]:
        for pattern, name in _GENERATED:
            line = re.sub(pattern, name, line)
        indentation = line[: len(line) - len(line.lstrip())]
        lines.append(indentation + re.sub(r" +", " ", line.strip()))
    return lines


def same(recorded: str, printed: str) -> bool:
    """Return whether both outputs are the same, as far as the recording goes."""
    wanted, got = normalised(recorded), normalised(printed)
    if len(wanted) >= _SHORTEST_CUT:  # the recording may have been cut off here
        return got[: len(wanted)] == wanted
    return got == wanted
