import base64
import gc
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.conftest import amount
from tests.fuzz.fuzzed_server import FuzzedServer, recorded_protobuf, recorded_sequences

WIDGETS = "/apis/demo.dev/v1/namespaces/default/widgets"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TARGETS = (f"{WIDGETS}/a", f"{WIDGETS}/a/status", f"{WIDGETS}/a/scale", f"{MAPS}/a", f"{DEPLOYMENTS}/d")
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)

#: Scalars that Go, Python and JSON treat differently.
ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 1e300, 2**63, -(2**63) - 1, "", "a", "\0", "\ud800", "é" * 70, "..", "a/b", "1", "x" * 300]
)
FIELDS = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "resourceVersion",
        "uid",
        "generateName",
        "creationTimestamp",
        "spec",
        "status",
        "data",
        "items",
        "color",
        "replicas",
        "tags",
        "free",
        "template",
        "containers",
        "env",
        "ports",
        "selector",
        "matchLabels",
        "key",
        "$patch",
        "$setElementOrder/containers",
        "$retainKeys",
        "f:spec",
        ".",
        "$deleteFromPrimitiveList/finalizers",
    ]
)
JSON = st.recursive(
    ODD, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=25
)


@pytest.fixture(scope="module")
def server() -> FuzzedServer:
    """Return a server for all examples of this file, so that a later request finds what an earlier one broke."""
    return FuzzedServer()


def _still_works(server: FuzzedServer) -> None:
    answer = server.ask("GET", f"{MAPS}?limit=1")
    assert answer is not None
    assert answer.status == 200
    assert server.server.objects.version > 0


