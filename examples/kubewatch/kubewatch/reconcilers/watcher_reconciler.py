"""What the operator does for a Watcher: it follows the resources, and tells the handlers what happens to them.

Changes go into outboxes and wake the watcher; a run delivers what waits. So a handler that fails holds up nobody else,
and is tried again as everything here is: by running again.
"""

import asyncio
from collections import defaultdict

from steersman import Chosen, Context, NotFound
from steersman.controller import ChangeHandler
from steersman.errors import Forbidden, SelectorError, WaitTimeout
from steersman.informer import Change, Selection, record_of
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.kinds.core_v1 import Secret
from steersman.objects import ApiResource, LabelSelector, encode_json

from kubewatch.api.watcher_v1 import Handler, WatchedResource, Watcher
from kubewatch.notification import Notification, is_wanted, notification_of
from kubewatch.operator import DELIVERIES, EVENTS, operator
from kubewatch.outbox import Letter, Outbox
from kubewatch.sinks import SINKS, DeliveryError, RefusedError

#: Seconds that a resource gets to be listed for the first time.
_SYNC = 5.0
#: Seconds after which what cannot be watched is looked for again, beside whenever a definition changes.
LOOK_AGAIN = 30.0

operator.permit(Secret, "get")


class Desk:
    """What one watcher has to tell, as long as this process lives."""

    def __init__(self) -> None:
        """Begin with nothing to tell."""
        self._outboxes: dict[bytes, Outbox] = {}
        #: Why notifications were given up since somebody asked.
        self.dead: list[str] = []

    def outbox(self, handler: Handler) -> Outbox:
        """Give what waits for a handler; one that is described otherwise is another one."""
        return self._outboxes.setdefault(encode_json(handler), Outbox())

    def keep(self, handlers: list[Handler]) -> None:
        """Forget what waits for others."""
        self._outboxes = {encode_json(handler): self.outbox(handler) for handler in handlers}


def is_about(watcher: Watcher, definition: CustomResourceDefinition) -> bool:
    """Tell whether a watcher watches what a definition defines."""
    names = (definition.spec.group, definition.spec.names.plural)
    return any((resource.group, resource.resource) == names for resource in watcher.spec.resources)


@operator.reconciler(Watcher, watches=[Chosen(CustomResourceDefinition, by=is_about)], workers=8)
async def reconcile(watcher: Watcher, ctx: Context[Watcher]) -> None:
    """Follow what is to be watched, deliver what waits, and say how both goes."""
    desk = ctx.memory(Desk)
    desk.keep(watcher.spec.handlers)
    await _follow_all(watcher, desk, ctx)
    async with asyncio.TaskGroup() as tasks:
        told = [tasks.create_task(_deliver(handler, desk, watcher, ctx)) for handler in watcher.spec.handlers]
    if desk.dead:
        watcher.status.dead_letters += len(desk.dead)
        ctx.condition("DeliveryDegraded", True, "GivenUp", desk.dead[-1])
        ctx.event("DeliveryFailed", desk.dead[-1], kind="Warning")
        desk.dead.clear()
    elif any(task.result() for task in told) or watcher.status.condition("DeliveryDegraded") is None:
        ctx.condition("DeliveryDegraded", False, "Delivering")


# Following.


async def _follow_all(watcher: Watcher, desk: Desk, ctx: Context[Watcher]) -> None:
    if any(cause.kind == "CustomResourceDefinition" for cause in ctx.why):
        await ctx.client.discovery.refresh()
    wishes: dict[tuple[ApiResource, Selection], list[WatchedResource]] = defaultdict(list)
    failures: list[tuple[str, str]] = []
    for resource in watcher.spec.resources:
        try:
            served = await ctx.client.discovery.served_at(resource.gvr)
            LabelSelector.parse(resource.label_selector)
        except NotFound:
            failures.append(("NoSuchResource", f"the server serves no {resource.gvr}"))
            continue
        except SelectorError as error:
            failures.append(("BadSelector", str(error)))
            continue
        namespaces = (resource.namespace,) if resource.namespace and served.namespaced else ()
        wishes[served, Selection(namespaces=namespaces, label_selector=resource.label_selector)].append(resource)
    for (served, selection), resources in wishes.items():
        told = _ear(watcher, resources, desk, ctx)
        failures += await _follow(served, selection, told, ctx)
    if failures:
        ctx.condition("Ready", False, *failures[0])
        ctx.requeue_after(LOOK_AGAIN)
    else:
        ctx.condition("Ready", True, "Watching")


