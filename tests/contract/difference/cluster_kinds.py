"""Cluster-scoped kinds in scenarios."""

from typing import Any

from tests.contract.difference.choices import Choices

Document = dict[str, Any]


def namespace(rng: Choices) -> Document:
    """Return a Namespace."""
    document: Document = {}
    if rng.chance(0.2):
        document["spec"] = rng.pick({}, {"finalizers": ["kubernetes"]}, {"finalizers": ["x.dev/own"]})
    return document


def namespace_status(rng: Choices) -> Document:
    """Return the status of a Namespace."""
    status: Document = {}
    rng.maybe(
        status,
        0.5,
        phase=lambda: rng.pick("Active", "Terminating"),
        conditions=lambda: [{"type": "NamespaceContentRemaining", "status": rng.pick("True", "False")}],
    )
    return status


def cluster_role(rng: Choices) -> Document:
    """Return a ClusterRole."""
    rules: list[Document] = [
        {
            "apiGroups": [rng.pick("", "apps")],
            "resources": ["pods"],
            "verbs": rng.some(["get", "list", "*"], 1),
        },
        {"nonResourceURLs": [rng.pick("/x", "/y/*")], "verbs": ["get"]},
        {"resources": ["pods"], "verbs": []},
    ]
    document: Document = {"rules": rng.some(rules, 0, 2) if rng.chance(0.3) else rules[: rng.number(0, 2)]}
    if rng.chance(0.15):
        document["aggregationRule"] = {"clusterRoleSelectors": rng.pick([{"matchLabels": {"x.dev/y": "a"}}], [])}
    return document


def priority_class(rng: Choices) -> Document:
    """Return a PriorityClass that is not the default: pods of other scenarios would get it."""
    document: Document = {"value": rng.pick(5, 5, 5, 6, -7, 2_000_000_000)}
    rng.maybe(
        document,
        0.3,
        description=lambda: rng.pick("d", "e", ""),
        preemptionPolicy=lambda: rng.pick("Never", "PreemptLowerPriority", "Odd"),
        globalDefault=lambda: False,
    )
    return document
