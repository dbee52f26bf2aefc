"""The operator as pods: a Deployment that the restricted pod security standard admits, and what belongs to it."""

from typing import Any, Final

from steersman.manager.operator import Operator
from steersman.scaffold.manifests import webhooks
from steersman.scaffold.manifests.shape import PORT, WEBHOOK_PORT, Shape, metadata, name_of, selector_of

#: Seconds that pods get to end: those of ``steer run --grace``, and some.
_GRACE: Final = 40
#: Seconds until API servers have heard that a pod is going.
_FAREWELL: Final = 5
#: A user that no image gives a name to.
_NOBODY: Final = 65532
RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "500m", "memory": "256Mi"},
}


def arguments_of(operator: Operator, shape: Shape) -> list[str]:
    """Give what the image's ``steer run`` is told."""
    watch = [f"--namespace={namespace}" for namespace in shape.watch]
    probes = ["--metrics-host=0.0.0.0", f"--metrics-port={PORT}"]
    return ["--leader-elect", *probes, *webhooks.arguments_of(operator, shape), *watch]


def namespace_object(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Make the namespace of an operator; it admits only pods that can do no harm."""
    meta = metadata(shape.namespace, of=name_of(operator))
    meta["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def _probe(path: str, **times: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": "probes"}, **times}


def _ports(operator: Operator, shape: Shape) -> list[dict[str, Any]]:
    ports = {"probes": PORT}
    if webhooks.address_of(operator, shape) is not None:
        ports["webhooks"] = WEBHOOK_PORT
    return [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()]


def _farewell(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Let a pod with webhooks answer until everybody has heard that it is going."""
    if webhooks.address_of(operator, shape) is None:
        return {}
    return {"lifecycle": {"preStop": {"sleep": {"seconds": _FAREWELL}}}}


def _container(operator: Operator, shape: Shape) -> dict[str, Any]:
    return {
        "name": "operator",
        "image": shape.image,
        "args": arguments_of(operator, shape),
        "ports": _ports(operator, shape),
        "livenessProbe": _probe("/healthz", initialDelaySeconds=10, periodSeconds=20),
        # A replica that waits for the lease is ready once its caches are: otherwise no rollout would ever end.
        "readinessProbe": _probe("/readyz?exclude=started", periodSeconds=10),
        "resources": RESOURCES,
        **_farewell(operator, shape),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a volume of the pod's own
            *({"name": f"volume-{number}", "mountPath": folder} for number, folder in enumerate(shape.volumes)),
        ],
    }


def _volumes(shape: Shape) -> list[dict[str, Any]]:
    return [
        {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}},
        *(
            {"name": f"volume-{number}", "persistentVolumeClaim": {"claimName": claim}}
            for number, claim in enumerate(shape.volumes.values())
        ),
    ]


def pod_template(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Make the template of the operator's pods."""
    name = name_of(operator)
    return {
        "metadata": {"labels": metadata(name, of=name)["labels"]},
        "spec": {
            "serviceAccountName": name,
            "automountServiceAccountToken": True,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _NOBODY,
                "runAsGroup": _NOBODY,
                # Whoever runs as nobody can write to a claim only as a member of its group.
                **({"fsGroup": _NOBODY} if shape.volumes else {}),
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(operator, shape)],
            "terminationGracePeriodSeconds": _GRACE,
            "volumes": _volumes(shape),
        },
    }


def deployment_object(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Make the operator's Deployment."""
    name = name_of(operator)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, of=name, namespace=shape.namespace),
        "spec": {
            "replicas": shape.replicas,
            "selector": {"matchLabels": selector_of(name)},
            "template": pod_template(operator, shape),
        },
    }


def service_object(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Make the Service of the operator's metrics."""
    name = name_of(operator)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(f"{name}-metrics", of=name, namespace=shape.namespace),
        "spec": {
            "selector": selector_of(name),
            "ports": [{"name": "metrics", "port": PORT, "targetPort": "probes", "protocol": "TCP"}],
        },
    }


def budget_object(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Make the budget that keeps a drain from taking all replicas at once."""
    name = name_of(operator)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name, of=name, namespace=shape.namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector_of(name)}},
    }


def network_object(operator: Operator, shape: Shape) -> dict[str, Any]:
    """Make the policy that lets only namespaces labelled ``metrics: enabled`` read the metrics.

    Webhooks can be asked from anywhere: an API server is no pod that a policy could name.
    """
    name = name_of(operator)
    allowed = [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}]
    ingress: list[dict[str, Any]] = [{"from": allowed, "ports": [{"port": "probes", "protocol": "TCP"}]}]
    if webhooks.address_of(operator, shape) is not None:
        ingress.append({"ports": [{"port": "webhooks", "protocol": "TCP"}]})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name, of=name, namespace=shape.namespace),
        "spec": {
            "podSelector": {"matchLabels": selector_of(name)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }
