"""Reviews that webhooks receive, and the effect of their responses."""

from tests.contract.hooks import setting
from tools.admission_sequences.conversion import definition
from tools.admission_sequences.sequence import MERGE, Sequence


def _verbs() -> None:
    sequence = Sequence("hook-verbs", "What a mutating and a validating webhook are told of each verb.")
    sequence.hooks("mutating", "m", sequence.hook("label"))
    sequence.hooks("validating", "v", sequence.hook("allow"))
    sequence.map("a", data={"k": "v"})
    sequence.map("", metadata={"generateName": "gen-"})
    sequence.map("dry", "?dryRun=All&fieldManager=me&fieldValidation=Strict")
    sequence.send("PUT", "/api/v1/namespaces/NS/configmaps/a", {"metadata": {"name": "a"}, "data": {"k": "w"}})
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"data": {"z": "1"}}, **MERGE)
    sequence.send(
        "PATCH",
        "/api/v1/namespaces/NS/configmaps/a?fieldManager=me&force=true",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "1"}},
        Content_Type="application/apply-patch+yaml",
    )
    sequence.send(
        "PATCH",
        "/api/v1/namespaces/NS/configmaps/new?fieldManager=me",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"y": "1"}},
        Content_Type="application/apply-patch+yaml",
    )
    sequence.send("GET", "/api/v1/namespaces/NS/configmaps/a")
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/missing", {"data": {"z": "1"}}, **MERGE)
    sequence.send("PUT", "/api/v1/namespaces/NS/configmaps/missing", {"metadata": {"name": "missing"}})
    sequence.map("a")
    sequence.map("Bad_Name")
    sequence.send("DELETE", "/api/v1/namespaces/NS/configmaps/new", {"propagationPolicy": "Background"})
    sequence.send("DELETE", "/api/v1/namespaces/NS/configmaps/missing")
    sequence.send("DELETE", "/api/v1/namespaces/NS/configmaps?labelSelector=hooked")


def _impersonated() -> None:
    sequence = Sequence("hook-user", "Who asks is told to webhooks.")
    sequence.hooks("validating", "v", sequence.hook("allow"))
    body = {"metadata": {"name": "a"}}
    sequence.send(
        "POST",
        "/api/v1/namespaces/NS/configmaps",
        body,
        Impersonate_User="eve",
        Impersonate_Group="system:masters",
        Impersonate_Extra_Foo="x",
    )


def _subresources() -> None:
    sequence = Sequence("hook-subresources", "Rules for subresources, and what is told of them.")
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    sequence.hooks("mutating", "m", sequence.hook("allow", rule=rule))
    sequence.hooks("validating", "v", sequence.hook("allow", rule={**rule, "scope": "Namespaced"}))
    pod = {"containers": [{"name": "c", "image": "x"}]}
    sequence.send("POST", "/api/v1/namespaces/NS/pods", {"metadata": {"name": "p"}, "spec": pod})
    sequence.send("PATCH", "/api/v1/namespaces/NS/pods/p/status", {"status": {"phase": "Running"}}, **MERGE)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    sequence.send("POST", "/apis/apps/v1/namespaces/NS/deployments", {"metadata": {"name": "d"}, "spec": spec})
    sequence.send("PATCH", "/apis/apps/v1/namespaces/NS/deployments/d/scale", {"spec": {"replicas": 2}}, **MERGE)
    sequence.send(
        "PUT",
        "/apis/apps/v1/namespaces/NS/deployments/d/scale",
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 3}},
    )
    sequence.send(
        "POST",
        "/api/v1/namespaces/NS/pods/p/binding",
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}},
    )
    sequence.send("POST", "/api/v1/namespaces/NS/serviceaccounts", {"metadata": {"name": "sa"}})
    sequence.send(
        "POST",
        "/api/v1/namespaces/NS/serviceaccounts/sa/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    sequence.send(
        "POST",
        "/api/v1/namespaces/NS/pods/p/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
    )
    sequence.send("GET", "/api/v1/namespaces/NS/pods/p/log")
    sequence.send("DELETE", "/api/v1/namespaces/NS/pods/p?gracePeriodSeconds=0")


