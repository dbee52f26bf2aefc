"""Building requests and reading responses: microseconds each, without I/O."""

import time
from collections.abc import Callable

from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey
from steersman.protocol.http import Response
from steersman.protocol.options import ListOptions, WatchOptions, WriteOptions
from steersman.protocol.requests import PatchType, Requests
from steersman.protocol.responses import body_of, error_of, warnings_of

TIMES = 200_000

_WIDGETS = Requests(ApiResource(gvk=GroupVersionKind("demo.dev", "v1", "Widget"), plural="widgets"))
_KEY = ObjectKey("default", "widget-00042")
_MANAGER = WriteOptions(field_manager="bench")
_BODY = b'{"status":{"replicas":3}}'
_SUCCESS = Response(200, [("content-type", "application/json"), ("content-length", "25")], _BODY)
_FAILURE = Response(
    409,
    [("content-type", "application/json")],
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the object has been modified",'
    b'"reason":"Conflict","details":{"name":"a","group":"demo.dev","kind":"widgets"},"code":409}',
)

_WORK: dict[str, Callable[[], object]] = {
    "get": lambda: _WIDGETS.get(_KEY),
    "list, new options": lambda: _WIDGETS.list("default", ListOptions(limit=500, continue_="token")),
    "watch, new options": lambda: _WIDGETS.watch("", WatchOptions(resource_version="123", timeout_seconds=400)),
    "patch status": lambda: _WIDGETS.patch(_KEY, PatchType.MERGE, _BODY, _MANAGER, subresource="status"),
    "delete": lambda: _WIDGETS.delete(_KEY),
    "answer: body": lambda: (body_of(_SUCCESS), warnings_of(_SUCCESS)),
    "answer: exception": lambda: error_of(_FAILURE),
}


def main() -> None:
    """Print a table."""
    for name, work in _WORK.items():
        begin = time.perf_counter()
        for _ in range(TIMES):
            work()
        micros = (time.perf_counter() - begin) / TIMES * 1_000_000
        print(f"{name:<20} {micros:6.2f} µs")
