"""FlowSchemas: defaults."""

from steersman.apiserver.builtin.common.documents import Document


def default_flow_schema(obj: Document) -> None:
    """Set the defaults of a FlowSchema."""
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000
