"""`Session`: what all verbs of a client share: the transport, where kinds are served, and decoding of responses."""

import logging
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from steersman.client.discovery import Discovery
from steersman.client.interfaces import Ref
from steersman.clock import Clock
from steersman.errors import ApiError, NotFound, SteersmanError
from steersman.kinds import class_for
from steersman.objects.codec import decode, decode_json, encode_json
from steersman.objects.identity import GroupVersionKind, GroupVersionResource, ObjectKey
from steersman.objects.resource import KubeObject, Unstructured, gvk_of, resource_of
from steersman.protocol.confidential import is_confidential, without_values
from steersman.protocol.http import Request
from steersman.protocol.requests import Requests
from steersman.protocol.responses import body_of, kind_not_served, warnings_of
from steersman.randomness import Randomness
from steersman.transport.base import Transport

_log = logging.getLogger("steersman.client")

#: Number of warnings that are remembered; some contain names of objects, so that there can be any number of them.
_REMEMBERED_WARNINGS = 1000
#: A class of objects, or a kind that needs none.
Kind = type[KubeObject] | type[Unstructured] | GroupVersionKind
#: An object, or the name of one.
Target = KubeObject | Unstructured | Ref[Any]


class Session:
    """Send requests to one server, and look up where its kinds are served."""

    def __init__(self, transport: Transport, *, namespace: str, clock: Clock, randomness: Randomness) -> None:
        self.transport = transport
        self.namespace = namespace
        self.clock = clock
        self.randomness = randomness
        self.discovery = Discovery(transport, clock=clock)
        self._warnings = _ServerWarnings()
        self._by_class: dict[type[KubeObject], Requests] = {}
        self._by_kind: dict[GroupVersionKind, Requests] = {}

    async def send(self, request: Request) -> bytes:
        """Send a request and return the body of a success; raise the error that any other response means."""
        response = await self.transport.request(request)
        if texts := warnings_of(response):
            self._warnings.show(texts)
        try:
            return body_of(response)
        except ApiError as error:
            if isinstance(error, NotFound):
                raise await self._explained(request, error) from None
            if not is_confidential(request.target):
                raise
            refusal = without_values(error)
        # Outside the handler: inside it, even with `from None`, the quoted values would travel on in __context__.
        raise refusal

    async def _explained(self, request: Request, error: NotFound) -> NotFound:
        """Return what a 404 without an object's name means: discovery knows whether the kind is served."""
        gvr = _resource_in(request.target)
        if error.name or gvr is None:
            return error
        try:
            is_served = await self.discovery.is_served(gvr)
        except SteersmanError:
            return error  # Nothing is known: this may not even be the API server.
        if is_served:
            return error
        known = (requests.resource for requests in (*self._by_class.values(), *self._by_kind.values()))
        kind = next((resource.gvk.kind for resource in known if resource.gvr == gvr), gvr.resource)
        return kind_not_served(f"{kind} ({gvr.group_version})", group=gvr.group, kind=kind)

    # Where kinds are served.

    async def requests(self, kind: Kind) -> Requests:
        """Return the request builder of a kind; a kind without a class is looked up on the server."""
        if isinstance(kind, GroupVersionKind):
            return self._by_kind.get(kind) or await self._discover(kind)
        if issubclass(kind, Unstructured):
            raise TypeError("Unstructured is not a kind: pass a GroupVersionKind for a kind without a class")
        return self.requests_of_class(kind)

    def requests_of_class(self, kind: type[KubeObject]) -> Requests:
        """Return the request builder of a declared class."""
        requests = self._by_class.get(kind)
        if requests is None:
            requests = self._by_class[kind] = Requests(resource_of(kind))
        return requests

    async def _discover(self, gvk: GroupVersionKind) -> Requests:
        # Declared and built-in kinds need no request.
        declared = class_for(gvk)
        resource = await self.discovery.resource(gvk) if declared is None else resource_of(declared)
        requests = self._by_kind[gvk] = Requests(resource)
        return requests

    async def locate(self, target: Target) -> tuple[Requests, ObjectKey]:
        """Return the request builder and the key of an object, with the default namespace if it has none."""
        if isinstance(target, KubeObject):
            requests = self.requests_of_class(type(target))
        else:
            requests = await self.requests(target.kind if isinstance(target, Ref) else kind_of(target))
        return requests, ObjectKey(self.scope(requests, target.namespace or None), target.name)

    def scope(self, requests: Requests, namespace: str | None) -> str:
        """Return the given namespace, or this client's own; empty for cluster-scoped kinds."""
        if not requests.resource.namespaced:
            return namespace or ""
        return self.namespace if namespace is None else namespace


class _ServerWarnings:
    """Log each warning of the API server once, however often it is repeated."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, None] = OrderedDict()

    def show(self, texts: Iterable[str]) -> None:
        """Log the texts that are new."""
        for text in texts:
            if text in self._shown:
                self._shown.move_to_end(text)
                continue
            self._shown[text] = None
            if len(self._shown) > _REMEMBERED_WARNINGS:
                self._shown.popitem(last=False)
            _log.warning("warning from the API server: %s", text)


def _resource_in(target: str) -> GroupVersionResource | None:
    """Return the resource of a request; ``None`` for core resources, which every server has."""
    match target.partition("?")[0].split("/"):
        case ["", "apis", group, version, "namespaces", _, plural, *_] | ["", "apis", group, version, plural, *_]:
            return GroupVersionResource(group, version, plural)
    return None


def kind_of(obj: KubeObject | Unstructured) -> Kind:
    """Return the kind of an object: its class, or its ``GroupVersionKind``."""
    return obj.gvk if isinstance(obj, Unstructured) else type(obj)


def class_of(target: Kind | Target) -> type[Any]:
    """Return the class that responses about a target are decoded as."""
    kind = target.kind if isinstance(target, Ref) else target
    if isinstance(kind, (GroupVersionKind, Unstructured)):
        return Unstructured
    return kind if isinstance(kind, type) else type(kind)


def read_as(target: Kind | Target, body: bytes) -> Any:
    """Decode a response as the kind of its request."""
    return decode(class_of(target), body)


def read_item(target: Kind, item: bytes) -> Any:
    """Decode an item of a list, which may have no kind."""
    if not isinstance(target, GroupVersionKind):
        return decode(class_of(target), item)
    content = decode_json(item)
    if isinstance(content, dict) and ("kind" not in content or "apiVersion" not in content):
        item = encode_json({"apiVersion": target.api_version, "kind": target.kind, **content})
    return decode(Unstructured, item)


def described(target: Kind | Target) -> str:
    """Return the name of a kind or an object for messages."""
    if isinstance(target, (Ref, GroupVersionKind)):
        return str(target)
    if isinstance(target, type):
        return target.__name__
    return f"{gvk_of(target).kind} {target.key}"
