import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import (
    CallFailed,
    Reply,
    Target,
    WebhookOptions,
    is_loopback,
    target_of,
    url_of,
)
from steersman.clock import RealClock
from steersman.protocol.http import Exchange, Request, Response
from steersman.randomness import Randomness
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.webhook_calls import WebhookCalls
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.api import Api

Document = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


def _answer(body: bytes, **response: Any) -> bytes:
    uid = json.loads(body)["request"]["uid"]
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return json.dumps({**review, "response": {"uid": uid, "allowed": True, **response}}).encode()


def _patch(*operations: Document) -> Document:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def _configuration(mode: str, config: Document | None = None, **more: Any) -> tuple[str, Document]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    hook = {
        "name": "hook.sea.dev",
        "clientConfig": config or {"url": "https://127.0.0.1:9443/hook"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    kind = f"{mode.title()}WebhookConfiguration"
    return f"{CONFIGURATIONS}/{kind.lower()}s", {"metadata": {"name": mode}, "webhooks": [hook]}


class HookedApi(Api):
    """A server that calls a Python function as its webhook."""

    def __init__(self, hook: Callable[[bytes], Any]) -> None:
        super().__init__()
        self.calls = 0
        self._hook = hook
        options = WebhookOptions(caller=self._call)
        self.server = ApiServer(clock=self.clock, randomness=Randomness(5), webhooks=options)
        self.transport = InMemoryTransport(self.server, clock=self.clock)

    async def _call(self, target: Target, body: bytes, seconds: float) -> Reply:
        del target, seconds
        self.calls += 1
        answer = self._hook(body)
        return Reply(200, await answer if asyncio.iscoroutine(answer) else answer)

    async def configure(self, mode: str, **more: Any) -> None:
        """Create the webhook configuration."""
        path, document = _configuration(mode, **more)
        answer = await self.send("POST", path, document)
        assert answer.status == 201, answer.body


async def test_the_webhook_is_called_again_if_another_write_comes_first() -> None:
    """The admitted object and the stored one must be derived from the same state."""
    seen: list[str] = []
    api: HookedApi

    async def hook(body: bytes) -> bytes:
        request = json.loads(body)["request"]
        if request["operation"] == "UPDATE":
            seen.append(request["oldObject"]["data"]["count"])
            if len(seen) == 1:
                # Another client writes while this webhook is still running.
                record = api.server.objects.store.get("configmaps", "default", "a")
                assert record is not None
                served = api.server.catalog.find("", "v1", "configmaps")
                assert served is not None
                obj = api.server.objects.document(served, record)
                obj["data"]["count"] = "2"
                api.server.objects.put(served, obj)
        return _answer(body)

    api = HookedApi(hook)
    await api.send("POST", MAPS, {"metadata": {"name": "a"}, "data": {"count": "1"}})
    await api.configure("validating")
    patch = {"content_type": "application/merge-patch+json"}
    answer = await api.ask("PATCH", f"{MAPS}/a", {"data": {"mine": "yes"}}, **patch)
    assert answer["data"] == {"count": "2", "mine": "yes"}
    assert seen == ["1", "2"]


async def test_an_update_from_an_old_version_is_rejected_after_the_webhook() -> None:
    """A slow webhook must not let an update overwrite a newer one."""
    api: HookedApi

    async def hook(body: bytes) -> bytes:
        if json.loads(body)["request"]["operation"] == "UPDATE" and api.calls == 1:
            await api.send("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, content_type="application/merge-patch+json")
        return _answer(body)

    api = HookedApi(hook)
    made = await api.ask("POST", MAPS, {"metadata": {"name": "a"}})
    await api.configure("mutating")
    answer = await api.send("PUT", f"{MAPS}/a", made)
    assert answer.status == 409


async def test_generated_values_are_generated_once() -> None:
    """The object that a webhook validated is the one that is stored, with its generated name, uid and time."""
    shown: list[Document] = []

    async def hook(body: bytes) -> bytes:
        shown.append(json.loads(body)["request"]["object"])
        await api.clock.advance(5)
        return _answer(body)

    api = HookedApi(hook)
    await api.configure("validating")
    made = await api.ask("POST", MAPS, {"metadata": {"generateName": "a-"}})
    assert [obj["metadata"]["uid"] for obj in shown] == [made["metadata"]["uid"]]
    assert shown[0]["metadata"]["name"] == made["metadata"]["name"]
    assert shown[0]["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


async def test_other_requests_are_served_while_a_webhook_runs() -> None:
    """One slow webhook must not stop the server."""
    gate = asyncio.Event()

    async def hook(body: bytes) -> bytes:
        await gate.wait()
        return _answer(body)

    api = HookedApi(hook)
    await api.configure("validating")
    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(api.send("POST", MAPS, {"metadata": {"name": "a"}}))
        while not api.calls:
            await asyncio.wait({tasks.create_task(api.send("GET", MAPS))})
        assert (await api.send("GET", f"{MAPS}/a")).status == 404
        gate.set()
        assert (await slow).status == 201


async def test_two_creates_of_one_name_end_with_one_object() -> None:
    """Both are admitted; the second finds the name taken."""
    api = HookedApi(_answer)
    await api.configure("validating")
    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(api.send("POST", MAPS, {"metadata": {"name": "a"}})) for _ in range(2)]
    assert sorted(task.result().status for task in both) == [201, 409]


async def test_a_webhook_whose_object_always_changes_is_not_called_forever() -> None:
    """A client that writes during every call must not keep a request alive without end."""

    async def hook(body: bytes) -> bytes:
        record = api.server.objects.store.get("configmaps", "default", "a")
        served = api.server.catalog.find("", "v1", "configmaps")
        assert record is not None
        assert served is not None
        obj = api.server.objects.document(served, record)
        obj["data"] = {"count": str(api.calls)}
        api.server.objects.put(served, obj)
        return _answer(body)

    api = HookedApi(hook)
    await api.send("POST", MAPS, {"metadata": {"name": "a"}})
    await api.configure("validating")
    patch = {"content_type": "application/merge-patch+json"}
    answer = await api.send("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"x": "y"}}}, **patch)
    assert answer.status == 409


async def test_a_deleted_configuration_is_no_longer_called() -> None:
    """No cached part of the configuration may stay in use."""
    api = HookedApi(lambda body: _answer(body, allowed=False))
    await api.configure("validating")
    assert (await api.send("POST", MAPS, {"metadata": {"name": "a"}})).status == 400
    await api.send("DELETE", f"{CONFIGURATIONS}/validatingwebhookconfigurations/validating")
    assert (await api.send("POST", MAPS, {"metadata": {"name": "a"}})).status == 201


async def test_a_server_that_cannot_call_webhooks_rejects_the_write() -> None:
    """A webhook with failurePolicy Fail is never skipped silently."""
    api = Api()
    path, document = _configuration("validating")
    await api.send("POST", path, document)
    answer = await api.ask("POST", MAPS, {"metadata": {"name": "a"}})
    assert answer["code"] == 500
    assert "without a way to call webhooks" in answer["message"]


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://127.0.0.1:9443/x", True),
        ("https://127.8.9.1/x", True),
        ("https://[::1]:9443/x", True),
        ("https://localhost/x", True),
        ("https://10.0.0.1/x", False),
        ("https://169.254.169.254/latest", False),
        ("https://localhost.sea.dev/x", False),
        ("https://127.0.0.1.sea.dev/x", False),
        ("https://0.0.0.0/x", False),
        ("https://[::ffff:10.0.0.1]/x", False),
        ("https://127.0.0.1@10.0.0.1/x", False),
        ("https://2130706433/x", False),
    ],
)
def test_only_webhooks_on_this_machine_are_called(url: str, allowed: bool) -> None:
    """A configuration must not make the server send requests into other networks."""

    async def never_called(target: Target, body: bytes, seconds: float) -> Reply:
        raise AssertionError((target, body, seconds))

    options = WebhookOptions(caller=never_called)
    if allowed:
        assert is_loopback(target_of({"url": url}, options).address[0])
        return
    with pytest.raises(CallFailed, match="is not this machine"):
        target_of({"url": url}, options)


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ({"url": "https://127.0.0.1:5//check"}, "https://127.0.0.1:5/check"),
        ({"url": "https://127.0.0.1:5/a//b/../c/"}, "https://127.0.0.1:5/a/c"),
        ({"url": "https://127.0.0.1:5"}, "https://127.0.0.1:5/"),
        ({"service": {"namespace": "n", "name": "s", "path": "//check"}}, "https://s.n.svc:443/check"),
        ({"service": {"namespace": "n", "name": "s"}}, "https://s.n.svc:443/"),
    ],
)
def test_the_path_of_a_webhook_is_cleaned(config: Document, url: str) -> None:
    """Kubernetes' client cleans it, too: a server that serves /check has nothing at //check."""

    async def never_called(target: Target, body: bytes, seconds: float) -> Reply:
        raise AssertionError((target, body, seconds))

    target = target_of(config, WebhookOptions(caller=never_called, services={"n/s": "127.0.0.1:1"}))
    assert target.url == url_of(config) == url


