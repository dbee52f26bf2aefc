"""Everything that is neither a pod nor a node, and which kind shows what."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from steersman.apiserver.builtin.common.cells import (
    NONE,
    UNSET,
    at,
    column,
    containers,
    created,
    field,
    images,
    labels_text,
    name,
    selector,
    selector_text,
    shortened,
)
from steersman.apiserver.builtin.pods.columns import NODE, POD
from steersman.apiserver.builtin.tables.others import OTHERS
from steersman.apiserver.resources.columns import CREATED_AT, NAME, Column, age, human_duration
from steersman.objects.identity import GroupVersionKind
from steersman.objects.times import parse_time

Document = dict[str, Any]
AGE = column("Age", created)
_TEMPLATE = ("spec", "template")
_WORKLOAD = (
    column("Containers", containers(*_TEMPLATE), wide=True),
    column("Images", images(*_TEMPLATE), wide=True),
)
_SELECTOR = column("Selector", selector("spec", "selector"), wide=True)


def _of(ready: tuple[str, ...], wanted: tuple[str, ...]) -> Callable[[Document, datetime], str]:
    def cell(obj: Document, _now: datetime) -> str:
        return f"{at(obj, *ready, default=0)}/{at(obj, *wanted, default=0)}"

    return cell


def _count(*path: str) -> Callable[[Document, datetime], int]:
    def cell(obj: Document, _now: datetime) -> int:
        return len(at(obj, *path, default=()))

    return cell


def _balanced(obj: Document) -> list[str]:
    """Give the addresses of a load balancer, each once and in order."""
    found = at(obj, "status", "loadBalancer", "ingress", default=())
    return sorted({item.get("ip") or item.get("hostname") or "" for item in found} - {""})


def _external_address(obj: Document, _now: datetime) -> str:
    spec = obj["spec"]
    outside = spec.get("externalIPs") or []
    if spec.get("type") == "ExternalName":
        return spec.get("externalName") or NONE
    if spec.get("type") == "LoadBalancer":
        outside = _balanced(obj) + outside
        return ",".join(outside) or "<pending>"
    return ",".join(outside) or NONE


def _service_ports(obj: Document, _now: datetime) -> str:
    parts = []
    for port in obj["spec"].get("ports") or ():
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        parts.append(f"{port['port']}{outside}/{port.get('protocol', 'TCP')}")
    return ",".join(parts) or NONE


def _service_selector(obj: Document, _now: datetime) -> str:
    return labels_text(obj["spec"].get("selector"))


def _data_count(obj: Document, _now: datetime) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _job_status(obj: Document, _now: datetime) -> str:
    conditions = at(obj, "status", "conditions", default=())
    true = {item.get("type") for item in conditions if item.get("status") == "True"}
    if at(obj, "metadata", "deletionTimestamp"):
        true.add("Terminating")
    order = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((name for name in order if name in true), "Running")


def _job_completions(obj: Document, _now: datetime) -> str:
    done = at(obj, "status", "succeeded", default=0)
    wanted = at(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = at(obj, "spec", "parallelism", default=0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: Document, now: datetime) -> str:
    start, end = at(obj, "status", "startTime"), at(obj, "status", "completionTime")
    if start is None:
        return ""
    until = parse_time(end) if end else now
    return human_duration((until - parse_time(start)).total_seconds())


def _suspended(obj: Document, _now: datetime) -> str:
    value = at(obj, "spec", "suspend")
    return UNSET if value is None else str(value)


def _last_schedule(obj: Document, now: datetime) -> str:
    time = at(obj, "status", "lastScheduleTime")
    return age(time, now) if time else NONE


_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _access_modes(modes: Any) -> str:
    return ",".join(short for long, short in _MODES.items() if long in (modes or ()))


def _claim_status(obj: Document, _now: datetime) -> str:
    return "Terminating" if at(obj, "metadata", "deletionTimestamp") else at(obj, "status", "phase", default="")


def _claim_capacity(obj: Document, _now: datetime) -> str:
    bound = at(obj, "spec", "volumeName")
    text: str = at(obj, "status", "capacity", "storage", default="0") if bound else ""
    return text


def _claim_modes(obj: Document, _now: datetime) -> str:
    return _access_modes(at(obj, "status", "accessModes")) if at(obj, "spec", "volumeName") else ""


def _volume_modes(obj: Document, _now: datetime) -> str:
    return _access_modes(at(obj, "spec", "accessModes"))


def _volume_claim(obj: Document, _now: datetime) -> str:
    reference = at(obj, "spec", "claimRef")
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else ""


def _class_name(obj: Document, _now: datetime) -> str:
    is_default = at(obj, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
    return f"{obj['metadata']['name']} (default)" if is_default else str(obj["metadata"]["name"])


def _role(obj: Document, _now: datetime) -> str:
    reference = obj.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Callable[[Document, datetime], str]:
    def cell(obj: Document, _now: datetime) -> str:
        found = [item for item in obj.get("subjects") or () if item.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{item.get('namespace', '')}/{item['name']}" for item in found)
        return ", ".join(item["name"] for item in found)

    return cell


def _ingress_hosts(obj: Document, _now: datetime) -> str:
    hosts = [rule["host"] for rule in at(obj, "spec", "rules", default=()) if rule.get("host")]
    return shortened(hosts, "*")


def _ingress_address(obj: Document, _now: datetime) -> str:
    return ",".join(_balanced(obj))


def _ingress_ports(obj: Document, _now: datetime) -> str:
    return "80, 443" if at(obj, "spec", "tls") else "80"


def _event_time(obj: Document, now: datetime) -> str:
    series = at(obj, "series", "lastObservedTime")
    time = series or obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp") or obj.get("eventTime")
    return age(time, now)


def _event_first(obj: Document, now: datetime) -> str:
    return age(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"), now)


def _event_count(obj: Document, _now: datetime) -> int:
    count = at(obj, "series", "count") or obj.get("count") or obj.get("deprecatedCount")
    return int(count or 1)


def _about(obj: Document) -> Document:
    about: Document = obj.get("involvedObject") or obj.get("regarding") or {}
    return about


def _event_object(obj: Document, _now: datetime) -> str:
    about = _about(obj)
    kind = about.get("kind", "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _event_source(obj: Document, _now: datetime) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _event_message(obj: Document, _now: datetime) -> str:
    return (obj.get("message") or obj.get("note") or "").strip()


def _pod_selector(obj: Document, _now: datetime) -> str:
    return selector_text(at(obj, "spec", "podSelector"))


def _node_selector(obj: Document, _now: datetime) -> str:
    return labels_text(at(obj, *_TEMPLATE, "spec", "nodeSelector"))


def _either(key: str) -> Callable[[Document, datetime], str]:
    def cell(obj: Document, _now: datetime) -> str:
        value = at(obj, "spec", key)
        return "N/A" if value is None else str(value)

    return cell


_EVENT = (
    column("Last Seen", _event_time),
    column("Type", field("type")),
    column("Reason", field("reason")),
    column("Object", _event_object),
    column("Subobject", lambda obj, _: _about(obj).get("fieldPath", ""), wide=True),
    column("Source", _event_source, wide=True),
    column("Message", _event_message),
    column("First Seen", _event_first, wide=True),
    column("Count", _event_count, wide=True),
    Column("Name", name, format="name", description=NAME.description, priority=1),
)
_BINDING = (
    NAME,
    column("Role", _role),
    AGE,
    column("Users", _subjects("User"), wide=True),
    column("Groups", _subjects("Group"), wide=True),
    column("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)
_REPLICAS = (
    NAME,
    column("Desired", field("spec", "replicas", default=0), type_="integer"),
    column("Current", field("status", "replicas", default=0), type_="integer"),
    column("Ready", field("status", "readyReplicas", default=0), type_="integer"),
    AGE,
    *_WORKLOAD,
    _SELECTOR,
)
_RBAC = "rbac.authorization.k8s.io"
_COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): POD,
    ("", "Node"): NODE,
    ("", "ConfigMap"): (NAME, column("Data", _data_count), AGE),
    ("", "Secret"): (NAME, column("Type", field("type")), column("Data", _data_count), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "Namespace"): (NAME, column("Status", field("status", "phase")), AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Service"): (
        NAME,
        column("Type", field("spec", "type")),
        column("Cluster-IP", field("spec", "clusterIP", default=NONE)),
        column("External-IP", _external_address),
        column("Port(s)", _service_ports),
        AGE,
        column("Selector", _service_selector, wide=True),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        column("Status", _claim_status),
        column("Volume", field("spec", "volumeName")),
        column("Capacity", _claim_capacity),
        column("Access Modes", _claim_modes),
        column("StorageClass", field("spec", "storageClassName")),
        column("VolumeAttributesClass", field("spec", "volumeAttributesClassName", default=UNSET)),
        AGE,
        column("VolumeMode", field("spec", "volumeMode", default=UNSET), wide=True),
    ),
    ("", "PersistentVolume"): (
        NAME,
        column("Capacity", field("spec", "capacity", "storage")),
        column("Access Modes", _volume_modes),
        column("Reclaim Policy", field("spec", "persistentVolumeReclaimPolicy")),
        column("Status", _claim_status),
        column("Claim", _volume_claim),
        column("StorageClass", field("spec", "storageClassName")),
        column("VolumeAttributesClass", field("spec", "volumeAttributesClassName", default=UNSET)),
        column("Reason", field("status", "reason")),
        AGE,
        column("VolumeMode", field("spec", "volumeMode", default=UNSET), wide=True),
    ),
    ("", "ReplicationController"): (*_REPLICAS[:-1], column("Selector", _service_selector, wide=True)),
    ("apps", "ReplicaSet"): _REPLICAS,
    ("apps", "Deployment"): (
        NAME,
        column("Ready", _of(("status", "readyReplicas"), ("spec", "replicas"))),
        column("Up-to-date", field("status", "updatedReplicas", default=0)),
        column("Available", field("status", "availableReplicas", default=0)),
        AGE,
        *_WORKLOAD,
        _SELECTOR,
    ),
    ("apps", "StatefulSet"): (
        NAME,
        column("Ready", _of(("status", "readyReplicas"), ("spec", "replicas"))),
        AGE,
        *_WORKLOAD,
    ),
    ("apps", "DaemonSet"): (
        NAME,
        column("Desired", field("status", "desiredNumberScheduled", default=0), type_="integer"),
        column("Current", field("status", "currentNumberScheduled", default=0), type_="integer"),
        column("Ready", field("status", "numberReady", default=0), type_="integer"),
        column("Up-to-date", field("status", "updatedNumberScheduled", default=0), type_="integer"),
        column("Available", field("status", "numberAvailable", default=0), type_="integer"),
        column("Node Selector", _node_selector),
        AGE,
        *_WORKLOAD,
        _SELECTOR,
    ),
    ("batch", "Job"): (
        NAME,
        column("Status", _job_status),
        column("Completions", _job_completions),
        column("Duration", _job_duration),
        AGE,
        *_WORKLOAD,
        _SELECTOR,
    ),
    ("batch", "CronJob"): (
        NAME,
        column("Schedule", field("spec", "schedule")),
        column("Timezone", field("spec", "timeZone", default=NONE)),
        column("Suspend", _suspended, type_="boolean"),
        column("Active", _count("status", "active"), type_="integer"),
        column("Last Schedule", _last_schedule),
        AGE,
        column("Containers", containers("spec", "jobTemplate", *_TEMPLATE), wide=True),
        column("Images", images("spec", "jobTemplate", *_TEMPLATE), wide=True),
        column("Selector", selector("spec", "jobTemplate", "spec", "selector"), wide=True),
    ),
    ("storage.k8s.io", "StorageClass"): (
        Column("Name", _class_name, format="name", description=NAME.description),
        column("Provisioner", field("provisioner")),
        column("ReclaimPolicy", field("reclaimPolicy")),
        column("VolumeBindingMode", field("volumeBindingMode")),
        column("AllowVolumeExpansion", field("allowVolumeExpansion", default=False)),
        AGE,
    ),
    (_RBAC, "Role"): (NAME, CREATED_AT),
    (_RBAC, "ClusterRole"): (NAME, CREATED_AT),
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    ("networking.k8s.io", "Ingress"): (
        NAME,
        column("Class", field("spec", "ingressClassName", default=NONE)),
        column("Hosts", _ingress_hosts),
        column("Address", _ingress_address),
        column("Ports", _ingress_ports),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (NAME, column("Pod-Selector", _pod_selector), AGE),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        column("Min Available", _either("minAvailable")),
        column("Max Unavailable", _either("maxUnavailable")),
        column("Allowed Disruptions", field("status", "disruptionsAllowed", default=0), type_="integer"),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): (NAME, column("Holder", field("spec", "holderIdentity")), AGE),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        column("Value", field("value", default=0), type_="integer"),
        column("Global-Default", field("globalDefault", default=False), type_="boolean"),
        AGE,
        column("PreemptionPolicy", field("preemptionPolicy")),
    ),
    ("node.k8s.io", "RuntimeClass"): (NAME, column("Handler", field("handler")), AGE),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (NAME, CREATED_AT),
}


def builtin_columns(gvk: GroupVersionKind) -> tuple[Column, ...]:
    """Give the columns of a built-in kind; the others show when they were made."""
    key = (gvk.group, gvk.kind)
    return _COLUMNS.get(key) or OTHERS.get(key) or (NAME, CREATED_AT)
