"""Pods, and the kinds that create pods, in scenarios."""

from typing import Any

from tests.contract.difference.choices import Choices

Document = dict[str, Any]


def labels(rng: Choices) -> Document:
    """Return labels."""
    return {key: rng.pick("a", "b", "c", "") for key in rng.some(["app", "tier", "x.dev/y"], 1)}


def _probe(rng: Choices) -> Document:
    probe: Document = rng.pick(
        {"httpGet": {"path": "/", "port": rng.pick(80, "web")}},
        {"exec": {"command": ["true"]}},
        {"tcpSocket": {"port": 80}},
        {"grpc": {"port": 9}},
    )
    rng.maybe(
        probe,
        0.3,
        periodSeconds=lambda: rng.number(0, 20),
        failureThreshold=lambda: rng.number(0, 5),
        successThreshold=lambda: rng.number(0, 2),
        timeoutSeconds=lambda: rng.number(0, 3),
    )
    return probe


def _environment(rng: Choices) -> list[Document]:
    return [
        {
            "name": name,
            **rng.pick(
                {"value": "1"},
                {"value": "2"},
                {"value": ""},
                {},
                {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
            ),
        }
        for name in rng.some(["A", "B", "C"])
    ]


def _ports(rng: Choices) -> list[Document]:
    ports = []
    for number, name in rng.some([(80, "web"), (81, "alt"), (53, "dns")]):
        port: Document = {"containerPort": number}
        rng.maybe(port, 0.5, name=lambda name=name: name, protocol=lambda: rng.pick("TCP", "UDP", "TCP", "XXX"))
        ports.append(port)
    return ports


def _resources(rng: Choices) -> Document:
    resources: Document = {}
    quantities = ("1", "500m", "0.5", "1Gi", "100Mi", "1000m", "1e3", "2k")
    rng.maybe(
        resources,
        0.6,
        requests=lambda: {name: rng.of(quantities) for name in rng.some(["cpu", "memory", "x.dev/gpu"])},
        limits=lambda: {name: rng.of(quantities) for name in rng.some(["cpu", "memory", "ephemeral-storage"])},
    )
    if rng.chance(0.05):
        resources["requests"] = {"cpu": rng.pick("x", "-1", 1, 0.5)}
    return resources


def _container(rng: Choices, name: str) -> Document:
    container: Document = {"name": name, "image": rng.pick("nginx", "nginx:1.27", "r.dev/a/b@sha256:" + "0" * 64)}
    rng.maybe(
        container,
        0.25,
        env=lambda: _environment(rng),
        ports=lambda: _ports(rng),
        resources=lambda: _resources(rng),
        command=lambda: rng.some(["sh", "-c", "true"]),
        args=lambda: rng.some(["a", "b"]),
        livenessProbe=lambda: _probe(rng),
        readinessProbe=lambda: _probe(rng),
        imagePullPolicy=lambda: rng.pick("Always", "Never", "IfNotPresent", "Sometimes"),
        volumeMounts=lambda: [{"name": v, "mountPath": f"/{v}"} for v in rng.some(["v", "w"])],
        securityContext=lambda: rng.part_of(
            {"runAsUser": 1, "privileged": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        ),
        lifecycle=lambda: {"preStop": {"exec": {"command": ["true"]}}},
    )
    return container


def pod_spec(rng: Choices) -> Document:
    """Return the spec of a pod."""
    spec: Document = {"containers": [_container(rng, name) for name in rng.some(["a", "b"], 1)]}
    volumes: dict[str, Document] = {
        "v": rng.pick({"emptyDir": {}}, {"configMap": {"name": "c"}}, {"hostPath": {"path": "/h"}}),
        "w": rng.pick({"secret": {"secretName": "s"}}, {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}),
    }
    used = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", ())}
    if used or rng.chance(0.2):
        spec["volumes"] = [
            {"name": name, **volume} for name, volume in volumes.items() if name in used or rng.chance(0.2)
        ]
    if rng.chance(0.03):
        spec.pop("volumes", None)
    rng.maybe(
        spec,
        0.15,
        terminationGracePeriodSeconds=lambda: rng.number(0, 60),
        nodeSelector=lambda: labels(rng),
        serviceAccountName=lambda: "someone",
        hostNetwork=lambda: rng.chance(0.5),
        priority=lambda: 0,
        tolerations=lambda: [
            rng.pick(
                {"key": "k", "operator": "Exists"},
                {"operator": "Exists"},
                {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5},
            )
        ],
        securityContext=lambda: rng.part_of({"runAsNonRoot": True, "fsGroup": 2, "runAsUser": 5}),
        imagePullSecrets=lambda: [{"name": "p"}],
        initContainers=lambda: [_container(rng, "init")],
        affinity=lambda: {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
                ]
            }
        },
        topologySpreadConstraints=lambda: [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": rng.pick("DoNotSchedule", "ScheduleAnyway")}
        ],
    )
    return spec