def test_a_service_off_this_machine_is_not_called_either() -> None:
    """Mapping a Service to an address must not allow what a URL does not."""

    async def never_called(target: Target, body: bytes, seconds: float) -> Reply:
        raise AssertionError((target, body, seconds))

    service = {"service": {"namespace": "n", "name": "s", "path": "/p"}}
    with pytest.raises(CallFailed, match="is not this machine"):
        target_of(service, WebhookOptions(caller=never_called, services={"n/s": "10.0.0.1:1"}))
    target = target_of(service, WebhookOptions(caller=never_called, services={"n/s": "127.0.0.1:1"}))
    assert (target.url, target.address, target.server_name) == ("https://s.n.svc:443/p", ("127.0.0.1", 1), "s.n.svc")


class _Hook:
    """A webhook as an app that adds a label to every object."""

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer a review."""
        value = {"hooked": "yes"}
        answer = _answer(request.body, **_patch({"op": "add", "path": "/metadata/labels", "value": value}))
        exchange.respond(Response(200, [("content-type", "application/json")], answer))


async def test_a_webhook_behind_a_service_can_run_in_the_test_process() -> None:
    """Operators test their webhooks without certificates and ports."""
    async with Cluster.start(clock=FakeClock(), seed=1) as cluster:
        cluster.serve_webhooks("default", "hook", _Hook())
        path, document = _configuration("mutating", {"service": {"namespace": "default", "name": "hook"}})
        transport = InMemoryTransport(cluster.server, clock=cluster.clock)
        headers = {"content-type": "application/json"}
        await transport._request(Request("POST", path, headers, json.dumps(document).encode()), None)
        answer = await transport._request(Request("POST", MAPS, headers, b'{"metadata":{"name":"a"}}'), None)
        assert json.loads(answer.body)["metadata"]["labels"] == {"hooked": "yes"}


async def test_a_webhook_on_a_port_is_called_over_https_and_authenticated() -> None:
    """As in a cluster: by URL, verified with the CA bundle of the configuration."""
    clock = RealClock()
    authority = CertificateAuthority.create("hooks", clock=clock)
    stranger = CertificateAuthority.create("strangers", clock=clock)
    pair = authority.issue_server(["127.0.0.1"])
    calls = WebhookCalls(clock)
    tls = server_context(certificate=pair.certificate, key=pair.key)
    async with Server(_Hook(), clock=clock, listen=Listen(host="127.0.0.1", port=0, tls=tls)) as server:
        for trusted, status in ((authority, 201), (stranger, 500)):
            api = ApiServer(clock=clock, webhooks=WebhookOptions(caller=calls))
            transport = InMemoryTransport(api, clock=clock)
            bundle = base64.b64encode(trusted.certificate).decode()
            path, document = _configuration("mutating", {"url": f"{server.url}/x", "caBundle": bundle})
            headers = {"content-type": "application/json"}
            await transport._request(Request("POST", path, headers, json.dumps(document).encode()), None)
            answer = await transport._request(Request("POST", MAPS, headers, b'{"metadata":{"name":"a"}}'), None)
            assert answer.status == status, answer.body
        await calls.close()
