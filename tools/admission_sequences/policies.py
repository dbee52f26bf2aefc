"""Validating policies, their bindings and parameters."""

from typing import Any

from tools.admission_sequences.story import MERGE, Sequence

Document = dict[str, Any]


def _policy(story: Sequence, name: str, spec: Document, binding: Document | None = None) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    whole = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": story.space}},
        },
        **spec,
    }
    story.configure("validatingadmissionpolicies", name, {"spec": whole})
    bound = {"policyName": f"{story.name}-{name}", "validationActions": ["Deny"], **(binding or {})}
    story.configure("validatingadmissionpolicybindings", name, {"spec": bound})


def _policies() -> None:
    story = Sequence("policy-basics", "Validations, messages, reasons, variables.")
    _policy(
        story,
        "p",
        {
            "variables": [{"name": "size", "expression": "has(object.data) ? size(object.data) : 0"}],
            "validations": [
                {"expression": "variables.size < 3", "message": "too many", "reason": "RequestEntityTooLarge"},
                {"expression": "!has(object.data) || !('secret' in object.data)"},
                {
                    "expression": "!object.metadata.name.startsWith('bad')",
                    "messageExpression": "'bad name ' + object.metadata.name",
                    "message": "fallback",
                },
                {
                    "expression": "object.metadata.name != 'nomessage'",
                    "messageExpression": "string(1/0)",
                    "message": "fb",
                },
                {
                    "expression": "object.metadata.name != 'forbidden'",
                    "reason": "Forbidden",
                    "message": "forbidden name",
                },
                {"expression": "object.metadata.name != 'broken' || object.data.nope == 'x'"},
            ],
            "auditAnnotations": [{"key": "who", "valueExpression": "request.userInfo.username"}],
        },
    )
    story.map("ok", data={"a": "1"})
    story.map("big", data={"a": "1", "b": "1", "c": "1"})
    story.map("s", data={"secret": "1"})
    story.map("bad-one")
    story.map("nomessage")
    story.map("forbidden")
    story.map("broken")
    story.map("bad-two", data={"a": "1", "b": "1", "c": "1", "secret": "1"})
    story.map("bad-dry", "?dryRun=All")
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/ok", {"data": {"b": "1", "c": "1"}}, **MERGE)
    story.send("DELETE", "/api/v1/namespaces/NS/configmaps/ok")

    story = Sequence("policy-actions", "Warn and Audit beside Deny; failurePolicy Ignore.")
    _policy(
        story,
        "w",
        {"validations": [{"expression": "object.metadata.name != 'x'", "message": "do not call it x"}]},
        {"validationActions": ["Warn", "Audit"]},
    )
    _policy(
        story,
        "i",
        {
            "failurePolicy": "Ignore",
            "validations": [{"expression": "object.data.nope == 'x'"}, {"expression": "object.metadata.name != 'y'"}],
        },
    )
    story.map("x")
    story.map("y")
    story.map("z")

    story = Sequence(
        "policy-conditions", "Match conditions, old objects, the namespace, and what else an expression sees."
    )
    _policy(
        story,
        "c",
        {
            "matchConditions": [
                {"name": "not-exempt", "expression": "!object.metadata.name.startsWith('exempt')"},
            ],
            "validations": [
                {
                    "expression": "request.operation != 'UPDATE' || oldObject.data == object.data",
                    "message": "data is fixed",
                },
                {"expression": "namespaceObject.metadata.labels['team'] == 'blue'", "message": "not a blue team"},
                {"expression": "request.operation == 'UPDATE' || oldObject == null", "message": "old on create"},
                {
                    "expression": "!(object.metadata.name == 'requested') || false",
                    "messageExpression": "request.kind.kind + ' ' + request.resource.resource + ' ' + request.name"
                    " + ' ' + request.namespace + ' ' + request.operation + ' ' + request.userInfo.username + ' '"
                    " + string(request.dryRun) + ' ' + request.requestKind.version"
                    " + ' ' + string(has(request.options))",
                },
                {
                    "expression": "!(object.metadata.name == 'asked')"
                    " || authorizer.group('apps').resource('deployments').namespace('default')"
                    ".check('create').allowed()",
                    "message": "admin may",
                },
                {
                    "expression": "!(object.metadata.name == 'denied')"
                    " || authorizer.requestResource.check('custom').allowed()",
                    "message": "not allowed",
                },
                {
                    "expression": "!(object.metadata.name == 'path')"
                    " || authorizer.path('/healthz').check('get').allowed()",
                    "message": "path",
                },
            ],
        },
    )
    story.map("a", data={"k": "1"})
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"data": {"k": "2"}}, **MERGE)
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"metadata": {"labels": {"k": "2"}}}, **MERGE)
    story.map("exempt-a", data={"k": "1"})
    story.send("PATCH", "/api/v1/namespaces/NS/configmaps/exempt-a", {"data": {"k": "2"}}, **MERGE)
    story.map("requested")
    story.map("asked")
    story.map("denied")
    story.map("path")

    story = Sequence("policy-broken-condition", "A match condition that fails.")
    _policy(
        story,
        "c",
        {
            "matchConditions": [{"name": "broken", "expression": "object.data.nope == 'x'"}],
            "validations": [{"expression": "true"}],
        },
    )
    story.map("a")


def _parameters() -> None:
    for found, selector in (("name", False), ("selector", True)):
        for missing in ("Allow", "Deny"):
            story = Sequence(f"policy-params-{found}-{missing.lower()}", "Parameters of a policy.")
            reference: Document = {"parameterNotFoundAction": missing, "namespace": "NS"}
            if selector:
                reference["selector"] = {"matchLabels": {"limits": "yes"}}
            else:
                reference["name"] = "limits"
            reference["namespace"] = story.space
            _policy(
                story,
                "p",
                {
                    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                    "matchConstraints": {
                        "resourceRules": [
                            {
                                "apiGroups": [""],
                                "apiVersions": ["v1"],
                                "operations": ["CREATE"],
                                "resources": ["secrets"],
                            }
                        ],
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": story.space}},
                    },
                    "validations": [
                        {
                            "expression": "object.metadata.name.size() <= int(params.data.longest)",
                            "messageExpression": "'longer than ' + params.data.longest",
                        }
                    ],
                },
                {"paramRef": reference},
            )
            secrets = "/api/v1/namespaces/NS/secrets"
            story.send("POST", secrets, {"metadata": {"name": "first"}})
            limits = {"name": "limits", "labels": {"limits": "yes"}}
            story.send(
                "POST", "/api/v1/namespaces/NS/configmaps?wait=yes", {"metadata": limits, "data": {"longest": "5"}}
            )
            story.send("POST", secrets, {"metadata": {"name": "short"}})
            story.send("POST", secrets, {"metadata": {"name": "much-longer"}})
            more = {"name": "limits2", "labels": {"limits": "yes"}}
            story.send(
                "POST", "/api/v1/namespaces/NS/configmaps?wait=yes", {"metadata": more, "data": {"longest": "4"}}
            )
            story.send("POST", secrets, {"metadata": {"name": "fiver"}})
            # A policy that goes takes what the server knows of its parameters with it: others would find none.
            story.cleanup.clear()


def build() -> None:
    """Tell every story."""
    _policies()
    _parameters()
