"""Built-in kinds in stories: how each looks, right most of the time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.contract.difference.cluster_kinds import (
    cluster_role,
    namespace,
    namespace_status,
    priority_class,
)
from tests.contract.difference.dice import Dice
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
    """A kind of which stories are told."""

    api_version: str
    kind: str
    plural: str
    make: Callable[[Dice], Document]
    namespaced: bool = True
    has_status: bool = False
    has_scale: bool = False
    status: Callable[[Dice], Document] | None = None

    @property
    def root(self) -> str:
        """The path of the group and version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


def config_map(dice: Dice) -> Document:
    """Give a ConfigMap."""
    document: Document = {}
    dice.maybe(
        document,
        0.7,
        data=lambda: {key: dice.pick("1", "2", "", "ä") for key in dice.some(["k", "l", "m.n", "o-p"])},
        binaryData=lambda: {key: dice.pick("AAE=", "aGk=", "") for key in dice.some(["b", "c"])},
    )
    if dice.chance(0.1):
        document["immutable"] = dice.chance(0.5)
    if dice.chance(0.08):
        document["data"] = dice.pick({"bad key": "1"}, {"k": 1}, {"b": "1"}, ["k"], {"k": None}, "text")
    return document


def secret(dice: Dice) -> Document:
    """Give a Secret."""
    document: Document = {}
    dice.maybe(
        document,
        0.6,
        data=lambda: {key: dice.pick("AAE=", "aGk=", "") for key in dice.some(["k", "l", "m"])},
        stringData=lambda: {key: dice.pick("1", "2", "") for key in dice.some(["k", "s"])},
        type=lambda: dice.pick("Opaque", "Opaque", "x.dev/own", "kubernetes.io/tls", "kubernetes.io/basic-auth"),
    )
    if dice.chance(0.08):
        document["data"] = dice.pick({"k": "not base64"}, {"k": 1}, {"bad key": "AAE="})
    return document


def service(dice: Dice) -> Document:
    """Give a Service without an address: addresses are each server's own."""
    ports = []
    for number, name in dice.some([(80, "web"), (443, "tls"), (53, "dns")], 1):
        port: Document = {"port": number, "name": name}
        dice.maybe(
            port,
            0.4,
            targetPort=lambda: dice.pick(8080, "web", "80"),
            protocol=lambda: dice.pick("TCP", "UDP"),
            appProtocol=lambda: "http",
        )
        ports.append(port)
    spec: Document = {"ports": ports, "clusterIP": "None", "selector": labels(dice)}
    dice.maybe(
        spec,
        0.25,
        sessionAffinity=lambda: dice.pick("None", "ClientIP"),
        publishNotReadyAddresses=lambda: True,
        internalTrafficPolicy=lambda: dice.pick("Cluster", "Local"),
        type=lambda: dice.pick("ClusterIP", "ClusterIP", "LoadBalancer", "Odd"),
    )
    if dice.chance(0.1):
        spec = {"type": "ExternalName", "externalName": dice.pick("x.dev", "X_")}
    return {"spec": spec}


def service_account(dice: Dice) -> Document:
    """Give a ServiceAccount."""
    document: Document = {}
    dice.maybe(
        document,
        0.5,
        automountServiceAccountToken=lambda: dice.chance(0.5),
        imagePullSecrets=lambda: [{"name": n} for n in dice.some(["p", "q"])],
        secrets=lambda: [{"name": n} for n in dice.some(["s", "t"])],
    )
    return document


def claim(dice: Dice) -> Document:
    """Give a PersistentVolumeClaim."""
    spec: Document = {
        "accessModes": dice.some(["ReadWriteOnce", "ReadOnlyMany"], 1),
        "resources": {"requests": {"storage": dice.pick("1Gi", "1024Mi", "2G")}},
    }
    dice.maybe(
        spec,
        0.3,
        storageClassName=lambda: dice.pick("fast", ""),
        volumeMode=lambda: dice.pick("Block", "Filesystem"),
        volumeName=lambda: "pv",
        selector=lambda: {"matchLabels": labels(dice)},
    )
    return {"spec": spec}


