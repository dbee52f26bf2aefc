"""The reconciler of Watcher, with an API server for each test."""

import base64
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from steersman import Context, Invalid, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.kinds.events_v1 import Event
from steersman.objects import to_json
from steersman.protocol import load_objects
from steersman.testing import Cluster, FakeClock, Refuse

from kubewatch.api.watcher_v1 import Handler, SecretRef, WatchedResource, Watcher, WatcherSpec
from kubewatch.main import operator
from kubewatch.receivers import Hook, MailServer
from kubewatch.sinks import SLACK

URL = "http://hooks.example.com/in"
SEES_EVERYTHING = Path(__file__).parent / "sees_everything.yaml"
CONFIG_MAPS = WatchedResource(version="v1", resource="configmaps")
SECRETS = WatchedResource(version="v1", resource="secrets")


@asynccontextmanager
async def running(cluster: Cluster, *others: Operator) -> AsyncIterator[None]:
    """Run the operator with permission to read everything, which an administrator grants."""
    for obj in load_objects(SEES_EVERYTHING.read_bytes(), source=SEES_EVERYTHING.name):
        await cluster.client.apply(obj)
    async with cluster.running(operator, *others):
        yield


@pytest.fixture
def hook(cluster: Cluster) -> Hook:
    """Return the webhook that is notified."""
    hook = Hook()
    cluster.serve_http(URL, hook)
    return hook


def watcher(*resources: WatchedResource, **more: Any) -> Watcher:
    """Return a watcher that notifies the webhook."""
    more.setdefault("handlers", [Handler(type="webhook", url=URL)])
    return Watcher(meta("w"), WatcherSpec(resources=list(resources) or [CONFIG_MAPS], **more))


def condition(cluster: Cluster, type_: str) -> str:
    """Return status and reason of a condition of the only watcher."""
    [found] = cluster.list(Watcher)
    condition = found.status.condition(type_)
    return f"{condition.status}/{condition.reason}" if condition else ""


async def test_changes_are_notified_and_existing_objects_are_not(
    cluster: Cluster, fake_clock: FakeClock, hook: Hook
) -> None:
    """The initial list is not a change, neither when the operator starts nor when a watcher does."""
    old = await cluster.client.create(ConfigMap(meta("old")))
    async with running(cluster):
        await cluster.client.create(watcher())
        await fake_clock.advance(1)
        assert hook.texts == []
        assert condition(cluster, "Ready") == "True/Watching"

        created = await cluster.client.create(ConfigMap(meta("new")))
        await fake_clock.advance(1)
        await cluster.client.patch(created, {"data": {"a": "b"}})
        await fake_clock.advance(1)
        await cluster.client.delete(old)
        await fake_clock.advance(1)
        assert hook.texts == [
            "ConfigMap new in namespace default has been created",
            "ConfigMap new in namespace default has been updated",
            "ConfigMap old in namespace default has been deleted",
        ]
        assert hook.messages[0]["eventmeta"] == {
            "kind": "ConfigMap",
            "name": "new",
            "namespace": "default",
            "reason": "created",
        }
    hook.requests.clear()
    async with running(cluster):
        await fake_clock.advance(1)
    assert hook.texts == []


async def test_a_gap_in_the_watch_loses_and_repeats_nothing(
    cluster: Cluster, fake_clock: FakeClock, hook: Hook
) -> None:
    """Changes during the interruption are notified, unchanged objects are not."""
    for name in ("same", "gone"):
        await cluster.client.create(ConfigMap(meta(name)))
    async with running(cluster):
        await cluster.client.create(watcher())
        await fake_clock.advance(1)
        cluster.faults.inject(Refuse(410, "Expired"), method="GET", path="/configmaps.*watch", times=1)
        cluster.faults.drop("/configmaps")
        await cluster.client.delete(next(one for one in cluster.list(ConfigMap) if one.name == "gone"))
        await fake_clock.advance(60)
        assert hook.texts == ["ConfigMap gone in namespace default has been deleted"]


