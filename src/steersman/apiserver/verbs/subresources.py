"""Parts of objects that are no copies of them: scale, finalize, binding, eviction, tokens, logs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from steersman.apiserver.messages.api_request import Answer, Call
from steersman.apiserver.messages.bodies import read_body
from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.negotiation import body_media
from steersman.apiserver.messages.options import WriteOptions, delete_options, write_options
from steersman.apiserver.messages.rendering import Rendering, refusal_response
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.status import Refusal, bad_request, conflict, method_not_allowed
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.evict import Evicting, check_eviction
from steersman.apiserver.verbs.patch import Patching
from steersman.apiserver.verbs.pod_logs import check_log_options
from steersman.apiserver.verbs.scale import Scaling
from steersman.apiserver.verbs.token_requests import TokenRequests
from steersman.apiserver.verbs.write import Writing
from steersman.protocol.http import Exchange, Response

Document = dict[str, Any]
#: What a GET must be allowed to create, because it runs something: a WebSocket cannot be opened by any other method.
_RUNNING = ("exec", "attach", "portforward")


class PodServer(Protocol):
    """What runs pods, and so can tell what is inside: their logs, shells and ports."""

    def handle(self, part: str, pod: Document, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request to a part of a pod of this node; ``Refusal`` at once or later is answered for it."""


def _created() -> Answer:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Answer(201, document=status, is_object=False)


class Subresources:
    """Answers requests to parts of objects."""

    def __init__(  # noqa: PLR0913 - whoever serves one of the parts
        self,
        ledger: Ledger,
        scaling: Scaling,
        writing: Writing,
        patching: Patching,
        evicting: Evicting,
        rendering: Rendering,
        *,
        tokens: TokenRequests,
    ) -> None:
        self._ledger = ledger
        self._writing = writing
        self._patching = patching
        self._evicting = evicting
        self._rendering = rendering
        self._answers: Mapping[tuple[str, str], Callable[[Call], Answer]] = {
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
            ("binding", "create"): self._bind,
            ("eviction", "create"): self._evict,
            ("token", "create"): tokens.answer,
        }
        #: Who serves the logs, shells and ports of pods, by the name of their node.
        self.nodes: dict[str, PodServer] = {}
        #: Whether somebody may also create the part of an object that they ask for.
        self.may_create: Callable[[Call], bool] = lambda _: True

    def run(self, part: str, verb: str, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request to a part of an object."""
        answer = self._answers.get((part, verb))
        if answer is not None:
            exchange.respond(self._rendering.answer(call, answer(call)))
            return None
        if part in ("log", "exec", "attach", "portforward", "proxy"):
            return self._ask_node(part, call, exchange)
        raise method_not_allowed()

    def _record(self, call: Call) -> Record:
        record = self._ledger.get(call.served, call.info.namespace, call.info.name)
        if record is None:
            raise call.served.not_found(call.info.name)
        return record

    def _whole(self, call: Call) -> Answer:
        return Answer(200, self._ledger.raw(call.served, self._record(call)))

    def _ask_node(self, part: str, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        if part == "log":
            check_log_options(call.query, call.info.name)
        if part in _RUNNING and call.request.method == "GET" and not self.may_create(call):
            raise call.served.forbidden(call.info.name, "")
        record = self._record(call)
        obj: Document = {}
        if call.served.plural == "pods" and part != "proxy":
            obj = self._ledger.document(call.served, record)
            if part != "portforward":
                _check_container(obj, call.query)
            if not obj["spec"].get("nodeName"):
                if part != "log":
                    raise bad_request(f"pod {record.name} does not have a host assigned")
                exchange.respond(Response(204, [("cache-control", "no-cache, private")]))
                return None
        node = self.nodes.get(obj["spec"]["nodeName"]) if obj else None
        if node is None:
            self._check_node(call, record)
            text = f"no node serves {part} of {call.served.plural}: the embedded API server runs no pods by itself"
            raise Refusal(501, "NotImplemented", text)
        work = node.handle(part, obj, call, exchange)
        return None if work is None else self._until_refused(work, call, exchange)

    @staticmethod
    async def _until_refused(work: Awaitable[None], call: Call, exchange: Exchange) -> None:
        try:
            await work
        except Refusal as refusal:
            exchange.respond(refusal_response(call.request, call.query, refusal))

    def _check_node(self, call: Call, record: Record) -> None:
        """Refuse to ask a node that is not there; Kubernetes speaks of a pod of the node's name."""
        if call.served.plural != "pods":
            return
        node = self._ledger.document(call.served, record)["spec"].get("nodeName", "")
        if self._ledger.store.get("nodes", "", node) is None:
            raise call.served.not_found(node)

    def _admitted(self, call: Call, obj: Document, options: WriteOptions) -> Document:
        """Give an object that is not kept as everyone wants it who has a say in it."""
        admission = self._writing.admission
        if not admission.is_active:
            return obj
        metadata = {**(obj.get("metadata") or {}), "namespace": call.info.namespace}
        obj = admission.mutate(call, {**obj, "metadata": metadata}, None, options)
        admission.validate(call, obj, None, options)
        return obj

    def _bind(self, call: Call) -> Answer:
        """Place a pod on a node."""
        options = write_options(call.query, "CreateOptions")
        media = body_media(call.request.headers.get("content-type", ""))
        binding = read_body(call.request.body, media, "Binding").document
        record = self._record(call)
        live = self._ledger.document(call.served, record)
        binding = self._admitted(call, binding, options)
        node = (binding.get("target") or {}).get("name", "")
        if "deletionTimestamp" in live["metadata"]:
            why = f"pod {record.name} is being deleted, cannot be assigned to a host"
            raise conflict("pods/binding", "", record.name, why)
        if live["spec"].get("schedulingGates"):
            why = f"pod {record.name} has non-empty .spec.schedulingGates"
            raise conflict("pods/binding", "", record.name, why)
        placed = live["spec"].get("nodeName")
        if placed:
            raise conflict("pods/binding", "", record.name, f'pod {record.name} is already assigned to node "{placed}"')
        obj = self._ledger.document(call.served, record)
        obj["spec"]["nodeName"] = node
        conditions = [
            item for item in (obj.get("status") or {}).get("conditions") or () if item["type"] != "PodScheduled"
        ]
        conditions.append(
            {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": self._writing.now()}
        )
        obj["status"] = {**(obj.get("status") or {}), "conditions": conditions}
        if not options.dry_run:
            self._ledger.put(call.served, obj)
        return _created()

    def _evict(self, call: Call) -> Answer:
        """Delete a pod on behalf of somebody who empties its node."""
        media = body_media(call.request.headers.get("content-type", ""))
        eviction = read_body(call.request.body, media, "Eviction").document
        check_eviction(eviction, call.info.name)
        record = self._record(call)
        written = write_options(call.query, "CreateOptions")
        eviction = self._admitted(call, eviction, written)
        options = delete_options(Query(), eviction.get("deleteOptions") or {})
        if written.dry_run:
            options = replace(options, dry_run=True)
        self._evicting.evict(call.served, record, options, self._writing.now())
        return _created()


def _check_container(obj: Document, query: Query) -> None:
    names = [container["name"] for key in ("initContainers", "containers") for container in obj["spec"].get(key) or ()]
    wanted = query.text("container")
    pod = obj["metadata"]["name"]
    if wanted and wanted not in names:
        raise bad_request(f"container {wanted} is not valid for pod {pod}")
    if not wanted and len(obj["spec"].get("containers") or ()) > 1:
        raise bad_request(f"a container name must be specified for pod {pod}, choose one of: [{' '.join(names)}]")
