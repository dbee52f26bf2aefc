"""Webhooks and policies decide about connections to pods, too, on every server: the embedded and a real one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from steersman import meta
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.kinds.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from steersman.kinds.core_v1 import Pod, ServiceAccount
from steersman.objects.codec import decode_json, from_json
from steersman.protocol.http import Request
from steersman.randomness import Randomness
from steersman.testing.eventually import eventually
from tests.contract.servers import Server

Document = dict[str, Any]


@asynccontextmanager
async def policed(client: Client, *validations: Document) -> AsyncIterator[str]:
    """Create a policy about connections to the pods of one namespace."""
    name = f"contract-{Randomness().suffix(8)}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/*"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": client.namespace}}
    match = {"resourceRules": [rule], "namespaceSelector": selector}
    spec = {"matchConstraints": match, "validations": list(validations)}
    await client.create(from_json(ValidatingAdmissionPolicy, {"metadata": {"name": name}, "spec": spec}))
    bound = {"policyName": name, "validationActions": ["Deny"]}
    await client.create(from_json(ValidatingAdmissionPolicyBinding, {"metadata": {"name": name}, "spec": bound}))
    try:
        yield name
    finally:
        await client.delete(Ref(ValidatingAdmissionPolicyBinding, name))
        await client.delete(Ref(ValidatingAdmissionPolicy, name))


async def pod(client: Client) -> None:
    """Create a pod that no node runs."""
    await client.create(ServiceAccount(meta("own")))
    spec = {"serviceAccountName": "own", "containers": [{"name": "c", "image": "i"}]}
    await client.create(from_json(Pod, {"metadata": {"name": "p"}, "spec": spec}))


async def asked(client: Client, part: str) -> Document:
    """Return the response to a request for a part of the pod."""
    path = f"/api/v1/namespaces/{client.namespace}/pods/p/{part}"
    response = await client.transport.request(Request("POST", path, {}))
    answer: Document = decode_json(response.body)
    return answer


async def test_a_policy_sees_the_options_of_a_connection(server: Server) -> None:
    """The object is what the client asks for, and it is reviewed before the pod is looked up."""
    text = (
        "request.operation + ' ' + object.kind + ' ' + request.subResource + ' ' + request.kind.kind + ' '"
        " + (has(object.command) ? object.command.join(',') : '-') + ' ' + string(has(object.stdin))"
        " + ' ' + string(request.options == null) + ' ' + string(oldObject == null)"
    )
    async with server.client() as client, policed(client, {"expression": "false", "messageExpression": text}) as name:
        await pod(client)

        async def is_loaded() -> bool:
            return bool((await asked(client, "exec?command=ls"))["reason"] == "Invalid")

        await eventually(is_loaded, clock=RealClock(), within=20.0)
        rejected = await asked(client, "exec?command=ls&command=-l&stdout=true&container=c")
        assert rejected["message"] == (
            f"pods \"p\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: "
            "CONNECT PodExecOptions exec PodExecOptions ls,-l false true true"
        )
        rejected = await asked(client, "attach?stdin=true")
        assert rejected["message"].endswith("CONNECT PodAttachOptions attach PodAttachOptions - true true true")
        rejected = await asked(client, "portforward?ports=80")
        assert rejected["message"].endswith(
            "CONNECT PodPortForwardOptions portforward PodPortForwardOptions - false true true"
        )
        rejected = await asked(client, "proxy/some/path")
        assert rejected["message"].endswith("CONNECT PodProxyOptions proxy PodProxyOptions - false true true")
        missing = await client.transport.request(
            Request("POST", f"/api/v1/namespaces/{client.namespace}/pods/missing/exec?command=ls", {})
        )
        assert decode_json(missing.body)["reason"] == "Invalid"


async def test_a_connection_that_is_allowed_reaches_the_pod(server: Server) -> None:
    """Then the pod answers, which has no node here."""
    check = {"expression": "object.kind != 'PodExecOptions' || object.command[0] != 'rm'"}
    async with server.client() as client, policed(client, check):
        await pod(client)

        async def is_loaded() -> bool:
            return bool((await asked(client, "exec?command=rm&container=c"))["reason"] == "Invalid")

        await eventually(is_loaded, clock=RealClock(), within=20.0)
        allowed = await asked(client, "exec?command=ls&container=c")
        assert allowed["message"] == "pod p does not have a host assigned"


async def test_a_dry_run_cannot_connect(server: Server) -> None:
    """A command cannot be tried without running it."""
    async with server.client() as client:
        await pod(client)
        assert (await asked(client, "exec?command=ls&dryRun=All"))["message"] == "dryRun is not supported"


async def test_no_configuration_can_be_applied_to_the_options_of_a_connection(server: Server) -> None:
    """Their kinds have no schema; JSON patches and webhooks can change them."""
    name = f"contract-{Randomness().suffix(8)}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
    async with server.client() as client:
        selector = {"matchLabels": {"kubernetes.io/metadata.name": client.namespace}}
        spec = {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
            "reinvocationPolicy": "Never",
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{container: 'c'}"}}
            ],
        }
        await pod(client)
        await client.create(from_json(MutatingAdmissionPolicy, {"metadata": {"name": name}, "spec": spec}))
        bound = {"metadata": {"name": name}, "spec": {"policyName": name}}
        await client.create(from_json(MutatingAdmissionPolicyBinding, bound))
        try:

            async def is_loaded() -> bool:
                return bool((await asked(client, "exec?command=ls"))["code"] == 403)

            await eventually(is_loaded, clock=RealClock(), within=20.0)
            assert (await asked(client, "exec?command=ls"))["message"] == (
                f"policy '{name}' with binding '{name}' denied request: error applying patch: failed to convert patch "
                "object to typed object: no corresponding type for /v1, Kind=PodExecOptions"
            )
        finally:
            await client.delete(Ref(MutatingAdmissionPolicyBinding, name))
            await client.delete(Ref(MutatingAdmissionPolicy, name))
