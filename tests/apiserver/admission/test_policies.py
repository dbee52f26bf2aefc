from typing import Any

from tests.apiserver.api import Api

Document = dict[str, Any]
POLICIES = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"


async def _policy(api: Api, *validations: Document, **spec: Any) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    whole = {"matchConstraints": {"resourceRules": [rule]}, "validations": list(validations), **spec}
    path = f"{POLICIES}/validatingadmissionpolicies"
    answer = await api.send("POST", path, {"metadata": {"name": "p"}, "spec": whole})
    assert answer.status == 201, answer.body
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    path = f"{POLICIES}/validatingadmissionpolicybindings"
    await api.send("POST", path, {"metadata": {"name": "b"}, "spec": bound})


async def test_a_variable_that_is_not_needed_is_not_evaluated() -> None:
    """Policies guard an expression first and evaluate variables only if the guard holds."""
    api = Api()
    variables = [
        {"name": "size", "expression": "int(object.data.size)"},
        {"name": "twice", "expression": "variables.size * 2"},
    ]
    await _policy(api, {"expression": "!has(object.data) || variables.twice < 10"}, variables=variables)
    assert (await api.send("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    assert (await api.send("POST", MAPS, {"metadata": {"name": "b"}, "data": {"size": "4"}})).status == 201
    assert (await api.send("POST", MAPS, {"metadata": {"name": "c"}, "data": {"size": "5"}})).status == 422
    broken = await api.ask("POST", MAPS, {"metadata": {"name": "d"}, "data": {"size": "x"}})
    assert broken["code"] == 422
    assert 'composited variable "twice" fails to evaluate' in broken["message"]


async def test_a_policy_can_ask_what_the_user_may_do() -> None:
    """The authorizer answers for the user of the request, not for the server."""
    api = Api()
    ask = "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"
    await _policy(api, {"expression": ask, "message": "no secrets"})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    await api.send("POST", f"{rbac}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}
    binding = {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]}
    await api.send("POST", f"{rbac}/clusterrolebindings", binding)
    assert (await api.send("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    refused = await api.ask("POST", MAPS, {"metadata": {"name": "b"}}, impersonate_user="bob")
    assert refused["message"].endswith("denied request: no secrets")


async def test_an_endless_expression_is_stopped() -> None:
    """A policy must not be able to stop the server."""
    api = Api()
    loops = ".all(a, [1,2,3,4,5,6,7,8,9,10]" * 9
    expression = f"[1,2,3,4,5,6,7,8,9,10]{loops}.all(z, z > 0{')' * 10}"
    await _policy(api, {"expression": expression})
    answer = await api.ask("POST", MAPS, {"metadata": {"name": "a"}})
    assert answer["code"] == 422


async def test_restoring_a_snapshot_restores_policies_and_roles() -> None:
    """Tests that share a server must not be subject to each other's policies."""
    api = Api()
    before = api.server.snapshot()
    await _policy(api, {"expression": "false"})
    assert (await api.send("POST", MAPS, {"metadata": {"name": "a"}})).status == 422
    api.server.restore(before)
    assert (await api.send("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    api.server.restore(before)
    await _policy(api, {"expression": "object.metadata.name == 'b'"})
    assert (await api.send("POST", MAPS, {"metadata": {"name": "b"}})).status == 201