async def test_filters_are_applied(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Namespace, labels, events and parts of an object."""
    wanted = WatchedResource(
        version="v1",
        resource="configmaps",
        namespace="default",
        label_selector="app=web",
        events=["create", "update"],
        update_on="spec",
    )
    async with running(cluster):
        await cluster.client.create(watcher(wanted))
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("unlabelled")))
        await cluster.client.create(ConfigMap(meta("elsewhere", namespace="kube-system", labels={"app": "web"})))
        right = await cluster.client.create(ConfigMap(meta("right", labels={"app": "web"})))
        await fake_clock.advance(1)
        await cluster.client.patch(right, {"metadata": {"annotations": {"only": "metadata"}}})
        await fake_clock.advance(1)
        await cluster.client.patch(right, {"data": {"a": "b"}})
        await fake_clock.advance(1)
        await cluster.client.delete(right)
        await fake_clock.advance(1)
    assert [message["eventmeta"]["reason"] for message in hook.messages] == ["created", "updated"]


async def test_changes_while_a_handler_is_down_are_merged(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """It is notified of the current state afterwards, once for each object."""
    hook.answers = [503, 503]
    async with running(cluster):
        await cluster.client.create(watcher())
        await fake_clock.advance(1)
        created = await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(0.5)
        for number in range(5):
            await cluster.client.patch(created, {"data": {"n": str(number)}})
        await fake_clock.advance(10)
    assert hook.texts == ["ConfigMap a in namespace default has been created"]
    assert condition(cluster, "DeliveryDegraded") == "False/Delivering"


async def test_a_notification_that_cannot_be_delivered_is_given_up_and_reported(
    cluster: Cluster, fake_clock: FakeClock, hook: Hook
) -> None:
    """The condition of the watcher shows it until the handler works again."""
    hook.answers = [500] * 4
    async with running(cluster):
        await cluster.client.create(watcher(max_retries=3))
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("lost")))
        await fake_clock.advance(30)
        assert condition(cluster, "DeliveryDegraded") == "True/GivenUp"
        [found] = cluster.list(Watcher)
        assert found.status.dead_letters == 1
        assert [event.reason for event in cluster.list(Event)] == ["DeliveryFailed"]
        await cluster.client.create(ConfigMap(meta("next")))
        await fake_clock.advance(10)
        assert hook.texts == ["ConfigMap next in namespace default has been created"]
        assert condition(cluster, "DeliveryDegraded") == "False/Delivering"


async def test_a_rejection_is_not_retried(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """A handler that responds with 404 will do so again."""
    hook.answers = [404]
    async with running(cluster):
        await cluster.client.create(watcher())
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(60)
        assert hook.requests == []
        assert condition(cluster, "DeliveryDegraded") == "True/GivenUp"


async def test_a_failing_handler_does_not_block_others(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Each has its own outbox and back-off."""
    broken = Hook()
    broken.answers = [503] * 100
    cluster.serve_http("http://broken.example.com", broken)
    handlers = [Handler(type="webhook", url="http://broken.example.com"), Handler(type="webhook", url=URL)]
    async with running(cluster):
        await cluster.client.create(watcher(handlers=handlers))
        await fake_clock.advance(1)
        for name in ("a", "b", "c"):
            await cluster.client.create(ConfigMap(meta(name)))
            await fake_clock.advance(0.1)
        assert len(hook.texts) == 3


async def test_values_of_secrets_are_never_sent(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Not in the object, the old object, or the annotation of kubectl; unless redaction is disabled."""
    value = base64.b64encode(b"hunter2").decode()
    note = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": {"password": value}})}
    handlers = [Handler(type="cloudevent", url=URL)]
    async with running(cluster):
        await cluster.client.create(watcher(SECRETS, handlers=handlers))
        await fake_clock.advance(1)
        secret = await cluster.client.create(Secret(meta("s", annotations=note), data={"password": b"hunter2"}))
        await fake_clock.advance(1)
        await cluster.client.patch(secret, {"data": {"more": value}})
        await fake_clock.advance(1)
        await cluster.client.delete(secret)
        await fake_clock.advance(1)
    assert [message["data"]["operation"] for message in hook.messages] == ["create", "update", "delete"]
    assert hook.messages[1]["data"]["obj"]["data"] == {"password": "REDACTED", "more": "REDACTED"}
    sent = b"".join(request.body for request in hook.requests)
    assert value.encode() not in sent
    assert b"hunter2" not in sent


async def test_a_cloud_event_has_the_required_attributes(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Receivers check them; the id identifies a repeated delivery."""
    async with running(cluster):
        await cluster.client.create(watcher(handlers=[Handler(type="cloudevent", url=URL)]))
        await fake_clock.advance(1)
        created = await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(1)
    [event] = hook.messages
    assert hook.requests[0].headers["content-type"] == "application/cloudevents+json"
    assert (event["specversion"], event["type"]) == ("1.0", "com.example.kubewatch.create")
    assert (event["source"], event["subject"]) == ("/apis/v1", "ConfigMap/default/a")
    assert event["id"] == f"{created.uid}.{created.resource_version}"
    assert event["data"]["obj"]["metadata"]["name"] == "a"


async def test_slack_is_notified_with_a_token_or_a_webhook(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Tokens and webhook URLs come from a Secret; Slack rejects with status 200."""
    slack = Hook()
    cluster.serve_http(SLACK, slack)
    await cluster.client.create(Secret(meta("slack"), string_data={"token": "xoxb-1\n", "value": URL}))
    handlers = [
        Handler(type="slack", channel="#ops", secret_ref=SecretRef(name="slack", key="token")),
        Handler(type="slackwebhook", secret_ref=SecretRef(name="slack")),
    ]
    async with running(cluster):
        await cluster.client.create(watcher(handlers=handlers))
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(1)
        text = "ConfigMap a in namespace default has been created"
        assert slack.messages == [{"channel": "#ops", "text": text}]
        assert slack.requests[0].headers["authorization"] == "Bearer xoxb-1"
        assert hook.messages == [{"text": text}]

        slack.body = b'{"ok":false,"error":"channel_not_found"}'
        await cluster.client.create(ConfigMap(meta("b")))
        await fake_clock.advance(60)
        [found] = cluster.list(Watcher)
        degraded = found.status.condition("DeliveryDegraded")
        assert degraded is not None
        assert "channel_not_found" in degraded.message


async def test_mail_is_sent_and_retried(cluster: Cluster) -> None:
    """A busy mail server is retried; server and clock are real here."""
    server = MailServer()
    server.refusals = ["451 later"]
    async with server.running(), running(cluster):
        handler = Handler(
            type="smtp", url=f"smtp://127.0.0.1:{server.port}", sender="k8s@example.com", recipients=["ops@example.com"]
        )
        await cluster.client.create(watcher(handlers=[handler]))
        await cluster.eventually(lambda: condition(cluster, "Ready") == "True/Watching")
        await cluster.client.create(ConfigMap(meta("a")))
        await cluster.eventually(lambda: len(server.mails) == 1)
    assert "Subject: ConfigMap a in namespace default has been created" in server.mails[0]
    assert "To: ops@example.com" in server.mails[0]


async def test_a_log_handler_writes_to_the_log(
    cluster: Cluster, fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The simplest handler to try."""
    caplog.set_level(logging.INFO, "steersman.controller")
    async with running(cluster):
        await cluster.client.create(watcher(handlers=[Handler(type="log")]))
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(1)
    assert "ConfigMap a in namespace default has been created" in caplog.messages


class GadgetSpec(Model):
    """An empty spec."""

    size: int = 0


@custom_resource("gadgets.example.com/v1")
class Gadget(Resource[GadgetSpec, Status]):
    """A kind that is created later."""


async def test_a_resource_that_is_not_served_is_reported_and_awaited(
    cluster: Cluster, fake_clock: FakeClock, hook: Hook
) -> None:
    """Others are watched meanwhile; it is watched once its CRD exists, and reported again when that is deleted."""
    gadgets = WatchedResource(group="gadgets.example.com", version="v1", resource="gadgets")
    async with running(cluster):
        await cluster.client.create(watcher(gadgets, CONFIG_MAPS))
        await fake_clock.advance(1)
        assert condition(cluster, "Ready") == "False/NoSuchResource"
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(1)
        assert len(hook.texts) == 1

        await cluster.install(Gadget)
        await fake_clock.advance(3)
        assert condition(cluster, "Ready") == "True/Watching"
        await cluster.client.create(Gadget(meta("g"), GadgetSpec(size=1)))
        await fake_clock.advance(1)
        assert hook.texts[1:] == ["Gadget g in namespace default has been created"]


@pytest.mark.parametrize(
    ("resource", "reason"),
    [
        (WatchedResource(version="v1", resource="deployments"), "NoSuchResource"),
        (WatchedResource(version="v1", resource="configmaps", label_selector="a in"), "BadSelector"),
    ],
)
async def test_a_resource_that_cannot_be_watched_is_reported(
    cluster: Cluster, fake_clock: FakeClock, resource: WatchedResource, reason: str
) -> None:
    """A missing group is not guessed, and an invalid selector is an error."""
    async with running(cluster):
        await cluster.client.create(watcher(resource))
        await fake_clock.advance(1)
        assert condition(cluster, "Ready") == f"False/{reason}"


async def test_a_value_that_is_not_a_url_is_not_quoted(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A token in the place of a URL must not appear in an event."""
    await cluster.client.create(Secret(meta("s"), string_data={"value": "xoxb-secret"}))
    handlers = [Handler(type="slackwebhook", secret_ref=SecretRef(name="s"))]
    async with running(cluster):
        await cluster.client.create(watcher(handlers=handlers))
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(10)
        assert condition(cluster, "DeliveryDegraded") == "True/GivenUp"
        texts = [json.dumps(to_json(one)) for one in [*cluster.list(Watcher), *cluster.list(Event)]]
    assert "no scheme" in " ".join(texts)
    assert "xoxb-secret" not in " ".join(texts)


async def test_what_to_watch_can_change_and_ends_with_the_watcher(
    cluster: Cluster, fake_clock: FakeClock, hook: Hook
) -> None:
    """Watchers of the same resource share one watch, which ends with the last of them."""
    async with running(cluster):
        created = await cluster.client.create(watcher(CONFIG_MAPS))
        other = await cluster.client.create(Watcher(meta("x"), created.spec))
        await fake_clock.advance(1)
        assert len(cluster.faults.watches("/configmaps")) == 1
        changed = to_json(watcher(SECRETS))["spec"]
        await cluster.client.patch(created, {"spec": {"resources": changed["resources"]}})
        await fake_clock.advance(1)
        assert len(cluster.faults.watches("/secrets")) == 1
        await cluster.client.delete(created)
        await cluster.client.delete(other)
        await fake_clock.advance(1)
        assert cluster.faults.watches("/secrets|/configmaps") == []
        assert cluster.list(Watcher) == []
        await cluster.client.create(ConfigMap(meta("late")))
        await fake_clock.advance(1)
    assert hook.texts == []


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (Handler(type="webhook"), "url or secretRef is needed"),
        (Handler(type="slack", channel="#a"), "slack needs secretRef and channel"),
        (Handler(type="smtp", url="smtp://a"), "smtp needs url, sender and recipients"),
    ],
)
async def test_invalid_handlers_are_rejected(cluster: Cluster, handler: Handler, message: str) -> None:
    """The API server rejects them, before the operator would fail."""
    await cluster.install(Watcher)
    with pytest.raises(Invalid, match=message):
        await cluster.client.create(watcher(handlers=[handler]))


async def test_notifications_cause_no_writes(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Notifying handlers does not change the status."""
    async with running(cluster):
        await cluster.client.create(watcher())
        await fake_clock.advance(1)
        cluster.faults.clear()
        for number in range(3):
            name = f"c{number}"
            await cluster.client.create(ConfigMap(meta(name)))
            await fake_clock.advance(600)
        assert [write for write in cluster.faults.writes() if "/watchers" in write] == []
    assert len(hook.texts) == 3


async def test_a_watcher_of_watchers_does_not_trigger_itself(
    cluster: Cluster, fake_clock: FakeClock, hook: Hook
) -> None:
    """Otherwise each failure would be a change, whose notification fails again."""
    hook.answers = [500] * 1000
    watchers = WatchedResource(group="kubewatch.example.com", version="v1", resource="watchers")
    async with running(cluster):
        created = await cluster.client.create(watcher(watchers, max_retries=0))
        await fake_clock.advance(1)
        await cluster.client.patch(created, {"metadata": {"labels": {"a": "b"}}})
        await fake_clock.advance(60)
        assert cluster.list(Watcher)[0].status.dead_letters == 0


async def test_another_operator_in_the_same_process_is_not_disturbed(cluster: Cluster, hook: Hook) -> None:
    """Watches that start at run time do not affect the caches of others."""
    others = Operator("others")
    seen: list[str] = []

    @others.reconciler(ConfigMap)
    async def reconcile(config_map: ConfigMap, _: Context[ConfigMap]) -> None:
        seen.append(config_map.name)

    async with running(cluster, others):
        created = await cluster.client.create(watcher())
        await cluster.settle()
        await cluster.client.delete(created)
        await cluster.settle()
        await cluster.client.create(ConfigMap(meta("a")))
        await cluster.settle()
    assert "a" in seen
    assert hook.texts == []


async def test_missing_permissions_are_reported(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Without permission nothing is watched, and the condition has the reason."""
    states: list[str] = []

    async def attempt() -> None:
        async with cluster.running(operator):
            await cluster.client.create(watcher())
            await fake_clock.advance(10)
            states.append(condition(cluster, "Ready"))
            await cluster.client.create(ConfigMap(meta("a")))
            await fake_clock.advance(10)

    with pytest.raises(AssertionError, match="was denied"):
        await attempt()
    assert states == ["False/Forbidden"]
    assert hook.texts == []


async def test_changes_and_deliveries_are_counted(cluster: Cluster, fake_clock: FakeClock, hook: Hook) -> None:
    """Metrics for alerts."""

    def count(name: str, **labels: str) -> float:
        return operator.metrics.get_sample_value(name, labels) or 0.0

    changes = count("kubewatch_events_total", resource="configmaps", event="create")
    before = count("kubewatch_deliveries_total", type="webhook", result="delivered")
    failed = count("kubewatch_deliveries_total", type="webhook", result="failed")
    hook.answers = [500]
    async with running(cluster):
        await cluster.client.create(watcher())
        await fake_clock.advance(1)
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(10)
    assert count("kubewatch_events_total", resource="configmaps", event="create") == changes + 1
    assert count("kubewatch_deliveries_total", type="webhook", result="delivered") == before + 1
    assert count("kubewatch_deliveries_total", type="webhook", result="failed") == failed + 1
