"""Subresources that are not copies of their object: scale, finalize, binding, eviction, tokens, logs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol

from steersman.apiserver.admission.chain import Admission, Review
from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.options import WriteOptions, delete_options, write_options
from steersman.apiserver.messages.rendering import Rendering, refusal_response
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal, advance, bad_request, created, method_not_allowed
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.bind import Binding
from steersman.apiserver.verbs.connect_options import connect_options, query_of
from steersman.apiserver.verbs.create_update import CreateAndUpdate
from steersman.apiserver.verbs.decoding import read_request_body
from steersman.apiserver.verbs.evict import Evicting, check_eviction
from steersman.apiserver.verbs.patch import Patching
from steersman.apiserver.verbs.pod_logs import check_log_options
from steersman.apiserver.verbs.scale import Scaling
from steersman.apiserver.verbs.token_requests import TokenRequests
from steersman.json_types import JsonObject
from steersman.protocol.http import Exchange, Response

#: Parts that need the permission to create even for a GET, the only method that opens a WebSocket: they run programs.
_RUNNING = ("exec", "attach", "portforward")
#: Parts that open a connection, which admission can reject.
_CONNECTING = (*_RUNNING, "proxy")


class PodServer(Protocol):
    """Serves the logs, shells and ports of the pods of one node."""

    def handle(self, part: str, pod: JsonObject, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request to a part of a pod of this node; a ``Refusal``, raised at once or later, is the response."""


class Subresources:
    """Answers requests to parts of objects."""

    def __init__(  # noqa: PLR0913 - one argument for each part that is served elsewhere
        self,
        objects: ObjectStore,
        admission: Admission,
        rendering: Rendering,
        *,
        scaling: Scaling,
        writing: CreateAndUpdate,
        patching: Patching,
        evicting: Evicting,
        binding: Binding,
        tokens: TokenRequests,
        may_create: Callable[[ApiRequest], bool],
    ) -> None:
        self._objects = objects
        self._admission = admission
        self._evicting = evicting
        self._rendering = rendering
        #: Whether the user may also create the part that a GET asks for.
        self._may_create = may_create
        self._answers: Mapping[tuple[str, str], Callable[[ApiRequest], ApiResponse]] = {
            ("scale", "get"): scaling.get,
            ("scale", "update"): scaling.update,
            ("scale", "patch"): scaling.patch,
            ("finalize", "update"): writing.update,
            ("approval", "get"): self._whole,
            ("approval", "update"): writing.update,
            ("approval", "patch"): patching.patch,
            ("ephemeralcontainers", "get"): self._whole,
            ("ephemeralcontainers", "update"): writing.update,
            ("ephemeralcontainers", "patch"): patching.patch,
            ("resize", "get"): self._whole,
            ("resize", "update"): writing.update,
            ("resize", "patch"): patching.patch,
            ("binding", "create"): binding.bind,
            ("eviction", "create"): self._evict,
            ("token", "create"): tokens.answer,
        }
        #: Programs that serve the logs, shells and ports of pods, by the name of their node.
        self.nodes: dict[str, PodServer] = {}

    def run(self, part: str, verb: str, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request to a part of an object."""
        answer = self._answers.get((part, verb))
        if answer is not None:
            exchange.respond(self._rendering.answer(request, answer(request)))
            return None
        if part == "log":
            check_log_options(request.query, request.info.name)
            return self._ask_node(part, request, exchange)
        if part in _CONNECTING:
            return self._ask_node(part, self._connected(request), exchange)
        raise method_not_allowed()

    def _record(self, request: ApiRequest) -> Record:
        record = self._objects.get(request.served, request.info.namespace, request.info.name)
        if record is None:
            raise request.served.not_found(request.info.name)
        return record

    def _whole(self, request: ApiRequest) -> ApiResponse:
        return ApiResponse(200, self._objects.raw(request.served, self._record(request)))

    def _ask_node(self, part: str, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        if part in _RUNNING and request.http.method == "GET" and not self._may_create(request):
            raise request.served.forbidden(request.info.name, "")
        record = self._record(request)
        obj: JsonObject = {}
        if request.served.plural == "pods" and part != "proxy":
            obj = self._objects.document(request.served, record)
            if part != "portforward":
                _check_container(obj, request.query)
            if not obj["spec"].get("nodeName"):
                if part != "log":
                    raise bad_request(f"pod {record.name} does not have a host assigned")
                exchange.respond(Response(204, [("cache-control", "no-cache, private")]))
                return None
        node = self.nodes.get(obj["spec"]["nodeName"]) if obj else None
        if node is None:
            self._check_node(request, record)
            text = f"no node serves {part} of {request.served.plural}: the embedded API server runs no pods by itself"
            raise Refusal(501, "NotImplemented", text)
        work = node.handle(part, obj, request, exchange)
        return None if work is None else self._until_rejected(work, request, exchange)

    def _connected(self, request: ApiRequest) -> ApiRequest:
        """Return a request to open a connection with the options that admission allows."""
        options = connect_options(request)
        if not self._admission.is_active:
            return request
        review = self._admission.connect(request, options)
        return request if review.obj == options else replace(request, query=query_of(review.obj))

    @staticmethod
    async def _until_rejected(work: Awaitable[None], request: ApiRequest, exchange: Exchange) -> None:
        try:
            await work
        except Refusal as refusal:
            exchange.respond(refusal_response(request.http, request.query, refusal))

    def _check_node(self, request: ApiRequest, record: Record) -> None:
        """Reject a request to a missing node; Kubernetes reports a missing pod with the node's name."""
        if request.served.plural != "pods":
            return
        node = self._objects.document(request.served, record)["spec"].get("nodeName", "")
        if self._objects.store.get("nodes", "", node) is None:
            raise request.served.not_found(node)

    def _admitted(self, request: ApiRequest, obj: JsonObject, options: WriteOptions) -> Review:
        """Mutate and validate an object that is not stored."""
        if not self._admission.is_active:
            return Review(obj)
        metadata = {**(obj.get("metadata") or {}), "namespace": request.info.namespace}
        return self._admission.review_unstored(request, {**obj, "metadata": metadata}, options)

    def _evict(self, request: ApiRequest) -> ApiResponse:
        """Delete a pod for a client that drains its node."""
        eviction = read_request_body(request, "Eviction").document
        check_eviction(eviction, request.info.name)
        record = self._record(request)
        written = write_options(request.query, "CreateOptions")
        review = self._admitted(request, eviction, written)
        advance(lambda value: self._evict_admitted(request, record, value.obj, dry_run=written.dry_run), review)
        return ApiResponse(201, document=created(), is_object=False, warnings=review.warnings)

    def _evict_admitted(self, request: ApiRequest, record: Record, eviction: JsonObject, *, dry_run: bool) -> None:
        options = delete_options(Query(), eviction.get("deleteOptions") or {})
        self._evicting.evict(request, record, replace(options, dry_run=True) if dry_run else options)


def _check_container(obj: JsonObject, query: Query) -> None:
    names = [container["name"] for key in ("initContainers", "containers") for container in obj["spec"].get(key) or ()]
    wanted = query.text("container")
    pod = obj["metadata"]["name"]
    if wanted and wanted not in names:
        raise bad_request(f"container {wanted} is not valid for pod {pod}")
    if not wanted and len(obj["spec"].get("containers") or ()) > 1:
        raise bad_request(f"a container name must be specified for pod {pod}, choose one of: [{' '.join(names)}]")