async def _follow(
    served: ApiResource, selection: Selection, told: ChangeHandler, ctx: Context[Watcher]
) -> list[tuple[str, str]]:
    """Follow one resource; give what is in the way, if anything is."""
    informer = ctx.follow(served, told, selection)
    try:
        await informer.wait_synced(within=_SYNC)
    except WaitTimeout as error:
        match informer.freshness().error:
            case NotFound():
                return [("NoSuchResource", f"the server serves no {served.gvr}")]
            case Forbidden() as refusal:
                return [("Forbidden", str(refusal))]
            case _:
                return [("Unavailable", str(error))]
    return []


def _ear(watcher: Watcher, resources: list[WatchedResource], desk: Desk, ctx: Context[Watcher]) -> ChangeHandler:
    """Give what is told of the changes of some resources: it fills the outboxes, and wakes the watcher."""
    wake, redact = ctx.waker(), watcher.spec.redact_secrets

    def told(change: Change) -> None:
        if record_of(change).uid == watcher.uid:
            # What a watcher tells of itself would be about its telling.
            return
        notification = notification_of(change, ctx.now(), redact=redact)
        if notification is None or not any(is_wanted(notification, resource) for resource in resources):
            return
        EVENTS.labels(resources[0].resource, notification.event).inc()
        for handler in watcher.spec.handlers:
            full = desk.outbox(handler).put(notification)
            if full is not None:
                desk.dead.append(_obituary(handler, full.notification, "too many wait"))
        wake()

    return told


# Delivering.


async def _deliver(handler: Handler, desk: Desk, watcher: Watcher, ctx: Context[Watcher]) -> bool:
    """Deliver what waits for a handler until it fails; tell whether anything was delivered."""
    outbox, delivered = desk.outbox(handler), False
    while (letter := outbox.take(ctx.now())) is not None:
        delivered |= await _send(letter, handler, desk, watcher, ctx)
    if outbox:
        ctx.requeue_after(max(outbox.pause(ctx.now()), 0.001))
    return delivered


async def _send(letter: Letter, handler: Handler, desk: Desk, watcher: Watcher, ctx: Context[Watcher]) -> bool:
    outbox = desk.outbox(handler)
    try:
        await SINKS[handler.type](letter.notification, handler, await _secret(handler, ctx), ctx)
    except RefusedError as refusal:
        DELIVERIES.labels(handler.type, "refused").inc()
        desk.dead.append(_obituary(handler, letter.notification, str(refusal)))
    except DeliveryError as failure:
        DELIVERIES.labels(handler.type, "failed").inc()
        dead = outbox.failed(letter, ctx.now(), max_retries=watcher.spec.max_retries)
        if dead is not None:
            desk.dead.append(_obituary(handler, dead.notification, str(failure)))
    else:
        DELIVERIES.labels(handler.type, "delivered").inc()
        outbox.delivered()
        return True
    return False


async def _secret(handler: Handler, ctx: Context[Watcher]) -> str:
    reference = handler.secret_ref
    if reference is None:
        return ""
    secret = await ctx.get(Secret, reference.name)
    value = (secret.data or {}).get(reference.key) if secret is not None else None
    if value is None:
        raise DeliveryError(f"there is no {reference.key!r} in Secret {reference.name!r}")
    # Files end in a line break, and so do many Secrets that were made of them.
    return value.decode("utf-8", "replace").strip()


def _obituary(handler: Handler, notification: Notification, why: str) -> str:
    return f"gave up telling {handler} that {notification.text}: {why}"
