"""What can be wrong between an operator and its cluster: each check yields findings, each bad one with advice."""

import enum
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from steersman.cli.cluster.rollout import pod_problem, release_pods, rollout_of
from steersman.cli.why.operators import RunningOperator
from steersman.cli.why.overview_text import cache_text
from steersman.client.client import Client
from steersman.errors import Forbidden, NotFound, SteersmanError
from steersman.history.state import CacheState
from steersman.informer.growth import LARGE
from steersman.json_types import JsonObject
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.authorization_v1 import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from steersman.manager.install import client_config_of
from steersman.manager.leader.shard_election import table_name
from steersman.manager.operator import Operator
from steersman.manager.rbac import Grant
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import KubeObject, resource_of
from steersman.schema.crd_diff import crd_diff
from steersman.schema.declaration import is_custom
from steersman.schema.schema_diff import Severity

_DEFINITION: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


class Level(enum.Enum):
    """How a check went."""

    GOOD = "ok"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and what to do about it."""

    level: Level
    what: str
    advice: str = ""


def good(what: str) -> Finding:
    """Return a finding that something works."""
    return Finding(Level.GOOD, what)


def bad(what: str, advice: str) -> Finding:
    """Return a finding that keeps the operator from working."""
    return Finding(Level.BAD, what, advice)


def note(what: str, advice: str = "") -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(Level.NOTE, what, advice)


async def definition_findings(client: Client, definitions: list[JsonObject]) -> AsyncIterator[Finding]:
    """Compare the CRDs in the cluster with those that `steer deploy` would apply."""
    for wanted in definitions:
        name = wanted["metadata"]["name"]
        try:
            found = await client.try_get(_DEFINITION, name)
        except Forbidden as error:
            yield note(f"definition {name}: {error}", "ask for get on customresourcedefinitions")
            return
        if found is None:
            kind, versions = wanted["spec"]["names"]["kind"], ", ".join(v["name"] for v in wanted["spec"]["versions"])
            what = f"definition {name} is not in the cluster: {kind} ({versions}) is not served"
            yield bad(what, "run 'steer deploy'" if client_config_of(wanted) else "run 'steer install'")
            continue
        for finding in definition_state(found.content, wanted):
            yield finding


def definition_state(found: JsonObject, wanted: JsonObject) -> Iterator[Finding]:
    """Yield what is wrong with one CRD in the cluster, compared with the one that `steer deploy` would apply."""
    name = wanted["metadata"]["name"]
    status = found.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    for type_ in ("NamesAccepted", "Established"):
        condition = conditions.get(type_, {})
        if condition.get("status") != "True":
            why = condition.get("message") or "the server gives no reason"
            yield bad(f"definition {name} is not {type_}: {why}", "see 'kubectl describe crd'")
            return
    known = {version["name"] for version in wanted["spec"]["versions"]}
    if left := [version for version in status.get("storedVersions") or () if version not in known]:
        yield bad(
            f"objects of {name} may be stored as {', '.join(left)}, which is no longer declared",
            "migrate them before you install",
        )
    changes, conversion = crd_diff(found, wanted), conversion_finding(found, wanted)
    if conversion is not None:
        yield conversion
    if not changes and conversion is None:
        yield good(f"definition {name} is as declared")
    elif any(change.severity is Severity.BREAKING for change in changes):
        what = f"definition {name} differs from the declared one in a breaking way"
        yield bad(what, "see 'steer install --dry-run'")
    elif changes:
        yield note(f"definition {name} differs from the declared one", "run 'steer install'")


async def kind_findings(client: Client, operator: Operator) -> AsyncIterator[Finding]:
    """Yield the kinds of other programs that the operator follows, and that the cluster does not serve."""
    for kind, is_optional in _foreign_kinds(operator).items():
        gvk, gvr = resource_of(kind).gvk, resource_of(kind).gvr
        if not gvk.group or await client.discovery.is_served(gvr):
            continue
        what = f"the cluster does not serve {gvk.kind} ({gvk.api_version}), which the operator follows"
        if is_optional:
            yield note(what, "it is optional: the operator works without it")
        else:
            yield bad(what, f"install the definition of {gvr.group_resource}, with that version")


def _foreign_kinds(operator: Operator) -> dict[type[KubeObject], bool]:
    """Return the kinds whose definitions the operator does not bring along, and whether it works without them."""
    found: dict[type[KubeObject], bool] = {}
    for reconciler in operator.reconcilers:
        options = reconciler.options
        named = [(reconciler.kind, options.optional), *((kind, False) for kind in options.owns)]
        for kind, is_optional in [*named, *((watch.kind, watch.optional) for watch in options.watches)]:
            if kind not in operator.kinds or not is_custom(kind):
                found[kind] = found.get(kind, True) and is_optional
    return found


def conversion_finding(found: JsonObject, wanted: JsonObject) -> Finding | None:
    """Return what is wrong with the conversion between versions of a CRD; ``None`` if it is as wanted.

    The webhook is not called: the API server calls it, not this machine.
    """
    name, there, needed = wanted["metadata"]["name"], client_config_of(found), client_config_of(wanted)
    if needed and not there:
        return bad(
            f"definition {name} converts nothing between its versions: objects lose fields silently",
            "run 'steer deploy', or 'steer run --install-crds --webhook-url https://HOST:PORT'",
        )
    if there and not needed and len(wanted["spec"]["versions"]) > 1:
        return note(
            f"definition {name} is converted by {place_of(there)}, though its declared versions do not need that"
        )
    if needed and place_of(there) != place_of(needed):
        return note(
            f"definition {name} is converted by {place_of(there)}, not by {place_of(needed)}",
            "run 'steer deploy' to let the deployed operator convert",
        )
    return None


def place_of(client_config: JsonObject) -> str:
    """Return where a webhook is called, in words."""
    service = client_config.get("service")
    return f"service {service['namespace']}/{service['name']}" if service else str(client_config.get("url"))


async def permission_findings(
    client: Client, grants: list[Grant], *, namespaces: tuple[str, ...], account: str = ""
) -> AsyncIterator[Finding]:
    """Check that the server allows everything that the operator does, for this user or another account."""
    denied = []
    for grant in grants:
        places = grant.namespaces or (namespaces if grant.namespaced and namespaces else ("",))
        for place, object_name in product(places, grant.names or ("",)):
            verbs = [
                verb for verb in grant.verbs if not await _may(client, grant, verb, place, account, name=object_name)
            ]
            if verbs:
                name = f"{grant.resource}.{grant.group}" if grant.group else grant.resource
                denied.append(f"{'/'.join(verbs)} {name}{f' in {place}' if place else ''}")
    who = account or "you"
    if denied:
        advice = "run 'steer deploy'" if account else "bind the role of 'steer manifests' to your user"
        yield bad(f"{who} may not {', '.join(denied)}", advice)
    else:
        yield good(f"{who} may do everything that the operator does")


async def lease_findings(operator: Operator, client: Client, namespace: str, account: str) -> AsyncIterator[Finding]:
    """Check that the deployed operator may take part in its leader election: without that it does nothing."""
    name = table_name(operator.name) if operator.shards else operator.name
    created = Grant("coordination.k8s.io", "leases", ("create", *(("list", "watch") if operator.shards else ())))
    kept = Grant("coordination.k8s.io", "leases", ("get", "list", "watch", "patch"))
    denied = [verb for verb in created.verbs if not await _may(client, created, verb, namespace, account)]
    denied += [verb for verb in kept.verbs if not await _may(client, kept, verb, namespace, account, name=name)]
    if denied:
        yield bad(f"{account} may not {'/'.join(denied)} its lease {namespace}/{name}", "run 'steer deploy'")


async def _may(client: Client, grant: Grant, verb: str, namespace: str, account: str, *, name: str = "") -> bool:
    resource, _, part = grant.resource.partition("/")
    asked = ResourceAttributes(
        group=grant.group,
        resource=resource,
        subresource=part or None,
        verb=verb,
        namespace=namespace or None,
        name=name or None,
    )
    if account:
        spec = SubjectAccessReviewSpec(resource_attributes=asked, user=account)
        return bool((await client.create(SubjectAccessReview(spec=spec))).status.allowed)
    own = SelfSubjectAccessReviewSpec(resource_attributes=asked)
    return bool((await client.create(SelfSubjectAccessReview(spec=own))).status.allowed)


async def cache_findings(operators: Iterable[RunningOperator], name: str) -> AsyncIterator[Finding]:
    """Ask running operators for the caches of one of them: which are large, and which are behind."""
    for operator in operators:
        try:
            overview = await operator.overview()
        except SteersmanError as error:
            yield note(f"the caches of {operator.place} are unknown: {error}")
            continue
        if name in overview.operators:
            for cache in overview.caches:
                yield cache_finding(cache)


def cache_finding(cache: CacheState) -> Finding:
    """Return the state of one cache of a running operator."""
    what = cache_text(cache)
    if not cache.is_synced:
        return bad(what, "see the log of the operator")
    if cache.bytes >= LARGE:
        limits = "namespaces= or selector=" if cache.is_metadata_only else "namespaces=, selector= or metadata_only="
        return note(what, f"limit what is watched by {limits}")
    return good(what)


async def deployment_finding(client: Client, name: str, namespace: str) -> Finding:
    """Return the state of the deployed operator: whether the pods of the last rollout are ready."""
    try:
        found = await client.get(Deployment, name, namespace)
    except NotFound:
        return note(f"the operator is not deployed to {namespace}", "run 'steer deploy', or 'steer run' here")
    except Forbidden as error:
        return note(str(error))
    rollout = rollout_of(found)
    what = f"the operator is deployed to {namespace}: {rollout.text}"
    if rollout.is_complete:
        return good(what)
    try:
        pods = await release_pods(client, found)
    except Forbidden:
        pods = []
    problems = [f"; pod {pod.name}: {problem}" for pod in pods if (problem := pod_problem(pod))]
    is_waiting = not (problems or rollout.is_stuck) and found.status.ready_replicas
    if is_waiting:
        return note(f"{what}: a rollout is under way", "look again in a minute")
    return bad(f"{what}{''.join(problems[:1])}", f"see 'kubectl describe pods -n {namespace}'")
