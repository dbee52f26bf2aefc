"""Reconciles that crash fail the test that did not expect them."""

import time
from collections.abc import Callable

import pytest

from steersman import Context, Operator, Permanent, Retry, meta
from steersman.controller.triggers import Watch
from steersman.errors import WaitTimeout
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.manager import ManagerOptions
from steersman.testing.blocking_calls import BlockingCallWarning
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.scenarios import Scenario
from steersman.testing.failures import Expected
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse, Reset


def _raising(*errors: Exception) -> Operator:
    """Return an operator whose first reconciles raise these errors, and whose next one succeeds."""
    operator, left = Operator("raising"), list(errors)
    operator.permit(ConfigMap, "patch")

    @operator.reconciler(ConfigMap)
    async def reconcile(obj: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if left:
            raise left.pop(0)
        if not obj.labels:
            await ctx.patch(obj, {"metadata": {"labels": {"seen": "yes"}}})

    return operator


async def _until_seen(cluster: Cluster) -> None:
    await cluster.client.create(ConfigMap(meta("a")))
    await cluster.eventually(lambda: cluster.list(ConfigMap)[0].labels, within=60)


async def _until_one_label(cluster: Cluster) -> None:
    await cluster.client.create(ConfigMap(meta("a")))
    await cluster.eventually(lambda: len(cluster.list(ConfigMap)[0].labels) == 1)


async def _until_seen_then_error(cluster: Cluster) -> None:
    await _until_seen(cluster)
    raise LookupError("of the test")


async def _until_rest(cluster: Cluster) -> None:
    await cluster.client.create(ConfigMap(meta("a")))
    await cluster.client.create(Secret(meta("s")))
    await cluster.settle()


async def _run(cluster: Cluster, operator: Operator, scenario: Scenario = _until_seen, expect: Expected = ()) -> None:
    async with cluster.running(operator, expect_failures=expect):
        await scenario(cluster)


@pytest.mark.usefixtures("fake_clock")
async def test_a_crash_that_a_retry_hides_fails_the_test(cluster: Cluster) -> None:
    """The object ends as desired, but a bug occurred: the traceback of the first, and how many."""
    errors = [ValueError("no such disk"), ValueError("no such disk"), KeyError("size")]
    with pytest.raises(AssertionError) as failure:
        await _run(cluster, _raising(*errors))
    text = str(failure.value)
    assert "3 reconciles failed unexpectedly:" in text
    assert "ConfigMap default/a (configmap): ValueError: no such disk" in text
    assert "(2 times)" in text
    assert "in reconcile" in text
    assert "expect_failures=(ValueError, KeyError,)" in text
    assert failure.value.__cause__ is errors[0]


@pytest.mark.usefixtures("fake_clock")
async def test_expected_failures_do_not_fail_a_test(cluster: Cluster) -> None:
    """Some tests are about failures; they can inspect them."""
    await _run(cluster, _raising(ValueError("one"), KeyError("two")), expect=(ValueError, KeyError))
    assert [str(failure.error) for failure in cluster.failures] == ["one", "'two'"]


@pytest.mark.usefixtures("fake_clock")
async def test_unexpected_failures_still_fail_a_test(cluster: Cluster) -> None:
    """An expectation covers what it names, and nothing else."""
    with pytest.raises(AssertionError, match="1 reconcile failed unexpectedly"):
        await _run(cluster, _raising(ValueError("one"), KeyError("two")), expect=ValueError)


@pytest.mark.usefixtures("fake_clock")
async def test_retry_and_permanent_are_not_crashes(cluster: Cluster) -> None:
    """Reconcilers raise them on purpose."""
    await _run(cluster, _raising(Retry("not yet", after=0), Permanent("BadSpec", "never")), _until_rest)


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.parametrize("fault", [Refuse(500, message="the disk is full"), Reset()])
async def test_faults_that_a_test_injects_are_expected(cluster: Cluster, fault: Refuse | Reset) -> None:
    """The test asked for them."""
    async with cluster.running(_raising()):
        cluster.faults.inject(fault, method="PATCH", times=12)
        await _until_seen(cluster)
    assert cluster.failures


@pytest.mark.usefixtures("fake_clock")
async def test_the_error_of_the_block_stays_the_primary_one(cluster: Cluster) -> None:
    """The failed reconcile is often the cause: it is added as a note, with its traceback."""
    with pytest.raises(LookupError, match="of the test") as failure:
        await _run(cluster, _raising(ValueError("of the reconciler")), _until_seen_then_error)
    [note] = failure.value.__notes__
    assert "1 reconcile failed unexpectedly" in note
    assert "Traceback" in note


@pytest.mark.usefixtures("fake_clock")
async def test_a_mapping_that_crashes_fails_the_test(cluster: Cluster) -> None:
    """A change that cannot be mapped is a reconcile that never happens."""
    operator = Operator("mapping")

    def broken(_: Secret) -> list[object]:
        raise ZeroDivisionError

    @operator.reconciler(ConfigMap, watches=[Watch(Secret, to=broken)])
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        """Do nothing."""

    with pytest.raises(AssertionError, match=r"Secret default/s .configmap.: ZeroDivisionError"):
        await _run(cluster, operator, _until_rest)


@pytest.mark.usefixtures("fake_clock")
async def test_a_timeout_names_the_last_failed_reconcile(cluster: Cluster) -> None:
    """It is most likely the cause."""
    with pytest.raises(WaitTimeout) as failure:
        await _run(cluster, _raising(*[ValueError("no such disk")] * 50), _until_one_label)
    text = str(failure.value)
    assert text.startswith("`len(cluster.list(ConfigMap)[0].labels) == 1` did not come true within 5 s: it gave False")
    assert "len(cluster.list(ConfigMap)[0].labels) was 0" in text
    assert "test_failures.py:" in text
    assert "last failed reconcile (of " in text
    assert "ValueError: no such disk" in text


async def test_an_operator_reports_its_failures_to_a_listener(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Error trackers need the exception, not a log line."""
    seen: list[BaseException] = []
    options = ManagerOptions(on_failure=lambda failure: seen.append(failure.error))
    error = ValueError("no such disk")
    async with cluster.running(_raising(error), options=options, expect_failures=ValueError):
        await cluster.client.create(ConfigMap(meta("a")))
        await fake_clock.advance(1)
    assert seen == [error]


def _block_until(is_noticed: Callable[[], bool]) -> None:
    """Block like a call that takes too long, until the watchdog has noticed it."""
    end = time.monotonic() + 30
    while time.monotonic() < end and not is_noticed():
        pass


@pytest.mark.parametrize("clock", [None, FakeClock()], ids=["real", "fake"])
async def test_a_reconciler_that_blocks_the_event_loop_is_reported(
    clock: FakeClock | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Also with a fake clock: blocking takes real time."""
    operator = Operator("blocking")

    @operator.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        _block_until(lambda: "the event loop is blocked" in caplog.text)

    async with Cluster.start(clock=clock) as cluster:
        cluster.blocking_limit = 0.05
        with pytest.warns(BlockingCallWarning, match="blocked for more than 0.05 s in .*test_failures.py:"):
            await _run(cluster, operator, _until_rest)


async def test_a_change_that_is_never_sent_fails_the_test(cluster: Cluster) -> None:
    """At run time it is only a warning in the log, which a test would not see."""
    operator = Operator("vain")

    @operator.reconciler(ConfigMap)
    async def reconcile(obj: ConfigMap, ctx: Context[ConfigMap]) -> None:
        del ctx
        obj.metadata.labels["seen"] = "yes"

    with pytest.raises(AssertionError, match="labels"):
        await _run(cluster, operator, _until_rest)
