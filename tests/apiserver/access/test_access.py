import base64
import json
from typing import Any

import pytest

from steersman.apiserver.resources.request_context import User
from steersman.protocol.http import Request
from steersman.testing.cluster import Cluster
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.api import ADMIN, Api

RBAC = "/apis/rbac.authorization.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"


def _api() -> Api:
    return Api({"secret": ADMIN, "guest": User("guest", ("system:authenticated",))})


async def _token(api: Api, **spec: Any) -> str:
    admin = {"authorization": "Bearer secret"}
    await api.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}}, **admin)
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    answer = await api.ask("POST", path, {"spec": spec}, **admin)
    return str(answer["status"]["token"])


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer wrong", 401),
        ("Bearer secre", 401),
        ("Bearer secrets", 401),
        ("Bearer secret ", 401),
        ("bearer secret", 200),
        ("Bearer", 403),
        ("Basic c2VjcmV0", 403),
        ("Bearer a.b.c", 401),
        ("Bearer sécret", 401),
    ],
)
async def test_only_complete_and_known_tokens_authenticate(header: str, status: int) -> None:
    """A token that is nearly right, or in another scheme, belongs to no user."""
    assert (await _api().send("GET", MAPS, authorization=header)).status == status


async def test_a_request_without_credentials_is_rejected() -> None:
    """A server on a port must not serve every client that finds the port."""
    api = _api()
    assert (await api.send("GET", MAPS)).status == 403
    assert (await api.send("GET", "/healthz")).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/secrets",
        "/api/v1//namespaces/default/secrets",
        "/healthz/../api/v1/secrets",
        "/api/v1/namespaces/default/../kube-system/secrets",
        "/api/v1/namespaces/default/secrets%2F..",
        "/version/../../api/v1/secrets",
        "//api/v1/secrets",
        "/API/v1/secrets",
        "/api/v1/watch/secrets",
        "/metrics",
    ],
)
async def test_no_spelling_of_a_path_bypasses_roles(path: str) -> None:
    """Authorization and routing must parse the same path."""
    answer = await _api().send("GET", path, authorization="Bearer guest")
    assert answer.status in (403, 404)
    assert b'"items"' not in answer.body


async def test_permissions_in_one_namespace_do_not_apply_in_another() -> None:
    """A RoleBinding is valid only in its namespace."""
    api = _api()
    admin = {"authorization": "Bearer secret"}
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}
    await api.send("POST", f"{RBAC}/namespaces/default/roles", {"metadata": {"name": "r"}, "rules": [rule]}, **admin)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "guest"}
    binding = {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]}
    await api.send("POST", f"{RBAC}/namespaces/default/rolebindings", binding, **admin)
    guest = {"authorization": "Bearer guest"}
    assert (await api.send("GET", "/api/v1/namespaces/default/secrets", **guest)).status == 200
    assert (await api.send("GET", "/api/v1/namespaces/kube-system/secrets", **guest)).status == 403
    assert (await api.send("GET", "/api/v1/secrets", **guest)).status == 403
    await api.send("DELETE", f"{RBAC}/namespaces/default/rolebindings/r", **admin)
    assert (await api.send("GET", "/api/v1/namespaces/default/secrets", **guest)).status == 403


async def test_a_token_expires_with_its_time_account_or_pod() -> None:
    """A leaked token must not outlive the object it was created for."""
    api = _api()
    token = await _token(api, expirationSeconds=600)
    robot = {"authorization": f"Bearer {token}"}
    assert (await api.send("GET", MAPS, **robot)).status == 403
    await api.clock.advance(599)
    assert (await api.send("GET", MAPS, **robot)).status == 403
    await api.clock.advance(2)
    assert (await api.send("GET", MAPS, **robot)).status == 401


async def test_a_token_of_a_recreated_account_is_rejected() -> None:
    """The new account has the same name but is another account."""
    api = _api()
    robot = {"authorization": f"Bearer {await _token(api)}"}
    admin = {"authorization": "Bearer secret"}
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await api.send("DELETE", f"{accounts}/robot", **admin)
    await api.send("POST", accounts, {"metadata": {"name": "robot"}}, **admin)
    assert (await api.send("GET", MAPS, **robot)).status == 401


