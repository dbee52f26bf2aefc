"""Pods and the kinds that make pods, in stories."""

from typing import Any

from tests.contract.difference.dice import Dice

Document = dict[str, Any]


def labels(dice: Dice) -> Document:
    """Give labels."""
    return {key: dice.pick("a", "b", "c", "") for key in dice.some(["app", "tier", "x.dev/y"], 1)}


def _probe(dice: Dice) -> Document:
    probe: Document = dice.pick(
        {"httpGet": {"path": "/", "port": dice.pick(80, "web")}},
        {"exec": {"command": ["true"]}},
        {"tcpSocket": {"port": 80}},
        {"grpc": {"port": 9}},
    )
    dice.maybe(
        probe,
        0.3,
        periodSeconds=lambda: dice.number(0, 20),
        failureThreshold=lambda: dice.number(0, 5),
        successThreshold=lambda: dice.number(0, 2),
        timeoutSeconds=lambda: dice.number(0, 3),
    )
    return probe


def _environment(dice: Dice) -> list[Document]:
    return [
        {
            "name": name,
            **dice.pick(
                {"value": "1"},
                {"value": "2"},
                {"value": ""},
                {},
                {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
            ),
        }
        for name in dice.some(["A", "B", "C"])
    ]


def _ports(dice: Dice) -> list[Document]:
    ports = []
    for number, name in dice.some([(80, "web"), (81, "alt"), (53, "dns")]):
        port: Document = {"containerPort": number}
        dice.maybe(port, 0.5, name=lambda name=name: name, protocol=lambda: dice.pick("TCP", "UDP", "TCP", "XXX"))
        ports.append(port)
    return ports


def _resources(dice: Dice) -> Document:
    resources: Document = {}
    quantities = ("1", "500m", "0.5", "1Gi", "100Mi", "1000m", "1e3", "2k")
    dice.maybe(
        resources,
        0.6,
        requests=lambda: {name: dice.of(quantities) for name in dice.some(["cpu", "memory", "x.dev/gpu"])},
        limits=lambda: {name: dice.of(quantities) for name in dice.some(["cpu", "memory", "ephemeral-storage"])},
    )
    if dice.chance(0.05):
        resources["requests"] = {"cpu": dice.pick("x", "-1", 1, 0.5)}
    return resources


def _container(dice: Dice, name: str) -> Document:
    container: Document = {"name": name, "image": dice.pick("nginx", "nginx:1.27", "r.dev/a/b@sha256:" + "0" * 64)}
    dice.maybe(
        container,
        0.25,
        env=lambda: _environment(dice),
        ports=lambda: _ports(dice),
        resources=lambda: _resources(dice),
        command=lambda: dice.some(["sh", "-c", "true"]),
        args=lambda: dice.some(["a", "b"]),
        livenessProbe=lambda: _probe(dice),
        readinessProbe=lambda: _probe(dice),
        imagePullPolicy=lambda: dice.pick("Always", "Never", "IfNotPresent", "Sometimes"),
        volumeMounts=lambda: [{"name": v, "mountPath": f"/{v}"} for v in dice.some(["v", "w"])],
        securityContext=lambda: dice.part_of(
            {"runAsUser": 1, "privileged": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        ),
        lifecycle=lambda: {"preStop": {"exec": {"command": ["true"]}}},
    )
    return container


def pod_spec(dice: Dice) -> Document:
    """Give the spec of a pod."""
    spec: Document = {"containers": [_container(dice, name) for name in dice.some(["a", "b"], 1)]}
    volumes: dict[str, Document] = {
        "v": dice.pick({"emptyDir": {}}, {"configMap": {"name": "c"}}, {"hostPath": {"path": "/h"}}),
        "w": dice.pick({"secret": {"secretName": "s"}}, {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}),
    }
    used = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", ())}
    if used or dice.chance(0.2):
        spec["volumes"] = [
            {"name": name, **volume} for name, volume in volumes.items() if name in used or dice.chance(0.2)
        ]
    if dice.chance(0.03):
        spec.pop("volumes", None)
    dice.maybe(
        spec,
        0.15,
        terminationGracePeriodSeconds=lambda: dice.number(0, 60),
        nodeSelector=lambda: labels(dice),
        serviceAccountName=lambda: "someone",
        hostNetwork=lambda: dice.chance(0.5),
        priority=lambda: 0,
        tolerations=lambda: [
            dice.pick(
                {"key": "k", "operator": "Exists"},
                {"operator": "Exists"},
                {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5},
            )
        ],
        securityContext=lambda: dice.part_of({"runAsNonRoot": True, "fsGroup": 2, "runAsUser": 5}),
        imagePullSecrets=lambda: [{"name": "p"}],
        initContainers=lambda: [_container(dice, "init")],
        affinity=lambda: {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
                ]
            }
        },
        topologySpreadConstraints=lambda: [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": dice.pick("DoNotSchedule", "ScheduleAnyway")}
        ],
    )
    return spec


