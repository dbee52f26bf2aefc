"""Answers what a running operator did and why, as JSON: for ``steer why``, on a private socket or a loopback port.

::

    GET /clusters                                     names of clusters, if the process works in several; else none
    GET /overview                                     an `Overview`
    GET /objects                                      a list of `ObjectSummary`
    GET /webhooks                                     the newest reviews: a list of `WebhookCall`
    GET /leadership                                   when it began and ceased to lead: a list of `LeadershipChange`
    GET /object?resource=NAME&namespace=NAME&name=NAME   an `ObjectView`; the resource by any of its names
    GET /recordings?…                                 a list of `Recording` of an object, named as above

It only reads. What it serves is masked, but not public: it listens on private sockets and on loopback only.
"""

from collections.abc import Callable, Iterable
from urllib.parse import parse_qsl

import msgspec

from steersman.history.records import ObjectName
from steersman.history.state import Introspection
from steersman.objects.identity import ApiResource
from steersman.protocol.http import Exchange, Request, Response

#: The port on which an operator in a pod answers, on loopback: only a port-forward and containers of the pod reach it.
HISTORY_PORT = 8082
#: Characters of a request that an error quotes.
_SHOWN = 100
_NOT_RECORDED = "this operator does not record what reconciles read: run it with --record, or use `steer dev`"
_JSON = [("content-type", "application/json"), ("cache-control", "no-store")]


class HistoryApp:
    """Answers requests about one operator process."""

    def __init__(self, source: Introspection, resources: Iterable[ApiResource]) -> None:
        self._source = source
        self._resources = tuple(resources)
        self._pages: dict[str, Callable[[dict[str, str]], Response]] = {
            "/clusters": lambda _: _answer([]),
            "/overview": lambda _: _answer(source.overview()),
            "/objects": lambda _: _answer(source.summaries()),
            "/webhooks": lambda _: _answer(source.history.calls()),
            "/leadership": lambda _: _answer(source.history.leadership()),
            "/object": lambda query: self._about(query, lambda name: _answer(source.view(name))),
            "/recordings": lambda query: self._about(query, self._recordings),
        }

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer one request."""
        path, _, query = request.target.partition("?")
        page = self._pages.get(path)
        if request.method != "GET":
            exchange.respond(_error(405, "only GET is possible here"))
        elif page is None:
            exchange.respond(_error(404, f"there is no page {path[:_SHOWN]!r}; there are {', '.join(self._pages)}"))
        else:
            exchange.respond(page(dict(parse_qsl(query))))

    def _recordings(self, name: ObjectName) -> Response:
        found = self._source.recordings(name)
        if found is None:
            return _error(409, _NOT_RECORDED)
        return _answer(found)

    def _about(self, query: dict[str, str], answer: Callable[[ObjectName], Response]) -> Response:
        asked = query.get("resource", "")
        found = next((one for one in self._resources if _is_called(one, asked)), None)
        if found is None:
            known = ", ".join(sorted(one.gvk.kind for one in self._resources)) or "none"
            text = f"the operator reconciles no {asked[:_SHOWN]!r}; it reconciles {known}"
            return Response(404, _JSON, msgspec.json.encode({"error": text, "kinds": known}))
        namespace = query.get("namespace", "") if found.namespaced else ""
        return answer(ObjectName(found.gvk.kind, namespace, query.get("name", ""), found.gvk.group))


def _is_called(resource: ApiResource, name: str) -> bool:
    """Return whether a resource has that name, as kubectl takes it: kind, plural, singular or short, with a group."""
    plain, _, group = name.partition(".")
    names = {resource.gvk.kind.lower(), resource.plural, resource.singular, *resource.short_names}
    return plain.lower() in names and group in ("", resource.gvk.group)


def _answer(value: object) -> Response:
    return Response(200, _JSON, msgspec.json.encode(value))


def _error(status: int, text: str) -> Response:
    return Response(status, _JSON, msgspec.json.encode({"error": text}))
