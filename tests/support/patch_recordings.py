"""The recorded sequences of applies, patches and updates, step by step, each with the object before it."""

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

_GOLDEN = Path(__file__).parent.parent / "golden" / "patch"


@dataclass(slots=True)
class Target:
    """The object that a path names."""

    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the object."""
        return self.group, self.plural, self.namespace, self.name


def target_of(path: str) -> Target:
    """Parse a path."""
    parts = path.strip("/").split("/")
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(group, version, plural, namespace, name, subresource)


@dataclass(slots=True)
class Step:
    """One recorded exchange, and the object before it."""

    name: str
    raw: dict[str, Any]
    target: Target
    #: The object before this step; ``None`` if there was none, or none was recorded.
    live: dict[str, Any] | None
    #: The schema of each custom resource at this point, by group and plural: version to its entry in the CRD.
    crds: dict[tuple[str, str], dict[str, dict[str, Any]]]
    #: Whether ``live`` is the state of the server, and the answer shows the new one.
    is_known: bool = True

    @property
    def method(self) -> str:
        """The HTTP method."""
        return str(self.raw["method"])

    @property
    def body(self) -> Any:
        """The body: a document, or verbatim text."""
        if repeat := self.raw.get("body_repeat"):
            return [repeat["item"]] * repeat["count"]
        return self.raw.get("body")

    @property
    def status(self) -> int:
        """The recorded status code."""
        return int(self.raw["status"])

    @property
    def response(self) -> dict[str, Any]:
        """The recorded answer; empty if it is not an object."""
        response = self.raw["response"]
        return response if isinstance(response, dict) else {}

    @property
    def content_type(self) -> str:
        """The media type of the body."""
        return str(self.raw["headers"].get("Content-Type", ""))

    @property
    def query(self) -> dict[str, str]:
        """The query parameters."""
        found = parse_qs(urlsplit(self.raw["path"]).query, keep_blank_values=True)
        return {key: values[0] for key, values in found.items()}

    @property
    def manager(self) -> str:
        """The field manager, as the server determines it."""
        agent = self.raw["headers"].get("User-Agent", "")
        return self.query.get("fieldManager") or str(agent).partition("/")[0] or "unknown"

    @property
    def is_varying(self) -> bool:
        """Return whether the real server answers differently each time."""
        return bool(self.raw.get("varies"))


@dataclass(slots=True)
class _State:
    objects: dict[tuple[str, str, str, str], dict[str, Any]] = field(default_factory=dict)
    crds: dict[tuple[str, str], dict[str, dict[str, Any]]] = field(default_factory=dict)
    unknown: set[tuple[str, str, str, str]] = field(default_factory=set)

    def learn(self, step: Step) -> None:
        """Record an answer."""
        target, response = step.target, step.response
        if step.status >= 300 or "dryRun" in step.query:
            return
        if target.subresource == "scale" and step.method != "GET":
            # Its answer does not contain the object, which is unknown until the next answer that does.
            self.unknown.add(target.key)
            return
        if target.plural == "customresourcedefinitions":
            self.learn_crd(response)
        metadata = response.get("metadata", {})
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            # The answer to the request that released it.
            self.objects.pop(target.key, None)
        elif step.method == "DELETE" and response.get("kind") == "Status":
            self.objects.pop(target.key, None)
        elif target.subresource in ("", "status") and response.get("kind") != "Status":
            name = target.name or response.get("metadata", {}).get("name", "")
            key = (target.group, target.plural, target.namespace, name)
            self.objects[key] = response
            self.unknown.discard(key)
            if "as=" in step.raw["headers"].get("Accept", ""):
                self.unknown.add(key)

    def learn_crd(self, crd: dict[str, Any]) -> None:
        """Record the schemas of a CRD."""
        if "spec" in crd:
            spec = crd["spec"]
            self.crds[spec["group"], spec["names"]["plural"]] = {one["name"]: one for one in spec["versions"]}


def steps(file: str) -> Iterator[Step]:
    """Return every step of a file of recordings."""
    with lzma.open(_GOLDEN / f"{file}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from _steps_of(json.loads(line))


def _steps_of(sequence: dict[str, Any]) -> Iterator[Step]:
    state = _State()
    for setup in sequence.get("setup", ()):
        if setup["path"].endswith("customresourcedefinitions"):
            state.learn_crd(setup["body"])
    for index, raw in enumerate(sequence["steps"]):
        target = target_of(urlsplit(raw["path"]).path)
        live = state.objects.get(target.key) if target.name else None
        step = Step(f"{sequence['name']}/{index} {raw['case']}", raw, target, live, dict(state.crds))
        step.is_known = target.key not in state.unknown and "as=" not in raw["headers"].get("Accept", "")
        yield step
        state.learn(step)
