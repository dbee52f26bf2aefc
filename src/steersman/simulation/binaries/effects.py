"""Whether a write would change anything: the server is asked with a dry run.

Many operators write every object in every reconcile. Most of these writes change nothing, their number depends on how
often a program happens to be woken, and a fault at one of them teaches nothing. So they do not count as steps.
"""

from collections.abc import Coroutine
from urllib.parse import parse_qsl, urlencode

import msgspec

from steersman.apiserver.server import ApiServer
from steersman.json_types import JsonObject
from steersman.protocol.http import SAFE_METHODS, Request
from steersman.simulation.network.exchanges import Collected

#: What a dry run may change although the object stays the same.
_INCIDENTAL = frozenset({"managedFields", "resourceVersion", "generation"})
#: Parts of objects that are not stored.
_CALLS = frozenset({"exec", "attach", "portforward", "proxy", "token", "binding", "eviction"})
_SUCCESS = range(200, 300)


def changes_something(server: ApiServer, request: Request) -> bool:
    """Return whether a request is a write that would change the cluster; one that cannot be tried counts as such."""
    path = request.target.partition("?")[0]
    last = path.rpartition("/")[2]
    if request.method in SAFE_METHODS or last in _CALLS or last.endswith("reviews"):
        return False
    tried = _tried(server, request)
    if tried is None or request.method in {"POST", "DELETE"}:
        return tried is None or tried[0] in _SUCCESS
    status, found = tried
    before = _read(server, path)
    return status in _SUCCESS and (before is None or _plain(before) != _plain(found))


def _tried(server: ApiServer, request: Request) -> tuple[int, JsonObject] | None:
    path, _, query = request.target.partition("?")
    options = {**dict(parse_qsl(query)), "dryRun": "All"}
    headers = {**request.headers, "accept": "application/json"}
    answer = Collected()
    work = server.handle(Request(request.method, f"{path}?{urlencode(options)}", headers, request.body), answer)
    if isinstance(work, Coroutine):
        # A webhook would be asked, which takes time.
        work.close()
    if answer.response is None:
        return None
    return answer.response.status, msgspec.json.decode(answer.response.body)


def _read(server: ApiServer, path: str) -> JsonObject | None:
    answer = Collected()
    server.handle(Request("GET", path), answer)
    if answer.response is None or answer.response.status not in _SUCCESS:
        return None
    found: JsonObject = msgspec.json.decode(answer.response.body)
    return found


def _plain(document: JsonObject) -> JsonObject:
    metadata = document.get("metadata") or {}
    return {**document, "metadata": {key: value for key, value in metadata.items() if key not in _INCIDENTAL}}
