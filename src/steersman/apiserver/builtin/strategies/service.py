"""Services: what an update keeps, and what it lets go with its type."""

from steersman.apiserver.builtin.strategies.base import BuiltinStrategy
from steersman.apiserver.builtin.strategies.service_allocation import ServiceAllocation
from steersman.apiserver.builtin.validation.services import is_open, needs_health_check
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.resources.strategy import Document
from steersman.validation.object_meta import label_name_faults

_ADDRESS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_OPEN = ("NodePort", "LoadBalancer")


class ServiceStrategy(BuiltinStrategy):
    """The rules of Services."""

    answers_delete_with_object = True
    create_on_update = True
    hides = b'"type":"ExternalName"'
    allocation: ServiceAllocation

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about a name that cannot stand in DNS."""
        return label_name_faults(name, prefix)

    def creates_on_update(self, subresource: str) -> bool:
        """Services are created by whoever updates them, even their status."""
        return subresource in ("", "status")

    def prepare_create(self, obj: Document, subresource: str, context: RequestContext) -> None:
        """Give a new Service its address and ports."""
        super().prepare_create(obj, subresource, context)
        if subresource:
            # Who writes the status of what is not there creates it without an address.
            return
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        self.allocation.allocate(obj, None, context.randomness)

    def prepare_update(self, obj: Document, old: Document, subresource: str, context: RequestContext) -> None:
        """Keep addresses and ports, take or give them back when the type changes."""
        super().prepare_update(obj, old, subresource, context)
        if subresource == "status":
            for ingress in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")
            return
        _follow(obj["spec"], old["spec"])
        _carry(obj["spec"], old["spec"])
        if obj["spec"]["type"] != "LoadBalancer":
            obj["status"] = {**(obj.get("status") or {}), "loadBalancer": {}}
        self.allocation.allocate(obj, old, context.randomness)

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
    if spec["type"] in _OPEN:
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
        if spec.get(name) == old.get(name) and not (name == "externalTrafficPolicy" and is_open(spec)):
            spec.pop(name, None)
    for port, before in zip(spec.get("ports") or (), old.get("ports") or (), strict=False):
        if port.get("nodePort") == before.get("nodePort"):
            port.pop("nodePort", None)
