"""Secrets that a reconciler reads with ``ctx.client`` are masked like those that it reads with ``ctx.get``."""

import json
from base64 import b64encode

import pytest

from steersman.controller.recording.secret_learning import secret_values
from steersman.kinds.core_v1 import Secret
from steersman.kinds.events_v1 import Event
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from tests.controller.stage import Ctx, clock_of, create, running
from tests.support.widgets import Widget

VALUE = "correct-horse-battery"
ENCODED = b64encode(VALUE.encode()).decode()


async def test_a_failure_that_quotes_a_secret_of_the_client_is_masked() -> None:
    """Events and conditions are read by people who may not read Secrets."""
    operator = Operator("client")
    operator.permit(Secret, "get")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        secret = await ctx.client.get(Secret, "login")
        raise RuntimeError(f"login failed for {(secret.data or {})['password'].decode()}")

    async with running(operator, expect_failures=RuntimeError) as cluster:
        await cluster.client.create(Secret(meta("login"), data={"password": VALUE.encode()}))
        await create(cluster)
        await clock_of(cluster).advance(5.0)
        notes = [event.note or "" for event in cluster.list(Event)]
        assert any("login failed for <secret>" in note for note in notes)
        assert not any(VALUE in note for note in notes)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Secret", "data": {"a": ENCODED}},
        {"kind": "SecretList", "items": [{"data": {"a": ENCODED}}]},
        {"stringData": {"a": VALUE}},
        [{"op": "add", "path": "/data/a", "value": ENCODED}],
        [{"op": "replace", "path": "/data", "value": {"a": ENCODED}}],
        [{"op": "add", "path": "", "value": {"data": {"a": ENCODED}}}],
    ],
)
def test_values_are_found_in_every_kind_of_body(body: object) -> None:
    """Each of these is how some client sends or receives a Secret."""
    assert secret_values(json.dumps(body).encode()) == [VALUE.encode()]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"1", b'{"data": 5}', b'{"items": [3], "data": {"a": 7}}', b'[1, {"path": 3}]']
)
def test_bodies_that_hold_no_secret_are_ignored(body: bytes) -> None:
    """The request itself must not fail because of what looks at it."""
    assert secret_values(body) == []
