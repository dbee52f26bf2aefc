"""What `kubectl` shows of runs that keep failing: the status so far, a condition and an event, until it succeeds."""

import json
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from steersman.controller.context import Context
from steersman.controller.recording.failure_text import LIMIT, failure_text
from steersman.errors import Conflict, Invalid, Permanent, Retry
from steersman.history.redaction import Redactor, SecretMemory
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.kinds.events_v1 import Event
from steersman.manager.operator import Operator
from steersman.objects.meta import Condition, meta
from steersman.testing.cluster import Cluster
from steersman.testing.faults import Refuse
from tests.controller.stage import Ctx, clock_of, create, only, resize, running
from tests.support.widgets import Widget, WidgetSpec


def masking(*secrets: bytes) -> Callable[[str], str]:
    """Return what masks these values, as in a run that has read them."""
    memory = SecretMemory()
    memory.learn(secrets)
    return Redactor(memory, secrets).text


def ready(cluster: Cluster) -> Condition | None:
    """Return the Ready condition of the one widget."""
    return only(cluster).status.condition("Ready")


def events(cluster: Cluster) -> list[tuple[str | None, str | None]]:
    """Return type and reason of each event."""
    return [(event.type, event.reason) for event in cluster.list(Event)]


async def test_a_status_set_before_the_failure_is_written() -> None:
    """Users see how far the run came."""
    operator = Operator("half")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        widget.status.size = widget.spec.size
        ctx.condition("Prepared", True, "Done")  # noqa: FBT003 - reads as the condition it is
        raise RuntimeError("the second half")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster, size=3)
        status = only(cluster).status
        assert status.size == 3
        assert status.condition("Prepared") is not None
        # The spec was not processed.
        assert status.observed_generation is None


async def test_the_third_failure_in_a_row_is_reported_and_success_removes_it() -> None:
    """A temporary failure is not reported; a lasting one is."""
    operator = Operator("failing")
    runs, broken = 0, True

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        nonlocal runs
        runs += 1
        if broken:
            raise RuntimeError("the disk is full")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(0.006)
        assert runs == 2
        assert ready(cluster) is None
        await clock_of(cluster).advance(0.02)
        await cluster.settle()
        assert runs >= 3
        told = ready(cluster)
        assert told is not None
        assert (told.status, told.reason, told.message) == (
            "False",
            "ReconcileFailed",
            "RuntimeError: the disk is full",
        )
        assert told.observed_generation == 1
        assert events(cluster) == [("Warning", "ReconcileFailed")]
        cluster.faults.clear()
        await clock_of(cluster).advance(600.0)
        assert cluster.faults.count("PATCH", "/status") == 0
        assert len(events(cluster)) == 1
        broken = False
        await resize(cluster, 2)
        assert ready(cluster) is None


async def test_the_report_is_removed_after_a_restart_too() -> None:
    """The process that succeeds is often not the one that failed."""
    operator = Operator("failing")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        raise RuntimeError("a bug")

    mended = Operator("failing")

    @mended.reconciler(Widget)
    async def mended_reconcile(_: Widget, __: Ctx) -> None:
        pass

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        assert ready(cluster) is not None
        async with cluster.running(mended):
            await cluster.settle()
            assert ready(cluster) is None


async def test_conditions_of_the_author_stay() -> None:
    """Only conditions of the framework are removed, and the author's Ready condition is better than an exception."""
    operator = Operator("own")
    broken = True

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        ctx.condition("Ready", False, "DiskFull", "buy a disk")  # noqa: FBT003 - reads as the condition it is
        if broken:
            raise RuntimeError("disk")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        said = ready(cluster)
        assert said is not None
        assert said.reason == "DiskFull"
        broken = False
        await resize(cluster, 2)
        said = ready(cluster)
        assert said is not None
        assert said.reason == "DiskFull"


async def test_ready_true_of_a_run_that_fails_later_is_not_written() -> None:
    """The run set it before it knew the outcome."""
    operator = Operator("optimist")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        ctx.condition("Ready", True, "Fine")  # noqa: FBT003 - reads as the condition it is
        raise RuntimeError("not fine")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        told = ready(cluster)
        assert told is not None
        assert (told.status, told.reason) == ("False", "ReconcileFailed")


