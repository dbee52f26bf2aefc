"""What MutatingAdmissionPolicies change and reject, on every server: the embedded and a real one."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from steersman import Forbidden, Invalid, meta
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.errors import ApiError
from steersman.kinds.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
)
from steersman.kinds.core_v1 import ConfigMap, Service
from steersman.objects.codec import from_json
from steersman.randomness import Randomness
from steersman.testing.eventually import eventually
from tests.contract.servers import Server

Document = dict[str, Any]
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
RULE = {**RULE, "resources": ["configmaps", "services"]}


def apply(expression: str) -> Document:
    """Return a mutation that applies a configuration."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patch(expression: str) -> Document:
    """Return a mutation by a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(name: str, namespace: str, *mutations: Document, **spec: Any) -> MutatingAdmissionPolicy:
    """Return a policy for the ConfigMaps and Services of one namespace."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    document = {
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE], "namespaceSelector": selector},
            "mutations": list(mutations),
            "reinvocationPolicy": "Never",
            **spec,
        },
    }
    return from_json(MutatingAdmissionPolicy, document)


@asynccontextmanager
async def bound(
    client: Client, *mutations: Document, binding: Document | None = None, **spec: Any
) -> AsyncIterator[str]:
    """Create a policy and its binding; delete both afterwards."""
    name = f"contract-{Randomness().suffix(8)}"
    await client.create(policy(name, client.namespace, *mutations, **spec))
    document = {"metadata": {"name": name}, "spec": {"policyName": name, **(binding or {})}}
    await client.create(from_json(MutatingAdmissionPolicyBinding, document))
    try:
        yield name
    finally:
        await client.delete(Ref(MutatingAdmissionPolicyBinding, name))
        await client.delete(Ref(MutatingAdmissionPolicy, name))


async def changed(client: Client, config: ConfigMap) -> ConfigMap:
    """Create a ConfigMap as soon as the policies are loaded: a real server needs a moment."""
    tried = client.dry_run()

    async def is_loaded() -> bool:
        try:
            made = await tried.create(config)
        except ApiError:
            return True
        return bool(made.data != config.data or made.labels != config.labels)

    await eventually(is_loaded, clock=RealClock(), within=20.0)
    return await client.create(config)


async def test_a_configuration_is_merged_into_the_object(server: Server) -> None:
    """What a policy adds has no owner, as in a real cluster, and what it does not mention stays."""
    expression = (
        'Object{metadata: Object.metadata{labels: {"from": string(namespaceObject.metadata.name),'
        ' "twice": string(variables.twice)}}, data: {"added": "1", ?"never": optional.none()}}'
    )
    variables = [{"name": "twice", "expression": "object.data.a + object.data.a"}]
    async with server.client() as client, bound(client, apply(expression), variables=variables):
        made = await changed(client, ConfigMap(meta("a", labels={"own": "x"}), data={"a": "5"}))
        assert made.labels == {"own": "x", "from": client.namespace, "twice": "55"}
        assert made.data == {"a": "5", "added": "1"}
        assert made.metadata.managed_fields is not None
        (owner,) = made.metadata.managed_fields
        assert "f:added" not in str(owner.fields_v1)


async def test_a_json_patch_changes_the_object_unless_its_test_fails(server: Server) -> None:
    """A failed test leaves the object alone: that is how a policy asks for what is there."""
    steps = (
        '[JSONPatch{op: "test", path: "/data/a", value: "5"},'
        ' JSONPatch{op: "add", path: "/metadata/labels", value: {}},'
        ' JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("x.dev/y"), value: "z"},'
        ' JSONPatch{op: "move", from: "/data/a", path: "/data/b"}]'
    )
    async with server.client() as client, bound(client, patch(steps)):
        made = await changed(client, ConfigMap(meta("a"), data={"a": "5"}))
        assert (made.labels, made.data) == ({"x.dev/y": "z"}, {"b": "5"})
        other = await client.create(ConfigMap(meta("b"), data={"a": "6"}))
        assert (other.labels, other.data) == ({}, {"a": "6"})


