"""Built-in kinds in scenarios: random objects, most of them valid."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.contract.difference.choices import Choices
from tests.contract.difference.cluster_kinds import (
    cluster_role,
    namespace,
    namespace_status,
    priority_class,
    storage_class,
    volume,
    volume_status,
)
from tests.contract.difference.statuses import (
    autoscaler_status,
    claim_status,
    cron_job_status,
    daemon_set_status,
    deployment_status,
    disruption_budget_status,
    ingress_status,
    quota_status,
    replica_set_status,
    service_status,
    stateful_set_status,
)
from tests.contract.difference.workloads import (
    cron_job,
    daemon_set,
    deployment,
    job,
    labels,
    pod,
    pod_status,
    replica_set,
    stateful_set,
)

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that occurs in scenarios."""

    api_version: str
    kind: str
    plural: str
    make: Callable[[Choices], Document]
    namespaced: bool = True
    has_status: bool = False
    has_scale: bool = False
    status: Callable[[Choices], Document] | None = None

    @property
    def root(self) -> str:
        """The path of the group and version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


def config_map(rng: Choices) -> Document:
    """Return a ConfigMap."""
    document: Document = {}
    rng.maybe(
        document,
        0.7,
        data=lambda: {key: rng.pick("1", "2", "", "ä") for key in rng.some(["k", "l", "m.n", "o-p"])},
        binaryData=lambda: {key: rng.pick("AAE=", "aGk=", "") for key in rng.some(["b", "c"])},
    )
    if rng.chance(0.1):
        document["immutable"] = rng.chance(0.5)
    if rng.chance(0.08):
        document["data"] = rng.pick({"bad key": "1"}, {"k": 1}, {"b": "1"}, ["k"], {"k": None}, "text")
    return document


def secret(rng: Choices) -> Document:
    """Return a Secret."""
    document: Document = {}
    rng.maybe(
        document,
        0.6,
        data=lambda: {key: rng.pick("AAE=", "aGk=", "") for key in rng.some(["k", "l", "m"])},
        stringData=lambda: {key: rng.pick("1", "2", "") for key in rng.some(["k", "s"])},
        type=lambda: rng.pick("Opaque", "Opaque", "x.dev/own", "kubernetes.io/tls", "kubernetes.io/basic-auth"),
    )
    if rng.chance(0.08):
        document["data"] = rng.pick({"k": "not base64"}, {"k": 1}, {"bad key": "AAE="})
    return document


def service(rng: Choices) -> Document:
    """Return a Service without an address: each server allocates its own."""
    ports = []
    for number, name in rng.some([(80, "web"), (443, "tls"), (53, "dns")], 1):
        port: Document = {"port": number, "name": name}
        rng.maybe(
            port,
            0.4,
            targetPort=lambda: rng.pick(8080, "web", "80"),
            protocol=lambda: rng.pick("TCP", "UDP"),
            appProtocol=lambda: "http",
        )
        ports.append(port)
    spec: Document = {"ports": ports, "clusterIP": "None", "selector": labels(rng)}
    rng.maybe(
        spec,
        0.25,
        sessionAffinity=lambda: rng.pick("None", "ClientIP"),
        publishNotReadyAddresses=lambda: True,
        internalTrafficPolicy=lambda: rng.pick("Cluster", "Local"),
        type=lambda: rng.pick("ClusterIP", "ClusterIP", "LoadBalancer", "Odd"),
    )
    if rng.chance(0.1):
        spec = {"type": "ExternalName", "externalName": rng.pick("x.dev", "X_")}
    return {"spec": spec}


def service_account(rng: Choices) -> Document:
    """Return a ServiceAccount."""
    document: Document = {}
    rng.maybe(
        document,
        0.5,
        automountServiceAccountToken=lambda: rng.chance(0.5),
        imagePullSecrets=lambda: [{"name": n} for n in rng.some(["p", "q"])],
        secrets=lambda: [{"name": n} for n in rng.some(["s", "t"])],
    )
    return document


def claim(rng: Choices) -> Document:
    """Return a PersistentVolumeClaim."""
    spec: Document = {
        "accessModes": rng.some(["ReadWriteOnce", "ReadOnlyMany"], 1),
        "resources": {"requests": {"storage": rng.pick("1Gi", "1024Mi", "2G")}},
    }
    rng.maybe(
        spec,
        0.3,
        storageClassName=lambda: rng.pick("fast", ""),
        volumeMode=lambda: rng.pick("Block", "Filesystem"),
        volumeName=lambda: "pv",
        selector=lambda: {"matchLabels": labels(rng)},
    )
    return {"spec": spec}


def ingress(rng: Choices) -> Document:
    """Return an Ingress."""
    backend = {"service": {"name": "s", "port": rng.pick({"number": 80}, {"name": "web"})}}
    path = {"path": "/", "pathType": rng.pick("Prefix", "Exact", "ImplementationSpecific"), "backend": backend}
    spec: Document = {"rules": [{"host": host, "http": {"paths": [path]}} for host in rng.some(["a.dev", "*.b.dev"])]}
    rng.maybe(
        spec,
        0.3,
        defaultBackend=lambda: backend,
        ingressClassName=lambda: "nginx",
        tls=lambda: [{"hosts": ["a.dev"], "secretName": "t"}],
    )
    return {"spec": spec}


def network_policy(rng: Choices) -> Document:
    """Return a NetworkPolicy."""
    spec: Document = {"podSelector": rng.pick({}, {"matchLabels": {"app": "a"}})}
    peer = rng.pick({"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}})
    rng.maybe(
        spec,
        0.5,
        policyTypes=lambda: rng.some(["Ingress", "Egress"], 1),
        ingress=lambda: [{"from": [peer], "ports": [{"port": rng.pick(80, "web")}]}],
        egress=lambda: [{"to": [peer]}],
    )
    return {"spec": spec}


def disruption_budget(rng: Choices) -> Document:
    """Return a PodDisruptionBudget."""
    spec: Document = {"selector": {"matchLabels": labels(rng)}}
    spec[rng.pick("minAvailable", "maxUnavailable")] = rng.pick(1, "50%", 0)
    return {"spec": spec}


def autoscaler(rng: Choices) -> Document:
    """Return a HorizontalPodAutoscaler."""
    spec: Document = {
        "maxReplicas": rng.number(1, 5),
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
    }
    rng.maybe(
        spec,
        0.5,
        minReplicas=lambda: rng.number(1, 2),
        metrics=lambda: [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
            }
        ],
    )
    return {"spec": spec}


def lease(rng: Choices) -> Document:
    """Return a Lease."""
    spec: Document = {}
    rng.maybe(
        spec,
        0.6,
        holderIdentity=lambda: rng.pick("a", "b"),
        leaseDurationSeconds=lambda: rng.number(0, 20),
        leaseTransitions=lambda: rng.number(-1, 3),
        renewTime=lambda: "2026-01-01T00:00:00.000000Z",
    )
    return {"spec": spec}


def role(rng: Choices) -> Document:
    """Return a Role."""
    rule = {
        "apiGroups": [rng.pick("", "apps")],
        "resources": ["pods"],
        "verbs": rng.some(["get", "list", "*"], 1),
    }
    return {"rules": [rule for _ in range(rng.number(0, 2))]}


def role_binding(rng: Choices) -> Document:
    """Return a RoleBinding."""
    subject = rng.pick(
        {"kind": "ServiceAccount", "name": "a", "namespace": "b"},
        {"kind": "User", "name": "u"},
        {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"},
    )
    return {
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": rng.pick("view", "view", "edit"),
        },
        "subjects": [subject][: rng.number(0, 1)],
    }


def quota(rng: Choices) -> Document:
    """Return a ResourceQuota that limits nothing that scenarios create."""
    return {"spec": {"hard": {f"count/{name}.x.dev": str(rng.number(1, 9)) for name in rng.some(["as", "bs"])}}}


def endpoint_slice(rng: Choices) -> Document:
    """Return an EndpointSlice."""
    document: Document = {"addressType": "IPv4", "endpoints": []}
    for address in rng.some(["10.1.1.1", "10.1.1.2"]):
        endpoint: Document = {"addresses": [address]}
        rng.maybe(endpoint, 0.4, conditions=lambda: {"ready": rng.chance(0.5)}, nodeName=lambda: "n")
        document["endpoints"].append(endpoint)
    rng.maybe(document, 0.5, ports=lambda: [{"port": 80, "name": rng.pick("", "web")}])
    return document


KINDS: tuple[Kind, ...] = (
    Kind("v1", "ConfigMap", "configmaps", config_map),
    Kind("v1", "Secret", "secrets", secret),
    Kind("v1", "Pod", "pods", pod, has_status=True, status=pod_status),
    Kind("v1", "Service", "services", service, has_status=True, status=service_status),
    Kind("v1", "ServiceAccount", "serviceaccounts", service_account),
    Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", claim, has_status=True, status=claim_status),
    Kind("v1", "ResourceQuota", "resourcequotas", quota, has_status=True, status=quota_status),
    Kind("apps/v1", "Deployment", "deployments", deployment, has_status=True, has_scale=True, status=deployment_status),
    Kind(
        "apps/v1", "ReplicaSet", "replicasets", replica_set, has_status=True, has_scale=True, status=replica_set_status
    ),
    Kind(
        "apps/v1",
        "StatefulSet",
        "statefulsets",
        stateful_set,
        has_status=True,
        has_scale=True,
        status=stateful_set_status,
    ),
    Kind("apps/v1", "DaemonSet", "daemonsets", daemon_set, has_status=True, status=daemon_set_status),
    Kind("batch/v1", "Job", "jobs", job, has_status=True),
    Kind("batch/v1", "CronJob", "cronjobs", cron_job, has_status=True, status=cron_job_status),
    Kind("networking.k8s.io/v1", "Ingress", "ingresses", ingress, has_status=True, status=ingress_status),
    Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", network_policy),
    Kind(
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        disruption_budget,
        has_status=True,
        status=disruption_budget_status,
    ),
    Kind(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        autoscaler,
        has_status=True,
        status=autoscaler_status,
    ),
    Kind("coordination.k8s.io/v1", "Lease", "leases", lease),
    Kind("rbac.authorization.k8s.io/v1", "Role", "roles", role),
    Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", role_binding),
    Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", endpoint_slice),
    Kind("v1", "Namespace", "namespaces", namespace, namespaced=False, has_status=True, status=namespace_status),
    Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", cluster_role, namespaced=False),
    Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", priority_class, namespaced=False),
    Kind(
        "v1", "PersistentVolume", "persistentvolumes", volume, namespaced=False, has_status=True, status=volume_status
    ),
    Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", storage_class, namespaced=False),
)
