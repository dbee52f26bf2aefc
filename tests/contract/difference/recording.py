"""A scenario and the answers of the real server, in the format of the recordings that the replay reads."""

import json
from typing import Any

from tests.contract.difference.operation import Operation, at_pointer, uses
from tests.contract.difference.peers import Answer
from tests.contract.difference.scenario import Scenario


def recorded(scenario: Scenario, exchanges: list[tuple[Operation, Answer]]) -> dict[str, Any]:
    """Return a sequence of recorded steps."""
    positions = {operation.number: index for index, (operation, _) in enumerate(exchanges)}
    steps = [_step(operation, answer, positions) for operation, answer in exchanges]
    return {"name": scenario.name, "steps": steps}


def _step(operation: Operation, answer: Answer, positions: dict[int, int]) -> dict[str, Any]:
    step: dict[str, Any] = {
        "case": str(operation.number),
        "method": operation.method,
        "path": answer.path,
        "headers": {"User-Agent": "difference/1.0", "Accept": operation.accept},
        "status": answer.status,
        "warnings": answer.warnings,
        "response": answer.body,
    }
    if operation.body is not None:
        step["headers"]["Content-Type"] = operation.content_type
        is_text = isinstance(operation.body, str)
        step["bodyRaw" if is_text else "body"] = answer.sent.decode() if is_text else json.loads(answer.sent)
    if operation.until:
        step["watch"] = True
    if operation.serves:
        # The CRD was read again after it was served; the replay compares the answer to the write itself.
        step["response"] = None
    taken = {
        place: f"{positions[number]}:{pointer}"
        for place, (number, pointer) in uses(operation).items()
        if number in positions and (place.startswith("query:") or at_pointer(step.get("body"), place) is not None)
    }
    if taken:
        step["uses"] = taken
    return step
