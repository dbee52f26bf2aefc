"""A server with its controllers, called directly, without a transport."""

import json
from collections.abc import Mapping
from typing import Any

from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.server import ApiServer
from steersman.protocol.http import Peer, Request, Response, Stream, Upgraded
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock

Document = dict[str, Any]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class _StoredAnswer:
    """Stores the single answer to a request."""

    def __init__(self) -> None:
        self.peer = Peer()
        self.response: Response | None = None

    def respond(self, response: Response) -> None:
        self.response = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        raise NotImplementedError(status, headers)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        raise NotImplementedError(headers)

    def reset(self) -> None:
        raise NotImplementedError


class ControlledServer:
    """The server and the few requests that these tests make."""

    def __init__(self, options: ControllerOptions | None = ControllerOptions()) -> None:  # noqa: B008 - frozen
        self.clock = FakeClock()
        self.api = ApiServer(clock=self.clock, randomness=Randomness(3), controllers=options)

    def send(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Document]:
        """Send a request; return the status and the document of its answer."""
        answer = _StoredAnswer()
        data = b"" if body is None else json.dumps(body).encode()
        self.api.handle(Request(method, path, headers, data), answer)
        assert answer.response is not None
        return answer.response.status, json.loads(answer.response.body)

    def create(self, path: str, document: Document) -> Document:
        """Create an object."""
        status, created = self.send("POST", path, document, **{"content-type": "application/json"})
        assert status == 201, created
        return created

    def rejected(self, path: str, document: Document) -> str:
        """Return the message of a create that is forbidden."""
        status, answer = self.send("POST", path, document, **{"content-type": "application/json"})
        assert status == 403, answer
        message: str = answer["message"]
        return message

    def config_map(self, name: str, owners: Mapping[str, bool] | None = None, **metadata: Any) -> Document:
        """Create a ConfigMap owned by other ConfigMaps; the flags say whether it blocks their deletion."""
        references = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": owner,
                "uid": self.get(f"{CONFIG_MAPS}/{owner}")["metadata"]["uid"],
                "blockOwnerDeletion": is_blocking,
            }
            for owner, is_blocking in (owners or {}).items()
        ]
        return self.create(CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": references, **metadata}})

    def get(self, path: str) -> Document:
        """Return an object that must exist."""
        status, found = self.send("GET", path)
        assert status == 200, found
        return found

    def has(self, path: str) -> bool:
        """Return whether an object exists."""
        return self.send("GET", path)[0] == 200

    def delete(self, path: str, policy: str = "Background") -> None:
        """Delete an object."""
        status, answer = self.send("DELETE", f"{path}?propagationPolicy={policy}")
        assert status == 200, answer

    def patch(self, path: str, document: Document) -> None:
        """Apply a merge patch to an object."""
        headers = {"content-type": "application/merge-patch+json"}
        status, answer = self.send("PATCH", path, document, **headers)
        assert status == 200, answer

    def names(self, path: str = CONFIG_MAPS) -> list[str]:
        """Return the names of the objects in a collection."""
        return [item["metadata"]["name"] for item in self.get(path)["items"]]

    async def settle(self) -> None:
        """Wait until the controllers have nothing to do."""
        await self.api.settle()


def definition(kind: str, plural: str, scope: str = "Namespaced") -> Document:
    """Return the CRD of a kind whose objects may have any content."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"{plural}.demo.dev"},
        "spec": {
            "group": "demo.dev",
            "names": {"kind": kind, "plural": plural},
            "scope": scope,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
