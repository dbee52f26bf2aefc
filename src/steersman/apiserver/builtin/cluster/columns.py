"""Columns of Namespaces, Nodes and the classes that pods name."""

from datetime import datetime
from typing import Any

from steersman.apiserver.builtin.common.cells import AGE, NONE, at, column, created, field
from steersman.apiserver.resources.columns import NAME, Column
from steersman.json_types import JsonObject


def _node_status(obj: JsonObject, _now: datetime) -> str:
    ready = next((item for item in at(obj, "status", "conditions", default=()) if item["type"] == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if at(obj, "spec", "unschedulable") else word


def _roles(obj: JsonObject, _now: datetime) -> str:
    labels = at(obj, "metadata", "labels", default={})
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE


def _node_address(kind: str) -> Any:
    def cell(obj: JsonObject, _now: datetime) -> str:
        found = (item["address"] for item in at(obj, "status", "addresses", default=()) if item["type"] == kind)
        return next(found, NONE)

    return cell


def _kernel(obj: JsonObject, _now: datetime) -> str:
    info = at(obj, "status", "nodeInfo", default={})
    if not info.get("kernelVersion"):
        return "<unknown>"
    architecture = info.get("architecture")
    return f"{info['kernelVersion']} ({architecture})" if architecture else str(info["kernelVersion"])


def _info(key: str) -> Any:
    def cell(obj: JsonObject, _now: datetime) -> str:
        return at(obj, "status", "nodeInfo", key) or "<unknown>"

    return cell


NODE: tuple[Column, ...] = (
    NAME,
    column("Status", _node_status),
    column("Roles", _roles),
    column("Age", created),
    column("Version", field("status", "nodeInfo", "kubeletVersion")),
    column("Internal-IP", _node_address("InternalIP"), wide=True),
    column("External-IP", _node_address("ExternalIP"), wide=True),
    column("OS-Image", _info("osImage"), wide=True),
    column("Kernel-Version", _kernel, wide=True),
    column("Container-Runtime", _info("containerRuntimeVersion"), wide=True),
)
NAMESPACE = (NAME, column("Status", field("status", "phase")), AGE)
PRIORITY_CLASS = (
    NAME,
    column("Value", field("value", default=0), type_="integer"),
    column("Global-Default", field("globalDefault", default=False), type_="boolean"),
    AGE,
    column("PreemptionPolicy", field("preemptionPolicy")),
)
RUNTIME_CLASS = (NAME, column("Handler", field("handler")), AGE)
COMPONENT_STATUS = (NAME, *(column(title, field()) for title in ("Status", "Message", "Error")))