def pod(dice: Dice) -> Document:
    """Give a Pod."""
    spec = pod_spec(dice)
    if dice.chance(0.3):
        spec["restartPolicy"] = dice.pick("Always", "Never", "OnFailure", "Maybe")
    return {"spec": spec}


def pod_status(dice: Dice) -> Document:
    """Give the status of a Pod."""
    status: Document = {}
    dice.maybe(
        status,
        0.5,
        phase=lambda: dice.pick("Running", "Pending", "Succeeded"),
        conditions=lambda: [
            {"type": kind, "status": dice.pick("True", "False")} for kind in dice.some(["Ready", "Initialized"])
        ],
        message=lambda: dice.pick("m", "n"),
    )
    return status


def _template(dice: Dice, chosen: Document) -> Document:
    return {"metadata": {"labels": dict(chosen)}, "spec": pod_spec(dice)}


def deployment(dice: Dice) -> Document:
    """Give a Deployment."""
    chosen = {"app": dice.pick("a", "a", "a", "b")}
    spec: Document = {"selector": {"matchLabels": chosen}, "template": _template(dice, chosen)}
    dice.maybe(
        spec,
        0.4,
        replicas=lambda: dice.number(0, 4),
        paused=lambda: dice.chance(0.5),
        minReadySeconds=lambda: dice.number(0, 5),
        revisionHistoryLimit=lambda: dice.number(-1, 5),
        progressDeadlineSeconds=lambda: dice.number(1, 900),
        strategy=lambda: dice.pick(
            {"type": "Recreate"},
            {"type": "RollingUpdate"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": dice.pick(1, "25%", "x", 0)}},
            {"rollingUpdate": {"maxUnavailable": dice.pick(1, "50%", 0)}},
        ),
    )
    if dice.chance(0.06):
        spec["selector"] = dice.pick({"matchLabels": {"app": "z"}}, {}, {"matchExpressions": [{"key": "app"}]})
    return {"spec": spec}


def replica_set(dice: Dice) -> Document:
    """Give a ReplicaSet."""
    chosen = {"app": "a"}
    spec: Document = {"selector": {"matchLabels": chosen}, "template": _template(dice, chosen)}
    dice.maybe(spec, 0.5, replicas=lambda: dice.number(-1, 4), minReadySeconds=lambda: dice.number(0, 5))
    return {"spec": spec}


def stateful_set(dice: Dice) -> Document:
    """Give a StatefulSet."""
    chosen = {"app": "a"}
    spec: Document = {
        "selector": {"matchLabels": chosen},
        "template": _template(dice, chosen),
        "serviceName": dice.pick("s", "s", "t"),
    }
    dice.maybe(
        spec,
        0.3,
        replicas=lambda: dice.number(0, 4),
        podManagementPolicy=lambda: dice.pick("Parallel", "OrderedReady"),
        updateStrategy=lambda: dice.pick({"type": "OnDelete"}, {"rollingUpdate": {"partition": 1}}),
        volumeClaimTemplates=lambda: [
            {
                "metadata": {"name": "d"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
    )
    return {"spec": spec}


def daemon_set(dice: Dice) -> Document:
    """Give a DaemonSet."""
    chosen = {"app": "a"}
    spec: Document = {"selector": {"matchLabels": chosen}, "template": _template(dice, chosen)}
    dice.maybe(
        spec,
        0.3,
        updateStrategy=lambda: dice.pick({"type": "OnDelete"}, {"rollingUpdate": {"maxUnavailable": 2}}),
        minReadySeconds=lambda: 3,
    )
    return {"spec": spec}


def job(dice: Dice) -> Document:
    """Give a Job."""
    template: Document = {"spec": {**pod_spec(dice), "restartPolicy": dice.pick("Never", "OnFailure", "Never")}}
    spec: Document = {"template": template}
    dice.maybe(
        spec,
        0.3,
        parallelism=lambda: dice.number(0, 3),
        completions=lambda: dice.number(0, 3),
        backoffLimit=lambda: dice.number(0, 9),
        suspend=lambda: dice.chance(0.5),
        ttlSecondsAfterFinished=lambda: dice.number(0, 100),
        activeDeadlineSeconds=lambda: dice.number(1, 100),
    )
    return {"spec": spec}


def cron_job(dice: Dice) -> Document:
    """Give a CronJob."""
    spec: Document = {
        "schedule": dice.pick("* * * * *", "@hourly", "*/5 1 * * 1-5", "bad"),
        "jobTemplate": job(dice),
    }
    dice.maybe(
        spec,
        0.3,
        suspend=lambda: dice.chance(0.5),
        concurrencyPolicy=lambda: dice.pick("Allow", "Forbid", "Replace"),
        successfulJobsHistoryLimit=lambda: dice.number(0, 5),
        startingDeadlineSeconds=lambda: dice.number(0, 50),
        timeZone=lambda: dice.pick("UTC", "Europe/Athens"),
    )
    return {"spec": spec}