def _mutated(value: Any, data: st.DataObject) -> Any:
    """Change one place of a document."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _mutated(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], _mutated(value[place], data), *value[place + 1 :]]
    if isinstance(value, dict) and data.draw(st.booleans()):
        return {**value, data.draw(FIELDS): data.draw(JSON)}
    return data.draw(JSON)


@given(st.data())
@amount(120)
def test_recorded_requests_with_one_mutation(server: FuzzedServer, data: st.DataObject) -> None:
    """Real requests reach deep into the server; a mistake in one must be an error of that client only."""
    sequence = recorded_sequences()[data.draw(st.integers(0, len(recorded_sequences()) - 1))]
    server.play(sequence)
    steps = [*sequence.setup, *sequence.steps]
    step = steps[data.draw(st.integers(0, len(steps) - 1))]
    body, path, headers = step.body, step.path, dict(step.headers)
    match data.draw(st.integers(0, 3)):
        case 0 if step.document is not None:
            body = json.dumps(_mutated(step.document, data)).encode()
        case 1:
            place = data.draw(st.integers(0, len(path)))
            path = "/" + path[:place] + quote(data.draw(st.text(max_size=4)), safe="/?&=") + path[place + 1 :]
        case 2 if body:
            place = data.draw(st.integers(0, len(body) - 1))
            body = body[:place] + data.draw(st.binary(max_size=3)) + body[place + 1 :]
        case _:
            headers[data.draw(st.sampled_from(["content-type", "accept", "user-agent"]))] = data.draw(
                st.sampled_from(
                    [*PATCHES, "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "", ";", "a/b"]
                )
            )
    headers.pop("authorization", None)
    server.ask(step.method, path, body, headers)
    _still_works(server)


@given(st.sampled_from(["POST", "PUT", "PATCH"]), st.sampled_from(TARGETS), JSON, st.sampled_from(PATCHES))
@amount(200)
def test_any_document_as_object_or_patch(
    server: FuzzedServer, method: str, target: str, document: Any, media: str
) -> None:
    """Any value may have a wrong type; nothing may be taken for granted."""
    headers = {"content-type": media if method == "PATCH" else "application/json"}
    path = target if method != "POST" else target.rpartition("/")[0]
    path = WIDGETS if path.endswith("/a") else path
    server.ask(method, f"{path}?fieldManager=fuzz&dryRun=All", json.dumps(document).encode(), headers)
    if isinstance(document, dict):
        document = {**document, "metadata": {"name": "a", "resourceVersion": "1"}}
        server.ask(method, f"{path}?fieldManager=fuzz&force=true", json.dumps(document).encode(), headers)
    _still_works(server)


POINTERS = st.lists(
    st.sampled_from(["metadata", "labels", "spec", "tags", "-", "0", "-1", "00", "~0", "~1", "~2", "", "data"])
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "nope"])},
        optional={
            "path": POINTERS.map(lambda parts: "".join(f"/{part}" for part in parts)) | ODD,
            "from": POINTERS.map(lambda parts: "".join(f"/{part}" for part in parts)) | ODD,
            "value": JSON,
        },
    ),
    max_size=5,
)


@given(st.sampled_from(TARGETS), OPERATIONS)
@amount(120)
def test_any_json_patch(server: FuzzedServer, target: str, operations: Any) -> None:
    """Operations move, copy and remove anything, including mandatory fields."""
    headers = {"content-type": PATCHES[0]}
    server.ask("PATCH", target, json.dumps(operations).encode(), headers)
    _still_works(server)


YAML = st.text(alphabet="abyn:- \n\t{}[]&*!|>'\"#%?,0123456789.eE~<", max_size=60)


@given(st.sampled_from(["POST", "PATCH"]), YAML)
@amount(100)
def test_any_text_as_yaml(server: FuzzedServer, method: str, text: str) -> None:
    """YAML has anchors, tags, merges and many invalid forms."""
    media = "application/apply-patch+yaml" if method == "PATCH" else "application/yaml"
    target = f"{WIDGETS}/y?fieldManager=fuzz" if method == "PATCH" else WIDGETS
    for body in (text, f"apiVersion: demo.dev/v1\nkind: Widget\nmetadata:\n  name: y\nspec:\n  {text}"):
        server.ask(method, target, body.encode(), {"content-type": media})
    _still_works(server)


@given(st.sampled_from(recorded_protobuf()), st.data())
@amount(150)
def test_mutated_protobuf(server: FuzzedServer, recorded: tuple[str, bytes], data: st.DataObject) -> None:
    """In a binary format an attacker controls lengths, wire types and field numbers."""
    path, body = recorded
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body)))
        width = data.draw(st.sampled_from([0, 1, 1, 2, 10]))
        body = body[:place] + data.draw(st.binary(max_size=3)) + body[place + width :]
    server.ask("POST", path, body, {"content-type": "application/vnd.kubernetes.protobuf"})
    _still_works(server)


QUERY = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "labelSelector",
            "fieldSelector",
            "watch",
            "sendInitialEvents",
            "allowWatchBookmarks",
            "timeoutSeconds",
            "pretty",
            "includeObject",
            "dryRun",
            "force",
            "fieldManager",
            "fieldValidation",
            "gracePeriodSeconds",
            "propagationPolicy",
            "orphanDependents",
            "as",
        ]
    ),
    st.text(alphabet="abx01=!,()<>-_./ in\u00e9\0%&+", max_size=20)
    | st.sampled_from(
        ["0", "-1", "1", "99999999999999999999", "true", "maybe", "Exact", "NotOlderThan", "All", "Orphan"]
    )
    | st.sampled_from(
        ["app in (a,b)", "!app", "app notin (a),x=y", "app>1", "metadata.name=a", "spec.color!=red", "a=b,,"]
    ),
    max_size=5,
)


@given(
    st.sampled_from(["GET", "DELETE", "POST", "PATCH"]),
    st.sampled_from([WIDGETS, MAPS, *TARGETS, "/api/v1/pods"]),
    QUERY,
)
@amount(250)
def test_any_query(server: FuzzedServer, method: str, path: str, query: dict[str, str]) -> None:
    """Selectors, versions and options are parsed first; each has its own grammar."""
    if method == "DELETE":
        query = {**query, "dryRun": "All"}  # the next example needs an object to read
    text = "&".join(f"{key}={quote(value)}" for key, value in query.items())
    server.ask(method, f"{path}?{text}", b"{}")
    _still_works(server)


@given(
    st.binary(max_size=60)
    | st.builds(
        lambda version, start, v: json.dumps({"v": v, "rv": version, "start": start}).encode(),
        st.integers() | ODD,
        st.text(max_size=10) | ODD,
        st.sampled_from(["meta.k8s.io/v1", "v2", ""]),
    )
)
@amount(120)
def test_any_continue_token(server: FuzzedServer, token: bytes) -> None:
    """Clients may send a token that is a year old or invented."""
    for text in (base64.urlsafe_b64encode(token).decode().rstrip("="), quote(token)):
        for path in (WIDGETS, "/apis/demo.dev/v1/widgets"):
            server.ask("GET", f"{path}?limit=2&continue={text}")
    _still_works(server)


_DEEP = 50_000
BOMBS = {
    "deep lists": b'{"metadata":{"name":"b"},"spec":{"free":{"x":' + b"[" * _DEEP + b"]" * _DEEP + b"}}}",
    "deep objects": b'{"metadata":{"name":"b"},"spec":{"free":' + b'{"a":' * _DEEP + b"1" + b"}" * _DEEP + b"}}",
    "rather deep objects": b'{"metadata":{"name":"b"},"spec":{"color":"red","free":'
    + b'{"a":' * 900
    + b"1"
    + b"}" * 900
    + b"}}",
    "unclosed": b"[" * _DEEP,
    "long number": b'{"metadata":{"name":"b"},"spec":{"replicas":' + b"9" * 100_000 + b"}}",
    "rather long number": b'{"metadata":{"name":"b"},"spec":{"color":"red","free":{"n":' + b"9" * 400 + b"}}}",
    "long exponent": b'{"metadata":{"name":"b"},"spec":{"replicas":1e999999999}}',
    "not a number": b'{"metadata":{"name":"b"},"spec":{"replicas":NaN}}',
    "many keys": b'{"metadata":{"name":"b","labels":{' + b",".join(b'"k%d":""' % n for n in range(20_000)) + b"}}}",
    "laughs": b"a: &a [x,x,x,x,x,x,x,x]\n"
    + b"".join(b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (98 + n, 98 + n, *[97 + n] * 8) for n in range(9)),
    "deep yaml": b"[" * 20_000,
    "deep protobuf": b"k8s\0" + b"\x12\xff\xff\xff\x0f" + b"\x0a\x7f" * 5_000,
}
_MEDIAS = {
    "laughs": "application/yaml",
    "deep yaml": "application/yaml",
    "deep protobuf": "application/vnd.kubernetes.protobuf",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_rejected_or_stored_but_do_no_harm(server: FuzzedServer, name: str) -> None:
    """A small request must not cost much time or memory, nor overflow the stack."""
    for path in (WIDGETS, MAPS):
        server.ask("POST", path, BOMBS[name], {"content-type": _MEDIAS.get(name, "application/json")})
    for media in PATCHES:
        server.ask("PATCH", f"{WIDGETS}/a?fieldManager=fuzz", BOMBS[name], {"content-type": media})
    server.ask("GET", WIDGETS)
    server.ask("GET", f"{WIDGETS}/b", headers={"accept": "application/yaml"})
    _still_works(server)


def test_rejected_requests_leave_nothing_behind() -> None:
    """A client that is always wrong must not fill the memory of a server that runs for days."""
    server = FuzzedServer()

    def invalid_requests(number: int) -> None:
        server.ask("POST", WIDGETS, b'{"metadata":{"name":"n%d"},"spec":{"color":"pink"}}' % number)
        server.ask("POST", MAPS, b'{"metadata":{"name":"n%d!"}' % number)
        server.ask("GET", f"{WIDGETS}/nobody-{number}")
        server.ask("GET", f"{WIDGETS}?labelSelector=app%3Dn{number}&limit=1")
        server.ask("GET", f"/apis/group-{number}.example.com/v1/things")
        server.ask(
            "PATCH",
            f"{WIDGETS}/a?fieldManager=m{number}&dryRun=All",
            b'{"spec":{"max":%d}}' % number,
            {"content-type": PATCHES[1]},
        )

    def objects_after(rounds: range) -> int:
        for number in rounds:
            invalid_requests(number)
        gc.collect()
        return len(gc.get_objects())

    objects_after(range(300))  # caches fill up to their limits
    before = objects_after(range(300, 800))
    assert objects_after(range(800, 1500)) - before < 200
    for number in range(100):
        server.ask("GET", f"{WIDGETS}?watch=true&resourceVersion=1&labelSelector=n%3D{number}")
    assert len(server.server.hub) == 0
