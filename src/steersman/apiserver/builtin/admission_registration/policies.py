"""Admission policies and their bindings: defaults."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.json_types import JsonObject


def _default_match(match: JsonObject | None) -> None:
    if match is None:
        return
    set_default(match, matchPolicy="Equivalent")
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            match[name] = {}
    for listed in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(listed) or ():
            set_default(rule, scope="*")


def default_policy(obj: JsonObject) -> None:
    """Set the defaults of an admission policy."""
    spec = obj["spec"]
    set_default(spec, failurePolicy="Fail")
    _default_match(spec.get("matchConstraints"))


def default_policy_binding(obj: JsonObject) -> None:
    """Set the defaults of the binding of an admission policy."""
    _default_match(obj["spec"].get("matchResources"))
    reference = obj["spec"].get("paramRef")
    if reference is not None:
        set_default(reference, parameterNotFoundAction="Deny")
