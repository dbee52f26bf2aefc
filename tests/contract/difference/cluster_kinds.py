"""Kinds without a namespace, in stories."""

from typing import Any

from tests.contract.difference.dice import Dice

Document = dict[str, Any]


def namespace(dice: Dice) -> Document:
    """Give a Namespace."""
    document: Document = {}
    if dice.chance(0.2):
        document["spec"] = dice.pick({}, {"finalizers": ["kubernetes"]}, {"finalizers": ["x.dev/own"]})
    return document


def namespace_status(dice: Dice) -> Document:
    """Give the status of a Namespace."""
    status: Document = {}
    dice.maybe(
        status,
        0.5,
        phase=lambda: dice.pick("Active", "Terminating"),
        conditions=lambda: [{"type": "NamespaceContentRemaining", "status": dice.pick("True", "False")}],
    )
    return status


def cluster_role(dice: Dice) -> Document:
    """Give a ClusterRole."""
    rules: list[Document] = [
        {"apiGroups": [dice.pick("", "apps")], "resources": ["pods"], "verbs": dice.some(["get", "list", "*"], 1)},
        {"nonResourceURLs": [dice.pick("/x", "/y/*")], "verbs": ["get"]},
        {"resources": ["pods"], "verbs": []},
    ]
    document: Document = {"rules": dice.some(rules, 0, 2) if dice.chance(0.3) else rules[: dice.number(0, 2)]}
    if dice.chance(0.15):
        document["aggregationRule"] = {"clusterRoleSelectors": dice.pick([{"matchLabels": {"x.dev/y": "a"}}], [])}
    return document


def priority_class(dice: Dice) -> Document:
    """Give a PriorityClass that is nobody's default: pods of other stories would get it."""
    document: Document = {"value": dice.pick(5, 5, 5, 6, -7, 2_000_000_000)}
    dice.maybe(
        document,
        0.3,
        description=lambda: dice.pick("d", "e", ""),
        preemptionPolicy=lambda: dice.pick("Never", "PreemptLowerPriority", "Odd"),
        globalDefault=lambda: False,
    )
    return document
