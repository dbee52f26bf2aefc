"""Secrets in a cluster: written, rejected, watched, reconciled and validated, with faults."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from steersman import Admission, Context, Deny, Operator, Permanent, Retry, Unstructured, meta
from steersman.apiserver.http.request_log import RequestLog
from steersman.apiserver.local import LocalOptions, LocalServer, local_server
from steersman.client.client import Client
from steersman.errors import Invalid, SteersmanError
from steersman.kinds.core_v1 import ConfigMap, Event, Secret
from steersman.objects.codec import encode_json
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.certificates import KeyPair
from steersman.serving.server import Server
from steersman.testing.cluster import Cluster
from steersman.testing.faults import Lose, Refuse, Reset
from steersman.transport.auth.secret import Secret as Hidden
from steersman.transport.config import ClusterConfig, Token
from steersman.transport.http.tls import TlsConfig
from steersman.transport.http.transport import HttpTransport
from steersman.webhook.certificates.sources import OwnCertificates, SecretBundleStore
from tests.secrets.canaries import Canaries

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HTTP_FAILURE = 400
SECRETS = "/api/v1/namespaces/default/secrets"
MERGE, JSON, STRATEGIC, APPLY = (
    f"application/{kind}"
    for kind in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)


def coded(text: str) -> str:
    """Return text as the data of a Secret."""
    return base64.b64encode(text.encode()).decode()


def key_line(pair: KeyPair) -> str:
    """Return a line of a private key, which nothing else contains."""
    return pair.key.decode().splitlines()[1]


def secret(name: str, **content: Any) -> dict[str, Any]:
    """Return a Secret as a document."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **content}


def _writes(plant: Callable[[str], str]) -> list[tuple[str, str, Any, str]]:
    """Yield writes of Secrets, most of which a server must reject: method, path, body, content type."""
    docker = {"type": "kubernetes.io/dockerconfigjson"}
    locked = {"immutable": True, "data": {"a": coded(plant("data of an immutable Secret"))}}
    test = [{"op": "test", "path": "/data/a", "value": coded(plant("value that a patch tests"))}]
    remove = [{"op": "replace", "path": "/data/none/x", "value": plant("value of a patch that goes nowhere")}]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": plant("a token")}}
    json = "application/json"
    return [
        ("POST", SECRETS, secret("a", data={"a": coded(plant("data of a Secret"))}), json),
        ("POST", SECRETS, secret("b", stringData={"a": plant("stringData of a Secret")}), json),
        ("POST", SECRETS, secret("a", data={"a": coded(plant("data of a Secret that is there"))}), json),
        ("POST", SECRETS, secret("c", data={"a": plant("data that is no base64")}), json),
        ("POST", SECRETS, secret("c", data={"a": {"b": plant("data of a wrong type")}}), json),
        ("POST", SECRETS, secret("c", data=[plant("data that is a list")]), json),
        ("POST", SECRETS, secret("c", stringData={"a": [plant("stringData of a wrong type")]}), json),
        ("POST", SECRETS, secret("c", stringData={"bad key!": plant("value under a bad key")}), json),
        ("POST", SECRETS, secret("c", **docker, stringData={".dockerconfigjson": plant("a login, no JSON")}), json),
        ("POST", SECRETS, secret("c", type="kubernetes.io/tls", stringData={"x": plant("key of half a pair")}), json),
        ("POST", SECRETS, secret("c", type="kubernetes.io/basic-auth", stringData={"x": plant("login")}), json),
        ("POST", f"{SECRETS}?fieldValidation=Strict", secret("c", password=plant("field that is none")), json),
        ("POST", SECRETS, secret("locked", **locked), json),
        ("PUT", f"{SECRETS}/locked", secret("locked", stringData={"a": plant("change of an immutable one")}), json),
        ("PUT", f"{SECRETS}/a", {**secret("a"), "metadata": {"name": "a", "resourceVersion": "1"},
                                "stringData": {"a": plant("data of an update that is late")}}, json),
        ("PATCH", f"{SECRETS}/a", {"stringData": {"a": plant("stringData of a merge patch")}}, MERGE),
        ("PATCH", f"{SECRETS}/a", {"data": {"a": plant("data of a bad strategic patch")}}, STRATEGIC),
        ("PATCH", f"{SECRETS}/a", test, JSON),
        ("PATCH", f"{SECRETS}/a", remove, JSON),
        ("PATCH", f"{SECRETS}/a?fieldManager=x", secret("a", stringData={"a": plant("applied data")}), APPLY),
        ("PATCH", f"{SECRETS}/a?fieldManager=y", secret("a", stringData={"a": plant("applied by another")}), APPLY),
        ("PATCH", f"{SECRETS}/a?fieldManager=y", f"data: [{plant('YAML that ends too soon')}".encode(), APPLY),
        ("POST", SECRETS, f'{{"kind":"Secret","data":{{"a":"{plant("JSON that ends too soon")}'.encode(), json),
        ("POST", SECRETS, f"stringData: {{a: {plant('YAML with two values')}}} }}".encode(), "application/yaml"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review, json),
    ]  # fmt: skip


