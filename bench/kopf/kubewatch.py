"""The operator of examples/kubewatch, written with kopf and the official client: to compare lines, and to run.

``kopf run -A bench/kopf/kubewatch.py``, on a cluster that has the definition of Watcher. ``KUBEWATCH_CONFIG`` names a
configuration file, as there. Metrics are left out: kopf serves none.
"""

import asyncio
import base64
import json
from copy import deepcopy
from typing import Any

import aiohttp
import kopf
from kubernetes.aio import client, config, dynamic
from kubernetes.aio.dynamic.exceptions import ResourceNotFoundError
from kubewatch_config import follow_config_file
from kubewatch_notification import Notification, Outbox, is_wanted, now, redacted
from kubewatch_sinks import SINKS, TIMEOUT, DeliveryError, RefusedError

WATCHER = ("kubewatch.example.com", "v1", "watchers")
#: Seconds before the second attempt; it doubles with each, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
#: Seconds after which what cannot be watched is looked for again, beside whenever a definition changes.
LOOK_AGAIN = 30.0
#: Seconds between looks at what a Watcher asks for.
LOOK_AT_SPEC = 1.0
EVENTS = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}


class Bell:
    """Wakes all waiting tasks."""

    def __init__(self) -> None:
        """Create it without any waiting task."""
        self._next = asyncio.Event()

    def ring(self) -> None:
        """Wake the tasks that wait now."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, within: float) -> None:
        """Wait until it rings, or for the given time."""
        try:
            await asyncio.wait_for(self._next.wait(), within)
        except TimeoutError:
            return


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """Load the kubeconfig, and follow the configuration file."""
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage()
    try:
        config.load_incluster_config()
    except config.ConfigException:
        await config.load_kube_config()
    memo.api = client.ApiClient()
    memo.dynamic = await dynamic.DynamicClient(memo.api)
    memo.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT))
    memo.discovering = asyncio.Lock()
    memo.definitions = Bell()
    memo.config_file = asyncio.create_task(follow_config_file(memo))


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: Any) -> None:
    """Close the connections."""
    memo.config_file.cancel()
    await memo.session.close()
    await memo.api.close()


@kopf.on.event("apiextensions.k8s.io", "v1", "customresourcedefinitions")
async def definition_changed(memo: kopf.Memo, **_: Any) -> None:
    """Retry resources that could not be watched."""
    memo.definitions.ring()


@kopf.daemon(*WATCHER, cancellation_timeout=TIMEOUT)
async def watch(body: kopf.Body, stopped: kopf.DaemonStopped, memo: kopf.Memo, **_: Any) -> None:
    """Run a Watcher until it is deleted; its spec can change meanwhile."""
    desk = Desk(body, memo)
    async with asyncio.TaskGroup() as tasks:
        while not stopped:
            desk.arrange(tasks)
            await desk.tell_status()
            await desk.news.wait(LOOK_AT_SPEC)


class Desk:
    """The tasks of one Watcher."""

    def __init__(self, body: kopf.Body, memo: kopf.Memo) -> None:
        """Create it without any task."""
        self._body, self._memo = body, memo
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._deliveries: dict[str, asyncio.Task[None]] = {}
        self._outboxes: dict[str, Outbox] = {}
        #: How it goes with a resource, when that is known: whether it is watched, a reason and a message.
        self._states: dict[str, tuple[bool, str, str]] = {}
        #: The objects of a resource by uid, as they were told last.
        self._known: dict[str, dict[str, Any]] = {}
        self._dead: list[str] = []
        self._delivered = False
        self._status: dict[str, Any] = deepcopy(dict(body.get("status", {})))
        self.news = Bell()

    def arrange(self, tasks: asyncio.TaskGroup) -> None:
        """Start wanted tasks, and stop those that are no longer wanted."""
        for wanted, running, run in (
            ("handlers", self._deliveries, self._deliver),
            ("resources", self._watches, self._follow),
        ):
            by_key = {json.dumps(one, sort_keys=True): one for one in self._body["spec"][wanted]}
            for gone in running.keys() - by_key.keys():
                running.pop(gone).cancel()
                for kept in (self._outboxes, self._states, self._known):
                    kept.pop(gone, None)
            for key in by_key.keys() - running.keys():
                running[key] = tasks.create_task(run(key, by_key[key]))

    async def tell_status(self) -> None:
        """Patch the status if it changed."""
        dead, self._dead = self._dead, []
        count = self._status.get("deadLetters", 0) + len(dead)
        conditions = {one["type"]: one for one in self._status.get("conditions", [])}
        said: dict[str, tuple[bool, str, str]] = {}
        if self._states.keys() == self._watches.keys():
            said["Ready"] = min(self._states.values(), key=lambda state: state[0])
        if dead:
            said["DeliveryDegraded"] = (True, "GivenUp", dead[-1])
            kopf.warn(self._body, reason="DeliveryFailed", message=dead[-1])
        elif self._delivered or "DeliveryDegraded" not in conditions:
            said["DeliveryDegraded"] = (False, "Delivering", "")
        self._delivered = False
        for kind, (holds, reason, message) in said.items():
            conditions[kind] = self._condition(conditions.get(kind, {}), kind, holds, reason, message)
        metadata = self._body["metadata"]
        status = {"deadLetters": count, "observedGeneration": metadata["generation"]}
        status["conditions"] = list(conditions.values())
        if status != self._status:
            await client.CustomObjectsApi(self._memo.api).patch_namespaced_custom_object_status(
                *WATCHER[:2], metadata["namespace"], WATCHER[2], metadata["name"], {"status": status}
            )
            self._status = status

    def _condition(self, before: dict[str, Any], kind: str, holds: bool, reason: str, message: str) -> dict[str, Any]:
        """Return a condition; its transition time changes only with its status."""
        status = "True" if holds else "False"
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": self._body["metadata"]["generation"],
            "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == status else now(),
        }

    # Watching.

    async def _follow(self, key: str, resource: dict[str, Any]) -> None:
        """Notify about every change of a resource; existing objects are no changes."""
        while True:
            try:
                await self._watch_once(key, resource)
            except ResourceNotFoundError:
                self._states[key] = (False, "NoSuchResource", f"the server serves no {name_of(resource)}")
            except client.ApiException as error:
                if error.status == 410:
                    continue
                self._states[key] = (False, *why(error, resource))
            except (aiohttp.ClientError, TimeoutError) as error:
                self._states[key] = (False, "Unavailable", str(error))
            self.news.ring()
            await self._memo.definitions.wait(LOOK_AGAIN)

    async def _watch_once(self, key: str, resource: dict[str, Any]) -> None:
        """List, notify about changes since the last list, then watch until the watch fails."""
        served = await self._served(resource.get("group", ""), resource["version"], resource["resource"])
        namespace = resource.get("namespace") if served.namespaced else None
        selection = {"namespace": namespace or None, "label_selector": resource.get("labelSelector") or None}
        found = (await served.get(**selection)).to_dict()
        kind = {"apiVersion": served.group_version, "kind": served.kind}
        listed = {one["metadata"]["uid"]: one | kind for one in found["items"]}
        self._tell_differences(self._known.get(key, listed), listed, resource)
        known = self._known[key] = listed
        self._states[key] = (True, "Watching", "")
        self.news.ring()
        async for event in served.watch(**selection, resource_version=found["metadata"]["resourceVersion"]):
            obj = event["raw_object"]
            self._tell(EVENTS[event["type"]], obj, known.pop(obj["metadata"]["uid"], None), resource)
            if event["type"] != "DELETED":
                known[obj["metadata"]["uid"]] = obj

    async def _served(self, group: str, version: str, plural: str) -> Any:
        """Return a resource by its plural; the client itself finds only kinds."""
        api = self._memo.api
        found: Any = await (
            client.CustomObjectsApi(api).get_api_resources(group, version)
            if group
            else client.CoreV1Api(api).get_api_resources()
        )
        kind = next((one.kind for one in found.resources if one.name == plural), None)
        if kind is None:
            raise ResourceNotFoundError
        # Discovery drops its cache while another task uses it.
        async with self._memo.discovering:
            return await self._memo.dynamic.resources.get(
                api_version=f"{group}/{version}" if group else version, kind=kind
            )

    def _tell_differences(self, before: dict[str, Any], after: dict[str, Any], resource: dict[str, Any]) -> None:
        for uid, obj in before.items():
            if uid not in after:
                self._tell("delete", obj, None, resource)
        for uid, obj in after.items():
            old = before.get(uid)
            if old is None:
                self._tell("create", obj, None, resource)
            elif old["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                self._tell("update", obj, old, resource)

    def _tell(self, event: str, obj: dict[str, Any], old: dict[str, Any] | None, resource: dict[str, Any]) -> None:
        """Add a change to every outbox, except changes of the Watcher itself, which would trigger it again."""
        if obj["metadata"]["uid"] == self._body["metadata"]["uid"]:
            return
        if self._body["spec"].get("redactSecrets", True):
            obj, old = redacted(obj), redacted(old) if old else None
        notification = Notification(event, obj, old if event == "update" else None)
        if not is_wanted(notification, resource):
            return
        for key, outbox in self._outboxes.items():
            if (full := outbox.put(notification)) is not None:
                self._give_up(json.loads(key), full, "too many wait")

    # Delivering.

    async def _deliver(self, key: str, handler: dict[str, Any]) -> None:
        """Deliver pending notifications of a handler, with retries; it does not block others."""
        outbox = self._outboxes[key] = Outbox()
        failures = 0
        while True:
            notification = await outbox.take()
            try:
                await SINKS[handler["type"]](notification, handler, await self._secret(handler), self._memo.session)
            except RefusedError as refusal:
                self._give_up(handler, notification, str(refusal))
            except DeliveryError as failure:
                failures += 1
                pause = min(FIRST_PAUSE * 2.0 ** (failures - 1), LONGEST_PAUSE)
                if failures > self._body["spec"].get("maxRetries", 5):
                    self._give_up(handler, notification, str(failure))
                    failures = 0
                else:
                    outbox.put_back(notification)
                await asyncio.sleep(pause)
            else:
                failures, self._delivered = 0, True

    async def _secret(self, handler: dict[str, Any]) -> str:
        """Return the value of a handler's ``secretRef``, empty without one."""
        if "secretRef" not in handler:
            return ""
        name, key = handler["secretRef"]["name"], handler["secretRef"].get("key", "value")
        core: Any = client.CoreV1Api(self._memo.api)
        try:
            secret = await core.read_namespaced_secret(name, self._body["metadata"]["namespace"])
            return base64.b64decode((secret.data or {})[key]).decode("utf-8", "replace").strip()
        except (client.ApiException, KeyError):
            raise DeliveryError(f"there is no {key!r} in Secret {name!r}") from None

    def _give_up(self, handler: dict[str, Any], notification: Notification, reason: str) -> None:
        """Record a notification that was given up, without the URL of the handler, which may be a secret."""
        name = f"{handler['type']} {handler['secretRef']['name']}" if "secretRef" in handler else handler["type"]
        self._dead.append(f"gave up telling {name} that {notification.text}: {reason}")
        self.news.ring()


def name_of(resource: dict[str, Any]) -> str:
    """Return the name of a resource."""
    return "/".join(filter(None, (resource.get("group"), resource["version"], resource["resource"])))


def why(error: client.ApiException, resource: dict[str, Any]) -> tuple[str, str]:
    """Return why a resource cannot be watched."""
    match error.status:
        case 404:
            return "NoSuchResource", f"the server serves no {name_of(resource)}"
        case 403:
            return "Forbidden", str(error.reason)
        case 400:
            return "BadSelector", f"{resource.get('labelSelector')!r} is no label selector"
        case _:
            return "Unavailable", str(error.reason)
