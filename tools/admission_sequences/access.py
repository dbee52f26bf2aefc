"""Tokens of service accounts, and impersonation."""

from typing import Any

from steersman.json_types import JsonObject
from tools.admission_sequences.sequence import Sequence


def _tokens() -> None:
    sequence = Sequence("tokens", "TokenRequest and TokenReview: audiences, lifetimes, what a token is bound to.")
    account = "/api/v1/namespaces/NS/serviceaccounts"
    sequence.send("POST", account, {"metadata": {"name": "sa"}})
    pod = {"containers": [{"name": "c", "image": "x"}], "serviceAccountName": "sa"}
    sequence.send("POST", "/api/v1/namespaces/NS/pods", {"metadata": {"name": "p"}, "spec": pod})
    other = {"containers": [{"name": "c", "image": "x"}]}
    sequence.send("POST", "/api/v1/namespaces/NS/pods", {"metadata": {"name": "q"}, "spec": other})
    sequence.send("POST", "/api/v1/namespaces/NS/secrets", {"metadata": {"name": "s"}})
    sequence.send("POST", "/api/v1/nodes", {"metadata": {"name": "tokens-node"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    specs: list[JsonObject] = [
        {},
        {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 600},
        {"audiences": ["a", "b"]},
        {"audiences": []},
        {"audiences": [""]},
        {"expirationSeconds": 1},
        {"expirationSeconds": 599},
        {"expirationSeconds": 5000000000},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "q"}},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "missing"}},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "other"}},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "s"}},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": "tokens-node"}},
        {"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "s"}},
        {"boundObjectRef": {"apiVersion": "v9", "kind": "Pod", "name": "p"}},
    ]
    first = len(sequence.steps)
    for spec in specs:
        sequence.send("POST", f"{account}/sa/token", {**request, "spec": spec})
    sequence.send("POST", f"{account}/missing/token", {**request, "spec": {}})
    sequence.send("POST", f"{account}/sa/token", {**request, "metadata": {"name": "other"}, "spec": {}})
    sequence.send("POST", f"{account}/sa/token?dryRun=All", {**request, "spec": {}})
    sequence.send("POST", f"{account}/sa/token", {})
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"

    def ask(step: int, **spec: Any) -> None:
        sequence.send("POST", reviews, {**review, "spec": {"token": "TOKEN", **spec}})
        sequence.steps[-1]["uses"] = {"/spec/token": f"{step}:/status/token"}

    ask(first)
    ask(first, audiences=["x", "https://kubernetes.default.svc"])
    ask(first, audiences=["x"])
    ask(first + 2)
    ask(first + 2, audiences=["b", "c", "a"])
    ask(first + 8)
    ask(first + 13)
    sequence.send("POST", reviews, {**review, "spec": {"token": "nonsense"}})
    sequence.send("POST", reviews, {**review, "spec": {"token": "a.b.c"}})
    sequence.send("POST", reviews, {**review, "spec": {}})
    sequence.send("POST", reviews, {**review, "metadata": {"name": "n"}, "spec": {"token": "x"}})
    sequence.send("DELETE", "/api/v1/namespaces/NS/pods/p?gracePeriodSeconds=0")
    sequence.send("DELETE", "/api/v1/nodes/tokens-node")


def _impersonations() -> None:
    sequence = Sequence("constrained-impersonation", "Impersonation limited to a kind of user and to what is done.")
    rbac = "/apis/rbac.authorization.k8s.io/v1"

    account = "/api/v1/namespaces/NS/serviceaccounts"
    for name in ("one", "two", "three", "four"):
        sequence.send("POST", account, {"metadata": {"name": name}})
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        sequence.send("POST", f"{account}/{name}/token", request)
    tokens = dict(zip(("one", "two", "three", "four"), (2, 4, 6, 8), strict=True))
    authentication = "authentication.k8s.io"

    def bind(name: str, *rules: JsonObject) -> None:
        full = f"{sequence.space}-{name}"
        sequence.send("POST", f"{rbac}/clusterroles?wait=yes", {"metadata": {"name": full}, "rules": list(rules)})
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": full}
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": sequence.space}]
        binding = {"metadata": {"name": full}, "roleRef": ref, "subjects": subjects}
        sequence.send("POST", f"{rbac}/clusterrolebindings?wait=yes", binding)

    on_list = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:user-info:list"]}
    bind(
        "one",
        {
            "apiGroups": [authentication],
            "resources": ["users", "groups", "uids", "userextras/foo"],
            "verbs": ["impersonate:user-info"],
        },
        on_list,
    )
    bind(
        "two",
        {"apiGroups": [authentication], "resources": ["serviceaccounts"], "verbs": ["impersonate:serviceaccount"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:serviceaccount:list"]},
    )
    bind(
        "three",
        {"apiGroups": [authentication], "resources": ["nodes"], "verbs": ["impersonate:arbitrary-node"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:arbitrary-node:list"]},
    )

    def act(name: str, **headers: str) -> None:
        sequence.send("GET", "/api/v1/namespaces/NS/configmaps", Authorization="TOKEN", **headers)
        sequence.steps[-1]["uses"] = {"header:Authorization": f"{tokens[name]}:/status/token"}

    for name in ("one", "two", "three", "four"):
        act(name, Impersonate_User="eve")
        act(name, Impersonate_User="eve", Impersonate_Group="g")
        act(name, Impersonate_User="eve", Impersonate_Uid="5")
        act(name, Impersonate_User="eve", Impersonate_Extra_Foo="x")
        act(name, Impersonate_User="eve", Impersonate_Extra_Bar="x")
        act(name, Impersonate_User="system:serviceaccount:a:b")
        act(name, Impersonate_User="system:node:n1")
        act(name, Impersonate_User="eve", Impersonate_Group="system:masters")
        sequence.send("GET", "/api", Authorization="TOKEN", Impersonate_User="eve")
        sequence.steps[-1]["uses"] = {"header:Authorization": f"{tokens[name]}:/status/token"}


def build() -> None:
    """Register all sequences of this module."""
    _tokens()
    _impersonations()
