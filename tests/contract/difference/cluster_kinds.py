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


def volume(rng: Choices) -> Document:
    """Return a PersistentVolume."""
    sources: list[Document] = [
        {"hostPath": {"path": rng.pick("/data", "/data", "/a/../b", "")}},
        {"nfs": {"server": "s", "path": rng.pick("/e", "e")}},
        {"csi": {"driver": rng.pick("x.dev", "X_"), "volumeHandle": "h"}},
        {"local": {"path": "/mnt"}},
    ]
    spec: Document = {
        "accessModes": rng.some(["ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"], 1),
        "capacity": {"storage": rng.pick("1Gi", "1024Mi", "2G")},
        **sources[rng.pick(0, 0, 0, 1, 2, 3)],
    }
    rng.maybe(
        spec,
        0.2,
        persistentVolumeReclaimPolicy=lambda: rng.pick("Retain", "Delete", "Recycle", "Odd"),
        storageClassName=lambda: rng.pick("fast", "", "Bad_"),
        volumeMode=lambda: rng.pick("Block", "Filesystem", "Odd"),
        mountOptions=lambda: rng.some(["ro", "soft"]),
        claimRef=lambda: {"namespace": "n", "name": "c", "kind": "PersistentVolumeClaim", "apiVersion": "v1"},
        nodeAffinity=lambda: rng.pick({"required": {"nodeSelectorTerms": [_node_term(rng)]}}, {}),
    )
    if rng.chance(0.1):
        spec.update(
            rng.pick(
                {"capacity": {}},
                {"capacity": {"cpu": "1"}},
                {"capacity": {"storage": "0"}},
                {"accessModes": []},
                {"accessModes": ["Odd"]},
                {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
                sources[1],
            )
        )
    return {"spec": spec}


def _node_term(rng: Choices) -> Document:
    expression: Document = {"key": "kubernetes.io/hostname", "operator": rng.pick("In", "In", "Exists", "Odd")}
    return {"matchExpressions": [{**expression, "values": rng.some(["n", "m"])}]}


def volume_status(rng: Choices) -> Document:
    """Return the status of a PersistentVolume."""
    status: Document = {}
    rng.maybe(
        status,
        0.5,
        phase=lambda: rng.pick("Available", "Bound", "Released", "Failed"),
        message=lambda: rng.pick("m", ""),
        reason=lambda: "r",
    )
    return status


def storage_class(rng: Choices) -> Document:
    """Return a StorageClass that is not the default: claims of other scenarios would get it."""
    document: Document = {"provisioner": rng.pick("x.dev/disk", "x.dev/disk", "x.dev/disk", "y.dev", "Bad_/", "")}
    rng.maybe(
        document,
        0.3,
        parameters=lambda: {key: rng.pick("1", "2", "") for key in rng.some(["type", "size"])},
        reclaimPolicy=lambda: rng.pick("Delete", "Retain", "Recycle"),
        volumeBindingMode=lambda: rng.pick("Immediate", "WaitForFirstConsumer", "Odd"),
        allowVolumeExpansion=lambda: rng.chance(0.5),
        mountOptions=lambda: rng.some(["ro", "soft"]),
        allowedTopologies=lambda: [
            {"matchLabelExpressions": [{"key": rng.pick("zone", "bad key"), "values": rng.some(["a", "b"])}]}
        ],
    )
    return document
