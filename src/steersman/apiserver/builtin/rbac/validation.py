"""Validation of roles and role bindings. Whether a user may write them is decided in ``apiserver/access/rbac``."""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import required_name, subdomain_errors
from steersman.golang.empty_values import same_content
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, not_supported, required
from steersman.validation.names import path_segment_faults

_GROUP = "rbac.authorization.k8s.io"


def role_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Role."""
    del old, subresource
    return _rules_errors(obj.get("rules") or (), namespaced=True)


def cluster_role_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ClusterRole."""
    del old, subresource
    errors = _rules_errors(obj.get("rules") or (), namespaced=False)
    rule = obj.get("aggregationRule")
    if rule is not None:
        path = "aggregationRule.clusterRoleSelectors"
        if not rule.get("clusterRoleSelectors"):
            errors.append(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for index, selector in enumerate(rule.get("clusterRoleSelectors") or ()):
            errors += selector_errors(selector, f"{path}[{index}]")
    return errors


def _rules_errors(rules: Sequence[JsonObject], *, namespaced: bool) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(rules):
        errors += _rule_errors(rule, f"rules[{index}]", namespaced=namespaced)
    return errors


def _rule_errors(rule: JsonObject, path: str, *, namespaced: bool) -> Errors:
    errors: Errors = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        field = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid(field, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(field, urls, text))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def binding_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a RoleBinding."""
    del subresource
    return _binding_errors(obj, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_binding_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ClusterRoleBinding."""
    del subresource
    return _binding_errors(obj, old, ("ClusterRole",), namespaced=False)


def _binding_errors(obj: JsonObject, old: JsonObject | None, kinds: Sequence[str], *, namespaced: bool) -> Errors:
    reference = obj.get("roleRef") or {}
    group, kind, name = (reference.get(field) or "" for field in ("apiGroup", "kind", "name"))
    errors: Errors = []
    if old is not None and not same_content(reference, old.get("roleRef")):
        shown = GoStruct({"APIGroup": group, "Kind": kind, "Name": name})
        errors.append(invalid("roleRef", shown, "cannot change roleRef"))
    if group != _GROUP:
        errors.append(not_supported("roleRef.apiGroup", group, [_GROUP]))
    if kind not in kinds:
        errors.append(not_supported("roleRef.kind", kind, kinds))
    if not name:
        errors.append(required("roleRef.name"))
    errors += [invalid("roleRef.name", name, fault) for fault in path_segment_faults(name)]
    for index, subject in enumerate(obj.get("subjects") or ()):
        errors += _subject_errors(subject, f"subjects[{index}]", namespaced=namespaced)
    return errors


def _subject_errors(subject: JsonObject, path: str, *, namespaced: bool) -> Errors:
    kind, group = subject.get("kind") or "", subject.get("apiGroup") or ""
    errors = required_name(subject, "name", path)
    if kind == "ServiceAccount":
        if subject.get("name"):
            errors += subdomain_errors(subject["name"], f"{path}.name")
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
        return errors
    if kind not in ("User", "Group"):
        return [*errors, not_supported(f"{path}.kind", kind, ["ServiceAccount", "User", "Group"])]
    if group != _GROUP:
        errors.append(not_supported(f"{path}.apiGroup", group, [_GROUP]))
    return errors
