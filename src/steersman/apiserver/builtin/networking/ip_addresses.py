"""IPAddresses, whose names are addresses: strategy and validation."""

import ipaddress
import re

from steersman.apiserver.builtin.common.names import ADDRESS_RULE, parsed_address
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required

_LEADING_ZERO = re.compile(r"(?:^|\.)0\d")


class IPAddressStrategy(BuiltinStrategy):
    """IPAddresses."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error unless the name is an address in canonical form."""
        del prefix
        address = parsed_address(name)
        if address is not None and str(address) == name:
            return []
        if address is not None:
            return [f'must be in canonical form ("{address}")']
        return ["must not have leading 0s"] if _has_leading_zero(name) else [ADDRESS_RULE]


def _has_leading_zero(name: str) -> bool:
    if not _LEADING_ZERO.search(name):
        return False
    try:
        ipaddress.IPv4Address(re.sub(r"(^|\.)0+(?=\d)", r"\1", name))
    except ValueError:
        return False
    return True


def ip_address_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate an IPAddress."""
    del subresource
    parent = (obj.get("spec") or {}).get("parentRef")
    if parent is None:
        return [required("spec.parentRef")]
    errors: Errors = [required(f"spec.parentRef.{name}") for name in ("resource", "name") if not parent.get(name)]
    before = None if old is None else (old.get("spec") or {}).get("parentRef")
    if old is not None and not same_content(parent, before):
        errors.append(invalid("spec.parentRef", parent, "field is immutable"))
    return errors