async def test_a_forged_or_foreign_token_is_rejected() -> None:
    """The signature and the audience count, whatever the header of a token claims."""
    api = _api()
    token = await _token(api)
    head, body, signature = token.split(".")
    unsigned = "eyJhbGciOiJub25lIn0"
    for forged in (f"{unsigned}.{body}.", f"{head}.{body}.AAAA", f"{head}.{body[:-2]}AA.{signature}"):
        assert (await api.send("GET", MAPS, authorization=f"Bearer {forged}")).status == 401
    elsewhere = await _token(api, audiences=["elsewhere"])
    assert (await api.send("GET", MAPS, authorization=f"Bearer {elsewhere}")).status == 401
    other = _api()
    await _token(other)
    assert (await other.send("GET", MAPS, authorization=f"Bearer {token}")).status == 401


async def test_impersonation_needs_permission() -> None:
    """The headers alone must not turn a user into the admin."""
    api = _api()
    asked = {"impersonate-user": "admin", "impersonate-group": "system:masters"}
    answer = await api.send("GET", MAPS, authorization="Bearer guest", **asked)
    assert answer.status == 403
    assert (await api.send("GET", MAPS, authorization="Bearer secret", **asked)).status == 200
    assert (await api.send("GET", MAPS, authorization="Bearer secret", **{"impersonate-user": "guest"})).status == 403


async def test_a_server_can_act_as_one_user() -> None:
    """Operators in tests act as their service account, without a token."""
    api = Api()
    transport = InMemoryTransport(api.server.acting_as(User("bob", ("system:authenticated",))), clock=api.clock)
    answer = await transport._request(Request("GET", MAPS), None)
    assert answer.status == 403
    assert (await api.send("GET", MAPS)).status == 200


async def test_an_aggregated_role_includes_a_role_that_is_labelled_later() -> None:
    """A custom resource's own roles join view, edit and admin by a label."""
    cluster = Cluster(seed=1)
    transport = InMemoryTransport(cluster.server, clock=cluster.clock)
    rule = b'{"verbs":["get"],"apiGroups":["sea.dev"],"resources":["boats"]}'
    label = b'"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}'
    role = b'{"metadata":{"name":"boats",' + label + b'},"rules":[' + rule + b"]}"
    headers = {"content-type": "application/json"}
    answer = await transport._request(Request("POST", f"{RBAC}/clusterroles", headers, role), None)
    assert answer.status == 201
    for name in ("view", "edit", "admin"):
        answer = await transport._request(Request("GET", f"{RBAC}/clusterroles/{name}"), None)
        assert rule in answer.body, name
    await transport._request(Request("DELETE", f"{RBAC}/clusterroles/boats"), None)
    answer = await transport._request(Request("GET", f"{RBAC}/clusterroles/admin"), None)
    assert rule not in answer.body


async def test_the_keys_to_verify_tokens_are_published() -> None:
    """Other services verify the tokens of service accounts with these keys."""
    api = _api()
    token = await _token(api)
    admin = {"authorization": "Bearer secret"}
    issuer = await api.ask("GET", "/.well-known/openid-configuration", **admin)
    keys = await api.ask("GET", "/openid/v1/jwks", accept="*/*", **admin)
    head = json.loads(base64.urlsafe_b64decode(token.partition(".")[0] + "=="))
    assert issuer["issuer"] == "https://kubernetes.default.svc"
    assert (keys["keys"][0]["kid"], keys["keys"][0]["alg"]) == (head["kid"], "ES256")
    assert (await api.send("GET", "/openid/v1/jwks")).status == 403


async def test_a_review_has_no_table() -> None:
    """A client that accepts only a table gets 406; one that accepts JSON as well gets the review."""
    api = Api()
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    status = await api.ask("POST", reviews, review, content_type="application/json", accept=table)
    assert (status["code"], status["reason"]) == (406, "NotAcceptable")
    answer = await api.ask("POST", reviews, review, content_type="application/json", accept=f"{table},application/json")
    assert answer["kind"] == "SelfSubjectAccessReview"
