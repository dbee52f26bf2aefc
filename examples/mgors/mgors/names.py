"""Names and labels of the objects of a replica set, and the addresses of its members: pure functions."""

from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Mgors

CLUSTER = "mongo.example.com/cluster"
ROLE = "mongo.example.com/role"
#: Name of the port of mongod.
PORT = "mongodb"


def arbiters_name(mgors: Mgors) -> str:
    """Return the name of the StatefulSet of the arbiters."""
    return f"{mgors.name}-arbiter"


def keyfile_name(mgors: Mgors) -> str:
    """Return the name of the Secret with which members authenticate each other."""
    return f"{mgors.name}-keyfile"


def admin_name(mgors: Mgors) -> str:
    """Return the name of the administrator's Secret."""
    return (mgors.spec.auth and mgors.spec.auth.secret_name) or f"{mgors.name}-admin"


def certificates_name(mgors: Mgors) -> str:
    """Return the name of the Secret with the operator's own authority, which no pod mounts."""
    return f"{mgors.name}-certificates"


def tls_name(mgors: Mgors) -> str:
    """Return the name of the Secret with the certificate that members serve."""
    return f"{mgors.name}-tls"


def ca_name(mgors: Mgors) -> str:
    """Return the name of the ConfigMap with the authorities that clients must trust."""
    return f"{mgors.name}-ca"


def selector_of(mgors: Mgors) -> str:
    """Return the selector of all pods of a replica set."""
    return f"{CLUSTER}={mgors.name}"


def host_of(pod: Pod, mgors: Mgors) -> str:
    """Return the address of a member; empty while it is not known.

    It is the DNS name of the pod. Where pods are local processes with loopback addresses, names cannot be resolved, and
    the IP is used. The port is the one that the pod was started with, whatever the current spec is.
    """
    address = pod.status.pod_ip or ""
    if not address:
        return ""
    where = address if address.startswith("127.") else f"{pod.name}.{mgors.name}.{mgors.namespace}.svc"
    ports = [port.container_port for one in pod.spec.containers for port in one.ports or [] if port.name == PORT]
    return f"{where}:{ports[0] if ports else mgors.spec.port}"
