"""No request within the size limit keeps the server busy for long: the work is counted, not timed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from steersman.apiserver.builtin.pods.warnings import port_warnings
from steersman.apiserver.messages.rendering import warning_headers
from steersman.apiserver.resources.metadata import without_duplicate_owners
from tests.apiserver.api import BOATS, Api, Document, boat

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON = "application/json"


def config_map(name: str, **metadata: Any) -> Document:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def owners(count: int, **more: Any) -> list[Document]:
    """Return references to that many owners."""
    return [{"apiVersion": "v1", "kind": "Pod", "name": f"p{i}", "uid": f"u{i}", **more} for i in range(count)]


class Work:
    """Number of lines of our code that ran."""

    lines = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count the lines that run in the block, which is the same on fast and slow machines."""
    work = Work()

    def trace(frame: Any, event: str, _: Any) -> Any:
        if "steersman" not in frame.f_code.co_filename:
            return None
        work.lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield work
    finally:
        sys.settrace(before)


async def work_of(api: Api, body: Any, target: str = CONFIG_MAPS, media: str = JSON) -> int:
    """Return how many lines one create runs."""
    with counted() as work:
        await api.send("POST", target, body, content_type=media)
    return work.lines


def _strict(count: int) -> Document:
    return {**config_map("a"), **{f"x{i}": 1 for i in range(count)}}


BODIES = {
    "owners": lambda count: config_map("a", ownerReferences=owners(count)),
    "owners that are the same": lambda count: config_map("a", ownerReferences=owners(1) * count),
    "finalizers": lambda count: config_map("a", finalizers=[f"a.b/c{i}" for i in range(count)]),
    "labels": lambda count: config_map("a", labels={f"l{i}": "x" for i in range(count)}),
    "unknown fields": _strict,
    "duplicate keys": lambda count: (
        b'{"kind":"ConfigMap","metadata":{"name":"a"},"data":{' + b",".join([b'"a":"b"'] * count) + b"}}"
    ),
}


@pytest.mark.parametrize("what", BODIES)
async def test_four_times_as_many_items_take_at_most_five_times_the_work(what: str) -> None:
    """A request of three megabytes may hold 150,000 of them."""
    few, many = [await work_of(Api(), BODIES[what](count)) for count in (250, 1000)]
    assert many < 5 * few