def ingress(dice: Dice) -> Document:
    """Give an Ingress."""
    backend = {"service": {"name": "s", "port": dice.pick({"number": 80}, {"name": "web"})}}
    path = {"path": "/", "pathType": dice.pick("Prefix", "Exact", "ImplementationSpecific"), "backend": backend}
    spec: Document = {"rules": [{"host": host, "http": {"paths": [path]}} for host in dice.some(["a.dev", "*.b.dev"])]}
    dice.maybe(
        spec,
        0.3,
        defaultBackend=lambda: backend,
        ingressClassName=lambda: "nginx",
        tls=lambda: [{"hosts": ["a.dev"], "secretName": "t"}],
    )
    return {"spec": spec}


def network_policy(dice: Dice) -> Document:
    """Give a NetworkPolicy."""
    spec: Document = {"podSelector": dice.pick({}, {"matchLabels": {"app": "a"}})}
    peer = dice.pick({"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}})
    dice.maybe(
        spec,
        0.5,
        policyTypes=lambda: dice.some(["Ingress", "Egress"], 1),
        ingress=lambda: [{"from": [peer], "ports": [{"port": dice.pick(80, "web")}]}],
        egress=lambda: [{"to": [peer]}],
    )
    return {"spec": spec}


def disruption_budget(dice: Dice) -> Document:
    """Give a PodDisruptionBudget."""
    spec: Document = {"selector": {"matchLabels": labels(dice)}}
    spec[dice.pick("minAvailable", "maxUnavailable")] = dice.pick(1, "50%", 0)
    return {"spec": spec}


def autoscaler(dice: Dice) -> Document:
    """Give a HorizontalPodAutoscaler."""
    spec: Document = {
        "maxReplicas": dice.number(1, 5),
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
    }
    dice.maybe(
        spec,
        0.5,
        minReplicas=lambda: dice.number(1, 2),
        metrics=lambda: [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
            }
        ],
    )
    return {"spec": spec}


def lease(dice: Dice) -> Document:
    """Give a Lease."""
    spec: Document = {}
    dice.maybe(
        spec,
        0.6,
        holderIdentity=lambda: dice.pick("a", "b"),
        leaseDurationSeconds=lambda: dice.number(0, 20),
        leaseTransitions=lambda: dice.number(-1, 3),
        renewTime=lambda: "2026-01-01T00:00:00.000000Z",
    )
    return {"spec": spec}


def role(dice: Dice) -> Document:
    """Give a Role."""
    rule = {"apiGroups": [dice.pick("", "apps")], "resources": ["pods"], "verbs": dice.some(["get", "list", "*"], 1)}
    return {"rules": [rule for _ in range(dice.number(0, 2))]}


def role_binding(dice: Dice) -> Document:
    """Give a RoleBinding."""
    subject = dice.pick(
        {"kind": "ServiceAccount", "name": "a", "namespace": "b"},
        {"kind": "User", "name": "u"},
        {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"},
    )
    return {
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": dice.pick("view", "view", "edit"),
        },
        "subjects": [subject][: dice.number(0, 1)],
    }


def quota(dice: Dice) -> Document:
    """Give a LimitRange-free ResourceQuota that limits nothing stories make."""
    return {"spec": {"hard": {f"count/{name}.x.dev": str(dice.number(1, 9)) for name in dice.some(["as", "bs"])}}}


def endpoint_slice(dice: Dice) -> Document:
    """Give an EndpointSlice."""
    document: Document = {"addressType": "IPv4", "endpoints": []}
    for address in dice.some(["10.1.1.1", "10.1.1.2"]):
        endpoint: Document = {"addresses": [address]}
        dice.maybe(endpoint, 0.4, conditions=lambda: {"ready": dice.chance(0.5)}, nodeName=lambda: "n")
        document["endpoints"].append(endpoint)
    dice.maybe(document, 0.5, ports=lambda: [{"port": 80, "name": dice.pick("", "web")}])
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
)
