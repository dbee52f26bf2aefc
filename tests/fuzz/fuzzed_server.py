"""Sends requests to a server in this process, without a network, and checks every answer."""

import base64
import json
import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from steersman.apiserver.server import ApiServer
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from tests.contract.recordings import Sequence, builtin_sequences, patch_sequences
from tests.support.fake_exchange import FakeExchange

GOLDEN = Path(__file__).parent.parent / "golden"
#: Requests that a real server answers with 500, too, although the client made the mistake.
KNOWN_500 = (
    "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
    "Internal error occurred: the spec replicas field ",
    "The order in patch list:",
    "expected a []interface {}, but received a ",
    "expected a map[string]interface {}, but received a ",
    "failed to convert new object (",
    "failed to create typed patch object (",
    "list element types are not identical: ",
    "map: map[",
    "merging lists cannot yet be specified in the patch",
    "no elements in any of the given slices",
    "resourceVersion should not be set on objects to be created",
    "resourceVersion: Invalid value: ",
    "strconv.ParseUint: parsing ",
    "unable to find api field in struct",
    "unknown patch type: ",
    "value for key ",
)
_READERS: dict[str, Callable[[bytes], Any]] = {"application/json": json.loads, "application/yaml": yaml.safe_load}


class FuzzedServer:
    """A server with a few objects, whose answers are all checked."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        #: Names of the recorded sequences that were replayed.
        self._played: set[str] = set()
        self.server = ApiServer(clock=self.clock, randomness=Randomness(7))
        definition = yaml.safe_load((GOLDEN / "widgets-crd.yaml").read_text())
        self.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(definition).encode())
        for name in "abcdef":
            metadata = {"name": name, "labels": {"app": name, "x": "y"}}
            widget = {"metadata": metadata, "spec": {"color": "red", "tags": ["t"], "items": [{"key": "k"}]}}
            kind = {"apiVersion": "demo.dev/v1", "kind": "Widget"}
            self.ask("POST", "/apis/demo.dev/v1/namespaces/default/widgets", json.dumps({**kind, **widget}).encode())
            config = {"metadata": metadata, "data": {"k": "v"}}
            self.ask("POST", "/api/v1/namespaces/default/configmaps", json.dumps(config).encode())
        container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "1"}]}
        template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}
        deployment = {
            "metadata": {"name": "d"},
            "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template},
        }
        self.ask("POST", "/apis/apps/v1/namespaces/default/deployments", json.dumps(deployment).encode())

    def play(self, sequence: Sequence) -> None:
        """Replay a recorded sequence once, so that the objects of its requests exist."""
        if sequence.name in self._played:
            return
        self._played.add(sequence.name)
        for step in (*sequence.setup, *sequence.steps):
            headers = {name: value for name, value in step.headers.items() if name != "authorization"}
            self.ask(step.method, step.path, step.body, headers)

    def ask(
        self, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Response | None:
        """Send a request; there must be an answer, and it must not be an internal error."""
        exchange = FakeExchange()
        sent = {"content-type": "application/json", **(headers or {})}
        work = self.server.handle(Request(method, target, sent, body), exchange)
        assert work is None, "nothing here needs to wait"
        if exchange.open_stream is not None:
            exchange.open_stream.close()
            return None
        assert exchange.response is not None, "every request is answered"
        self._judge(exchange.response)
        return exchange.response

    @staticmethod
    def _judge(response: Response) -> None:
        assert 200 <= response.status < 600
        if response.status >= 400:
            media = response.header("content-type")
            assert media or not response.body, "a refusal says what it is"
            if (read := _READERS.get(media)) is not None:
                status = read(response.body)
                assert status["kind"] == "Status"
                assert status["code"] == response.status
                assert response.status != 500 or status["message"].startswith(KNOWN_500), status["message"]
            elif response.status == 500:
                # In other formats, texts are not quoted.
                assert any(text.encode() in response.body for text in KNOWN_500), response.body


@cache
def recorded_sequences() -> tuple[Sequence, ...]:
    """Return sequences that were recorded on a real server: the input of mutations."""
    return (
        *patch_sequences("apply_custom"),
        *patch_sequences("strategic_patch"),
        *patch_sequences("json_patch"),
        *patch_sequences("merge_patch"),
        *patch_sequences("update"),
        *builtin_sequences("lifecycle"),
        *builtin_sequences("http"),
        *builtin_sequences("defaults"),
    )


@cache
def recorded_protobuf() -> tuple[tuple[str, bytes], ...]:
    """Return the protobuf bodies that kubectl sent, with their paths."""
    found = []
    for line in lzma.decompress((GOLDEN / "kubectl.jsonl.xz").read_bytes()).decode().splitlines():
        entry = json.loads(line)
        if body := entry.get("request_base64"):
            found.append((entry["path"], base64.b64decode(body)))
    return tuple(found)
