"""Validation of a Service's cluster addresses and IP families.

Allocation applies these rules before it assigns an address, and validation repeats them for the result. That the
addresses of a Service cannot change later is a rule of ``service_validation``.
"""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.names import address_errors, parsed_address
from steersman.apiserver.builtin.networking.service_types import HEADLESS_ADDRESS, is_headless
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, invalid, not_supported, required

ADDRESSES = "spec.clusterIPs"
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MOST_ADDRESSES = 2


def address_field_errors(spec: JsonObject) -> Errors:
    """Validate addresses, IP families and their policy: each alone, and against each other."""
    if spec.get("type") == "ExternalName":
        return []
    own, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    errors: Errors = []
    if own and not addresses:
        errors.append(required(ADDRESSES))
    elif own and addresses[0] != own:
        errors.append(invalid(ADDRESSES, addresses, "first value must match `clusterIP`"))
    elif addresses and not own:
        errors.append(invalid(ADDRESSES, addresses, "must be empty when `clusterIP` is not specified"))
    errors += _family_errors(spec)
    bad = _address_value_errors(addresses)
    errors += bad
    if len(addresses) > _MOST_ADDRESSES:
        errors.append(invalid(ADDRESSES, addresses, "may only hold up to 2 values"))
    return errors if bad else errors + _address_family_errors(spec, addresses)


def _family_errors(spec: JsonObject) -> Errors:
    errors: Errors = []
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES))
        if family in families[:index]:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    return errors


def _address_value_errors(addresses: Sequence[str]) -> Errors:
    errors: Errors = []
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS_ADDRESS:
            if len(addresses) > 1:
                errors.append(invalid(ADDRESSES, addresses, "'None' must be the first and only value"))
            continue
        errors += address_errors(address, f"{ADDRESSES}[{index}]")
    return errors


def _address_family_errors(spec: JsonObject, addresses: Sequence[str]) -> Errors:
    if is_headless(spec):
        return []
    versions = [_family_of(address) for address in addresses]
    errors: Errors = []
    if len(versions) > 1 and len(set(versions)) == 1:
        text = "may specify no more than one IP for each IP family"
        errors.append(invalid(ADDRESSES, addresses, text))
    for index, (address, family) in enumerate(zip(addresses, spec.get("ipFamilies") or (), strict=False)):
        if family in _FAMILIES and family != versions[index]:
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"{ADDRESSES}[{index}]", address, text))
    return errors


def _family_of(address: str) -> str:
    parsed = parsed_address(address)
    return f"IPv{parsed.version}" if parsed is not None else ""
