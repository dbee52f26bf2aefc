"""Services: defaults, and what an update keeps of the old Service."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.networking.service_allocation import ServiceAllocation
from steersman.apiserver.builtin.networking.service_types import EXTERNAL_TYPES, is_external, needs_health_check
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.validation.object_meta import label_name_faults


def default_service(obj: Document) -> None:
    """Fill in a Service."""
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
    """The rules of Services."""

    answers_delete_with_object = True
    create_on_update = True
    hides = b'"type":"ExternalName"'

    def __init__(self, served: ServedKind, server: ServerContext) -> None:
        super().__init__(served, server)
        self._allocation = ServiceAllocation(server.objects, server.randomness)

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about a name that cannot stand in DNS."""
        return label_name_faults(name, prefix)

    def creates_on_update(self, subresource: str) -> bool:
        """Services are created by whoever updates them, even their status."""
        return subresource in ("", "status")

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Give a new Service its address and ports."""
        super().prepare_create(obj, subresource)
        if subresource:
            # Who writes the status of what is not there creates it without an address.
            return
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        self._allocation.allocate(obj, None)

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Keep addresses and ports, take or give them back when the type changes."""
        super().prepare_update(obj, old, subresource)
        if subresource == "status":
            for ingress in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")
            return
        _follow(obj["spec"], old["spec"])
        _carry(obj["spec"], old["spec"])
        if obj["spec"]["type"] != "LoadBalancer":
            obj["status"] = {**(obj.get("status") or {}), "loadBalancer": {}}
        self._allocation.allocate(obj, old)

    def shown(self, obj: Document) -> Document:
        """Hide what a Service that is a name of something outside may have kept from another type."""
        if obj["spec"].get("type") == "ExternalName":
            obj["spec"].pop("internalTrafficPolicy", None)
        return obj

    def fields(self, obj: Document) -> dict[str, str]:
        """Give what Services are selected by."""
        return {"spec.clusterIP": obj["spec"].get("clusterIP", ""), "spec.type": obj["spec"].get("type", "")}

    def field_label_error(self, label: str) -> str:
        """Services are selected by name, address and type."""
        known = ("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type")
        return "" if label in known else f"field label not supported: {label}"


def _follow(spec: Document, old: Document) -> None:
    """Let the list of addresses follow the one address that a client knows of."""
    own, before = spec.get("clusterIP") or "", old.get("clusterIP") or ""
    if own == before or (spec.get("clusterIPs") or []) != (old.get("clusterIPs") or []):
        if own and not spec.get("clusterIPs") and own != before:
            spec["clusterIPs"] = [own]
        return
    if not own:
        spec.pop("clusterIPs", None)
    else:
        spec["clusterIPs"] = [own, *(spec.get("clusterIPs") or ())[1:]]


def _carry(spec: Document, old: Document) -> None:
    """Keep what a Service has and its update leaves out; let go what its new type does not have."""
    if "ExternalName" not in (spec["type"], old["type"]):
        _carry_address(spec, old)
    elif spec["type"] == "ExternalName":
        for name in _ADDRESS:
            if spec.get(name) == old.get(name):
                spec.pop(name, None)
    if spec["type"] in EXTERNAL_TYPES:
        _carry_ports(spec, old)
    else:
        _let_go(spec, old)
    _carry_health_check(spec, old)


def _carry_address(spec: Document, old: Document) -> None:
    """Keep the address; families follow from it, and their policy from what was before."""
    if not spec.get("clusterIP") or spec.get("clusterIP") == old.get("clusterIP"):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and old.get(name):
                spec[name] = old[name]


def _carry_ports(spec: Document, old: Document) -> None:
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


def _carry_health_check(spec: Document, old: Document) -> None:
    number = old.get("healthCheckNodePort")
    if not number:
        return
    if needs_health_check(spec):
        spec.setdefault("healthCheckNodePort", number)
    elif spec.get("healthCheckNodePort") == number:
        del spec["healthCheckNodePort"]


def _let_go(spec: Document, old: Document) -> None:
    """Forget what only Services that are reached from outside have, unless the update sets it anew."""
    for name in ("externalTrafficPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass"):
        if spec.get(name) == old.get(name) and not (name == "externalTrafficPolicy" and is_external(spec)):
            spec.pop(name, None)
    for port, before in zip(spec.get("ports") or (), old.get("ports") or (), strict=False):
        if port.get("nodePort") == before.get("nodePort"):
            port.pop("nodePort", None)