async def test_a_cleanup_that_keeps_failing_is_reported() -> None:
    """Users often wonder why an object is not deleted."""
    operator = Operator("stuck")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        pass

    @reconcile.cleanup
    async def cleanup(_: Widget, __: Ctx) -> None:
        raise RuntimeError("the cloud does not answer")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        widget = await create(cluster)
        await cluster.client.delete(widget)
        await clock_of(cluster).advance(1.0)
        told = ready(cluster)
        assert told is not None
        assert (told.reason, told.message) == ("CleanupFailed", "RuntimeError: the cloud does not answer")
        assert events(cluster) == [("Warning", "CleanupFailed")]


async def test_a_retry_is_reported_from_the_tenth_in_a_row() -> None:
    """Retrying is the author's plan; retrying forever is not."""
    operator = Operator("waiting")
    runs = 0

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        nonlocal runs
        runs += 1
        if runs < 15:
            raise Retry("the volume is not there yet", after=10.0)

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(85.0)
        assert (runs, ready(cluster)) == (9, None)
        await clock_of(cluster).advance(10.0)
        told = ready(cluster)
        assert told is not None
        assert (told.reason, told.message) == ("ReconcileRetrying", "the volume is not there yet")
        await clock_of(cluster).advance(60.0)
        assert ready(cluster) is None


async def test_reporting_can_be_turned_off() -> None:
    """For kinds whose conditions have a defined meaning."""
    operator = Operator("quiet")

    @operator.reconciler(Widget, report_failures=False)
    async def reconcile(_: Widget, __: Ctx) -> None:
        raise RuntimeError("hush")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(60.0)
        assert ready(cluster) is None
        assert events(cluster) == []


async def test_a_kind_without_conditions_gets_the_event() -> None:
    """There is no other place to report it."""
    operator = Operator("plain")

    @operator.reconciler(ConfigMap)
    async def reconcile(config: ConfigMap, _: Context[ConfigMap]) -> None:
        if config.name == "a":
            raise RuntimeError("no")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await cluster.client.create(ConfigMap(meta("a")))
        await clock_of(cluster).advance(10.0)
        assert events(cluster) == [("Warning", "ReconcileFailed")]


async def test_a_field_that_another_manager_owns_is_a_failure_and_reported() -> None:
    """Without force the conflict stays: an immediate retry does not help."""
    operator = Operator("polite")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        await ctx.apply(ConfigMap(meta("child"), data={"size": str(widget.spec.size)}), force=False)

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await create(cluster, size=1)
        child = await cluster.client.get(ConfigMap, "child")
        await cluster.client.as_manager("tuner").patch(child, {"data": {"size": "9"}})
        await clock_of(cluster).advance(1.0)
        told = ready(cluster)
        assert told is not None
        assert told.reason == "ReconcileFailed"
        assert "tuner" in told.message


async def test_a_status_that_cannot_be_written_does_not_hide_the_failure() -> None:
    """The server rejects the status, but the failed run is the cause to report."""
    operator = Operator("down")
    runs = 0

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        nonlocal runs
        runs += 1
        widget.status.size = 7
        raise RuntimeError("broken")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        cluster.faults.inject(Refuse(422, "Invalid"), method="PATCH", path="/status", times=None)
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        assert runs > 3
        assert events(cluster) == [("Warning", "ReconcileFailed")]


async def test_a_finalizer_that_cannot_be_added_is_reported_by_an_event() -> None:
    """The author's function never runs then, so that no other report would say why."""
    operator = Operator("forbidden")
    runs: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    @reconcile.cleanup
    async def cleanup(_: Widget, __: Ctx) -> None:
        pass

    async with running(operator) as cluster:
        refused = Refuse(422, "Invalid", "a policy says no")
        cluster.faults.inject(refused, method="PATCH", path=r"/widgets/a\?", times=None)
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        assert runs == []
        (event,) = cluster.list(Event)
        assert (event.reason, event.note) == ("ReconcileFailed", "Invalid: a policy says no")


