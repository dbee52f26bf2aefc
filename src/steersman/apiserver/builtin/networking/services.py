"""Services: defaults, and what an update keeps of the old Service."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.networking.service_allocation import ServiceAllocation
from steersman.apiserver.builtin.networking.service_types import EXTERNAL_TYPES, is_external, needs_health_check
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject
from steersman.validation.object_meta import label_name_faults


def default_service(obj: JsonObject) -> None:
    """Set the defaults of a Service."""
    spec = obj["spec"]
    set_default(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        affinity = spec.get("sessionAffinityConfig") or {}
        if affinity.get("clientIP") is None:
            affinity["clientIP"] = {}
        set_default(affinity["clientIP"], timeoutSeconds=10800)
        spec["sessionAffinityConfig"] = affinity
    else:
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports") or ():
        set_default(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    if spec["type"] in EXTERNAL_TYPES or spec.get("externalIPs"):
        set_default(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", *EXTERNAL_TYPES):
        set_default(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        set_default(spec, allocateLoadBalancerNodePorts=True)


_ADDRESS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


class ServiceStrategy(BuiltinStrategy):
    """Services, whose addresses and node ports are assigned by the server."""

    answers_delete_with_object = True
    create_on_update = True
    hides = b'"type":"ExternalName"'

    def __init__(self, served: ServedKind, server: ServerContext) -> None:
        super().__init__(served, server)
        self._allocation = ServiceAllocation(server.objects)

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error unless the name is a DNS label."""
        return label_name_faults(name, prefix)

    def creates_on_update(self, subresource: str) -> bool:
        """Return whether an update creates a missing Service: one of the Service or of its status does."""
        return subresource in ("", "status")

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Assign address and node ports."""
        super().prepare_create(obj, subresource, context)
        if subresource:
            # An update of the status that creates the Service assigns no address.
            return
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        self._allocation.allocate(obj, None, context.randomness)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep addresses and node ports; assign or release them when the type changes."""
        super().prepare_update(obj, old, subresource, context)
        if subresource == "status":
            for ingress in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")
            return
        _sync_cluster_ips(obj["spec"], old["spec"])
        _keep_fields(obj["spec"], old["spec"])
        if obj["spec"]["type"] != "LoadBalancer":
            obj["status"] = {**(obj.get("status") or {}), "loadBalancer": {}}
        self._allocation.allocate(obj, old, context.randomness)

    def shown(self, obj: JsonObject) -> JsonObject:
        """Hide a field that an ExternalName Service may have kept from its former type."""
        if obj["spec"].get("type") == "ExternalName":
            obj["spec"].pop("internalTrafficPolicy", None)
        return obj

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return address and type."""
        return {"spec.clusterIP": obj["spec"].get("clusterIP", ""), "spec.type": obj["spec"].get("type", "")}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name, the namespace, the address or the type."""
        known = ("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type")
        return "" if label in known else f"field label not supported: {label}"


def _sync_cluster_ips(spec: JsonObject, old: JsonObject) -> None:
    """Update ``clusterIPs`` when only ``clusterIP`` changed, for clients that know only the latter."""
    own, before = spec.get("clusterIP") or "", old.get("clusterIP") or ""
    if own == before or (spec.get("clusterIPs") or []) != (old.get("clusterIPs") or []):
        if own and not spec.get("clusterIPs") and own != before:
            spec["clusterIPs"] = [own]
        return
    if not own:
        spec.pop("clusterIPs", None)
    else:
        spec["clusterIPs"] = [own, *(spec.get("clusterIPs") or ())[1:]]


def _keep_fields(spec: JsonObject, old: JsonObject) -> None:
    """Keep fields that the update leaves out, and remove those that the new type does not have."""
    if "ExternalName" not in (spec["type"], old["type"]):
        _keep_addresses(spec, old)
    elif spec["type"] == "ExternalName":
        for name in _ADDRESS:
            if spec.get(name) == old.get(name):
                spec.pop(name, None)
    if spec["type"] in EXTERNAL_TYPES:
        _keep_node_ports(spec, old)
    else:
        _remove_external_fields(spec, old)
    _keep_health_check_port(spec, old)


def _keep_addresses(spec: JsonObject, old: JsonObject) -> None:
    """Keep the addresses that an update leaves out."""
    if not spec.get("clusterIP") or spec.get("clusterIP") == old.get("clusterIP"):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and old.get(name):
                spec[name] = old[name]


def _keep_node_ports(spec: JsonObject, old: JsonObject) -> None:
    known = {(port["protocol"], port["port"]): port.get("nodePort") for port in old.get("ports") or ()}
    taken = {port.get("nodePort") for port in spec.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = known.get((port.get("protocol"), port.get("port")))
        if not port.get("nodePort") and number and number not in taken:
            port["nodePort"] = number
    if spec["type"] != "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") == old.get(
        "allocateLoadBalancerNodePorts"
    ):
        spec.pop("allocateLoadBalancerNodePorts", None)


def _keep_health_check_port(spec: JsonObject, old: JsonObject) -> None:
    number = old.get("healthCheckNodePort")
    if not number:
        return
    if needs_health_check(spec):
        spec.setdefault("healthCheckNodePort", number)
    elif spec.get("healthCheckNodePort") == number:
        del spec["healthCheckNodePort"]


def _remove_external_fields(spec: JsonObject, old: JsonObject) -> None:
    """Remove fields of externally reachable Services that the update did not change."""
    for name in ("externalTrafficPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass"):
        if spec.get(name) == old.get(name) and not (name == "externalTrafficPolicy" and is_external(spec)):
            spec.pop(name, None)
    for port, before in zip(spec.get("ports") or (), old.get("ports") or (), strict=False):
        if port.get("nodePort") == before.get("nodePort"):
            port.pop("nodePort", None)
