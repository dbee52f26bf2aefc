"""Time to read and write one Pod of 2.7 KB, compared with the models of other clients."""

import json
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import kubernetes.client
import lightkube.resources.core_v1 as lightkube_core
import msgspec

from steersman.kinds.core_v1 import Pod
from steersman.objects.codec import decode, encode
from steersman.objects.resource import Unstructured

_ROUNDS = 7
_SECONDS_A_ROUND = 0.05


def pod() -> dict[str, Any]:
    """Return a Pod as a cluster stores it: with defaults, volumes, tolerations, conditions and container statuses."""
    mount = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": True}
    probe = {
        "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
        "periodSeconds": 10,
        "timeoutSeconds": 1,
    }
    container = {
        "name": "web",
        "image": "registry.example.com/shop/web:1.27.3",
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(4)],
        "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [mount],
    }
    moment = "2026-01-02T03:04:05Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-6d4cf56db6-x7k2p",
            "generateName": "web-6d4cf56db6-",
            "namespace": "shop",
            "uid": "8f14e45f-ceea-467f-9575-6f0d0b6f1c53",
            "resourceVersion": "1048576",
            "creationTimestamp": moment,
            "labels": {"app": "web", "tier": "frontend", "pod-template-hash": "6d4cf56db6"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4cf56db6", "controller": True,
                 "blockOwnerDeletion": True, "uid": "0cc175b9-c0f1-46b6-831c-399e26977266"},
            ],
        },
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "nodeName": "node-7",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {"runAsNonRoot": True, "fsGroup": 2000},
            "serviceAccountName": "web",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": f"node.kubernetes.io/{why}", "operator": "Exists"}
                for why in ("not-ready", "unreachable")
            ],
            "volumes": [
                {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                ]}},
            ],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.1.2.3",
            "podIPs": [{"ip": "10.1.2.3"}],
            "hostIP": "192.168.1.7",
            "startTime": moment,
            "qosClass": "Burstable",
            "conditions": [
                {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
                for type_ in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {"name": "web", "ready": True, "started": True, "restartCount": 0, "image": container["image"],
                 "imageID": "sha256:0a1b2c3d4e5f", "state": {"running": {"startedAt": moment}}, "lastState": {}},
            ],
        },
    }  # fmt: skip


class Codec(NamedTuple):
    """A library that reads bytes and writes objects."""

    name: str
    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]


def codecs() -> list[Codec]:
    """Return the libraries to compare; all of them read and write bytes."""
    client = kubernetes.client.ApiClient()

    def compact(document: Any) -> bytes:
        return json.dumps(document, separators=(",", ":")).encode()

    return [
        Codec("steersman, typed", lambda data: decode(Pod, data), encode),
        Codec("steersman, Unstructured", lambda data: decode(Unstructured, data), encode),
        Codec("json, dicts", json.loads, compact),
        # As lightkube's client does; its quantities stay strings, and its objects drop unknown fields.
        Codec("lightkube", lambda data: msgspec.json.decode(data, type=lightkube_core.Pod), msgspec.json.encode),
        Codec(
            "kubernetes",
            lambda data: client.deserialize(data.decode(), "V1Pod", "application/json"),
            lambda obj: compact(client.sanitize_for_serialization(obj)),
        ),
    ]


def repeated(work: Callable[[], Any], count: int) -> float:
    """Return the seconds for a number of calls."""
    begin = perf_counter()
    for _ in range(count):
        work()
    return perf_counter() - begin


def microseconds(works: list[Callable[[], Any]]) -> list[float]:
    """Return the time of one call of each: the best of several rounds in turns, because noise only adds."""
    counts = []
    for work in works:
        work()
        counts.append(max(1, round(_SECONDS_A_ROUND / max(repeated(work, 10) / 10, 1e-7))))
    best = [float("inf")] * len(works)
    for _ in range(_ROUNDS):
        for place, (work, count) in enumerate(zip(works, counts, strict=True)):
            best[place] = min(best[place], repeated(work, count) / count)
    return [seconds * 1e6 for seconds in best]


def main() -> None:
    """Print a table of microseconds and ratios."""
    data = json.dumps(pod(), separators=(",", ":")).encode()
    known = codecs()
    objects = [codec.read(data) for codec in known]
    for codec, obj in zip(known, objects, strict=True):
        written = json.loads(codec.write(obj))
        assert written["spec"]["containers"][0]["name"] == "web"
        assert written["status"]["podIP"] == "10.1.2.3"
    reading = microseconds([partial(codec.read, data) for codec in known])
    writing = microseconds([partial(codec.write, obj) for codec, obj in zip(known, objects, strict=True)])
    print(f"one Pod of {len(data):,} bytes; µs, and how many times steersman's")
    print(f"{'':26}{'read':>10}{'':>8}{'write':>10}{'':>8}")
    for codec, read, write in zip(known, reading, writing, strict=True):
        print(f"{codec.name:26}{read:10.1f}{read / reading[0]:7.1f}x{write:10.1f}{write / writing[0]:7.1f}x")


if __name__ == "__main__":
    main()
