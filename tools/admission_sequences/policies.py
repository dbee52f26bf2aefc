"""Validating policies, their bindings and parameters."""

from steersman.json_types import JsonObject
from tools.admission_sequences.sequence import MERGE, Sequence


def _policy(sequence: Sequence, name: str, spec: JsonObject, binding: JsonObject | None = None) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    whole = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": sequence.space}},
        },
        **spec,
    }
    sequence.configure("validatingadmissionpolicies", name, {"spec": whole})
    bound = {"policyName": f"{sequence.name}-{name}", "validationActions": ["Deny"], **(binding or {})}
    sequence.configure("validatingadmissionpolicybindings", name, {"spec": bound})


def _policies() -> None:
    sequence = Sequence("policy-basics", "Validations, messages, reasons, variables.")
    _policy(
        sequence,
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
    sequence.map("ok", data={"a": "1"})
    sequence.map("big", data={"a": "1", "b": "1", "c": "1"})
    sequence.map("s", data={"secret": "1"})
    sequence.map("bad-one")
    sequence.map("nomessage")
    sequence.map("forbidden")
    sequence.map("broken")
    sequence.map("bad-two", data={"a": "1", "b": "1", "c": "1", "secret": "1"})
    sequence.map("bad-dry", "?dryRun=All")
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/ok", {"data": {"b": "1", "c": "1"}}, **MERGE)
    sequence.send("DELETE", "/api/v1/namespaces/NS/configmaps/ok")

    sequence = Sequence("policy-actions", "Warn and Audit beside Deny; failurePolicy Ignore.")
    _policy(
        sequence,
        "w",
        {"validations": [{"expression": "object.metadata.name != 'x'", "message": "do not call it x"}]},
        {"validationActions": ["Warn", "Audit"]},
    )
    _policy(
        sequence,
        "i",
        {
            "failurePolicy": "Ignore",
            "validations": [{"expression": "object.data.nope == 'x'"}, {"expression": "object.metadata.name != 'y'"}],
        },
    )
    sequence.map("x")
    sequence.map("y")
    sequence.map("z")

    sequence = Sequence(
        "policy-conditions", "Match conditions, old objects, the namespace, and what else an expression sees."
    )
    _policy(
        sequence,
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
    sequence.map("a", data={"k": "1"})
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"data": {"k": "2"}}, **MERGE)
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/a", {"metadata": {"labels": {"k": "2"}}}, **MERGE)
    sequence.map("exempt-a", data={"k": "1"})
    sequence.send("PATCH", "/api/v1/namespaces/NS/configmaps/exempt-a", {"data": {"k": "2"}}, **MERGE)
    sequence.map("requested")
    sequence.map("asked")
    sequence.map("denied")
    sequence.map("path")

    sequence = Sequence("policy-broken-condition", "A match condition that fails.")
    _policy(
        sequence,
        "c",
        {
            "matchConditions": [{"name": "broken", "expression": "object.data.nope == 'x'"}],
            "validations": [{"expression": "true"}],
        },
    )
    sequence.map("a")


def _parameters() -> None:
    for found, selector in (("name", False), ("selector", True)):
        for missing in ("Allow", "Deny"):
            sequence = Sequence(f"policy-params-{found}-{missing.lower()}", "Parameters of a policy.")
            reference: JsonObject = {"parameterNotFoundAction": missing, "namespace": "NS"}
            if selector:
                reference["selector"] = {"matchLabels": {"limits": "yes"}}
            else:
                reference["name"] = "limits"
            reference["namespace"] = sequence.space
            _policy(
                sequence,
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
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": sequence.space}},
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
            sequence.send("POST", secrets, {"metadata": {"name": "first"}})
            limits = {"name": "limits", "labels": {"limits": "yes"}}
            sequence.send(
                "POST", "/api/v1/namespaces/NS/configmaps?wait=yes", {"metadata": limits, "data": {"longest": "5"}}
            )
            sequence.send("POST", secrets, {"metadata": {"name": "short"}})
            sequence.send("POST", secrets, {"metadata": {"name": "much-longer"}})
            more = {"name": "limits2", "labels": {"limits": "yes"}}
            sequence.send(
                "POST", "/api/v1/namespaces/NS/configmaps?wait=yes", {"metadata": more, "data": {"longest": "4"}}
            )
            sequence.send("POST", secrets, {"metadata": {"name": "fiver"}})
            # Deleting a policy drops the server's cache of its parameters, so that other policies would find none.
            sequence.cleanup.clear()


def build() -> None:
    """Register all sequences of this module."""
    _policies()
    _parameters()