# Without secrets.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach https://admin:hunter2@db:5432/x", "cannot reach https://<secret>@db:5432/x"),
        ("bad header Authorization: Bearer abc.def-ghi", "bad header Authorization: Bearer <secret>"),
        ("login failed: password=hunter2, user=a", "login failed: password=<secret>, user=a"),
        ("{'api_key': 'hunter2', 'x': 1}", "{'api_key': <secret>, 'x': 1}"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- is bad", "<secret> is bad"),
        ("token eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9 expired", "token <secret> expired"),
        ("two\n  lines", "two lines"),
        ("", ""),
        ("uid 0b2f3c1a-7d1e-4d2f-9a3b-1c2d3e4f5a6b is gone", "uid 0b2f3c1a-7d1e-4d2f-9a3b-1c2d3e4f5a6b is gone"),
        (
            "/apis/runtime.example.com/v1/namespaces/default/widgets/a",
            "/apis/runtime.example.com/v1/namespaces/default/widgets/a",
        ),
    ],
)
def test_credentials_are_masked(text: str, shown: str) -> None:
    """Conditions and events have more readers than the log."""
    assert failure_text(ValueError(text)) == (f"ValueError: {shown}" if shown else "ValueError")


def test_content_that_a_run_has_read_from_secrets_is_masked_in_every_form() -> None:
    """Even if it looks like a word."""
    secret = b"open sesame"
    encoded = b64encode(secret).decode()
    error = RuntimeError(f"open sesame, {encoded}, {secret!r}, line two")
    assert failure_text(error, masking(secret, b"line two\nline three")) == (
        "RuntimeError: <secret>, <secret>, b'<secret>', <secret>"
    )


def _of_text(write: Callable[[str], str]) -> Callable[[bytes], str]:
    return lambda secret: write(secret.decode())


@pytest.mark.parametrize("write", [repr, bytes.hex, *map(_of_text, (ascii, json.dumps, quote, quote_plus, str))])
def test_secrets_with_quotes_blanks_and_accents_are_masked_in_any_notation(write: Callable[[bytes], str]) -> None:
    """Content of Secrets is bytes, and messages show those in many notations."""
    secret = 'p\u00e4"s/s w\u00f6rd'.encode()
    shown = failure_text(RuntimeError(f"cannot log in with {write(secret)}"), masking(secret))
    assert shown.removeprefix("RuntimeError: cannot log in with ").strip("b'\"") == "<secret>"


@pytest.mark.parametrize("raised", [lambda text: Permanent("Bad", text), lambda text: Retry(text, after=1.0)])
async def test_messages_of_exceptions_that_an_author_raises_are_masked_too(raised: Callable[[str], Exception]) -> None:
    """They are written to the same conditions and events."""
    operator = Operator("leaking")
    operator.permit(Secret, "get")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        secret = await ctx.get(Secret, "login")
        assert secret is not None
        raise raised(f"cannot log in with {(secret.data or {})['password'].decode()}")

    async with running(operator) as cluster:
        await cluster.client.create(Secret(meta("login"), data={"password": b"open sesame"}))
        await create(cluster)
        await clock_of(cluster).advance(30.0)
        (condition,) = [one for one in only(cluster).status.conditions if one.type == "Ready"]
        assert condition.message == "cannot log in with <secret>"
        assert all("sesame" not in (event.note or "") for event in cluster.list(Event))


def test_messages_are_short_and_do_not_quote_values_of_servers() -> None:
    """A condition is not the place for a dump."""
    assert len(failure_text(ValueError("x " * 1000))) == LIMIT
    refusal = Invalid('Foo "a" is invalid: spec.key: Invalid value: "hunter2": too short', code=422)
    assert failure_text(refusal) == 'Invalid: Foo "a" is invalid: spec.key: Invalid value: <secret>: too short'
    group = BaseExceptionGroup("unhandled errors", [ExceptionGroup("inner", [KeyError("disk")])])
    assert failure_text(group) == "KeyError: 'disk'"


async def test_the_content_of_a_secret_does_not_reach_conditions_and_events() -> None:
    """The exception quotes it, the report does not."""
    operator = Operator("leaking")
    operator.permit(Secret, "get")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        secret = await ctx.get(Secret, "login")
        assert secret is not None
        widget.status.size = 1
        raise RuntimeError(f"cannot log in with {(secret.data or {})['password'].decode()}")

    async with running(operator, expect_failures=(RuntimeError, Conflict)) as cluster:
        await cluster.client.create(Secret(meta("login"), string_data={"password": "sesame"}))
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await clock_of(cluster).advance(1.0)
        told = ready(cluster)
        assert told is not None
        assert told.message == "RuntimeError: cannot log in with <secret>"
        assert [event.note for event in cluster.list(Event)] == [told.message]
