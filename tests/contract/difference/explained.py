"""Differences of random operations that are known and accepted, each with its reason. They are counted, not printed."""

import re

from tests.contract.difference.operation import Operation

#: Pattern of the path of an operation, pattern of a difference → why it is accepted.
REASONS: dict[tuple[str, str], str] = {
    (r"", r"cannot unmarshal .* of type (\[\])?v\d\w*\.\w+', got .*of type (\[\])?string'"): (
        "a decoder's complaint about a wrong type names Go's own word for a kind of text, such as v1.PolicyType"
    ),
    (r"/things/", r"invalid data, expected .* evaluating rule"): (
        "a value that was stored before its schema gave it another type is refused here where its own type has rules, "
        "and there where a rule looks at it"
    ),
    (
        r"/daemonsets/",
        r"^/metadata/annotations: missing, recorded \{'deprecated.daemonset.template.generation': '0'\}",
    ): (
        "a delete that is only tried, and would take the last finalizer away, is answered with an empty object, which "
        "has the annotation there that every DaemonSet gets when it is written"
    ),
    (r"/networkpolicies/", r"^/metadata/managedFields/\d+/fieldsV1/f:spec/f:(in|e)gress: "): (
        "an empty list that is written inside a rule is not stored, but makes its writer the owner of all rules there"
    ),
}


def reason_of(operation: Operation, texts: list[str]) -> str:
    """Return why a difference is accepted, or an empty text."""
    if texts[0].startswith(("status: ", "/message: ")):
        # All other differences follow from it.
        texts = texts[:1]
    for (path, pattern), reason in REASONS.items():
        if re.search(path, operation.path) and all(re.search(pattern, text) for text in texts):
            return reason
    return ""
