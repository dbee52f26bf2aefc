"""Scale: the number of replicas of an object, as an object of its own."""

from typing import Any

from steersman.apiserver.bodies import check_size, read_body
from steersman.apiserver.call import Answer, Call
from steersman.apiserver.custom import CustomStrategy
from steersman.apiserver.json_path import get_at, set_at, simple_path
from steersman.apiserver.ledger import Ledger
from steersman.apiserver.negotiation import APPLY_PATCH, body_media, patch_media
from steersman.apiserver.options import WriteOptions, write_options
from steersman.apiserver.patching import patch_document
from steersman.apiserver.served import Served
from steersman.apiserver.status import Refusal, bad_request, internal_error, invalid
from steersman.apiserver.storage.record import Record
from steersman.apiserver.writing import Change, Writing
from steersman.schema.field_errors import FieldError
from steersman.schema.field_errors import invalid as invalid_field

Document = dict[str, Any]
_BUILTIN_PATHS = (("spec", "replicas"), ("status", "replicas"))


def _selector_text(selector: Document | None) -> str:
    """Write a label selector as text."""
    if not selector:
        return ""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, operator, values = expression["key"], expression["operator"], sorted(expression.get("values") or ())
        shown = {
            "In": f"{key} in ({','.join(values)})",
            "NotIn": f"{key} notin ({','.join(values)})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append(shown[operator])
    return ",".join(parts)


class Scaling:
    """Reads and writes the scale of objects."""

    def __init__(self, ledger: Ledger, writing: Writing) -> None:
        self._ledger = ledger
        self._writing = writing

    def get(self, call: Call) -> Answer:
        """Answer a GET of a scale."""
        record = self._record(call)
        return Answer(200, document=self._scale(call.served, record), is_object=False)

    def _record(self, call: Call) -> Record:
        record = self._ledger.get(call.served, call.info.namespace, call.info.name)
        if record is None:
            raise call.served.not_found(call.info.name)
        return record

    def update(self, call: Call) -> Answer:
        """Answer a PUT of a scale."""
        options = write_options(call.query, "UpdateOptions")
        record = self._record(call)
        media = body_media(call.request.headers.get("content-type", ""))
        wanted = read_body(call.request.body, media, "Scale").document
        return self._write(call, record, wanted, options)

    def patch(self, call: Call) -> Answer:
        """Answer a PATCH of a scale."""
        media = patch_media(call.request.headers.get("content-type", ""), builtin=call.served.builtin)
        options = write_options(call.query, "PatchOptions", applying=media == APPLY_PATCH)
        check_size(call.request.body)
        record = self._record(call)
        if media == APPLY_PATCH:
            raise internal_error("server-side apply of a scale is not supported")
        wanted = patch_document(media, self._scale(call.served, record), call.request.body)
        return self._write(call, record, wanted, options)

    def _write(self, call: Call, record: Record, wanted: Document, options: WriteOptions) -> Answer:
        served = call.served
        errors = _errors(wanted)
        if errors:
            raise invalid("Scale", "autoscaling", record.name, errors)
        metadata = wanted.get("metadata") or {}
        if (given := metadata.get("name", "")) and given != record.name:
            raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({record.name})")
        self._check(served, record, metadata)
        live = self._ledger.document(served, record)
        obj = self._ledger.document(served, record)
        set_at(obj, self._spec_path(served), (wanted.get("spec") or {}).get("replicas", 0))
        change = Change(record, live, obj, "scale", is_patch=True)
        self._writing.update_object(call, change, options)
        after = self._ledger.get(served, record.namespace, record.name) or record
        scale = self._scale(served, after)
        if options.dry_run:
            scale["spec"] = {"replicas": (wanted.get("spec") or {}).get("replicas", 0)}
        return Answer(200, document=scale, is_object=False)

    def _check(self, served: Served, record: Record, metadata: Document) -> None:
        uid = metadata.get("uid", "")
        if uid and uid != record.uid:
            raise served.conflict(
                record.name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: {record.uid}"
            )
        if (given := metadata.get("resourceVersion", "")) and given != record.resource_version:
            raise served.modified(record.name)

    @staticmethod
    def _spec_path(served: Served) -> tuple[str, ...]:
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy) and strategy.scale is not None:
            return simple_path(strategy.scale["specReplicasPath"])
        return _BUILTIN_PATHS[0]

    def _scale(self, served: Served, record: Record) -> Document:
        obj = self._ledger.document(served, record)
        metadata = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy) and strategy.scale is not None:
            replicas = get_at(obj, simple_path(strategy.scale["specReplicasPath"]))
            if replicas is None:
                path = strategy.scale["specReplicasPath"]
                raise _missing_path(served, path)
            current = get_at(obj, simple_path(strategy.scale["statusReplicasPath"])) or 0
            selector = get_at(obj, simple_path(strategy.scale.get("labelSelectorPath") or "")) or ""
            selector = selector if strategy.scale.get("labelSelectorPath") else ""
        else:
            replicas, current = get_at(obj, _BUILTIN_PATHS[0]) or 0, get_at(obj, _BUILTIN_PATHS[1]) or 0
            given = obj["spec"].get("selector")
            plain = {"matchLabels": given} if served.kind == "ReplicationController" else given
            selector = _selector_text(plain)
        status: Document = {"replicas": current}
        if selector:
            status["selector"] = selector
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {name: metadata[name] for name in kept if name in metadata},
            "spec": {"replicas": replicas} if replicas or not served.builtin else {},
            "status": status,
        }


def _errors(scale: Document) -> list[FieldError]:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas.__class__ is not int:
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be an integer')
    if replicas < 0:
        return [invalid_field("spec.replicas", replicas, "must be greater than or equal to 0")]
    return []


def _missing_path(served: Served, path: str) -> Refusal:
    del served
    return internal_error(f"the spec replicas field {path!r} does not exist".replace("'", '"'))
