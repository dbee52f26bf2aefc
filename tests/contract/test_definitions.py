"""The recorded CRDs that only a complete server can answer: with its store, registry and controller."""

import json
from typing import Any

import pytest

from steersman.apiserver.server import ApiServer
from steersman.protocol.http import Request, Response
from tests.support.fake_exchange import FakeExchange
from tests.support.schema_recordings import CRDS_DECIDED_BY_THE_SERVER, load

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CASES = [case for case in load("schema/crd_errors") if case["about"] in CRDS_DECIDED_BY_THE_SERVER]


def _ask(server: ApiServer, method: str, target: str, document: Any = None) -> Response:
    exchange = FakeExchange()
    body = b"" if document is None else json.dumps(document).encode()
    server.handle(Request(method, target, {"content-type": "application/json"}, body), exchange)
    answer = next(value for value in vars(exchange).values() if isinstance(value, Response))
    assert isinstance(answer, Response)
    return answer


def _without_times(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [
        {name: value for name, value in condition.items() if name != "lastTransitionTime"}
        for condition in status["conditions"]
    ]
    return {**status, "conditions": conditions}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
async def test_a_crd_is_answered_by_the_server_as_recorded(case: dict[str, Any]) -> None:
    """What the schema package does not validate must be validated by the server, or it is not validated."""
    server = ApiServer()
    before = case.get("other") or (case["crd"] if case["about"] == "already exists" else None)
    if before is not None:
        assert _ask(server, "POST", _PATH, before).status == 201
    answer = _ask(server, "POST", _PATH, case["crd"])
    if "response" not in case:
        assert (answer.status, json.loads(answer.body)["message"]) == (case["status"], case["message"])
        return
    assert answer.status == 201
    stored = json.loads(_ask(server, "GET", f"{_PATH}/{case['crd']['metadata']['name']}").body)
    assert _without_times(stored["status"]) == _without_times(case["response"]["status"])
    assert stored["spec"] == case["response"]["spec"]
