"""NetworkPolicies: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject


def default_network_policy(obj: JsonObject) -> None:
    """Set the defaults of a NetworkPolicy."""
    spec = obj["spec"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                set_default(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


class NetworkPolicyStrategy(BuiltinStrategy):
    """NetworkPolicies, whose generation counts every difference of the spec."""

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return whether the spec changed, counting empty and absent as different."""
        return not json_equal(obj.get("spec"), old.get("spec"))
