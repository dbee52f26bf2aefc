import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from msgspec import Struct, inspect

from steersman.kinds import class_for
from steersman.kinds.index import MODULES
from steersman.objects.codec import decode, decode_as, decode_json, encode, encode_json, to_json
from steersman.objects.identity import GroupVersionKind
from steersman.objects.meta import meta
from steersman.objects.resource import KubeObject, resource_of
from tests.support.kind_samples import filled, recorded

_STABLE = [
    "admissionregistration_v1", "apiextensions_v1", "apiregistration_v1", "apps_v1", "authentication_v1",
    "authorization_v1", "autoscaling_v1", "autoscaling_v2", "batch_v1", "certificates_v1", "coordination_v1", "core_v1",
    "discovery_v1", "events_v1", "flowcontrol_v1", "networking_v1", "node_v1", "policy_v1", "rbac_v1", "resource_v1",
    "scheduling_v1", "storage_v1",
]  # fmt: skip


def classes_of(module: str) -> list[type[Struct]]:
    """Return the classes that a module of kinds defines itself."""
    loaded = import_module(f"steersman.kinds.{module}")
    return [one for one in vars(loaded).values() if isinstance(one, type) and one.__module__ == loaded.__name__]


def test_every_stable_group_version_has_a_module() -> None:
    """These are what a server of this version serves without an alpha or beta mark."""
    assert sorted(MODULES.values()) == _STABLE


@pytest.mark.parametrize("module", [*_STABLE, "meta_v1"])
def test_every_class_reads_and_writes_all_its_fields(module: str) -> None:
    """A wrong wire name or type in a generated class would lose a field, or reject an object."""
    for one in classes_of(module):
        document = filled(inspect.type_info(one))
        data = encode_json(document)
        if issubclass(one, KubeObject):
            gvk = resource_of(one).gvk
            written = to_json(decode(one, data))
            assert written == {"apiVersion": gvk.api_version, "kind": gvk.kind, **document}
        else:
            assert decode_json(encode_json(decode_as(one, data))) == document


@pytest.mark.parametrize("module", _STABLE)
def test_every_kind_is_found_by_its_name(module: str) -> None:
    """Kind and class are one to one, also for kinds that are only a subresource."""
    kinds = [one for one in classes_of(module) if issubclass(one, KubeObject)]
    assert kinds
    for kind in kinds:
        resource = resource_of(kind)
        assert class_for(resource.gvk) is kind
        assert MODULES[resource.gvk.api_version] == module


@pytest.mark.parametrize(
    ("api_version", "kind"), [("v1", "Nothing"), ("apps.example.com/v1", "Deployment"), ("apps/v1beta1", "Deployment")]
)
def test_unknown_kind_has_no_class(api_version: str, kind: str) -> None:
    """The caller then works with Unstructured."""
    assert class_for(GroupVersionKind.of(api_version, kind)) is None


def test_nothing_is_imported_before_it_is_used() -> None:
    """A client of one kind does not pay for the others."""
    program = (
        "import sys\n"
        "from steersman.kinds import class_for\n"
        "from steersman.objects.identity import GroupVersionKind\n"
        "loaded = lambda: sorted(m for m in sys.modules if m.startswith('steersman.kinds.') and '_v' in m)\n"
        "print(loaded())\n"
        "class_for(GroupVersionKind('coordination.k8s.io', 'v1', 'Lease'))\n"
        "print(loaded())\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - this Python, our text
    assert result.stdout.splitlines() == ["[]", "['steersman.kinds.coordination_v1']"]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in the answers of a server."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)
    elif isinstance(value, dict):
        if isinstance(value.get("metadata"), dict) and {"apiVersion", "kind"} <= set(value):
            yield value
        for member in value.values():
            yield from _objects(member)


def _answers(step: Any) -> Iterator[dict[str, Any]]:
    if isinstance(step, list):
        for item in step:
            yield from _answers(item)
    elif isinstance(step, dict):
        yield from _objects(step.get("response"))
        yield from (answer for key, member in step.items() if key != "response" for answer in _answers(member))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("recording", ["defaults", "lifecycle", "tables"])
def test_answers_of_a_server_are_decoded_and_encoded_unchanged(recording: str) -> None:
    """Whole objects of a real server check names, types and omitted fields best."""
    kinds = set()
    for line in recorded(f"builtin/{recording}"):
        for document in _answers(line):
            kind = class_for(GroupVersionKind.of(document["apiVersion"], document["kind"]))
            if kind is None:
                continue
            kinds.add(kind)
            spec = document.get("spec") or {}
            for template in spec.get("volumeClaimTemplates", ()):
                # A claim inside a StatefulSet is encoded without its kind, which the server knows.
                del template["apiVersion"], template["kind"]
            if "limits" in spec and spec["limits"] is None:
                # Go's null for a required list is decoded as the empty list that it means.
                spec["limits"] = []
            assert to_json(decode(kind, encode_json(document))) == _without_nulls(document)
    assert len(kinds) > 10


def test_objects_are_short_to_write() -> None:
    """Guides and new projects use this form."""
    from steersman.kinds.core_v1 import Container, Pod, PodSpec  # noqa: PLC0415 - as the example stands in the guide

    pod = Pod(meta(generate_name="web-"), spec=PodSpec(containers=[Container(name="web", image="nginx")]))
    assert encode(pod) == (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"},'
        b'"spec":{"containers":[{"image":"nginx","name":"web"}]}}'
    )
    assert pod.status.phase is None