def _denials() -> None:
    for mode in ("mutating", "validating"):
        sequence = Sequence(f"{mode}-denials", "How refusals of webhooks are told.")
        names = [
            "deny",
            "deny-message",
            "deny-reason",
            "deny-code",
            "deny-details",
            "deny-success",
            "deny-warn",
            "warn",
        ]
        hooks = [sequence.hook(name, objectSelector={"matchLabels": {"try": name}}) for name in names]
        sequence.hooks(mode, "c", *hooks)
        for name in names:
            sequence.map("", metadata={"name": "a", "labels": {"try": name}})
        sequence.send("DELETE", "/api/v1/namespaces/NS/configmaps/a")


def _failures() -> None:
    names = [
        "status-500",
        "status-404",
        "redirect",
        "no-json",
        "empty",
        "no-response",
        "wrong-kind",
        "no-kind",
        "wrong-version",
        "wrong-uid",
        "hang",
    ]
    patches = [
        "patch-no-type",
        "patch-bad-type",
        "patch-no-patch",
        "patch-broken",
        "patch-no-json",
        "patch-name",
        "patch-type",
        "patch-unknown",
        "patch-empty",
    ]
    for mode in ("mutating", "validating"):
        for policy in ("Fail", "Ignore"):
            sequence = Sequence(f"{mode}-failures-{policy.lower()}", "How broken webhooks are told.")
            tried = [*names, *patches, "refused"]
            hooks = [
                sequence.hook(
                    name,
                    failurePolicy=policy,
                    timeoutSeconds=1,
                    objectSelector={"matchLabels": {"try": name}},
                    name=f"{name}.example.com",
                )
                for name in tried
            ]
            hooks[-1]["clientConfig"]["url"] = "https://127.0.0.1:1/x"
            missing = sequence.hook("service", failurePolicy=policy, objectSelector={"matchLabels": {"try": "service"}})
            missing["clientConfig"] = {"service": {"name": "nope", "namespace": sequence.space, "path": "/x"}}
            sequence.hooks(mode, "c", *hooks, missing)
            for name in [*tried, "service"]:
                sequence.map("", metadata={"name": name, "labels": {"try": name}})


def _matching() -> None:
    sequence = Sequence("hook-matching", "Which requests a webhook is asked about.")
    sequence.hooks(
        "validating",
        "v",
        sequence.hook("warn/creates", name="creates.example.com", rule={"operations": ["CREATE"]}),
        sequence.hook("warn/object", name="object.example.com", objectSelector={"matchLabels": {"x": "y"}}),
        sequence.hook(
            "warn/exists",
            name="exists.example.com",
            objectSelector={"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["y"]}]},
        ),
        sequence.hook(
            "warn/space",
            name="space.example.com",
            namespaceSelector={"matchExpressions": [{"key": "team", "operator": "In", "values": ["red"]}]},
        ),
        sequence.hook("warn/cluster", name="cluster.example.com", rule={"scope": "Cluster"}),
        sequence.hook("warn/namespaced", name="namespaced.example.com", rule={"scope": "Namespaced"}),
        sequence.hook("warn/v2", name="v2.example.com", rule={"apiVersions": ["v2"]}),
        sequence.hook("warn/star", name="star.example.com", rule={"apiGroups": ["*"], "resources": ["*"]}),
        sequence.hook(
            "warn/condition",
            name="condition.example.com",
            matchConditions=[
                {"name": "named", "expression": "object != null && object.metadata.name == 'special'"},
                {"name": "user", "expression": "request.userInfo.username == 'admin'"},
            ],
        ),
        sequence.hook(
            "warn/broken",
            name="broken.example.com",
            matchConditions=[{"name": "broken", "expression": "object.data.missing == 'x'"}],
            objectSelector={"matchLabels": {"break": "yes"}},
        ),
        sequence.hook(
            "warn/broken-ignored",
            name="broken-ignored.example.com",
            failurePolicy="Ignore",
            matchConditions=[{"name": "broken", "expression": "object.data.missing == 'x'"}],
            objectSelector={"matchLabels": {"break": "maybe"}},
        ),
        sequence.hook(
            "warn/broken-but-false",
            name="broken-but-false.example.com",
            matchConditions=[
                {"name": "broken", "expression": "object.data.missing == 'x'"},
                {"name": "no", "expression": "false"},
            ],
            objectSelector={"matchLabels": {"break": "no"}},
        ),
        sequence.hook(
            "warn/authorizer",
            name="authorizer.example.com",
            matchConditions=[
                {
                    "name": "may",
                    "expression": "authorizer.group('').resource('secrets').namespace(request.namespace)"
                    ".check('get').allowed()",
                }
            ],
            objectSelector={"matchLabels": {"ask": "yes"}},
        ),
    )
    sequence.map("plain")
    sequence.map("special")
    sequence.map("", metadata={"name": "labelled", "labels": {"x": "y"}})
    sequence.map("", metadata={"name": "b1", "labels": {"break": "yes"}})
    sequence.map("", metadata={"name": "b2", "labels": {"break": "maybe"}})
    sequence.map("", metadata={"name": "b3", "labels": {"break": "no"}})
    sequence.map("", metadata={"name": "au", "labels": {"ask": "yes"}})
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/labelled", {"metadata": {"labels": {"x": None}}}, **MERGE)
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/plain", {"metadata": {"labels": {"x": "z"}}}, **MERGE)
    sequence.send("DELETE", "/api/v1/namespaces/NS/configmaps/plain")


def _reinvocation() -> None:
    sequence = Sequence("hook-reinvocation", "Webhooks that are asked again after others changed the object.")
    sequence.hooks(
        "mutating",
        "m",
        sequence.hook("label/first", name="first.example.com", reinvocationPolicy="IfNeeded"),
        sequence.hook("label/never", name="never.example.com"),
        sequence.hook("label/second", name="second.example.com", reinvocationPolicy="IfNeeded"),
        sequence.hook("allow", name="allow.example.com", reinvocationPolicy="IfNeeded"),
    )
    sequence.map("a")
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"data": {"z": "1"}}, **MERGE)


