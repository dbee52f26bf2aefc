"""The downward API: fields of the pod and its node for its containers. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING

from steersman.golang.text import quoted
from steersman.kinds.core_v1 import Container, Pod, ResourceFieldSelector
from steersman.localcluster.process_node.containers.problem import SourceError
from steersman.objects.quantity import Quantity

_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the node knows besides the pod itself."""

    pod_ip: str
    host_ip: str
    #: Resources of a container without limits.
    capacity: Mapping[str, str]


_FIELDS: dict[str, Callable[[Pod, NodeFacts], str]] = {
    "metadata.name": lambda pod, _: pod.name,
    "metadata.namespace": lambda pod, _: pod.namespace,
    "metadata.uid": lambda pod, _: pod.uid,
    "metadata.labels": lambda pod, _: _lines(pod.metadata.labels),
    "metadata.annotations": lambda pod, _: _lines(pod.metadata.annotations),
    "spec.nodeName": lambda pod, _: pod.spec.node_name or "",
    "spec.serviceAccountName": lambda pod, _: pod.spec.service_account_name or "",
    "status.hostIP": lambda _, facts: facts.host_ip,
    "status.hostIPs": lambda _, facts: facts.host_ip,
    "status.podIP": lambda _, facts: facts.pod_ip,
    "status.podIPs": lambda _, facts: facts.pod_ip,
}


def field_value(path: str, pod: Pod, facts: NodeFacts) -> str:
    """Return a field of the pod as text."""
    if keyed := _KEYED.fullmatch(path):
        values = pod.metadata.labels if keyed[1] == "labels" else pod.metadata.annotations
        return values.get(keyed[2], "")
    if path not in _FIELDS:
        raise SourceError(f"unsupported fieldPath {path}: known are {', '.join(_FIELDS)}")
    return _FIELDS[path](pod, facts)


def resource_value(selector: ResourceFieldSelector, container: Container, facts: NodeFacts) -> str:
    """Return a limit or request of a container as a whole number of its divisor, rounded up."""
    bound, _, resource = selector.resource.partition(".")
    resources = container.resources
    limits = (resources.limits if resources else None) or {}
    requests = (resources.requests if resources else None) or {}
    default = limits.get(resource, Quantity(facts.capacity.get(resource, "0")))
    amount = default if bound == "limits" else requests.get(resource, limits.get(resource, Quantity("0")))
    divisor = selector.divisor.value if selector.divisor is not None else 0
    return str(int((amount.value / (divisor or 1)).to_integral_value(ROUND_CEILING)))


def _lines(values: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={quoted(value)}" for key, value in sorted(values.items()))
