"""Where the pods of a Service can be reached: the contents of EndpointSlices and Endpoints. Pure."""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steersman.kinds import core_v1, discovery_v1
from steersman.kinds.core_v1 import Pod, Service, ServicePort
from steersman.localcluster.workloads.pods import is_finished, is_ready
from steersman.localcluster.workloads.template_hash import safe_text
from steersman.objects.meta import ObjectMeta

#: How many addresses a slice has at most.
SLICE_SIZE = 100
HEADLESS = "service.kubernetes.io/headless"
_NAME, _MANAGER = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
_ENDPOINTS_MANAGER = "endpoints.kubernetes.io/managed-by"


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a pod under the name that the Service gives it."""

    name: str
    number: int
    protocol: str
    app_protocol: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """Pods whose ports have the same numbers."""

    ports: tuple[Port, ...]
    pods: tuple[Pod, ...]


def selects(service: Service, pod: Pod) -> bool:
    """Return whether a Service leads to a pod; without a selector it leads to none."""
    selector = service.spec.selector or {}
    return bool(selector) and service.spec.type != "ExternalName" and selector.items() <= pod.labels.items()


def groups(service: Service, pods: Iterable[Pod]) -> list[Group]:
    """Return the reachable pods grouped by the ports that they have for the Service, in a fixed order."""
    found: dict[tuple[Port, ...], list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: pod.name):
        if not is_finished(pod) and _is_reachable(pod):
            found.setdefault(ports_of(service, pod), []).append(pod)
    return [Group(ports, tuple(found[ports])) for ports in sorted(found, key=str)]


def _is_reachable(pod: Pod) -> bool:
    """Return whether a pod has a valid endpoint address: API servers reject the loopback ones of a process node."""
    return bool(pod.status.pod_ip) and not ipaddress.ip_address(pod.status.pod_ip or "").is_loopback


def ports_of(service: Service, pod: Pod) -> tuple[Port, ...]:
    """Return the ports of a pod that a Service selects, without those that it does not have."""
    ports = []
    for port in service.spec.ports or ():
        number = _number(port, pod)
        if number is not None:
            ports.append(Port(port.name or "", number, port.protocol or "TCP", port.app_protocol))
    return tuple(ports)


def _number(port: ServicePort, pod: Pod) -> int | None:
    target = port.target_port if port.target_port not in (None, "") else port.port
    if isinstance(target, int):
        return target or port.port
    for container in pod.spec.containers:
        for one in container.ports or ():
            if one.name == target and (one.protocol or "TCP") == (port.protocol or "TCP"):
                return one.container_port
    return None


def is_headless(service: Service) -> bool:
    """Return whether a Service has no cluster IP."""
    return service.spec.cluster_ip == "None"


def _labels(service: Service) -> dict[str, str]:
    return {**service.labels, **({HEADLESS: ""} if is_headless(service) else {})}


def slices_of(service: Service, found: Sequence[Group]) -> list[discovery_v1.EndpointSlice]:
    """Return the EndpointSlices of a Service; an empty one if there is nothing to reach."""
    labels = {
        **_labels(service),
        _NAME: service.name,
        _MANAGER: "endpointslice-controller.k8s.io",
    }
    contents = [
        (group.ports, group.pods[start : start + SLICE_SIZE])
        for group in found
        for start in range(0, len(group.pods), SLICE_SIZE)
    ]
    made = []
    for number, (ports, pods) in enumerate(contents or [((), ())]):
        name = f"{service.name}-{safe_text(f'{number:05d}')}"
        made.append(
            discovery_v1.EndpointSlice(
                ObjectMeta(name, labels=labels),
                address_type="IPv4",
                ports=[_slice_port(port) for port in sorted(ports, key=lambda port: port.name)],
                endpoints=[_endpoint(service, pod) for pod in pods],
            )
        )
    return made


def _slice_port(port: Port) -> discovery_v1.EndpointPort:
    return discovery_v1.EndpointPort(
        name=port.name, port=port.number, protocol=port.protocol, app_protocol=port.app_protocol
    )


def _endpoint(service: Service, pod: Pod) -> discovery_v1.Endpoint:
    serving = is_ready(pod)
    published = bool(service.spec.publish_not_ready_addresses)
    return discovery_v1.Endpoint(
        addresses=[pod.status.pod_ip or ""],
        conditions=discovery_v1.EndpointConditions(
            ready=published or (serving and not pod.is_deleting), serving=serving, terminating=pod.is_deleting
        ),
        hostname=_hostname(service, pod),
        node_name=pod.spec.node_name,
        target_ref=_target(pod),
    )


def _hostname(service: Service, pod: Pod) -> str | None:
    """Return the name under which a pod is found in its Service, if it asks for one."""
    return pod.spec.hostname if pod.spec.hostname and pod.spec.subdomain == service.name else None


def _target(pod: Pod) -> core_v1.ObjectReference:
    return core_v1.ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid)


def endpoints_of(service: Service, found: Sequence[Group]) -> core_v1.Endpoints:
    """Return the same as Endpoints, for clients of the older API."""
    published = bool(service.spec.publish_not_ready_addresses)
    subsets = []
    for group in found:
        pods = [pod for pod in group.pods if published or not pod.is_deleting]
        ready = [_address(service, pod) for pod in pods if published or is_ready(pod)]
        others = [_address(service, pod) for pod in pods if not (published or is_ready(pod))]
        if pods and (group.ports or is_headless(service)):
            subsets.append(
                core_v1.EndpointSubset(
                    addresses=ready or None,
                    not_ready_addresses=others or None,
                    ports=[_endpoints_port(port) for port in group.ports] or None,
                )
            )
    labels = {**_labels(service), _ENDPOINTS_MANAGER: "endpoint-controller"}
    return core_v1.Endpoints(ObjectMeta(service.name, labels=labels), subsets=subsets or None)


def _endpoints_port(port: Port) -> core_v1.EndpointPort:
    return core_v1.EndpointPort(
        name=port.name or None, port=port.number, protocol=port.protocol, app_protocol=port.app_protocol
    )


def _address(service: Service, pod: Pod) -> core_v1.EndpointAddress:
    return core_v1.EndpointAddress(
        ip=pod.status.pod_ip or "",
        hostname=_hostname(service, pod),
        node_name=pod.spec.node_name,
        target_ref=_target(pod),
    )
