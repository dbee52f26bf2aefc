"""The operator as pods: a Deployment that the restricted pod security standard admits, and what belongs to it."""

from typing import Final

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.scaffold.manifests import webhooks
from steersman.scaffold.manifests.shape import PORT, WEBHOOK_PORT, Shape, metadata, name_of, selector_of

#: Seconds until API servers have noticed that a pod is ending.
_FAREWELL: Final = 5
#: A user without a name in any image.
_NOBODY: Final = 65532


def arguments_of(operator: Operator, shape: Shape) -> list[str]:
    """Return the arguments of the image's ``steer run``; those of the project come last."""
    watch = [f"--namespace={namespace}" for namespace in shape.watch]
    probes = ["--metrics-host=0.0.0.0", f"--metrics-port={PORT}"]
    return ["--leader-elect", *probes, *webhooks.arguments_of(operator, shape), *watch, *shape.args]


def namespace_object(operator: Operator, shape: Shape) -> JsonObject:
    """Return the namespace of an operator; it admits only pods of the restricted security standard."""
    meta = metadata(shape.namespace, of=name_of(operator))
    meta["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def _probe(path: str, **times: int) -> JsonObject:
    return {"httpGet": {"path": path, "port": "probes"}, **times}


def _ports(operator: Operator, shape: Shape) -> list[JsonObject]:
    ports = {"probes": PORT}
    if webhooks.address_of(operator, shape) is not None:
        ports["webhooks"] = WEBHOOK_PORT
    return [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()]


def _farewell(operator: Operator, shape: Shape) -> JsonObject:
    """Return the hook that keeps a pod with webhooks responding until API servers have noticed that it is ending."""
    if webhooks.address_of(operator, shape) is None:
        return {}
    return {"lifecycle": {"preStop": {"sleep": {"seconds": _FAREWELL}}}}


def _container(operator: Operator, shape: Shape) -> JsonObject:
    return {
        "name": "operator",
        "image": shape.image,
        "args": arguments_of(operator, shape),
        **_environment(shape),
        "ports": _ports(operator, shape),
        "livenessProbe": _probe("/healthz", initialDelaySeconds=10, periodSeconds=20),
        # A replica that waits for the lease is ready once its caches are: otherwise no rollout would ever end.
        "readinessProbe": _probe("/readyz?exclude=started", periodSeconds=10),
        "resources": {part: dict(amounts) for part, amounts in shape.resources.items()},
        **_farewell(operator, shape),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        # The last lines of a container that failed are in the status of its pod, where `kubectl describe` shows them.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *mounts_of(shape)],  # noqa: S108 - a volume of the pod's own
    }


def _environment(shape: Shape) -> JsonObject:
    """Return the fields of the environment, without empty ones."""
    fields = {"env": shape.env, "envFrom": shape.env_from}
    return {key: [dict(entry) for entry in value] for key, value in fields.items() if value}


def mounts_of(shape: Shape) -> list[JsonObject]:
    """Return the mounts of the project's volumes."""
    return [
        {"name": f"volume-{number}", "mountPath": folder, **({"readOnly": True} if volume.read_only else {})}
        for number, (folder, volume) in enumerate(shape.volumes.items())
    ]


def volumes_of(shape: Shape) -> list[JsonObject]:
    """Return the project's volumes."""
    return [{"name": f"volume-{number}", **volume.source} for number, volume in enumerate(shape.volumes.values())]


def pod_template(operator: Operator, shape: Shape) -> JsonObject:
    """Return the template of the operator's pods."""
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
                # A process without a name can write to a claim only as a member of its group.
                **({"fsGroup": _NOBODY} if shape.volumes else {}),
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **_placement(shape),
            "containers": [_container(operator, shape)],
            "terminationGracePeriodSeconds": shape.termination_seconds,
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}, *volumes_of(shape)],
        },
    }


def _placement(shape: Shape) -> JsonObject:
    """Return where pods may run and how their image is pulled; what would be empty is left out."""
    fields: JsonObject = {
        "imagePullSecrets": [dict(secret) for secret in shape.image_pull_secrets],
        "nodeSelector": dict(shape.node_selector),
        "tolerations": [dict(toleration) for toleration in shape.tolerations],
    }
    return {key: value for key, value in fields.items() if value}


def deployment_object(operator: Operator, shape: Shape) -> JsonObject:
    """Return the operator's Deployment; raise ``ConfigError`` for more replicas than can work on its shards."""
    name = name_of(operator)
    _check_shards(operator, shape)
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


def _check_shards(operator: Operator, shape: Shape) -> None:
    if shape.processes > 1 and not operator.shards:
        raise ConfigError(
            f"args: --processes={shape.processes} needs an operator with shards: declare "
            f"Operator({operator.name!r}, shards=N); the roles follow from that"
        )
    working = shape.replicas * shape.processes
    if operator.shards and working > operator.shards:
        each = f" of {shape.processes} processes" if shape.processes > 1 else ""
        raise ConfigError(
            f"operator {operator.name!r} has {operator.shards} shards, and {shape.replicas} replicas{each} cannot all "
            f"work on them: set replicas to {operator.shards // shape.processes} or less, or declare more shards"
        )


def service_object(operator: Operator, shape: Shape) -> JsonObject:
    """Return the Service of the operator's metrics."""
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


def budget_object(operator: Operator, shape: Shape) -> JsonObject:
    """Return the budget that keeps a drain from evicting all replicas at once."""
    name = name_of(operator)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name, of=name, namespace=shape.namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector_of(name)}},
    }


def network_object(operator: Operator, shape: Shape) -> JsonObject:
    """Return the policy that lets only namespaces labelled ``metrics: enabled`` read the metrics.

    Webhooks can be called from anywhere: an API server is not a pod that a policy could select.
    """
    name = name_of(operator)
    allowed = [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}]
    ingress: list[JsonObject] = [{"from": allowed, "ports": [{"port": "probes", "protocol": "TCP"}]}]
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
