"""Reviews as an API server would send them."""

import base64
import json
from typing import Any

from steersman.objects.codec import encode_json


def review(**request: Any) -> bytes:
    """Return a review of a ConfigMap's creation, with some parts of the request replaced."""
    usual = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "operation": "CREATE",
        "name": "a",
        "namespace": "default",
        "userInfo": {"username": "jane", "groups": ["devs"]},
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}},
        "oldObject": None,
        "dryRun": False,
    }
    document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**usual, **request}}
    return encode_json(document)


def response_of(body: bytes) -> dict[str, Any]:
    """Return the response of an answered review, with its patch readable."""
    answered = json.loads(body)
    assert (answered["apiVersion"], answered["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = answered["response"]
    if "patch" in response:
        response["patch"] = json.loads(base64.b64decode(response["patch"]))
    return response
