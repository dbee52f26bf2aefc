"""How pods of conformance specs behave on simulated nodes, which do not run containers: a MutatingAdmissionPolicy.

Specs say by an image or a command what a pod is to do: an image that does not exist, or a command that sleeps. The
policy translates that into the annotations that a simulated node understands.
"""

from steersman.json_types import JsonObject

_NAME = "simulated-pods"
_FAIL = "simulated.steersman.dev/fail"
_RUN_FOR = "simulated.steersman.dev/run-for"
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_FIRST = "object.spec.containers[0]"
_IS_MISSING = f"({_FIRST}.image.endsWith(':404') || {_FIRST}.image.endsWith(':non-existent'))"
_SLEEPS = (
    f"({_FIRST}.image.contains('/pause:') || (has({_FIRST}.command) && {_FIRST}.command[0] == 'sleep') || "
    f"({_FIRST}.image.contains('/agnhost:') && !has({_FIRST}.command) && !has({_FIRST}.args)))"
)
_IS_TASK = "has(object.spec.restartPolicy) && object.spec.restartPolicy != 'Always'"
_EXPRESSION = (
    f"Object{{metadata: Object.metadata{{annotations: "
    f"{_IS_MISSING} ? {{'{_FAIL}': 'ImagePullBackOff'}} : {{'{_RUN_FOR}': '24h'}}}}}}"
)


def policy() -> JsonObject:
    """Return the policy."""
    condition = f"{_IS_MISSING} || ({_IS_TASK} && {_SLEEPS})"
    return {
        "metadata": {"name": _NAME},
        "spec": {
            "matchConstraints": {"resourceRules": [_RULE]},
            "matchConditions": [{"name": "behaves", "expression": condition}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": _EXPRESSION}}],
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
        },
    }


def binding() -> JsonObject:
    """Return the binding of the policy to all pods."""
    return {"metadata": {"name": _NAME}, "spec": {"policyName": _NAME}}