class Compared(dict[str, Any]):
    """An owner that counts comparisons, which happen in C."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        type(self).comparisons += 1
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment] # as that of a dict


def test_owners_are_not_compared_with_all_others() -> None:
    """40,000 owners took a hundred seconds."""
    metadata = {"ownerReferences": [Compared(owner) for owner in [*owners(1000), *owners(3)]]}
    (warning,) = without_duplicate_owners(metadata, is_patch=False)
    assert warning.endswith("duplicate UID(s) observed: u0, u1, u2")
    assert len(metadata["ownerReferences"]) == 1000
    assert Compared.comparisons < 2000


async def test_finalizers_of_custom_objects_take_work_in_proportion() -> None:
    """150,000 of them fit into a request."""
    work = []
    for count in (250, 1000):
        api = Api()
        await api.define()
        work.append(await work_of(api, boat("a", finalizers=[f"a.b/c{i}" for i in range(count)]), BOATS))
    assert work[1] < 5 * work[0]


async def test_an_error_message_is_at_most_a_megabyte() -> None:
    """Each surplus controller quotes all owners: 300 of them made 17 MB, 3,000 would make a gigabyte."""
    answer = await Api().send("POST", CONFIG_MAPS, config_map("a", ownerReferences=owners(300, controller=True)))
    assert answer.status == 422
    assert b"Only one reference can have Controller set to true" in answer.body
    assert len(answer.body) < 5_000_000


async def test_strict_decoding_stops_after_a_hundred_errors() -> None:
    """As the decoder of kube-apiserver does."""
    status = await Api().ask("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", _strict(1000), content_type=JSON)
    assert status["message"].count("unknown field") == 100


def test_warnings_fit_into_the_headers_of_an_answer() -> None:
    """Limits of kube-apiserver: 4,096 characters in all; what exceeds them is cut to 256 each and then left out."""
    assert [text for _, text in warning_headers(["a", "b", "a", ""])] == ['299 - "a"', '299 - "b"']
    cut = warning_headers([f"{i:04}" + "x" * 996 for i in range(1000)])
    assert len(cut) == 16
    assert {len(text) for _, text in cut} == {256 + len('299 - ""')}


def test_ports_of_one_number_are_not_all_compared_with_each_other() -> None:
    """4,000 ports of a pod took 22 seconds and gave eight million warnings."""
    ports = [{"containerPort": 1, "hostPort": index} for index in range(4000)]
    with counted() as work:
        assert len(port_warnings({"containers": [{"ports": ports}]}, "spec")) < 2000
    assert work.lines < 4_000_000


async def test_an_object_too_large_for_etcd_is_rejected() -> None:
    """A cluster rejects objects over 1.5 MiB; an operator that writes one should learn that in its tests."""
    api = Api()
    finalizers = [f"example.com/{i:060}" for i in range(25_000)]
    status = await api.ask("POST", CONFIG_MAPS, config_map("a", finalizers=finalizers), content_type=JSON)
    assert (status["code"], status["message"]) == (500, "etcdserver: request is too large")
    assert "reason" not in status


async def test_defaults_count_towards_the_size_of_an_object() -> None:
    """A request of a few kilobytes can become an object of megabytes."""
    api = Api()
    item = {"type": "object", "properties": {f"p{i}": {"type": "string", "default": "x" * 300} for i in range(60)}}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
    names = {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd, content_type=JSON)
    box = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a"}, "items": [{}] * 100}
    boxes = "/apis/example.com/v1/namespaces/default/boxes"
    status = await api.ask("POST", boxes, box, content_type=JSON)
    assert (status["code"], status["message"]) == (500, "etcdserver: request is too large")
    assert (await api.ask("POST", boxes, {**box, "items": [{}]}, content_type=JSON))["metadata"]["name"] == "a"


async def test_managed_fields_are_dropped_before_an_object_is_rejected_for_its_size() -> None:
    """They can be larger than the object; kube-apiserver tries again without them."""
    api = Api()
    finalizers = [f"example.com/{i:060}" for i in range(12_000)]
    made = await api.ask("POST", CONFIG_MAPS, config_map("a", finalizers=finalizers), content_type=JSON)
    assert len(made["metadata"]["finalizers"]) == 12_000
    assert "managedFields" not in made["metadata"]


INSERTS = [{"op": "add", "path": "/metadata/finalizers/0", "value": "a.b/c"}] * 500


@pytest.mark.parametrize(
    ("limit", "operations"),
    [
        ("MAX_SHIFTED_ELEMENTS", INSERTS),
        ("MAX_SHIFTED_ELEMENTS", [{"op": "remove", "path": "/metadata/finalizers/0"}] * 15),
        ("MAX_MOVED_BYTES", [{"op": "move", "from": f"/{'ab'[i % 2]}", "path": f"/{'ba'[i % 2]}"} for i in range(99)]),
    ],
)
async def test_a_patch_that_moves_too_much_is_rejected(
    limit: str, operations: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 operations are allowed; each may move a list of 150,000 elements, or a value of three megabytes."""
    monkeypatch.setattr(f"steersman.protocol.patches.{limit}", 100)
    api = Api()
    await api.send("POST", CONFIG_MAPS, config_map("a", finalizers=["a.b/c"] * 20), content_type=JSON)
    patch = [{"op": "add", "path": "/a", "value": "x" * 20}, *operations]
    status = await api.ask("PATCH", f"{CONFIG_MAPS}/a", patch, content_type="application/json-patch+json")
    assert status["code"] == 413
    assert status["message"].startswith("Request entity too large: the operations ")


@pytest.mark.parametrize("media", ["application/yaml", "application/apply-patch+yaml"])
async def test_a_yaml_bomb_is_a_bad_request_with_the_message_of_kubernetes(media: str) -> None:
    """507 bytes of merge keys froze all clients for a minute."""
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{i}: &a{i} {{<<: [{','.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)]
    method, target = (
        ("POST", CONFIG_MAPS) if media == "application/yaml" else ("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m")
    )
    with counted() as work:
        status = await Api().ask(method, target, "\n".join(lines).encode(), content_type=media)
    assert status["code"] == 400
    assert "yaml: document contains excessive aliasing" in status["message"]
    assert work.lines < 1_000_000