async def test_conditions_and_parameters_choose_what_is_changed(server: Server) -> None:
    """Every parameter is applied in turn, and an object for which a condition is false is not changed."""
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"selector": {"matchLabels": {"role": "parameter"}}, "parameterNotFoundAction": "Deny"}
    conditions = [{"name": "asked", "expression": "object.metadata.name.startsWith('c')"}]
    expression = "Object{data: {params.data.key: params.data.value}}"
    async with server.client() as client, AsyncExitStack() as stack:
        for key in ("x", "y"):
            labels = {"role": "parameter"}
            await client.create(ConfigMap(meta(f"p-{key}", labels=labels), data={"key": key, "value": f"{key}1"}))
        binding = {"paramRef": reference}
        await stack.enter_async_context(
            bound(client, apply(expression), paramKind=kind, matchConditions=conditions, binding=binding)
        )
        made = await changed(client, ConfigMap(meta("c"), data={"a": "1"}))
        assert made.data == {"a": "1", "x": "x1", "y": "y1"}
        assert (await client.create(ConfigMap(meta("d"), data={"a": "1"}))).data == {"a": "1"}


async def test_a_policy_sees_the_changes_of_others_if_it_asks_for_it(server: Server) -> None:
    """Once: what happens in the second round does not start a third."""
    count = 'Object{data: {"count": string(size(object.data))}}'
    mark = 'Object{data: {"mark" + string(size(object.data)): "1"}}'
    async with (
        server.client() as client,
        bound(client, apply(count), reinvocationPolicy="IfNeeded"),
        bound(client, apply(mark), reinvocationPolicy="Never"),
    ):

        async def both() -> bool:
            made = await client.dry_run().create(ConfigMap(meta("a"), data={"a": "1"}))
            return made.data is not None and len(made.data) == 3

        await eventually(both, clock=RealClock(), within=20.0)
        made = await client.create(ConfigMap(meta("a"), data={"a": "1"}))
        assert made.data is not None
        # The order of two policies is not defined: either the count comes first, and is counted again, or last.
        assert made.data in (
            {"a": "1", "count": "3", "mark2": "1"},
            {"a": "1", "count": "2", "mark1": "1"},
            {"a": "1", "count": "3", "mark1": "1"},
        )


FAILURES = {
    "Object{data: {'x': object.data.missing}}": (
        "expression 'Object{data: {'x': object.data.missing}}' resulted in error: no such key: missing"
    ),
    "Object{metadata: Object.wrong{labels: {'x': 'y'}}}": (
        'type mismatch: unexpected type name "Object.wrong", expected "Object.metadata", which matches field name '
        "path from root Object type"
    ),
    "Object{odd: 1}": (
        "error applying patch: failed to convert patch object to typed object: .odd: field not declared in schema"
    ),
    "Object{data: {'x': 1}}": (
        "error applying patch: failed to convert patch object to typed object: .data.x: expected string, got "
        "&value.valueUnstructured{Value:1}"
    ),
}


@pytest.mark.parametrize("expression", FAILURES)
async def test_a_failing_mutation_rejects_the_write_with_the_same_message(server: Server, expression: str) -> None:
    """Authors of policies read these messages when they search for their mistake."""
    async with server.client() as client, bound(client, apply(expression)) as name:
        with pytest.raises(ApiError) as rejected:
            await changed(client, ConfigMap(meta("a"), data={"a": "1"}))
        text = f"policy '{name}' with binding '{name}' denied request: {FAILURES[expression]}"
        error = rejected.value
        assert (error.code, error.reason, error.message) == (403, "Invalid", text)
        assert [cause.message for cause in error.causes] == [text]


