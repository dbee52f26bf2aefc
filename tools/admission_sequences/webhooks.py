"""What webhooks are told, and what is made of their answers."""

from tests.contract.hooks import setting
from tools.admission_sequences.conversion import definition
from tools.admission_sequences.story import MERGE, Sequence


def _verbs() -> None:
    story = Sequence("hook-verbs", "What a mutating and a validating webhook are told of each verb.")
    story.hooks("mutating", "m", story.hook("label"))
    story.hooks("validating", "v", story.hook("allow"))
    story.map("a", data={"k": "v"})
    story.map("", metadata={"generateName": "gen-"})
    story.map("dry", "?dryRun=All&fieldManager=me&fieldValidation=Strict")
    story.send("PUT", "/api/v1/namespaces/NS/configmaps/a", {"metadata": {"name": "a"}, "data": {"k": "w"}})
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"data": {"z": "1"}}, **MERGE)
    story.send(
        "PATCH",
        "/api/v1/namespaces/NS/configmaps/a?fieldManager=me&force=true",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "1"}},
        Content_Type="application/apply-patch+yaml",
    )
    story.send(
        "PATCH",
        "/api/v1/namespaces/NS/configmaps/new?fieldManager=me",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"y": "1"}},
        Content_Type="application/apply-patch+yaml",
    )
    story.send("GET", "/api/v1/namespaces/NS/configmaps/a")
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/missing", {"data": {"z": "1"}}, **MERGE)
    story.send("PUT", "/api/v1/namespaces/NS/configmaps/missing", {"metadata": {"name": "missing"}})
    story.map("a")
    story.map("Bad_Name")
    story.send("DELETE", "/api/v1/namespaces/NS/configmaps/new", {"propagationPolicy": "Background"})
    story.send("DELETE", "/api/v1/namespaces/NS/configmaps/missing")
    story.send("DELETE", "/api/v1/namespaces/NS/configmaps?labelSelector=hooked")


def _impersonated() -> None:
    story = Sequence("hook-user", "Who asks is told to webhooks.")
    story.hooks("validating", "v", story.hook("allow"))
    body = {"metadata": {"name": "a"}}
    story.send(
        "POST",
        "/api/v1/namespaces/NS/configmaps",
        body,
        Impersonate_User="eve",
        Impersonate_Group="system:masters",
        Impersonate_Extra_Foo="x",
    )


def _subresources() -> None:
    story = Sequence("hook-subresources", "Rules for subresources, and what is told of them.")
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    story.hooks("mutating", "m", story.hook("allow", rule=rule))
    story.hooks("validating", "v", story.hook("allow", rule={**rule, "scope": "Namespaced"}))
    pod = {"containers": [{"name": "c", "image": "x"}]}
    story.send("POST", "/api/v1/namespaces/NS/pods", {"metadata": {"name": "p"}, "spec": pod})
    story.send("PATCH", "/api/v1/namespaces/NS/pods/p/status", {"status": {"phase": "Running"}}, **MERGE)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    story.send("POST", "/apis/apps/v1/namespaces/NS/deployments", {"metadata": {"name": "d"}, "spec": spec})
    story.send("PATCH", "/apis/apps/v1/namespaces/NS/deployments/d/scale", {"spec": {"replicas": 2}}, **MERGE)
    story.send(
        "PUT",
        "/apis/apps/v1/namespaces/NS/deployments/d/scale",
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 3}},
    )
    story.send(
        "POST",
        "/api/v1/namespaces/NS/pods/p/binding",
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}},
    )
    story.send("POST", "/api/v1/namespaces/NS/serviceaccounts", {"metadata": {"name": "sa"}})
    story.send(
        "POST",
        "/api/v1/namespaces/NS/serviceaccounts/sa/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    story.send(
        "POST",
        "/api/v1/namespaces/NS/pods/p/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
    )
    story.send("GET", "/api/v1/namespaces/NS/pods/p/log")
    story.send("DELETE", "/api/v1/namespaces/NS/pods/p?gracePeriodSeconds=0")


def _denials() -> None:
    for mode in ("mutating", "validating"):
        story = Sequence(f"{mode}-denials", "How refusals of webhooks are told.")
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
        hooks = [story.hook(name, objectSelector={"matchLabels": {"try": name}}) for name in names]
        story.hooks(mode, "c", *hooks)
        for name in names:
            story.map("", metadata={"name": "a", "labels": {"try": name}})
        story.send("DELETE", "/api/v1/namespaces/NS/configmaps/a")


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
            story = Sequence(f"{mode}-failures-{policy.lower()}", "How broken webhooks are told.")
            tried = [*names, *patches, "refused"]
            hooks = [
                story.hook(
                    name,
                    failurePolicy=policy,
                    timeoutSeconds=1,
                    objectSelector={"matchLabels": {"try": name}},
                    name=f"{name}.example.com",
                )
                for name in tried
            ]
            hooks[-1]["clientConfig"]["url"] = "https://127.0.0.1:1/x"
            missing = story.hook("service", failurePolicy=policy, objectSelector={"matchLabels": {"try": "service"}})
            missing["clientConfig"] = {"service": {"name": "nope", "namespace": story.space, "path": "/x"}}
            story.hooks(mode, "c", *hooks, missing)
            for name in [*tried, "service"]:
                story.map("", metadata={"name": name, "labels": {"try": name}})


