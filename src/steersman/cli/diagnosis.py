"""What can be wrong between an operator and its cluster: each check gives findings, each bad one with what to do."""

import enum
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.errors import Forbidden, NotFound
from steersman.kinds.admissionregistration_v1 import (
    MutatingWebhook,
    MutatingWebhookConfiguration,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
)
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.authorization_v1 import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from steersman.kinds.core_v1 import Service
from steersman.manager.permissions import Grant
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.schema.crd_diff import crd_diff
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
    """Make a finding that all is well."""
    return Finding(Level.GOOD, what)


def bad(what: str, advice: str) -> Finding:
    """Make a finding that keeps the operator from working."""
    return Finding(Level.BAD, what, advice)


def note(what: str, advice: str = "") -> Finding:
    """Make a finding that is worth knowing."""
    return Finding(Level.NOTE, what, advice)


async def definition_findings(client: Client, definitions: list[Unstructured]) -> AsyncIterator[Finding]:
    """Compare the definitions in the cluster with those that are declared."""
    for wanted in definitions:
        try:
            found = await client.try_get(_DEFINITION, wanted.name)
        except Forbidden as error:
            yield note(f"definition {wanted.name}: {error}", "ask for get on customresourcedefinitions")
            return
        if found is None:
            yield bad(f"definition {wanted.name} is not in the cluster", "run 'steer install'")
            continue
        for finding in definition_state(found.content, wanted.content):
            yield finding


def definition_state(found: dict[str, Any], wanted: dict[str, Any]) -> Iterator[Finding]:
    """Judge one definition as the server has it."""
    name = wanted["metadata"]["name"]
    status = found.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    for type_ in ("NamesAccepted", "Established"):
        condition = conditions.get(type_, {})
        if condition.get("status") != "True":
            why = condition.get("message") or "the server says no more"
            yield bad(f"definition {name} is not {type_}: {why}", "see 'kubectl describe crd'")
            return
    known = {version["name"] for version in wanted["spec"]["versions"]}
    if left := [version for version in status.get("storedVersions") or () if version not in known]:
        yield bad(
            f"objects of {name} may be stored as {', '.join(left)}, which is not declared any more",
            "migrate them before you install",
        )
    changes = crd_diff(found, wanted)
    if not changes:
        yield good(f"definition {name} is as declared")
    elif any(change.severity is Severity.BREAKING for change in changes):
        what = f"definition {name} differs from the declared one, and that breaks somebody"
        yield bad(what, "see 'steer install --dry-run'")
    else:
        yield note(f"definition {name} differs from the declared one", "run 'steer install'")


async def permission_findings(
    client: Client, grants: list[Grant], *, namespaces: tuple[str, ...], account: str = ""
) -> AsyncIterator[Finding]:
    """Ask the server whether everything is allowed that the operator does: to us, or to another account."""
    denied = []
    for grant in grants:
        places = namespaces if grant.namespaced and namespaces else ("",)
        for place in places:
            verbs = [verb for verb in grant.verbs if not await _may(client, grant, verb, place, account)]
            if verbs:
                name = f"{grant.resource}.{grant.group}" if grant.group else grant.resource
                denied.append(f"{'/'.join(verbs)} {name}{f' in {place}' if place else ''}")
    who = account or "you"
    if denied:
        advice = "run 'steer deploy'" if account else "bind the role of 'steer manifests' to your user"
        yield bad(f"{who} may not {', '.join(denied)}", advice)
    else:
        yield good(f"{who} may do everything that the operator does")


async def lease_findings(client: Client, name: str, namespace: str, account: str) -> AsyncIterator[Finding]:
    """Ask the server whether the deployed operator may take part in its election: without that it does nothing."""
    created = Grant("coordination.k8s.io", "leases", ("create",))
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


async def webhook_findings(client: Client) -> AsyncIterator[Finding]:
    """Look for webhooks that cannot be called: those that must not fail make every write of their kinds fail."""
    broken = 0
    try:
        async for configuration in _configurations(client):
            for webhook in configuration.webhooks or ():
                problem = await _webhook_problem(client, webhook)
                if problem:
                    broken += 1
                    what = f"webhook {webhook.name} {problem}"
                    advice = f"bring its operator back, or delete {type(configuration).__name__} {configuration.name}"
                    yield note(what, advice) if webhook.failure_policy == "Ignore" else bad(what, advice)
    except (Forbidden, NotFound) as error:
        yield note(f"webhooks cannot be looked at: {error}")
        return
    if not broken:
        yield good("no webhook calls a service that is not there, or trusts nobody")


async def _webhook_problem(client: Client, webhook: MutatingWebhook | ValidatingWebhook) -> str:
    """Say why a webhook cannot be called; empty if it can, as far as one can see."""
    config = webhook.client_config
    service = config.service
    if service is not None and await client.try_get(Service, service.name, service.namespace) is None:
        return f"calls service {service.namespace}/{service.name}, which is not there"
    if service is not None and not config.ca_bundle:
        return "has no caBundle: no certificate of its service is trusted"
    if config.ca_bundle:
        # Loaded here: most clusters that are looked at have no webhooks, and the library for certificates is large.
        from steersman.webhook.material import valid_until

        end = valid_until(config.ca_bundle)
        if end is None or end <= RealClock().now():
            return "trusts only certificates that are over" if end else "has a caBundle that cannot be read"
    return ""


async def _configurations(
    client: Client,
) -> AsyncIterator[ValidatingWebhookConfiguration | MutatingWebhookConfiguration]:
    async for validating in client.list(ValidatingWebhookConfiguration):
        yield validating
    async for mutating in client.list(MutatingWebhookConfiguration):
        yield mutating


async def deployment_finding(client: Client, name: str, namespace: str) -> Finding:
    """Tell how the deployed operator is."""
    try:
        found = await client.get(Deployment, name, namespace)
    except NotFound:
        return note(f"the operator is not deployed to {namespace}", "run 'steer deploy', or 'steer run' here")
    except Forbidden as error:
        return note(str(error))
    ready = found.status.ready_replicas or 0
    if ready:
        return good(f"the operator is deployed to {namespace}: {ready} ready")
    return bad(f"no pod of {Ref(Deployment, name, namespace)} is ready", f"see 'kubectl describe pods -n {namespace}'")
