"""Allocation of addresses and node ports to Services: requested or chosen, kept until the Service is deleted.

The cluster has one address range of one IP family. Which addresses are taken is read from the stored Services, so there
is no second record that could disagree with them.
"""

import ipaddress
from collections.abc import Iterable

from steersman.apiserver.builtin.networking.service_addresses import address_field_errors
from steersman.apiserver.builtin.networking.service_types import EXTERNAL_TYPES, is_headless, needs_health_check
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal, internal_error
from steersman.apiserver.status import invalid as invalid_object
from steersman.apiserver.storage.record import Record
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.randomness import Randomness
from steersman.validation.field_errors import FieldError, invalid

_RANGE = ipaddress.IPv4Network("10.0.0.0/24")
#: Addresses from this one on are assigned; the ones before are left for Services that request a certain address.
_FIRST = 17
_PORTS = range(30000, 32768)
_FAMILY = "IPv4"
_BOTH = ("IPv4", "IPv6")
_POLICY = "spec.ipFamilyPolicy"
_TAKEN = "provided port is already allocated"
_DUAL = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"


class ServiceAllocation:
    """Assigns the addresses and node ports of Services, which must be unique."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        #: Cache by uid: version, addresses and ports of each Service, decoded again only when the version differs.
        self._known: dict[str, tuple[int, list[str], set[int]]] = {}

    def allocate(self, obj: JsonObject, old: JsonObject | None, randomness: Randomness) -> None:
        """Assign IP families, address and node ports; reject those that another Service has."""
        spec = obj["spec"]
        before = (old or {}).get("spec") or {}
        if spec.get("type") != "ExternalName":
            self._raise_if_any(obj, self._assign_families(spec, before))
        addresses, ports = self._allocated(obj["metadata"].get("uid", ""))
        if spec.get("type") != "ExternalName" and not is_headless(spec):
            self._allocate_address(obj, addresses, randomness, has_one=bool(before.get("clusterIPs")))
        if spec.get("type") in EXTERNAL_TYPES:
            self._allocate_ports(obj, ports, before, randomness)
        if needs_health_check(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = self._free_port(ports, randomness)

    @staticmethod
    def _raise_if_any(obj: JsonObject, errors: list[FieldError]) -> None:
        if errors:
            raise _invalid_service(obj, errors)

    def _allocated(self, besides: str) -> tuple[set[str], set[int]]:
        """Return the addresses and ports of all other Services."""
        addresses: set[str] = set()
        ports: set[int] = set()
        known: dict[str, tuple[int, list[str], set[int]]] = {}
        for record in self._objects.records_of("services"):
            held = self._known.get(record.uid)
            if held is None or held[0] != record.version:
                held = _allocations_of(record)
            known[record.uid] = held
            if record.uid != besides:
                addresses.update(held[1])
                ports.update(held[2])
        self._known = known
        return addresses, ports

    def _assign_families(self, spec: JsonObject, before: JsonObject) -> list[FieldError]:
        """Set the IP families and their policy; return errors where the cluster cannot provide them."""
        bare = is_headless(spec) and not spec.get("selector")
        if not spec.get("ipFamilyPolicy"):
            spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or ("RequireDualStack" if bare else "SingleStack")
        errors = address_field_errors(spec) or _stack_errors(spec)
        if errors:
            return errors
        families = spec.get("ipFamilies") or []
        if bare:
            families = families or [_FAMILY]
            if len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
                families = [*families, next(family for family in _BOTH if family not in families)]
            spec["ipFamilies"] = families
            return []
        errors = _cluster_errors(spec, families)
        spec["ipFamilies"] = families or [_FAMILY]
        return errors

    def _allocate_address(self, obj: JsonObject, taken: set[str], randomness: Randomness, *, has_one: bool) -> None:
        spec = obj["spec"]
        wanted = next(iter(spec.get("clusterIPs") or ()), "")
        if not wanted:
            wanted = self._free_address(obj, taken, randomness)
        elif not has_one:
            why = _address_fault(wanted, taken)
            if why:
                text = f"failed to allocate IP {wanted}: {why}"
                raise _invalid_service(obj, [invalid("spec.clusterIPs", spec["clusterIPs"], text)])
        spec["clusterIP"], spec["clusterIPs"] = wanted, [wanted, *(spec.get("clusterIPs") or ())[1:]]

    def _free_address(self, obj: JsonObject, taken: set[str], randomness: Randomness) -> str:
        hosts = [str(address) for address in _RANGE.hosts()][_FIRST - 1 :]
        free = [address for address in hosts if address not in taken]
        if not free:
            name = obj["metadata"].get("name", "")
            raise internal_error(f'failed to allocate a serviceIP for Service "{name}": range is full')
        return free[int(randomness.between(0, len(free) - 0.001))]

    def _allocate_ports(self, obj: JsonObject, taken: set[int], before: JsonObject, randomness: Randomness) -> None:
        spec = obj["spec"]
        ports = spec.get("ports") or []
        own = {port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
        gives = spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
        #: Port → node port: ports of a new Service with the same number but different protocols share a node port.
        given: dict[int, int] = {}
        for index, port in enumerate(ports):
            number = port.get("nodePort") or 0
            if number and number not in own and number != given.get(port.get("port", 0)):
                why = _port_fault(number, taken)
                if why:
                    raise _invalid_service(obj, [invalid(f"spec.ports[{index}].nodePort", number, why)])
            if number:
                taken.add(number)
                given.setdefault(port.get("port", 0), number)
        for port in ports:
            if not port.get("nodePort") and gives:
                shared = 0 if before else given.get(port.get("port", 0))
                number = shared or self._free_port(taken, randomness)
                given[port.get("port", 0)] = port["nodePort"] = number

    def _free_port(self, taken: set[int], randomness: Randomness) -> int:
        start = int(randomness.between(_PORTS.start, _PORTS.stop - 1))
        for offset in range(len(_PORTS)):
            number = _PORTS.start + (start - _PORTS.start + offset) % len(_PORTS)
            if number not in taken:
                taken.add(number)
                return number
        raise internal_error("failed to allocate a nodePort: range is full")


def _allocations_of(record: Record) -> tuple[int, list[str], set[int]]:
    spec: JsonObject = decode_json(record.raw)["spec"]
    ports = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    if spec.get("healthCheckNodePort"):
        ports.add(spec["healthCheckNodePort"])
    return record.version, list(spec.get("clusterIPs") or ()), ports


def _stack_errors(spec: JsonObject) -> list[FieldError]:
    policy = spec["ipFamilyPolicy"]
    if policy != "SingleStack":
        return []
    named = (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
    return [
        invalid(_POLICY, policy, _DUAL.format(what))
        for field, what in named
        if len(spec.get(field) or ()) == len(_BOTH)
    ]


def _cluster_errors(spec: JsonObject, families: Iterable[str]) -> list[FieldError]:
    errors = []
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        errors.append(invalid(_POLICY, spec["ipFamilyPolicy"], text))
    errors += [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family != _FAMILY
    ]
    return errors


def _address_fault(address: str, taken: set[str]) -> str:
    parsed = ipaddress.ip_address(address)
    if parsed not in _RANGE or parsed in (_RANGE.network_address, _RANGE.broadcast_address):
        return "the provided network does not match the current range"
    return "provided IP is already allocated" if address in taken else ""


def _port_fault(number: int, taken: set[int]) -> str:
    if number not in _PORTS:
        return f"provided port is not in the valid range. The range of valid ports is {_PORTS.start}-{_PORTS.stop - 1}"
    return _TAKEN if number in taken else ""


def _invalid_service(obj: JsonObject, errors: list[FieldError]) -> Refusal:
    return invalid_object("Service", "", obj["metadata"].get("name", ""), errors)
