"""Services: addresses and ports out of a range, kept until the Service goes."""

from typing import Any

from steersman.apiserver.ledger import Ledger
from steersman.apiserver.status import Refusal, internal_error
from steersman.apiserver.strategies.base import BuiltinStrategy
from steersman.apiserver.strategy import Document, Verdict
from steersman.objects.codec import decode_json
from steersman.randomness import Randomness
from steersman.schema.field_errors import FieldError, invalid
from steersman.schema.names import dns1035_faults

_PREFIX = "10.0.0."
#: Addresses from here on are handed out; those before are for Services that name theirs.
_FIRST, _LAST = 17, 254
_PORTS = range(30000, 32768)
_NONE = "None"


class ServiceStrategy(BuiltinStrategy):
    """The rules of Services."""

    answers_delete_with_object = True
    create_on_update = True
    ledger: Ledger
    randomness: Randomness

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about a name that cannot stand in DNS."""
        return dns1035_faults(name[:-1] + "a" if prefix and name.endswith("-") else name)

    def _taken(self, besides: str) -> tuple[set[str], set[int]]:
        """Give the addresses and ports that other Services have."""
        addresses: set[str] = set()
        ports: set[int] = set()
        for record in self.ledger.records_of("services"):
            if record.uid == besides:
                continue
            spec: Document = decode_json(record.raw)["spec"]
            addresses.update(spec.get("clusterIPs") or ())
            ports.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
        return addresses, ports

    def prepare_create(self, obj: Document) -> None:
        """Give a new Service its address and ports."""
        super().prepare_create(obj)
        self._allocate(obj, None)

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Keep addresses and ports, take or give them back when the type changes."""
        super().prepare_update(obj, old, subresource)
        if subresource == "status":
            for ingress in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")
        if subresource == "":
            _carry(obj["spec"], old["spec"])
            self._allocate(obj, old)

    def _allocate(self, obj: Document, old: Document | None) -> None:
        spec = obj["spec"]
        if spec["type"] == "ExternalName":
            return
        addresses, ports = self._taken(obj["metadata"].get("uid", ""))
        self._allocate_address(obj, spec, addresses, old)
        if spec["type"] in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts", True):
            self._allocate_ports(spec, ports)

    def _allocate_address(self, obj: Document, spec: Document, taken: set[str], old: Document | None) -> None:
        wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
        if wanted == _NONE:
            spec["clusterIP"], spec["clusterIPs"] = _NONE, [_NONE]
            if not spec.get("selector") and not spec.get("ipFamilyPolicy"):
                spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
                spec["ipFamilyPolicy"] = "RequireDualStack"
        elif not wanted:
            wanted = self._free_address(taken)
        elif wanted in taken:
            raise _already_allocated(obj, wanted)
        del old
        if wanted != _NONE:
            spec["clusterIP"], spec["clusterIPs"] = wanted, [wanted]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")

    def _free_address(self, taken: set[str]) -> str:
        free = [f"{_PREFIX}{number}" for number in range(_FIRST, _LAST + 1) if f"{_PREFIX}{number}" not in taken]
        if not free:
            raise internal_error("failed to allocate a serviceIP: range is full")
        return free[int(self.randomness.between(0, len(free) - 0.001))]

    def _allocate_ports(self, spec: Document, taken: set[int]) -> None:
        given: dict[int, int] = {}
        for port in spec.get("ports") or ():
            if port.get("nodePort"):
                taken.add(port["nodePort"])
                given.setdefault(port["port"], port["nodePort"])
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                # The same port over TCP and UDP gets one number.
                number = given.get(port["port"]) or self._free_port(taken)
                taken.add(number)
                given[port["port"]] = number
                port["nodePort"] = number

    def _free_port(self, taken: set[int]) -> int:
        start = int(self.randomness.between(_PORTS.start, _PORTS.stop - 1))
        for offset in range(len(_PORTS)):
            number = _PORTS.start + (start - _PORTS.start + offset) % len(_PORTS)
            if number not in taken:
                return number
        raise internal_error("failed to allocate a nodePort: range is full")

    def check(self, obj: Document, old: Document | None, subresource: str) -> Verdict:
        """Judge a Service: its address stays once it has one."""
        verdict = super().check(obj, old, subresource)
        errors = list(verdict.errors)
        if old is not None and subresource == "":
            errors += _address_errors(obj["spec"], old["spec"])
        warnings = list(verdict.warnings)
        if obj["spec"].get("trafficDistribution") == "PreferClose":
            warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
        return Verdict(errors, warnings)

    def fields(self, obj: Document) -> dict[str, str]:
        """Give what Services are selected by."""
        return {"spec.clusterIP": obj["spec"].get("clusterIP", ""), "spec.type": obj["spec"].get("type", "")}

    def field_label_error(self, label: str) -> str:
        """Services are selected by name, address and type."""
        known = ("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type")
        return "" if label in known else f"field label not supported: {label}"


_ADDRESS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def _carry(spec: Document, old: Document) -> None:
    """Keep what a Service has and its update leaves out; let go what its new type does not have."""
    if "ExternalName" not in (spec["type"], old["type"]):
        names = _ADDRESS if not spec.get("clusterIP") else _ADDRESS[2:]
        for name in names:
            if not spec.get(name) and old.get(name):
                spec[name] = old[name]
    elif spec["type"] == "ExternalName":
        for name in (*_ADDRESS, "internalTrafficPolicy"):
            if spec.get(name) == old.get(name):
                spec.pop(name, None)
    if spec["type"] in ("NodePort", "LoadBalancer"):
        _carry_ports(spec, old)
    else:
        _let_go(spec, old)


def _carry_ports(spec: Document, old: Document) -> None:
    known = {(port["protocol"], port["port"]): port.get("nodePort") for port in old.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = known.get((port["protocol"], port["port"]))
        if not port.get("nodePort") and number:
            port["nodePort"] = number


def _let_go(spec: Document, old: Document) -> None:
    """Forget what only Services that are reached from outside have, unless the update sets it anew."""
    for name in ("externalTrafficPolicy", "allocateLoadBalancerNodePorts"):
        if spec.get(name) == old.get(name) and not (name == "externalTrafficPolicy" and spec.get("externalIPs")):
            spec.pop(name, None)
    for port, before in zip(spec.get("ports") or (), old.get("ports") or (), strict=False):
        if port.get("nodePort") == before.get("nodePort"):
            port.pop("nodePort", None)


def _address_errors(spec: Document, old: Document) -> list[FieldError]:
    if "ExternalName" in (spec["type"], old["type"]):
        return []
    before, after = old.get("clusterIPs") or [], spec.get("clusterIPs") or []
    if before and before[0] and (not after or after[0] != before[0]):
        return [invalid("spec.clusterIPs[0]", after or None, "may not change once set")]
    return []


def _already_allocated(obj: Document, address: str) -> Refusal:
    from steersman.apiserver.status import invalid as refuse  # noqa: PLC0415 - the field's name is taken above

    why = f"failed to allocate IP {address}: provided IP is already allocated"
    error: Any = invalid("spec.clusterIPs", [address], why)
    return refuse("Service", "", obj["metadata"]["name"], [error])
