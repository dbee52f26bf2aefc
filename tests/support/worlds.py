"""Two ways to the same end: what a plan says, and what the operator then does, made comparable field by field.

Some values are drawn by every server: uids, times, and the ends of names with ``generateName`` and of token volumes.
They are replaced by what they stand for; everything else must be equal.
"""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from steersman.client.client import Client
from steersman.clock import Clock, RealClock
from steersman.concurrency import background, wait_ready
from steersman.history.differences import without_bookkeeping, without_confidential
from steersman.history.records import ObjectName
from steersman.json_types import JsonObject
from steersman.kinds.apps_v1 import Deployment, StatefulSet
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, Secret, Service
from steersman.kinds.policy_v1 import PodDisruptionBudget
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.resource import KubeObject, resource_of
from steersman.planning import Plan
from steersman.transport.services import HttpServices

#: Kinds that an operator may write beside its own.
KINDS: tuple[type[KubeObject], ...] = (
    ConfigMap,
    Secret,
    Service,
    Pod,
    PersistentVolumeClaim,
    Deployment,
    StatefulSet,
    PodDisruptionBudget,
    Lease,
)
#: The volume with the token of a pod's service account, whose name admission draws.
_TOKEN_VOLUME = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")

World = dict[ObjectName, JsonObject]
#: What became of an object: its normalised JSON before and after; empty for none.
Differences = dict[str, tuple[str, ...]]


async def world_of(client: Client, operator: Operator, namespace: str) -> World:
    """Return every object that an operator may have written, without what changes with every write."""
    found: World = {}
    kinds = {(resource_of(kind).gvk.group, resource_of(kind).gvk.kind): kind for kind in (*KINDS, *_read_by(operator))}
    for kind in kinds.values():
        resource = resource_of(kind)
        place = namespace if resource.namespaced else ""
        async for one in client.list(resource.gvk, namespace=place):
            content = one.content
            content = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, **content}
            if one.name != "kube-root-ca.crt":
                found[ObjectName(resource.gvk.kind, one.namespace, one.name)] = without_bookkeeping(content)
    return found


def _read_by(operator: Operator) -> list[type[KubeObject]]:
    """Return the kinds of an operator in the versions that it reads: those that it reconciles come last."""
    return [*operator.kinds, *(reconciler.kind for reconciler in operator.reconcilers)]


def done(before: World, after: World) -> Differences:
    """Return what changed between two worlds, masked like a plan: passwords and tokens are not shown there."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return _comparable([(_masked(before.get(name)), _masked(after.get(name))) for name in names])


def _masked(document: JsonObject | None) -> JsonObject | None:
    if document is None or document["kind"] == "Secret":
        return document
    return without_confidential(document)


def planned(plan: Plan) -> Differences:
    """Return what a plan says would change, without the definitions."""
    pairs = [
        (decode_json(change.before) if change.before else None, decode_json(change.after) if change.after else None)
        for one in plan.objects
        for change in one.changes
    ]
    return _comparable(pairs)


def _comparable(pairs: list[tuple[JsonObject | None, JsonObject | None]]) -> Differences:
    """Replace what servers draw: uids of new objects, times, ends of generated names."""
    new = [after for before, after in pairs if before is None and after is not None]
    names = _renamed(new)
    found: Differences = {}
    for before, after in pairs:
        texts = [_normalised(document, names) for document in (before, after)]
        document = after if after is not None else before
        assert document is not None
        metadata = document["metadata"]
        key = f"{document['kind']} {names.get(metadata['name'], metadata['name'])}"
        found[key] = (texts[0], texts[1])
    return found


def _renamed(documents: Iterable[JsonObject]) -> dict[str, str]:
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for document in sorted(documents, key=lambda one: str(one["metadata"]["name"])):
        metadata = document["metadata"]
        names[metadata["uid"]] = f"<uid of {document['kind']}>"
        prefix = metadata.get("generateName")
        if prefix:
            counts[prefix] = counts.get(prefix, 0) + 1
            names[metadata["name"]] = f"{prefix}<{counts[prefix]}>"
    return names


def _normalised(document: JsonObject | None, names: dict[str, str]) -> str:
    if document is None:
        return ""
    text = encode_json(document).decode()
    for name, stands_for in names.items():
        text = text.replace(name, stands_for)
    text = _TOKEN_VOLUME.sub("kube-api-access-<drawn>", text)
    content = decode_json(_TIME.sub("<time>", text).encode())
    lines: list[str] = []
    is_secret = content["kind"] == "Secret"
    _flatten("", {**content, "data": None, "secret": {"data": content.get("data")}} if is_secret else content, lines)
    return "\n".join(sorted(lines))


def _flatten(path: str, value: object, lines: list[str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _flatten(f"{path}.{key}", inner, lines)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _flatten(f"{path}[{number}]", inner, lines)
    else:
        lines.append(f"{path} = {'<drawn>' if _is_drawn(path, value) else repr(value)}")


def _is_drawn(path: str, value: object) -> bool:
    """Return whether a server or a random generator draws a value: addresses of Services, contents of Secrets."""
    return value != "None" and path.startswith((".spec.clusterIP", ".secret.data."))


@asynccontextmanager
async def running(
    client: Client, operator: Operator, options: ManagerOptions, *, clock: Clock | None = None, services: HttpServices
) -> AsyncIterator[Manager]:
    """Run an operator with every permission inside the block."""
    manager = Manager([operator], client.transport, options, clock=clock or RealClock(), services=services)
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        yield manager


def without(fields: tuple[str, ...], differences: Differences) -> Differences:
    """Return differences without the values of some fields."""
    return {
        name: tuple(
            "\n".join(line for line in text.splitlines() if line.split(" = ")[0] not in fields) for text in texts
        )
        for name, texts in differences.items()
    }
