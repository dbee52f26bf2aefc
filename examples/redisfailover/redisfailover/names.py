"""Names, labels and ports that spotahome's operator gives, so that whoever uses them finds them."""

#: What a pod's label says of its server; the services of master and replicas choose by it.
ROLE = "redisfailovers-role"
#: What sentinels call the master.
MASTER = "mymaster"
SENTINEL_PORT = 26379


def redis_name(name: str) -> str:
    """Name the StatefulSet of the servers, their settings and their budget."""
    return f"rfr-{name}"


def sentinel_name(name: str) -> str:
    """Name the Deployment of the sentinels, their service, settings and budget."""
    return f"rfs-{name}"


def master_service(name: str) -> str:
    """Name the service that leads to the master."""
    return f"rfrm-{name}"


def replica_service(name: str) -> str:
    """Name the service that leads to the replicas."""
    return f"rfrs-{name}"


def passwords_name(name: str) -> str:
    """Name the Secret that records the passwords that servers may have."""
    return f"rfa-{name}"


def labels_of(name: str, component: str) -> dict[str, str]:
    """Give the labels of what belongs to the servers (``redis``) or the sentinels (``sentinel``)."""
    return {
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": "redis-operator",
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": "redis-failover",
    }
