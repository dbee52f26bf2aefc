"""The web view of a process, asked without a browser."""

import http.client
import json
import re
from typing import Any
from urllib.parse import urlsplit


class View:
    """The web view of a process, asked without a browser."""

    def __init__(self, url: str) -> None:
        self.host = urlsplit(url).netloc
        self.token = url.partition("#token=")[2]

    def post(self, path: str, body: object, **headers: str) -> tuple[int, Any]:
        """Send a POST as the page does; headers replace those of the page."""
        known = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "origin": f"http://{self.host}",
        }
        sent = {**known, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection(self.host, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body), {name: value for name, value in sent.items() if value})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


def url_in(text: str) -> str:
    """Return the address of the web view in the output of a command."""
    found = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", text)
    assert found is not None, text
    return found[0]
