"""FlowSchemas and PriorityLevelConfigurations: defaults."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.json_types import JsonObject

_SHARES = 30
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def default_flow_schema(obj: JsonObject) -> None:
    """Set the defaults of a FlowSchema."""
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000


def default_priority_level(obj: JsonObject) -> None:
    """Set the defaults of a PriorityLevelConfiguration; zero queues are none, too."""
    spec = obj["spec"]
    if spec.get("type") == "Exempt":
        set_default(spec, exempt={})
        set_default(spec["exempt"], nominalConcurrencyShares=0, lendablePercent=0)
    limited = spec.get("limited")
    if limited is None:
        return
    set_default(limited, nominalConcurrencyShares=_SHARES, lendablePercent=0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        for name, value in _QUEUING.items():
            queuing[name] = queuing.get(name) or value