@asynccontextmanager
async def _server(canaries: Canaries, folder: Path) -> AsyncIterator[LocalServer]:
    audit = folder / "audit.jsonl"
    options = LocalOptions(token=canaries.plant("the admin's token"), audit=audit, before=RequestLog)
    async with local_server(options) as server:
        canaries.planted["the admin's key"] = key_line(server.access.certificate)
        yield server
        canaries.see("options of a server", repr(options) + repr(server))
    canaries.see("the audit log", audit.read_text())


async def write_secrets(canaries: Canaries, folder: Path) -> None:
    """Write Secrets over HTTPS, with a valid and an invalid token, in every form that can fail."""
    async with _server(canaries, folder) as server:
        refused = 0
        for place in ("the admin's token", "an unknown token"):
            token = Token(Hidden(canaries.plant(place)))
            tls = TlsConfig(ca=server.access.authority.decode())
            config = ClusterConfig(server=server.access.url, tls=tls, authentication=token)
            async with Client.connect_to(config) as client:
                for method, path, body, kind in _writes(canaries.plant):
                    content = body if isinstance(body, bytes) else encode_json(body)
                    request = Request(method, path, {"content-type": kind}, content)
                    refused += (await client.transport.request(request)).status >= HTTP_FAILURE
                    if isinstance(body, dict):
                        await _fails(canaries, _as_client(client, method, body))
                await _fails(canaries, client.create_subresource(ref(), "token", {"spec": {"expirationSeconds": 1}}))
        canaries.see_reprs()
        assert refused > len(_writes(canaries.plant)), "most of these are wrong on purpose"


def _as_client(client: Client, method: str, body: dict[str, Any]) -> Awaitable[object]:
    """Send the same with a verb of the client, for the exception that it raises."""
    if method == "POST":
        return client.create(Unstructured(body))
    if method == "PUT":
        return client.replace(Unstructured(body))
    return client.patch(Unstructured(secret("a")), body)


def ref() -> Any:
    """Return a reference to the default service account."""
    return Unstructured(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x", "namespace": "default"}}
    )


async def _fails(canaries: Canaries, work: Awaitable[object]) -> None:
    try:
        await work
    except SteersmanError as error:
        canaries.see_failure("the failure of a request", error)


class Redirecting:
    """Redirects every request, with a token in the address."""

    def __init__(self, location: str) -> None:
        self._location = location

    def handle(self, _: Request, exchange: Exchange) -> None:
        """Answer one request."""
        exchange.respond(Response(307, [("location", self._location)]))


async def follow_redirects(canaries: Canaries) -> None:
    """Call a server that redirects to an address with a token; neither that token nor our own may be printed."""
    location = f"https://elsewhere.test/?token={canaries.plant('token in a redirect')}"
    cluster = Cluster()
    async with Server(Redirecting(location), clock=cluster.clock) as server:
        token = Token(Hidden(canaries.plant("token sent to a redirecting server")))
        transport = HttpTransport(ClusterConfig(server=server.url, authentication=token), clock=cluster.clock)
        client = Client(transport, clock=cluster.clock)
        await _fails(canaries, client.get(Secret, "a"))
        assert "the server redirects (307) to 'https://elsewhere.test/'" in canaries.seen["the failure of a request"][0]
        canaries.see("a client", repr(client) + repr(transport))
        await transport.close()