def _order() -> None:
    sequence = Sequence("hook-order", "Configurations are asked in the order of their names.")
    for name in ("b", "a", "c"):
        sequence.hooks("mutating", name, sequence.hook(setting("/metadata/annotations", {name: "1"})))
    sequence.map("a")
    sequence.send("GET", "/api/v1/namespaces/NS/configmaps/a")


def _mutations() -> None:
    sequence = Sequence("hook-mutations", "What a mutated object goes through: defaults, validation, owners of fields.")
    containers = [{"name": "c", "image": "y:1"}]
    sequence.hooks(
        "mutating",
        "m",
        sequence.hook(setting("/spec/containers", containers), rule={"resources": ["pods"]}),
        sequence.hook(setting("/data", {"!bad": "x"}), name="bad.example.com"),
    )
    pod = {"containers": [{"name": "c", "image": "x"}]}
    sequence.send("POST", "/api/v1/namespaces/NS/pods?fieldManager=me", {"metadata": {"name": "p"}, "spec": pod})
    sequence.map("a")


def _crd_hooks() -> None:
    sequence = Sequence("hook-custom", "Webhooks on a custom resource in two versions; matchPolicy.")
    group = f"{sequence.space}.example.com"
    sequence.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group, None))
    sequence.cleanup.append(
        {
            "case": "",
            "method": "DELETE",
            "path": f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}",
        }
    )
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "resources": ["things"]}
    sequence.hooks(
        "mutating",
        "m",
        sequence.hook(setting("/spec/extra", 1), rule=rule),
        sequence.hook("warn/exact", name="exact.example.com", rule=rule, matchPolicy="Exact"),
    )
    sequence.hooks("validating", "v", sequence.hook("allow", rule=rule, matchPolicy="Equivalent"))
    for version in ("v1", "v2"):
        body = {
            "apiVersion": f"{group}/{version}",
            "kind": "Thing",
            "metadata": {"name": version},
            "spec": {"size": 3},
        }
        sequence.send("POST", f"/apis/{group}/{version}/namespaces/NS/things", body)
        sequence.send(
            "PATCH", f"/apis/{group}/{version}/namespaces/NS/things/{version}", {"spec": {"size": 4}}, **MERGE
        )
        sequence.send(
            "PATCH",
            f"/apis/{group}/{version}/namespaces/NS/things/{version}/status",
            {"status": {"ready": True}},
            **MERGE,
        )
        sequence.send("DELETE", f"/apis/{group}/{version}/namespaces/NS/things/{version}")


def build() -> None:
    """Register all sequences of this module."""
    _verbs()
    _impersonated()
    _subresources()
    _denials()
    _failures()
    _matching()
    _reinvocation()
    _order()
    _mutations()
    _crd_hooks()
