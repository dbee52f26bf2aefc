import json
from pathlib import Path
from typing import Any

import pytest

from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.http.audit import AuditFile, AuditLog
from steersman.apiserver.messages import bodies
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.errors import ConfigError
from steersman.golang import yaml_reader
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport

Document = dict[str, Any]
CANARY = "Y2FuYXJ5LXNlY3JldA=="
TOKEN = "token-of-the-admin"


class Audited:
    """A server that writes an audit log."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        clock = FakeClock()
        other = User("other", ("system:authenticated",))
        api = ApiServer(clock=clock, tokens={TOKEN: ADMIN, "other": other})
        log = AuditLog(api, self.lines.append, user_of=api.user_of, clock=clock, randomness=Randomness(1))
        self._transport = InMemoryTransport(log, clock=clock)

    async def send(
        self, method: str, target: str, body: bytes = b"", media: str = "application/json", *, token: str = TOKEN
    ) -> Response:
        """Send a request, as the admin unless another token is given; an empty token is sent as none."""
        headers = {"authorization": f"Bearer {token}", "content-type": media, "user-agent": "me/1"}
        if not token:
            del headers["authorization"]
        return await self._transport._request(Request(method, target, headers, body), None)

    async def send_with_unknown_token(self, target: str) -> Response:
        """Send a request with a token that no user has."""
        return await self._transport._request(Request("GET", target, {"authorization": "Bearer wrong"}, b""), None)

    @property
    def events(self) -> list[Document]:
        """Return the audit events written so far."""
        return [json.loads(line) for line in self.lines]


async def test_each_request_is_a_line_with_user_action_and_outcome() -> None:
    """Users read the file for these three."""
    audited = Audited()
    body = json.dumps({"metadata": {"name": "c"}, "data": {"a": "b"}}).encode()
    await audited.send("POST", "/api/v1/namespaces/default/configmaps?fieldManager=m", body)
    (event,) = audited.events
    assert event["apiVersion"] == "audit.k8s.io/v1"
    assert event["verb"] == "create"
    assert event["user"] == {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
    assert event["objectRef"] == {"resource": "configmaps", "namespace": "default", "apiVersion": "v1"}
    assert event["responseStatus"]["code"] == 201
    assert event["userAgent"] == "me/1"
    assert event["requestObject"]["data"] == {"a": "b"}
    assert event["requestReceivedTimestamp"] == "2030-01-01T00:00:00.000000Z"
    assert audited.lines[0].count(b"\n") == 1


@pytest.mark.parametrize(
    ("method", "target", "body", "media"),
    [
        (
            "POST",
            "/api/v1/namespaces/default/secrets",
            {"metadata": {"name": "s"}, "data": {"password": CANARY}},
            "application/json",
        ),
        ("PATCH", "/api/v1/namespaces/default/secrets/s", {"data": {"p": CANARY}}, "application/merge-patch+json"),
        (
            "PATCH",
            "/api/v1/namespaces/default/secrets/s?fieldManager=m",
            {"apiVersion": "v1", "kind": "Secret", "stringData": {"p": CANARY}},
            "application/apply-patch+yaml",
        ),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": CANARY}}, "application/json"),
        (
            "POST",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            {"spec": {"boundObjectRef": {"uid": CANARY}}},
            "application/json",
        ),
    ],
)
async def test_secrets_and_tokens_never_reach_the_file(method: str, target: str, body: Document, media: str) -> None:
    """A log is copied, shown and kept; readers do not treat it as a secret."""
    audited = Audited()
    await audited.send(method, target, json.dumps(body).encode(), media)
    text = b"".join(audited.lines).decode()
    assert CANARY not in text
    assert TOKEN not in text
    assert audited.events[0]["level"] == "Metadata"


async def test_rejected_requests_are_logged_too() -> None:
    """They are what a user looks for when something is wrong."""
    audited = Audited()
    await audited.send_with_unknown_token("/api/v1/pods")
    await audited.send("GET", "/api/v1/namespaces/default/pods/none")
    await audited.send("POST", "/api/v1/namespaces/default/configmaps", b"{broken")
    assert [(event["responseStatus"]["code"], event["user"].get("username")) for event in audited.events] == [
        (401, None),
        (404, "admin"),
        (400, "admin"),
    ]


@pytest.mark.parametrize("target", ["configmaps/c?fieldManager=m", "configmaps/c?timeout=nonsense", "configmaps/%zz"])
async def test_the_body_of_an_unauthenticated_request_is_not_read(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An anonymous body of 351 bytes froze the server: it was parsed for the log, though the request was rejected."""
    audited = Audited()
    read: list[bytes] = []
    for module, name in ((yaml_reader, "_Parser"), (bodies, "decode_json")):
        parse = getattr(module, name)
        monkeypatch.setattr(module, name, lambda data, parse=parse: (read.append(data), parse(data))[1])
    path = f"/api/v1/namespaces/default/{target}"
    for token in ("", "other", "unknown"):
        for media in ("application/apply-patch+yaml", "application/json", "application/yaml"):
            for method in ("PATCH", "PUT"):
                await audited.send(method, path, b"a: &a {}", media, token=token)
    assert {event["responseStatus"]["code"] for event in audited.events} <= {400, 401, 403}
    assert {event["level"] for event in audited.events} == {"Metadata"}
    assert read == []


async def test_verbs_are_those_of_kubernetes() -> None:
    """A search for deletes must include deletecollection, and lists must differ from watches."""
    audited = Audited()
    collection = "/api/v1/namespaces/default/configmaps"
    await audited.send("GET", collection)
    await audited.send("GET", f"{collection}?watch=true&timeoutSeconds=0&resourceVersion=nonsense")
    await audited.send("DELETE", collection)
    await audited.send("GET", "/version")
    applied = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}"
    await audited.send("PATCH", f"{collection}/c?fieldManager=m", applied, "application/apply-patch+yaml")
    assert [event["verb"] for event in audited.events] == ["list", "watch", "deletecollection", "get", "patch"]
    assert audited.events[4]["requestObject"]["data"] == {"a": "b"}
    assert "objectRef" not in audited.events[3]


def test_lines_are_appended_to_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    """A restart must not lose earlier lines."""
    for line in (b"1\n", b"2\n"):
        file = AuditFile(tmp_path / "audit")
        file.write(line)
        file.close()
    assert (tmp_path / "audit").read_bytes() == b"1\n2\n"
    assert (tmp_path / "audit").stat().st_mode & 0o077 == 0
    with pytest.raises(ConfigError, match="cannot write"):
        AuditFile(tmp_path / "no" / "such" / "directory")