def _operator(canaries: Canaries) -> Operator:
    operator = Operator("keeper")
    operator.permit(Secret, "create", "patch", "update")

    @operator.validate(Secret)
    async def judge(judged: Secret, _: Admission[Secret]) -> None:
        if judged.name == "denied":
            raise Deny("no")
        if judged.name == "broken":
            raise KeyError("the function itself is wrong")

    @operator.default(Secret)
    def fill(filled: Secret, _: Admission[Secret]) -> None:
        filled.data = {**(filled.data or {}), "filled": canaries.plant("data that a webhook fills in").encode()}

    @operator.reconciler(Secret, owns=[ConfigMap])
    async def reconcile(found: Secret, ctx: Context[Secret]) -> None:
        ctx.log.debug("seen", extra={"object": found, "metadata": found.metadata, "context": ctx, "why": ctx.why})
        ctx.event("Seen", f"{found!r} was seen")
        _fail(found)
        await _write(found, ctx, canaries)

    return operator


def _fail(found: Secret) -> None:
    match found.name:
        case "retry":
            raise Retry("not yet", after=1)
        case "permanent":
            raise Permanent("Bad", f"{found!r} cannot be used")
        case "failing":
            raise RuntimeError(f"cannot use {found!r}")


async def _write(found: Secret, ctx: Context[Secret], canaries: Canaries) -> None:
    match found.name:
        case "flapping":
            await ctx.patch(found, {"data": {"n": coded(f"{canaries.plant('data that flaps')}{ctx.now()}")}})
        case "child":
            data = {"x": _bytes(canaries, "of a child")}
            await ctx.apply(Secret(meta("grown"), type="kubernetes.io/tls", data=data))
        case "bad":
            await ctx.patch(found, {"data": {"a": canaries.plant("data of a patch that is no base64")}})
        case "late":
            found.metadata.resource_version = "1"
            found.data = {"a": _bytes(canaries, "of an update in a reconciler")}
            await ctx.update(found)


def _bytes(canaries: Canaries, place: str) -> bytes:
    return canaries.plant(f"data {place}").encode()


async def reconcile_secrets(canaries: Canaries, cluster: Cluster, advance: Callable[[float], Awaitable[None]]) -> None:
    """Run an operator that reconciles Secrets; everything that can fail does."""
    async with cluster.running(_operator(canaries), expect_failures=(RuntimeError, Invalid)) as manager:
        cluster.faults.inject(Refuse(500, message="no luck"), path="/secrets", times=2)
        cluster.faults.inject(Lose(), method="PATCH", path="/secrets/flapping")
        cluster.faults.inject(Reset(), method="PATCH", path="/secrets/")
        for name in ("retry", "permanent", "failing", "flapping", "child", "bad", "late", "denied", "broken", "plain"):
            annotations = {LAST_APPLIED: f'{{"data":{{"a":"{canaries.plant("what kubectl applied last")}"}}}}'}
            data = {"a": _bytes(canaries, f"of the Secret {name}")}
            await _fails(canaries, cluster.client.create(Secret(meta(name, annotations=annotations), data=data)))
        await advance(30)
        broken = secret("malformed", data=canaries.plant("data that is no object"))
        broken["metadata"] |= {"namespace": "default", "uid": "u", "resourceVersion": "99999"}
        cluster.faults.send(encode_json({"type": "ADDED", "object": broken}) + b"\n", path="/secrets")
        cluster.faults.send(
            f'{{"type":"ADDED","object":{{"kind":"{canaries.plant("half a frame")}'.encode(), "/secrets"
        )
        cluster.faults.hold("/secrets")
        await cluster.client.create(ConfigMap(meta("quiet")))
        await advance(30)
        canaries.see("repr of the manager", repr(manager) + repr(manager.__dict__))
        canaries.see("metrics", manager.metrics.text().decode())
        canaries.see(
            "recorded requests", repr(cluster.faults) + repr(cluster.faults.requests) + repr(cluster.faults.streams)
        )
        for request in cluster.faults.requests:
            canaries.see("recorded requests", f"{request.method} {request.target} {request.headers} {request.body!r}")
        store = OwnCertificates(
            SecretBundleStore(cluster.client, "default", "webhook"), ("localhost",), clock=cluster.clock
        )
        certificates = await store.current()
        canaries.planted["the webhook's key"] = key_line(certificates.serving)
        canaries.see("certificates", repr(certificates) + repr(store) + repr(store.__dict__))
        canaries.see_reprs()
    for event in cluster.list(Event):
        canaries.see("events", encode_json(event).decode())