async def test_atomic_parts_cannot_be_applied(server: Server) -> None:
    """A policy that names one key of an atomic map would remove all others."""
    expression = "Object{spec: Object.spec{selector: {'x': 'y'}}}"
    async with server.client() as client, bound(client, apply(expression)) as name:
        with pytest.raises(ApiError) as rejected:
            await changed(client, ConfigMap(meta("a"), data={"a": "1"}))
        assert ".spec: field not declared in schema" in rejected.value.message
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "clusterIP": "None"}}
        with pytest.raises(ApiError) as rejected:
            await client.create(from_json(Service, service))
        assert rejected.value.message == (
            f"policy '{name}' with binding '{name}' denied request: error applying patch: invalid ApplyConfiguration: "
            "may not mutate atomic arrays, maps or structs: .spec.selector"
        )


async def test_a_lenient_policy_that_fails_changes_nothing(server: Server) -> None:
    """And the mutations after the failed one are still applied."""
    mutations = (apply("Object{data: {'x': object.data.missing}}"), apply("Object{data: {'y': '1'}}"))
    async with server.client() as client, bound(client, *mutations, failurePolicy="Ignore"):
        made = await changed(client, ConfigMap(meta("a"), data={"a": "1"}))
        assert made.data == {"a": "1", "y": "1"}


async def test_a_missing_parameter_rejects_the_write(server: Server) -> None:
    """Unless the binding allows it."""
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    binding = {"paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}}
    async with (
        server.client() as client,
        bound(client, apply("Object{data: params.data}"), paramKind=kind, binding=binding) as name,
    ):
        with pytest.raises(Forbidden) as rejected:
            await changed(client, ConfigMap(meta("a"), data={"a": "1"}))
        assert rejected.value.message == (
            f"policy '{name}' with binding '{name}' denied request: failed to configure binding: no params found for "
            "policy binding with `Deny` parameterNotFoundAction"
        )


INVALID: dict[str, tuple[Document, str]] = {
    "another result": (
        apply("1"),
        'spec.mutations[0].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int',
    ),
    "no list": (
        patch("JSONPatch{}"),
        (
            'spec.mutations[0].jsonPatch.expression: Invalid value: "JSONPatch{}": must evaluate to list(JSONPatch) '
            "but got JSONPatch"
        ),
    ),
    "unknown type": (
        apply("Odd{}"),
        (
            'spec.mutations[0].applyConfiguration.expression: Invalid value: "Odd{}": compilation failed: ERROR: '
            "<input>:1:4: undeclared reference to 'Odd' (in container '')\n | Odd{}\n | ...^"
        ),
    ),
    "wrong field": (
        patch('[JSONPatch{op: 1, path: "/x"}]'),
        (
            'spec.mutations[0].jsonPatch.expression: Invalid value: "[JSONPatch{op: 1, path: \\"/x\\"}]": compilation '
            "failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n"
            ' | [JSONPatch{op: 1, path: "/x"}]\n | .............^'
        ),
    ),
    "nothing": (apply(" "), "spec.mutations[0].applyConfiguration.expression: Required value"),
}


@pytest.mark.parametrize("case", INVALID)
async def test_an_invalid_mutation_is_rejected_with_the_same_message(server: Server, case: str) -> None:
    """A policy that cannot be evaluated is found when it is written."""
    mutation, text = INVALID[case]
    async with server.client() as client:
        with pytest.raises(Invalid) as rejected:
            await client.create(policy("invalid", client.namespace, mutation))
        assert rejected.value.message == (
            f'MutatingAdmissionPolicy.admissionregistration.k8s.io "invalid" is invalid: {text}'
        )


async def test_deletes_cannot_be_mutated(server: Server) -> None:
    """There is no object that a policy could change."""
    rule = {**RULE, "operations": ["DELETE"]}
    async with server.client() as client:
        with pytest.raises(Invalid, match=r"resourceRules\.operations: Unsupported value: \"DELETE\""):
            await client.create(
                policy("d", client.namespace, apply("Object{}"), matchConstraints={"resourceRules": [rule]})
            )
