"""The reconciler of Watcher: watches resources, and notifies handlers about their changes.

Changes are added to outboxes and trigger a reconcile, which delivers pending notifications. So a handler that fails
does not block others, and is retried like everything else: by another reconcile.
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
from kubewatch.outbox import Outbox, Pending
from kubewatch.sinks import SINKS, DeliveryError, RejectedError

#: Seconds to wait for the first list of a resource.
_SYNC = 5.0
#: Seconds after which a resource that cannot be watched is tried again; a change of its CRD triggers it, too.
RETRY_AFTER = 30.0

operator.permit(Secret, "get")


class Outboxes:
    """The outboxes of one watcher, in memory."""

    def __init__(self) -> None:
        """Create it without any outbox."""
        self._outboxes: dict[bytes, Outbox] = {}
        #: Messages about notifications that were given up since the last report.
        self.dead: list[str] = []

    def outbox(self, handler: Handler) -> Outbox:
        """Return the outbox of a handler; a handler with other settings has another one."""
        return self._outboxes.setdefault(encode_json(handler), Outbox())

    def keep(self, handlers: list[Handler]) -> None:
        """Remove the outboxes of all other handlers."""
        self._outboxes = {encode_json(handler): self.outbox(handler) for handler in handlers}


def is_about(watcher: Watcher, definition: CustomResourceDefinition) -> bool:
    """Return whether a watcher watches the kind of a CRD."""
    names = (definition.spec.group, definition.spec.names.plural)
    return any((resource.group, resource.resource) == names for resource in watcher.spec.resources)


@operator.reconciler(Watcher, watches=[Chosen(CustomResourceDefinition, by=is_about)], workers=8)
async def reconcile(watcher: Watcher, ctx: Context[Watcher]) -> None:
    """Watch the resources, deliver pending notifications, and report both in the status."""
    boxes = ctx.memory(Outboxes)
    boxes.keep(watcher.spec.handlers)
    await _watch_all(watcher, boxes, ctx)
    async with asyncio.TaskGroup() as tasks:
        deliveries = [tasks.create_task(_deliver(handler, boxes, watcher, ctx)) for handler in watcher.spec.handlers]
    if boxes.dead:
        watcher.status.dead_letters += len(boxes.dead)
        ctx.condition("DeliveryDegraded", True, "GivenUp", boxes.dead[-1])
        ctx.event("DeliveryFailed", boxes.dead[-1], kind="Warning")
        boxes.dead.clear()
    elif any(task.result() for task in deliveries) or watcher.status.condition("DeliveryDegraded") is None:
        ctx.condition("DeliveryDegraded", False, "Delivering")


# Watching.


async def _watch_all(watcher: Watcher, boxes: Outboxes, ctx: Context[Watcher]) -> None:
    if any(cause.kind == "CustomResourceDefinition" for cause in ctx.why):
        await ctx.client.discovery.refresh()
    wanted: dict[tuple[ApiResource, Selection], list[WatchedResource]] = defaultdict(list)
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
        wanted[served, Selection(namespaces=namespaces, label_selector=resource.label_selector)].append(resource)
    for (served, selection), resources in wanted.items():
        notify = _change_handler(watcher, resources, boxes, ctx)
        failures += await _watch(served, selection, notify, ctx)
    if failures:
        ctx.condition("Ready", False, *failures[0])
        ctx.requeue_after(RETRY_AFTER)
    else:
        ctx.condition("Ready", True, "Watching")


async def _watch(
    served: ApiResource, selection: Selection, notify: ChangeHandler, ctx: Context[Watcher]
) -> list[tuple[str, str]]:
    """Watch one resource; return its problems as (reason, message)."""
    informer = ctx.follow(served, notify, selection)
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


def _change_handler(
    watcher: Watcher, resources: list[WatchedResource], boxes: Outboxes, ctx: Context[Watcher]
) -> ChangeHandler:
    """Return the function that handles changes of some resources: it fills the outboxes and triggers a reconcile."""
    wake, redact = ctx.waker(), watcher.spec.redact_secrets

    def notify(change: Change) -> None:
        if record_of(change).uid == watcher.uid:
            # A watcher that notified about itself would trigger itself with each status.
            return
        notification = notification_of(change, ctx.now(), redact=redact)
        if notification is None or not any(is_wanted(notification, resource) for resource in resources):
            return
        EVENTS.labels(resources[0].resource, notification.event).inc()
        for handler in watcher.spec.handlers:
            full = boxes.outbox(handler).put(notification)
            if full is not None:
                boxes.dead.append(_give_up_message(handler, full.notification, "too many are pending"))
        wake()

    return notify


# Delivering.


async def _deliver(handler: Handler, boxes: Outboxes, watcher: Watcher, ctx: Context[Watcher]) -> bool:
    """Deliver pending notifications of a handler until it fails; return whether any was delivered."""
    outbox, delivered = boxes.outbox(handler), False
    while (pending := outbox.take(ctx.now())) is not None:
        delivered |= await _send(pending, handler, boxes, watcher, ctx)
    if outbox:
        ctx.requeue_after(max(outbox.pause(ctx.now()), 0.001))
    return delivered


async def _send(pending: Pending, handler: Handler, boxes: Outboxes, watcher: Watcher, ctx: Context[Watcher]) -> bool:
    outbox = boxes.outbox(handler)
    try:
        await SINKS[handler.type](pending.notification, handler, await _secret(handler, ctx), ctx)
    except RejectedError as rejection:
        DELIVERIES.labels(handler.type, "refused").inc()
        boxes.dead.append(_give_up_message(handler, pending.notification, str(rejection)))
    except DeliveryError as failure:
        DELIVERIES.labels(handler.type, "failed").inc()
        dead = outbox.failed(pending, ctx.now(), max_retries=watcher.spec.max_retries)
        if dead is not None:
            boxes.dead.append(_give_up_message(handler, dead.notification, str(failure)))
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
        raise DeliveryError(f"Secret {reference.name!r} has no key {reference.key!r}")
    # Many Secrets are created from files, which end in a line break.
    return value.decode("utf-8", "replace").strip()


def _give_up_message(handler: Handler, notification: Notification, why: str) -> str:
    return f"gave up notifying {handler} that {notification.text}: {why}"
