"""Names, labels and ports, the same as those of spotahome's operator, so that its users find them."""

#: Label of a pod with the role of its server; the Services of master and replicas select by it.
ROLE = "redisfailovers-role"
#: Name of the master in the sentinels.
MASTER = "mymaster"
SENTINEL_PORT = 26379


def redis_name(name: str) -> str:
    """Return the name of the StatefulSet, the ConfigMap and the PodDisruptionBudget of the servers."""
    return f"rfr-{name}"


def sentinel_name(name: str) -> str:
    """Return the name of the Deployment, the Service, the ConfigMap and the PodDisruptionBudget of the sentinels."""
    return f"rfs-{name}"


def master_service(name: str) -> str:
    """Return the name of the Service of the master."""
    return f"rfrm-{name}"


def replica_service(name: str) -> str:
    """Return the name of the Service of the replicas."""
    return f"rfrs-{name}"


def passwords_name(name: str) -> str:
    """Return the name of the Secret that records the passwords that servers may have."""
    return f"rfa-{name}"


def users_name(name: str) -> str:
    """Return the name of the Secret with the ACL users, which servers read at their start."""
    return f"rfu-{name}"


def labels_of(name: str, component: str) -> dict[str, str]:
    """Return the labels of objects of the servers (component ``redis``) or the sentinels (``sentinel``)."""
    return {
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": "redis-operator",
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": "redis-failover",
    }