def _matching() -> None:
    story = Sequence("hook-matching", "Which requests a webhook is asked about.")
    story.hooks(
        "validating",
        "v",
        story.hook("warn/creates", name="creates.example.com", rule={"operations": ["CREATE"]}),
        story.hook("warn/object", name="object.example.com", objectSelector={"matchLabels": {"x": "y"}}),
        story.hook(
            "warn/exists",
            name="exists.example.com",
            objectSelector={"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["y"]}]},
        ),
        story.hook(
            "warn/space",
            name="space.example.com",
            namespaceSelector={"matchExpressions": [{"key": "team", "operator": "In", "values": ["red"]}]},
        ),
        story.hook("warn/cluster", name="cluster.example.com", rule={"scope": "Cluster"}),
        story.hook("warn/namespaced", name="namespaced.example.com", rule={"scope": "Namespaced"}),
        story.hook("warn/v2", name="v2.example.com", rule={"apiVersions": ["v2"]}),
        story.hook("warn/star", name="star.example.com", rule={"apiGroups": ["*"], "resources": ["*"]}),
        story.hook(
            "warn/condition",
            name="condition.example.com",
            matchConditions=[
                {"name": "named", "expression": "object != null && object.metadata.name == 'special'"},
                {"name": "user", "expression": "request.userInfo.username == 'admin'"},
            ],
        ),
        story.hook(
            "warn/broken",
            name="broken.example.com",
            matchConditions=[{"name": "broken", "expression": "object.data.missing == 'x'"}],
            objectSelector={"matchLabels": {"break": "yes"}},
        ),
        story.hook(
            "warn/broken-ignored",
            name="broken-ignored.example.com",
            failurePolicy="Ignore",
            matchConditions=[{"name": "broken", "expression": "object.data.missing == 'x'"}],
            objectSelector={"matchLabels": {"break": "maybe"}},
        ),
        story.hook(
            "warn/broken-but-false",
            name="broken-but-false.example.com",
            matchConditions=[
                {"name": "broken", "expression": "object.data.missing == 'x'"},
                {"name": "no", "expression": "false"},
            ],
            objectSelector={"matchLabels": {"break": "no"}},
        ),
        story.hook(
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
    story.map("plain")
    story.map("special")
    story.map("", metadata={"name": "labelled", "labels": {"x": "y"}})
    story.map("", metadata={"name": "b1", "labels": {"break": "yes"}})
    story.map("", metadata={"name": "b2", "labels": {"break": "maybe"}})
    story.map("", metadata={"name": "b3", "labels": {"break": "no"}})
    story.map("", metadata={"name": "au", "labels": {"ask": "yes"}})
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/labelled", {"metadata": {"labels": {"x": None}}}, **MERGE)
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/plain", {"metadata": {"labels": {"x": "z"}}}, **MERGE)
    story.send("DELETE", "/api/v1/namespaces/NS/configmaps/plain")


def _reinvocation() -> None:
    story = Sequence("hook-reinvocation", "Webhooks that are asked again after others changed the object.")
    story.hooks(
        "mutating",
        "m",
        story.hook("label/first", name="first.example.com", reinvocationPolicy="IfNeeded"),
        story.hook("label/never", name="never.example.com"),
        story.hook("label/second", name="second.example.com", reinvocationPolicy="IfNeeded"),
        story.hook("allow", name="allow.example.com", reinvocationPolicy="IfNeeded"),
    )
    story.map("a")
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"data": {"z": "1"}}, **MERGE)


def _order() -> None:
    story = Sequence("hook-order", "Configurations are asked in the order of their names.")
    for name in ("b", "a", "c"):
        story.hooks("mutating", name, story.hook(setting("/metadata/annotations", {name: "1"})))
    story.map("a")
    story.send("GET", "/api/v1/namespaces/NS/configmaps/a")


def _mutations() -> None:
    story = Sequence("hook-mutations", "What a mutated object goes through: defaults, validation, owners of fields.")
    containers = [{"name": "c", "image": "y:1"}]
    story.hooks(
        "mutating",
        "m",
        story.hook(setting("/spec/containers", containers), rule={"resources": ["pods"]}),
        story.hook(setting("/data", {"!bad": "x"}), name="bad.example.com"),
    )
    pod = {"containers": [{"name": "c", "image": "x"}]}
    story.send("POST", "/api/v1/namespaces/NS/pods?fieldManager=me", {"metadata": {"name": "p"}, "spec": pod})
    story.map("a")


def _crd_hooks() -> None:
    story = Sequence("hook-custom", "Webhooks on a custom resource in two versions; matchPolicy.")
    group = f"{story.space}.example.com"
    story.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group, None))
    story.cleanup.append(
        {
            "case": "",
            "method": "DELETE",
            "path": f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}",
        }
    )
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "resources": ["things"]}
    story.hooks(
        "mutating",
        "m",
        story.hook(setting("/spec/extra", 1), rule=rule),
        story.hook("warn/exact", name="exact.example.com", rule=rule, matchPolicy="Exact"),
    )
    story.hooks("validating", "v", story.hook("allow", rule=rule, matchPolicy="Equivalent"))
    for version in ("v1", "v2"):
        body = {
            "apiVersion": f"{group}/{version}",
            "kind": "Thing",
            "metadata": {"name": version},
            "spec": {"size": 3},
        }
        story.send("POST", f"/apis/{group}/{version}/namespaces/NS/things", body)
        story.send("PATCH", f"/apis/{group}/{version}/namespaces/NS/things/{version}", {"spec": {"size": 4}}, **MERGE)
        story.send(
            "PATCH",
            f"/apis/{group}/{version}/namespaces/NS/things/{version}/status",
            {"status": {"ready": True}},
            **MERGE,
        )
        story.send("DELETE", f"/apis/{group}/{version}/namespaces/NS/things/{version}")


def build() -> None:
    """Tell every story."""
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
