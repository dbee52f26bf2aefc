"""A minimal server: the answer to one request as far as the schema package alone decides it.

It stores no objects; recorded requests go in, answers in the format of the recordings come out.
"""

import copy
import json
from collections import Counter
from typing import Any

from steersman.errors import DecodeError
from steersman.golang.strict_json import (
    cannot_handle_message,
    decode_json,
    not_an_object_message,
    not_json_message,
    settle_numbers,
    strict_message,
    unrecognized_message,
)
from steersman.structural.custom_object import CustomKind
from steersman.validation.field_errors import FieldError, ValidationResult, invalid, invalid_message
from steersman.validation.object_meta import finalizer_warnings
from tests.support.schema_recordings import counted

SUFFIX = "<5 random>"


class RejectedError(Exception):
    """An answer with a status other than success."""

    def __init__(self, status: int, message: str, errors: list[FieldError] = (), warnings: list[str] = ()) -> None:  # type: ignore[assignment]  # empty means none
        super().__init__(message)
        self.status = status
        self.errors = list(errors)
        self.warnings = list(warnings)


def body_of(case: dict[str, Any]) -> bytes:
    """Return the bytes that were sent."""
    request = case["request"]
    if "text" in request:
        return str(request["text"]).replace(SUFFIX, "zzzzz").encode()
    if "describe" in request:
        size = int(request["describe"].rpartition("repeated ")[2].split()[0])
        big = {"apiVersion": "obj.example.com/v1", "kind": "Me", "metadata": {"name": "a"}}
        big["metadata"] = {"name": "a", "annotations": {"a": "x" * size}}
        return json.dumps(big).encode()
    return json.dumps(request["body"]).replace(SUFFIX, "zzzzz").encode()


def decoded(kind: CustomKind, raw: bytes) -> tuple[dict[str, Any], list[str]]:
    """Decode a body, or reject it as a server does."""
    try:
        decoded = decode_json(raw)
    except DecodeError as error:
        raise RejectedError(400, not_json_message(raw, kind.kind, str(error))) from None
    value = decoded.value
    if value is not None and not isinstance(value, dict):
        raise RejectedError(400, not_an_object_message(raw, kind.kind, "string"))
    if not value or "kind" not in value:
        raise RejectedError(400, unrecognized_message(raw, kind.kind, f"Object 'Kind' is missing in '{raw.decode()}'"))
    return value, decoded.duplicates


def strict_faults(duplicates: list[str], unknown: list[str]) -> list[str]:
    """Return the fields that strict decoding rejects, and that are warned about otherwise."""
    faults = [*(f'duplicate field "{path}"' for path in duplicates), *(f'unknown field "{path}"' for path in unknown)]
    return list(dict.fromkeys(faults))


def read(kind: CustomKind, obj: dict[str, Any], duplicates: list[str], query: str) -> list[str]:
    """Decode an object in place; reject unknown fields or warn about them."""
    try:
        unknown = kind.read(obj)
    except DecodeError as error:
        raise RejectedError(400, cannot_handle_message(kind.kind, kind.version, str(error))) from None
    faults = strict_faults(duplicates, unknown)
    if faults and "fieldValidation=Strict" in query:
        raise RejectedError(400, cannot_handle_message(kind.kind, kind.version, strict_message(faults)))
    return [] if "fieldValidation=Ignore" in query else faults


def named(kind: CustomKind, obj: dict[str, Any]) -> None:
    """Set the metadata that a server sets before it validates."""
    meta = obj.setdefault("metadata", {})
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"][:58] + "zzzzz"
    if kind.namespaced:
        meta["namespace"] = meta.get("namespace") or "default"
    else:
        meta.pop("namespace", None)
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"):
        meta.pop(name, None)
    meta["generation"] = 1


def validated(kind: CustomKind, obj: dict[str, Any], verdict: ValidationResult, warnings: list[str]) -> list[str]:
    """Reject an object with errors; otherwise return all warnings."""
    warnings = warnings + verdict.warnings
    if verdict.errors:
        name = (obj.get("metadata") or {}).get("name", "")
        message = invalid_message(verdict.errors, kind=obj["kind"], group=kind.group, name=name)
        raise RejectedError(422, message, verdict.errors, warnings)
    return warnings + finalizer_warnings(obj["metadata"].get("finalizers") or ())


def created(kind: CustomKind, case: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Answer a POST."""
    obj, duplicates = decoded(kind, body_of(case))
    if obj.get("apiVersion") != kind.api_version:
        text = f"the API version in the data ({obj.get('apiVersion', '')}) does not match the expected API version"
        raise RejectedError(400, f"{text} ({kind.api_version})")
    warnings = read(kind, obj, duplicates, case["request"].get("query", ""))
    kind.default(obj)
    named(kind, obj)
    if kind.has_status:
        obj.pop("status", None)
    warnings = validated(kind, obj, kind.validate_create(obj), warnings)
    return settle_numbers(obj), warnings


def merged(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def sent(case: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Return the object that an update asks for."""
    request = case["request"]
    body = request["body"]
    if request["method"] == "PUT":
        return copy.deepcopy(body)
    if isinstance(body, list):
        patch = {"spec": {operation["path"].removeprefix("/spec/"): operation["value"] for operation in body}}
        return merged(old, patch)
    return merged(old, body)


def updated(kind: CustomKind, case: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Answer a PUT or PATCH."""
    old = copy.deepcopy(case["old"])
    obj = sent(case, old)
    query = case["request"].get("query", "")
    try:
        warnings = read(kind, obj, [], query)
    except RejectedError as refused:
        if case["request"]["method"] == "PUT":
            raise
        detail = str(refused).partition(": ")[2]
        error = invalid("patch", "<the patched object as JSON>", detail)
        raise RejectedError(422, invalid_message([error], kind=""), [error]) from None
    kind.default(obj)
    obj["metadata"] = {**obj["metadata"], "namespace": "default", "generation": old["metadata"]["generation"]}
    status_only = case["request"].get("subresource") == "status"
    if status_only:
        obj = {**old, "status": obj["status"]} if "status" in obj else {k: v for k, v in old.items() if k != "status"}
    elif kind.has_status:
        obj.pop("status", None)
        obj |= {"status": old["status"]} if "status" in old else {}
    verdict = kind.validate_status_update(obj, old) if status_only else kind.validate_update(obj, old)
    warnings = validated(kind, obj, verdict, warnings)
    if {**obj, "metadata": 0} != {**old, "metadata": 0} and not status_only:
        obj["metadata"] = {**obj["metadata"], "generation": old["metadata"]["generation"] + 1}
    return settle_numbers(obj), warnings


def shown(text: str) -> str:
    """Mask random parts of a text."""
    return text.replace("zzzzz", SUFFIX)


def answer(kind: CustomKind, case: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a recorded request, in the format of the recording."""
    try:
        obj, warnings = updated(kind, case) if "old" in case else created(kind, case)
    except RejectedError as refused:
        causes = [{"reason": e.reason, "message": shown(e.message), "field": e.field} for e in refused.errors]
        return {"status": refused.status, "causes": counted(causes), "message": shown(str(refused))} | {
            "warnings": Counter(refused.warnings)
        }
    settled = json.loads(shown(json.dumps(obj)))
    return {"status": 200 if "old" in case else 201, "warnings": Counter(warnings), "object": settled}
