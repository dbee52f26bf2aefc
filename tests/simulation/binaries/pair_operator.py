"""An operator with the standard library only: two Secrets for each ConfigMap with the label ``pair``.

It is the program that tests run as "any binary". Usage: ``pair_operator.py KUBECONFIG careful|hasty``. The hasty one
takes the first Secret of a pair for a sign that the second one exists.
"""

import http.client
import json
import ssl
import sys
import tempfile
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PAIRS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


class Api:
    """The API server of a kubeconfig."""

    def __init__(self, path: str) -> None:
        config = json.loads(Path(path).read_bytes())
        self._address = urlsplit(config["clusters"][0]["cluster"]["server"])
        authority = b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
        with tempfile.NamedTemporaryFile() as file:
            file.write(authority)
            file.flush()
            self._tls = ssl.create_default_context(cafile=file.name)
        self._headers = {"authorization": f"Bearer {config['users'][0]['user']['token']}"}

    def request(self, method: str, target: str, body: Any = None) -> http.client.HTTPResponse:
        """Send a request over a connection of its own."""
        connection = http.client.HTTPSConnection(self._address.hostname or "", self._address.port, context=self._tls)
        headers = {**self._headers, "content-type": "application/json"}
        connection.request(method, target, json.dumps(body) if body is not None else None, headers)
        return connection.getresponse()

    def exists(self, path: str) -> bool:
        """Return whether an object exists."""
        return self.request("GET", path).status == 200

    def create_secret(self, owner: Any, name: str) -> None:
        """Create a Secret of a pair; one that exists is left as it is, any other failure ends the program."""
        metadata = owner["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"]}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "ownerReferences": [reference]}}
        if self.request("POST", SECRETS, body).status not in {201, 409}:
            sys.exit(f"cannot create {name}")


def reconcile(api: Api, pair: Any, manner: str) -> None:
    """Create what is missing of a pair."""
    first, second = (f"{pair['metadata']['name']}-{number}" for number in (1, 2))
    if manner == "hasty" and api.exists(f"{SECRETS}/{first}"):
        return
    for name in (first, second):
        if not api.exists(f"{SECRETS}/{name}"):
            api.create_secret(pair, name)


def main() -> None:
    """List the pairs, then watch them for as long as the server answers."""
    _, kubeconfig, manner = sys.argv
    api = Api(kubeconfig)
    sys.stderr.write("started\n")
    if manner == "failing":
        sys.exit("there is no sky")
    while True:
        found = json.load(api.request("GET", f"{PAIRS}?labelSelector=pair&resourceVersion=0"))
        for pair in found["items"]:
            reconcile(api, pair, manner)
        version = found["metadata"]["resourceVersion"]
        with api.request("GET", f"{PAIRS}?labelSelector=pair&watch=true&resourceVersion={version}") as changes:
            for line in changes:
                event = json.loads(line)
                if event["type"] in {"ADDED", "MODIFIED"}:
                    reconcile(api, event["object"], manner)


if __name__ == "__main__":
    main()
