"""FlowSchemas: defaults."""

from steersman.json_types import JsonObject


def default_flow_schema(obj: JsonObject) -> None:
    """Set the defaults of a FlowSchema."""
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000
