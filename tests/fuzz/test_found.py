"""Bugs that fuzzing has found, each with the answer of a real kube-apiserver v1.36.4."""

import json
from typing import Any

import pytest

from tests.fuzz.fuzzed_server import FuzzedServer

WIDGET = "/apis/demo.dev/v1/namespaces/default/widgets/a"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/d"
MAP = "/api/v1/namespaces/default/configmaps/a"
JSON_PATCH, MERGE, STRATEGIC, APPLY = (
    f"application/{name}"
    for name in ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)
JSON = "application/json"
NO_VERSION = "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'"
REJECTED = "the server rejected our request due to an error in our request"
NO_NAME = "the name of the object ({} based on URL) was undeterminable: name must be provided"
HANDLED = 'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal'
NO_MAP = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"


@pytest.fixture(scope="module")
def server() -> FuzzedServer:
    """Return a server with a few objects."""
    return FuzzedServer()


def _replaced(value: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": "", "value": value}]


@pytest.mark.parametrize(
    ("method", "path", "media", "body", "status", "message"),
    [
        (
            "PATCH",
            WIDGET,
            JSON_PATCH,
            _replaced({}),
            422,
            " \"\" is invalid: patch: Invalid value: \"{}\": Object 'Kind' is missing in '{}'",
        ),
        ("PATCH", WIDGET, JSON_PATCH, [{"op": "remove", "path": "/apiVersion"}], 500, NO_VERSION),
        ("PATCH", WIDGET, JSON_PATCH, [{"op": "remove", "path": "/metadata"}], 400, NO_NAME.format("a")),
        ("PATCH", WIDGET, JSON_PATCH, _replaced(None), 422, REJECTED),
        ("PATCH", WIDGET, JSON_PATCH, [{"op": "remove", "path": ""}], 422, REJECTED),
        ("PATCH", WIDGET, MERGE, {"apiVersion": None}, 500, NO_VERSION),
        ("PATCH", MAP, JSON_PATCH, _replaced({}), 400, NO_NAME.format("a")),
        ("PATCH", MAP, JSON_PATCH, _replaced(None), 422, REJECTED),
        ("PATCH", DEPLOYMENT, STRATEGIC, {"$retainKeys": None}, 400, "invalid patch format of retainKeys"),
        ("PATCH", DEPLOYMENT, STRATEGIC, {"$retainKeys": ["a"]}, 400, NO_NAME.format("d")),
        (
            "PATCH",
            f"{DEPLOYMENT}/scale",
            STRATEGIC,
            {"spec": {"replicas": True}},
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:true]]": unrecognized type: int32',
        ),
        (
            "PUT",
            f"{DEPLOYMENT}/scale",
            JSON,
            {"metadata": {"name": "d"}, "spec": {"replicas": "x"}},
            400,
            f"{HANDLED} string into Go struct field ScaleSpec.spec.replicas of type int32",
        ),
        (
            "PUT",
            f"{DEPLOYMENT}/scale",
            JSON,
            {"metadata": True, "spec": {"replicas": 1}},
            400,
            f"{HANDLED} bool into Go struct field Scale.metadata of type v1.ObjectMeta",
        ),
        ("PATCH", f"{DEPLOYMENT}/scale", MERGE, [1], 400, f"error decoding patch: {NO_MAP.format('array')}"),
        (
            "PATCH",
            f"{DEPLOYMENT}/scale?fieldManager=x",
            APPLY,
            3,
            400,
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {NO_MAP.format('number')}",
        ),
    ],
)
def test_it_is_rejected_with_the_same_message(  # noqa: PLR0913 - a row of the table
    server: FuzzedServer, *, method: str, path: str, media: str, body: Any, status: int, message: str
) -> None:
    """A client's mistake must be reported to the client; it once ended in a traceback, or was accepted."""
    answer = server.ask(method, path, json.dumps(body).encode(), {"content-type": media})
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["message"]) == (status, message)


@pytest.mark.parametrize("number", ["1e999", "9" * 400, "9" * 5000])
def test_numbers_beyond_floats_are_rejected(server: FuzzedServer, number: str) -> None:
    """Go has no infinite JSON numbers, and Python must not compute long ones."""
    kind = '"apiVersion":"demo.dev/v1","kind":"Widget","metadata":{"name":"n"}'
    body = f'{{{kind},"spec":{{"color":"red","replicas":{number}}}}}'
    answer = server.ask("POST", "/apis/demo.dev/v1/namespaces/default/widgets", body.encode())
    assert answer is not None
    assert answer.status == 400
    refused = f"json: cannot unmarshal number {number} into Go value of type float64"
    assert refused in json.loads(answer.body)["message"]


def test_the_next_page_begins_after_the_last_object(server: FuzzedServer) -> None:
    """A client that reads page by page sees each object once."""
    names: list[str] = []
    token = ""
    while True:
        answer = server.ask("GET", f"/api/v1/namespaces/default/configmaps?limit=2&continue={token}")
        assert answer is not None
        page = json.loads(answer.body)
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert names == sorted(set(names))
    assert set("abcdef") <= set(names)


def test_a_job_without_a_name_is_rejected_for_its_missing_name(server: FuzzedServer) -> None:
    """The labels of a Job's pods contain its name, and are set before the name is validated."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"template": template}}
    answer = server.ask("POST", "/apis/batch/v1/namespaces/default/jobs", json.dumps(job).encode())
    assert answer is not None
    assert answer.status == 422
    wanted = 'Job.batch "" is invalid: metadata.name: Required value: name or generateName is required'
    assert json.loads(answer.body)["message"] == wanted


@pytest.mark.parametrize("media", ["application/yaml", "application/vnd.kubernetes.protobuf", JSON])
def test_unreadable_delete_options_are_a_bad_request(server: FuzzedServer, media: str) -> None:
    """In any format."""
    answer = server.ask("DELETE", MAP, b"k8s\0\xff\x00: [", {"content-type": media})
    assert answer is not None
    assert answer.status == 400


@pytest.mark.parametrize("version", [None, ""])
def test_an_apply_with_an_empty_version_has_no_precondition(server: FuzzedServer, version: str | None) -> None:
    """A version that is null or empty does not count."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": version}}
    target = f"{MAP}?fieldManager=m&force=true"
    answer = server.ask("PATCH", target, json.dumps(config).encode(), {"content-type": APPLY})
    assert answer is not None
    assert answer.status == 200


@pytest.mark.parametrize("managed", [True, "x", [None], [True]])
def test_invalid_managed_fields_are_quoted_unchanged(server: FuzzedServer, managed: Any) -> None:
    """The error quotes the object that a patch made unreadable, whatever the patch contains."""
    patch = [{"op": "add", "path": "/metadata/managedFields", "value": managed}]
    answer = server.ask("PATCH", MAP, json.dumps(patch).encode(), {"content-type": JSON_PATCH})
    assert answer is not None
    assert answer.status in (200, 422)


def test_bytes_beyond_ascii_are_not_base64(server: FuzzedServer) -> None:
    """An invalid character may be outside of ASCII."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "\ufffd"}}
    answer = server.ask("POST", "/api/v1/namespaces/default/secrets", json.dumps(secret).encode())
    assert answer is not None
    assert answer.status == 400
    assert "illegal base64 data at input byte 0" in json.loads(answer.body)["message"]
