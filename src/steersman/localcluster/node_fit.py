"""Whether a node takes a pod, and why not: names, selectors, required affinity, taints, cordons, readiness. Pure."""

from collections import Counter
from collections.abc import Iterable

from steersman.json_types import JsonObject
from steersman.kinds.core_v1 import Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint, Toleration
from steersman.objects.selectors import LabelSelector, Requirement

_BLOCKING = ("NoSchedule", "NoExecute")
_MISMATCH = "node(s) didn't match Pod's node affinity/selector"


def unschedulable(reasons: Iterable[str]) -> str:
    """Return why no node takes a pod, in the words of the real scheduler."""
    counts = Counter(reasons)
    total = sum(counts.values())
    if not total:
        return "no nodes available to schedule pods"
    parts = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{total} nodes are available: {', '.join(parts)}."


def refusal(pod: Pod, node: Node) -> str:
    """Return why a node cannot run a pod; empty if it can."""
    if node.spec.unschedulable and not _tolerates(
        pod, Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    ):
        return "node(s) were unschedulable"
    for taint in node.spec.taints or ():
        if taint.effect in _BLOCKING and not _tolerates(pod, taint):
            return f"node(s) had untolerated taint(s) {{{taint.key}: {taint.value or ''}}}"
    if not is_node_ready(node) and not _tolerates(pod, Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")):
        return "node(s) were not ready"
    if not is_wanted(pod, node):
        return _MISMATCH
    return ""


def is_node_ready(node: Node) -> bool:
    """Return whether the Ready condition of a node is true."""
    return any(one.type == "Ready" and one.status == "True" for one in node.status.conditions or ())


def is_wanted(pod: Pod, node: Node) -> bool:
    """Return whether a node satisfies a pod's selector and required affinity."""
    if not LabelSelector.of(pod.spec.node_selector or {}).matches(node.labels):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required is None or any(_is_term_met(term, node) for term in required.node_selector_terms)


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Return whether one of the tolerations is about a taint."""
    return any(is_about(toleration, taint) for toleration in tolerations)


def _tolerates(pod: Pod, taint: Taint) -> bool:
    return tolerates(pod.spec.tolerations or (), taint)


def is_about(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration matches a taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if not toleration.key:
        return toleration.operator == "Exists"
    if toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.value or "") == (taint.value or "")


def _is_term_met(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node.name}
    return all(_is_met(one, node.labels) for one in term.match_expressions or ()) and all(
        _is_met(one, fields) for one in term.match_fields or ()
    )


_OPERATORS: JsonObject = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
    "Gt": "gt",
    "Lt": "lt",
}


def _is_met(requirement: NodeSelectorRequirement, values: dict[str, str]) -> bool:
    wanted = Requirement(requirement.key, _OPERATORS[requirement.operator], tuple(requirement.values or ()))
    return wanted.matches(values)
