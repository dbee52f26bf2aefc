"""Binding: places a pod on a node, as schedulers ask for it under two paths.

``POST …/pods/NAME/binding`` names the pod in its path, the older ``POST …/bindings`` only in the body. Of several
bindings of one pod the first wins; labels and annotations of the binding become those of the pod.
"""

from msgspec.structs import replace

from steersman.apiserver.admission.chain import Admission, Review
from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.options import write_options
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.storage_keys import precondition_text
from steersman.apiserver.status import advance, bad_request, conflict, created, internal_error, no_such_resource
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.decoding import read_request_body
from steersman.json_types import JsonObject
from steersman.validation.field_errors import FieldError, aggregate, not_supported, required

#: The kinds of a target, as an error lists them.
_TARGETS = ("Node", "<empty>")


class Binding:
    """Binds pods to nodes."""

    def __init__(self, objects: ObjectStore, catalog: Catalog, admission: Admission) -> None:
        self._objects = objects
        self._catalog = catalog
        self._admission = admission

    def bind(self, request: ApiRequest) -> ApiResponse:
        """Place the pod of the path on a node."""
        options = write_options(request.query, "CreateOptions")
        binding = read_request_body(request, "Binding").document
        name = request.info.name
        if (binding.get("metadata") or {}).get("name", "") != name:
            raise bad_request("name in URL does not match name in Binding object")
        if errors := _binding_errors(binding):
            raise internal_error(aggregate(errors))
        record = self._objects.get(request.served, request.info.namespace, name)
        if record is None:
            raise request.served.not_found(name)
        metadata = {**(binding.get("metadata") or {}), "namespace": request.info.namespace}
        review = Review({**binding, "metadata": metadata})
        if self._admission.is_active:
            review = self._admission.review_unstored(request, review.obj, options)
        bound = advance(lambda value: self._bound(request, record, value.obj, dry_run=options.dry_run), review)
        if not options.dry_run:
            self._objects.put(request.served, bound)
        return ApiResponse(201, document=created(), is_object=False, warnings=review.warnings)

    def bind_by_body(self, request: ApiRequest) -> ApiResponse:
        """Place the pod that the body names on a node."""
        name = (read_request_body(request, "Binding").document.get("metadata") or {}).get("name", "")
        if not name:
            raise bad_request("Name parameter required.")
        pods = self._catalog.find("", "v1", "pods")
        if pods is None:
            raise no_such_resource()
        info = replace(request.info, resource="pods", name=name, subresource="binding")
        return self.bind(replace(request, served=pods, info=info))

    def _bound(self, request: ApiRequest, record: Record, binding: JsonObject, *, dry_run: bool) -> JsonObject:
        """Return the pod on its node."""
        meta = binding["metadata"]
        for field, given, actual in (
            ("UID", meta.get("uid"), record.uid),
            ("ResourceVersion", meta.get("resourceVersion"), str(record.version)),
        ):
            if given and given != actual:
                why = f"{field} in precondition: {given}, {field} in object meta: {actual}"
                text = precondition_text(request.served, record.namespace, record.name, why, dry_run=dry_run)
                raise request.served.conflict(record.name, text)
        pod = self._objects.document(request.served, record)
        _check_unbound(pod)
        pod["spec"]["nodeName"] = binding["target"]["name"]
        if annotations := meta.get("annotations"):
            pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), **annotations}
        if labels := meta.get("labels"):
            pod["metadata"]["labels"] = {**labels, **(pod["metadata"].get("labels") or {})}
        status = pod.get("status") or {}
        conditions = [item for item in status.get("conditions") or () if item["type"] != "PodScheduled"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        conditions.append({**scheduled, "lastTransitionTime": request.context.now})
        pod["status"] = {**status, "conditions": conditions}
        return pod


def _binding_errors(binding: JsonObject) -> list[FieldError]:
    target, errors = binding.get("target") or {}, []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        errors.append(not_supported("target.kind", kind, _TARGETS))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def _check_unbound(pod: JsonObject) -> None:
    """Reject a binding of a pod that has a node, is being deleted, or is not to be scheduled yet."""
    name, why = pod["metadata"]["name"], ""
    if "deletionTimestamp" in pod["metadata"]:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    elif node := pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{node}"'
    if why:
        raise conflict("pods/binding", "", name, why)