def pod(rng: Choices) -> Document:
    """Return a Pod."""
    spec = pod_spec(rng)
    if rng.chance(0.3):
        spec["restartPolicy"] = rng.pick("Always", "Never", "OnFailure", "Maybe")
    return {"spec": spec}


def pod_status(rng: Choices) -> Document:
    """Return the status of a Pod."""
    status: Document = {}
    rng.maybe(
        status,
        0.5,
        phase=lambda: rng.pick("Running", "Pending", "Succeeded"),
        conditions=lambda: [
            {"type": kind, "status": rng.pick("True", "False")} for kind in rng.some(["Ready", "Initialized"])
        ],
        message=lambda: rng.pick("m", "n"),
    )
    return status


def _template(rng: Choices, chosen: Document) -> Document:
    return {"metadata": {"labels": dict(chosen)}, "spec": pod_spec(rng)}


def deployment(rng: Choices) -> Document:
    """Return a Deployment."""
    chosen = {"app": rng.pick("a", "a", "a", "b")}
    spec: Document = {"selector": {"matchLabels": chosen}, "template": _template(rng, chosen)}
    rng.maybe(
        spec,
        0.4,
        replicas=lambda: rng.number(0, 4),
        paused=lambda: rng.chance(0.5),
        minReadySeconds=lambda: rng.number(0, 5),
        revisionHistoryLimit=lambda: rng.number(-1, 5),
        progressDeadlineSeconds=lambda: rng.number(1, 900),
        strategy=lambda: rng.pick(
            {"type": "Recreate"},
            {"type": "RollingUpdate"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": rng.pick(1, "25%", "x", 0)}},
            {"rollingUpdate": {"maxUnavailable": rng.pick(1, "50%", 0)}},
        ),
    )
    if rng.chance(0.06):
        spec["selector"] = rng.pick({"matchLabels": {"app": "z"}}, {}, {"matchExpressions": [{"key": "app"}]})
    return {"spec": spec}


def replica_set(rng: Choices) -> Document:
    """Return a ReplicaSet."""
    chosen = {"app": "a"}
    spec: Document = {"selector": {"matchLabels": chosen}, "template": _template(rng, chosen)}
    rng.maybe(spec, 0.5, replicas=lambda: rng.number(-1, 4), minReadySeconds=lambda: rng.number(0, 5))
    return {"spec": spec}


def stateful_set(rng: Choices) -> Document:
    """Return a StatefulSet."""
    chosen = {"app": "a"}
    spec: Document = {
        "selector": {"matchLabels": chosen},
        "template": _template(rng, chosen),
        "serviceName": rng.pick("s", "s", "t"),
    }
    rng.maybe(
        spec,
        0.3,
        replicas=lambda: rng.number(0, 4),
        podManagementPolicy=lambda: rng.pick("Parallel", "OrderedReady"),
        updateStrategy=lambda: rng.pick({"type": "OnDelete"}, {"rollingUpdate": {"partition": 1}}),
        volumeClaimTemplates=lambda: [
            {
                "metadata": {"name": "d"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
    )
    return {"spec": spec}


def daemon_set(rng: Choices) -> Document:
    """Return a DaemonSet."""
    chosen = {"app": "a"}
    spec: Document = {"selector": {"matchLabels": chosen}, "template": _template(rng, chosen)}
    rng.maybe(
        spec,
        0.3,
        updateStrategy=lambda: rng.pick({"type": "OnDelete"}, {"rollingUpdate": {"maxUnavailable": 2}}),
        minReadySeconds=lambda: 3,
    )
    return {"spec": spec}


def job(rng: Choices) -> Document:
    """Return a Job."""
    template: Document = {"spec": {**pod_spec(rng), "restartPolicy": rng.pick("Never", "OnFailure", "Never")}}
    spec: Document = {"template": template}
    rng.maybe(
        spec,
        0.3,
        parallelism=lambda: rng.number(0, 3),
        completions=lambda: rng.number(0, 3),
        backoffLimit=lambda: rng.number(0, 9),
        suspend=lambda: rng.chance(0.5),
        ttlSecondsAfterFinished=lambda: rng.number(0, 100),
        activeDeadlineSeconds=lambda: rng.number(1, 100),
    )
    return {"spec": spec}


def cron_job(rng: Choices) -> Document:
    """Return a CronJob."""
    spec: Document = {
        "schedule": rng.pick("* * * * *", "@hourly", "*/5 1 * * 1-5", "bad"),
        "jobTemplate": job(rng),
    }
    rng.maybe(
        spec,
        0.3,
        suspend=lambda: rng.chance(0.5),
        concurrencyPolicy=lambda: rng.pick("Allow", "Forbid", "Replace"),
        successfulJobsHistoryLimit=lambda: rng.number(0, 5),
        startingDeadlineSeconds=lambda: rng.number(0, 50),
        timeZone=lambda: rng.pick("UTC", "Europe/Athens"),
    )
    return {"spec": spec}
