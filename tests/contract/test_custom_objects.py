import json
import re
from collections import Counter
from typing import Any

import pytest

from steersman.apiserver.server import ApiServer
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.contract.recordings import read_lines

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Document = dict[str, Any]


def definitions() -> dict[str, list[Document]]:
    """Return the recorded CRDs by name; some have two states."""
    found: dict[str, list[Document]] = {}
    for entry in read_lines("schema/crds"):
        found.setdefault(entry["name"], []).append(entry["crd"])
    return found


class RecordedObject:
    """One recorded object on a server that has its CRD."""

    def __init__(self, states: list[Document]) -> None:
        self._states = states
        self._name = "x"
        self.clock = FakeClock()
        self._server = ApiServer(clock=self.clock, randomness=Randomness(3))
        self._transport = InMemoryTransport(self._server, clock=self.clock)
        spec = states[0]["spec"]
        place = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
        self.base = f"/apis/{spec['group']}/v1/{place}{spec['names']['plural']}"

    async def send(self, method: str, path: str, body: bytes, media: str = "application/json") -> Response:
        """Send one request."""
        return await self._transport._request(Request(method, path, {"content-type": media}, body), None)

    async def define(self, crd: Document) -> None:
        """Create or replace the CRD."""
        name = crd["metadata"]["name"]
        live = json.loads((await self.send("GET", f"{DEFINITIONS}/{name}", b"")).body)
        if live.get("kind") == "Status":
            answer = await self.send("POST", DEFINITIONS, json.dumps(crd).encode())
        else:
            crd = {**crd, "metadata": {**crd["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}}
            answer = await self.send("PUT", f"{DEFINITIONS}/{name}", json.dumps(crd).encode())
        assert answer.status in (200, 201), answer.body

    async def play(self, entry: Document) -> Response:
        """Store the previous object, and send the recorded request."""
        await self.define(self._states[0])
        request, version = entry["request"], ""
        if "old" in entry:
            stored = await self.send("POST", self.base, json.dumps(entry["old"]).encode())
            assert stored.status == 201, stored.body
            version = json.loads(stored.body)["metadata"]["resourceVersion"]
            self._name = json.loads(stored.body)["metadata"]["name"]
        for state in self._states[1:]:
            await self.define(state)
        if entry["status"] == 409 and "old" not in entry:
            await self.send("POST", self.base, json.dumps(request["body"]).encode())
        return await self.send(*self._request(request, version), request.get("contentType") or "application/json")

    def _request(self, request: Document, version: str) -> tuple[str, str, bytes]:
        method = request.get("method", "POST")
        body = request.get("body")
        if method == "PUT" and body is not None and "resourceVersion" not in body["metadata"]:
            body = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        data = request["text"].encode() if "text" in request else json.dumps(body).encode()
        name = body["metadata"].get("name", "x") if isinstance(body, dict) and method == "PUT" else self._name
        path = self.base if method == "POST" else f"{self.base}/{name}"
        if request.get("namespace"):
            path = path.replace("/default/", f"/{request['namespace']}/")
        if request.get("subresource"):
            path += f"/{request['subresource']}"
        query = [] if request.get("dryRun") is False else ["dryRun=All"]
        if request.get("query"):
            query.append(request["query"])
        return method, f"{path}?{'&'.join(query)}" if query else path, data


def causes(status: Document) -> Counter[tuple[str, ...]]:
    """Return the causes of an error, in any order."""
    listed = status.get("causes") or (status.get("details") or {}).get("causes") or []
    return Counter(
        tuple(_masked(str(cause.get(key, ""))) for key in ("field", "reason", "message")) for cause in listed
    )


def _masked(text: str) -> str:
    """Replace generated values, and the patched object, which the recording does not contain."""
    text = re.sub(r'(?<=["_-])(<5 random>|[bcdfghjklmnpqrstvwxz2456789]{5})(?=")', "<5 random>", text)
    return re.sub(r'Invalid value: "(\{.*\}|<the patched object as JSON>)"', "Invalid value: <object>", text)


def shown(obj: Document) -> Document:
    """Return the part of an object that the recording contains."""
    hidden = ("managedFields", "uid", "creationTimestamp", "resourceVersion")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in hidden}
    return {**obj, "metadata": metadata}


CASES = read_lines("schema/objects")
#: Cases that cannot be replayed, by number.
UNPLAYABLE = {457: "the recording masks the beginning of a name that was too long"}


@pytest.mark.parametrize("part", range(4))
async def test_custom_objects_are_validated_as_recorded(part: int) -> None:
    """Pruning, defaults, validation and rules must also hold in requests to the whole server."""
    known = definitions()
    wrong = []
    for number, entry in enumerate(CASES):
        if number % 4 != part or number in UNPLAYABLE or "describe" in entry["request"]:
            continue
        answer = await RecordedObject(known[entry["crd"]]).play(entry)
        if not answer.body.startswith(b"{"):
            wrong.append((number, entry["about"], answer.status, answer.body))
            continue
        made = json.loads(answer.body)
        if answer.status != entry["status"]:
            wrong.append((number, entry["about"], entry["status"], answer.status, made.get("message")))
        elif "object" in entry:
            if shown(made) != entry["object"] and "<5 random>" not in json.dumps(entry["object"]):
                wrong.append((number, entry["about"], entry["object"], shown(made)))
        elif causes(entry) != causes(made):
            wrong.append((number, entry["about"], entry["causes"], made.get("details")))
    assert not wrong
