"""Webhooks that do what their path says: the same ones were behind the real server when it was recorded."""

import base64
import json
from typing import Any
from urllib.parse import urlsplit

#: The address of the webhooks in recordings.
ADDRESS = "https://127.0.0.1:9443"
AUTHORITY = "Q0EK"
Document = dict[str, Any]


class Hang(Exception):  # noqa: N818 - what the hook does, not a fault of it
    """The webhook does not answer in time."""


def answer(target: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the body for a call."""
    name, _, argument = urlsplit(target).path.strip("/").partition("/")
    if name == "hang":
        raise Hang
    review = json.loads(body)
    if name.startswith("convert"):
        return 200, _converted(name, review)
    if name in _RAW:
        status, text = _RAW[name]
        return status, text.replace("UID", review["request"]["uid"]).encode()
    response: Document = {"uid": review["request"]["uid"], "allowed": True}
    response.update(_RESPONSES[name](review["request"], argument))
    return 200, json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    ).encode()


def _patch(*operations: Document) -> Document:
    patch = base64.b64encode(json.dumps(list(operations)).encode()).decode()
    return {"patchType": "JSONPatch", "patch": patch}


def _label(request: Document, argument: str) -> Document:
    """Set a label to the number of times it was set."""
    key = argument or "hooked"
    if request["object"] is None:
        return {}
    labels = (request["object"].get("metadata") or {}).get("labels")
    if labels is None:
        return _patch({"op": "add", "path": "/metadata/labels", "value": {key: "1"}})
    count = str(int(labels.get(key, "0")) + 1)
    return _patch({"op": "add", "path": f"/metadata/labels/{key}", "value": count})


def setting(path: str, value: Any) -> str:
    """Return the path of a webhook that sets a value."""
    return f"set/{json.dumps([path, value]).encode().hex()}"


def _set(request: Document, argument: str) -> Document:
    del request
    path, value = json.loads(bytes.fromhex(argument))
    return _patch({"op": "add", "path": path, "value": value})


_RESPONSES: dict[str, Any] = {
    "allow": lambda _request, _argument: {},
    "label": _label,
    "set": _set,
    "warn": lambda _request, argument: {"warnings": [argument or "careful", "twice"]},
    "deny": lambda _request, _argument: {"allowed": False},
    "deny-message": lambda _request, _argument: {"allowed": False, "status": {"message": "no way"}},
    "deny-reason": lambda _request, _argument: {"allowed": False, "status": {"reason": "Because"}},
    "deny-code": lambda _request, _argument: {"allowed": False, "status": {"message": "too much", "code": 429}},
    "deny-details": lambda _request, _argument: {
        "allowed": False,
        "status": {
            "status": "Failure",
            "message": "bad",
            "reason": "Invalid",
            "code": 422,
            "details": {"name": "n", "causes": [{"field": "f", "message": "m"}]},
        },
    },
    "deny-success": lambda _request, _argument: {"allowed": False, "status": {"status": "Success", "code": 200}},
    "deny-warn": lambda _request, _argument: {"allowed": False, "warnings": ["w1"], "status": {"message": "no"}},
    "wrong-uid": lambda _request, _argument: {"uid": "other"},
    "patch-no-type": lambda _request, _argument: {"patch": base64.b64encode(b"[]").decode()},
    "patch-bad-type": lambda _request, _argument: {"patchType": "Merge", "patch": base64.b64encode(b"{}").decode()},
    "patch-no-patch": lambda _request, _argument: {"patchType": "JSONPatch"},
    "patch-broken": lambda _request, _argument: {
        "patchType": "JSONPatch",
        "patch": base64.b64encode(b'[{"op":"replace","path":"/nope/x","value":1}]').decode(),
    },
    "patch-no-json": lambda _request, _argument: {
        "patchType": "JSONPatch",
        "patch": base64.b64encode(b"nonsense").decode(),
    },
    "patch-name": lambda _request, _argument: _patch({"op": "replace", "path": "/metadata/name", "value": "other"}),
    "patch-type": lambda _request, _argument: _patch({"op": "add", "path": "/data", "value": 5}),
    "patch-unknown": lambda _request, _argument: _patch({"op": "add", "path": "/bogus", "value": 5}),
    "patch-empty": lambda _request, _argument: _patch(),
}
_RAW = {
    "status-500": (500, "oops"),
    "status-404": (
        404,
        '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone","reason":"NotFound","code":404}',
    ),
    "redirect": (302, ""),
    "no-json": (200, "hello"),
    "empty": (200, ""),
    "no-response": (200, '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}'),
    "wrong-kind": (200, '{"apiVersion":"v1","kind":"Pod","response":{"uid":"UID","allowed":true}}'),
    "no-kind": (200, '{"response":{"uid":"UID","allowed":true}}'),
    "wrong-version": (
        200,
        '{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true}}',
    ),
}


def _converted(name: str, review: Document) -> bytes:
    request = review["request"]
    response: Document = {
        "uid": request["uid"],
        "result": {"status": "Success"},
        "convertedObjects": [_convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]],
    }
    if change := _CONVERSIONS.get(name):
        change(response)
    return json.dumps(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
    ).encode()


def _convert(obj: Document, version: str) -> Document:
    """Convert ``v1`` with ``spec.host`` and ``spec.port`` to ``v2`` with ``spec.address``, and back."""
    made = {**obj, "apiVersion": version, "spec": dict(obj.get("spec") or {})}
    spec = made["spec"]
    if version.endswith("/v2") and "host" in spec:
        spec["address"] = f"{spec.pop('host')}:{spec.pop('port', 0)}"
    elif version.endswith("/v1") and "address" in spec:
        host, _, port = spec.pop("address").partition(":")
        spec["host"], spec["port"] = host, int(port or 0)
    return made


def _fail(response: Document) -> None:
    response["result"] = {"status": "Failure", "message": "cannot convert that"}
    del response["convertedObjects"]


def _fail_silently(response: Document) -> None:
    response["result"] = {"status": "Failure"}


def _lose(response: Document) -> None:
    response["convertedObjects"] = []


def _rename(response: Document) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["name"] = "other"


def _relabel(response: Document) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["labels"] = {"converted": "yes"}
        obj["metadata"]["finalizers"] = ["a.b/c"]


def _wrong_version(response: Document) -> None:
    for obj in response["convertedObjects"]:
        obj["apiVersion"] = "other/v9"


def _wrong_uid(response: Document) -> None:
    response["uid"] = "other"


_CONVERSIONS: dict[str, Any] = {
    "convert-fail": _fail,
    "convert-fail-silently": _fail_silently,
    "convert-lose": _lose,
    "convert-rename": _rename,
    "convert-relabel": _relabel,
    "convert-wrong-version": _wrong_version,
    "convert-wrong-uid": _wrong_uid,
}
