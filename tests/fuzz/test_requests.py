import base64
import gc
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.asking import Asking, recorded_protobuf, recorded_sequences
from tests.fuzz.conftest import amount

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

#: Scalars that Go, Python and JSON see differently.
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
def asking() -> Asking:
    """Give a server that all nonsense of this file goes to: what one request broke, the next would find."""
    return Asking()


def _still_works(asking: Asking) -> None:
    answer = asking.ask("GET", f"{MAPS}?limit=1")
    assert answer is not None
    assert answer.status == 200
    assert asking.server.objects.version > 0


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
def test_recorded_requests_with_one_thing_wrong(asking: Asking, data: st.DataObject) -> None:
    """Real requests reach deep into the server; a mistake in one must be the client's problem alone."""
    sequence = recorded_sequences()[data.draw(st.integers(0, len(recorded_sequences()) - 1))]
    asking.play(sequence)
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
    asking.ask(step.method, path, body, headers)
    _still_works(asking)


@given(st.sampled_from(["POST", "PUT", "PATCH"]), st.sampled_from(TARGETS), JSON, st.sampled_from(PATCHES))
@amount(200)
def test_any_document_as_object_or_patch(asking: Asking, method: str, target: str, document: Any, media: str) -> None:
    """Types are not what they should be anywhere: nothing may be taken for granted."""
    headers = {"content-type": media if method == "PATCH" else "application/json"}
    path = target if method != "POST" else target.rpartition("/")[0]
    path = WIDGETS if path.endswith("/a") else path
    asking.ask(method, f"{path}?fieldManager=fuzz&dryRun=All", json.dumps(document).encode(), headers)
    if isinstance(document, dict):
        document = {**document, "metadata": {"name": "a", "resourceVersion": "1"}}
        asking.ask(method, f"{path}?fieldManager=fuzz&force=true", json.dumps(document).encode(), headers)
    _still_works(asking)


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
def test_any_json_patch(asking: Asking, target: str, operations: Any) -> None:
    """Operations move, copy and remove anything, including what every object must have."""
    headers = {"content-type": PATCHES[0]}
    asking.ask("PATCH", target, json.dumps(operations).encode(), headers)
    _still_works(asking)


YAML = st.text(alphabet="abyn:- \n\t{}[]&*!|>'\"#%?,0123456789.eE~<", max_size=60)


@given(st.sampled_from(["POST", "PATCH"]), YAML)
@amount(100)
def test_any_text_as_yaml(asking: Asking, method: str, text: str) -> None:
    """YAML has anchors, tags, merges and many ways to be wrong."""
    media = "application/apply-patch+yaml" if method == "PATCH" else "application/yaml"
    target = f"{WIDGETS}/y?fieldManager=fuzz" if method == "PATCH" else WIDGETS
    for body in (text, f"apiVersion: demo.dev/v1\nkind: Widget\nmetadata:\n  name: y\nspec:\n  {text}"):
        asking.ask(method, target, body.encode(), {"content-type": media})
    _still_works(asking)


@given(st.sampled_from(recorded_protobuf()), st.data())
@amount(150)
def test_mutated_protobuf(asking: Asking, recorded: tuple[str, bytes], data: st.DataObject) -> None:
    """Lengths, wire types and field numbers are an attacker's in a binary format."""
    path, body = recorded
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body)))
        width = data.draw(st.sampled_from([0, 1, 1, 2, 10]))
        body = body[:place] + data.draw(st.binary(max_size=3)) + body[place + width :]
    asking.ask("POST", path, body, {"content-type": "application/vnd.kubernetes.protobuf"})
    _still_works(asking)


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
def test_any_query(asking: Asking, method: str, path: str, query: dict[str, str]) -> None:
    """Selectors, versions and options are parsed before anything else; each has its own grammar."""
    if method == "DELETE":
        query = {**query, "dryRun": "All"}  # the next example wants something to read
    text = "&".join(f"{key}={quote(value)}" for key, value in query.items())
    asking.ask(method, f"{path}?{text}", b"{}")
    _still_works(asking)


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
def test_any_continue_token(asking: Asking, token: bytes) -> None:
    """Tokens come back from clients, who may have kept them for a year or made them up."""
    for text in (base64.urlsafe_b64encode(token).decode().rstrip("="), quote(token)):
        for path in (WIDGETS, "/apis/demo.dev/v1/widgets"):
            asking.ask("GET", f"{path}?limit=2&continue={text}")
    _still_works(asking)


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
def test_bombs_are_refused_or_stored_but_never_go_off(asking: Asking, name: str) -> None:
    """A small request must not cost much time or memory, nor overflow the stack."""
    for path in (WIDGETS, MAPS):
        asking.ask("POST", path, BOMBS[name], {"content-type": _MEDIAS.get(name, "application/json")})
    for media in PATCHES:
        asking.ask("PATCH", f"{WIDGETS}/a?fieldManager=fuzz", BOMBS[name], {"content-type": media})
    asking.ask("GET", WIDGETS)
    asking.ask("GET", f"{WIDGETS}/b", headers={"accept": "application/yaml"})
    _still_works(asking)


def test_refused_requests_leave_nothing_behind() -> None:
    """A client that is always wrong must not fill the memory of a server that runs for days."""
    asking = Asking()

    def nonsense(number: int) -> None:
        asking.ask("POST", WIDGETS, b'{"metadata":{"name":"n%d"},"spec":{"color":"pink"}}' % number)
        asking.ask("POST", MAPS, b'{"metadata":{"name":"n%d!"}' % number)
        asking.ask("GET", f"{WIDGETS}/nobody-{number}")
        asking.ask("GET", f"{WIDGETS}?labelSelector=app%3Dn{number}&limit=1")
        asking.ask("GET", f"/apis/group-{number}.example.com/v1/things")
        asking.ask(
            "PATCH",
            f"{WIDGETS}/a?fieldManager=m{number}&dryRun=All",
            b'{"spec":{"max":%d}}' % number,
            {"content-type": PATCHES[1]},
        )

    def objects_after(rounds: range) -> int:
        for number in rounds:
            nonsense(number)
        gc.collect()
        return len(gc.get_objects())

    objects_after(range(300))  # caches fill up to their limits
    before = objects_after(range(300, 800))
    assert objects_after(range(800, 1500)) - before < 200
    for number in range(100):
        asking.ask("GET", f"{WIDGETS}?watch=true&resourceVersion=1&labelSelector=n%3D{number}")
    assert len(asking.server.hub) == 0
