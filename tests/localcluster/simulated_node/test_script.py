from datetime import timedelta

import pytest

from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.localcluster.simulated_node.script import PREFIX, Script, ScriptError
from steersman.objects.meta import meta


def pod(restart: str = "Always", **annotations: str) -> Pod:
    """Return a pod with instructions."""
    named = {f"{PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()}
    return Pod(meta("a", annotations=named), spec=PodSpec(containers=[Container(name="c")], restart_policy=restart))


def test_a_pod_without_instructions_becomes_ready() -> None:
    """By default pods run, and tasks succeed."""
    assert Script.of(pod()) == Script()
    assert Script.of(pod("Never")) == Script(run_for=timedelta(seconds=1))


def test_instructions_are_parsed() -> None:
    """Slow, never ready, short-lived: each is one annotation."""
    script = Script.of(pod(start_after="2s", ready_after="1m30s", never_ready="true", run_for="3s", stop_after="500ms"))
    assert script == Script(
        start_after=timedelta(seconds=2),
        ready_after=timedelta(seconds=90),
        never_ready=True,
        run_for=timedelta(seconds=3),
        stop_after=timedelta(milliseconds=500),
    )


def test_failures_have_names_or_codes() -> None:
    """Authors write the reason that a kubelet would show."""
    assert Script.of(pod(fail="ErrImagePull")).pull_failure == "ErrImagePull"
    assert Script.of(pod(fail="CrashLoopBackOff")).exit_code == 1
    assert Script.of(pod("Never", fail="137")).exit_code == 137
    for annotations in ({"fail": "3", "run_for": "9s"}, {"run_for": "9s", "fail": "3"}):
        assert Script.of(pod(**annotations)) == Script(run_for=timedelta(seconds=9), exit_code=3)


@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        ({"ready_after": "soon"}, "simulated.steersman.dev/ready-after: not a duration: 'soon'"),
        ({"run_for": "-1s"}, "'-1s' is negative"),
        ({"never_ready": "yes"}, "'yes' is neither 'true' nor 'false'"),
        ({"fail": "Often"}, "'Often' is not a failure (write ErrImagePull"),
        ({"fail": "300"}, "'300' is not an exit code"),
        ({"explode": "true"}, "simulated.steersman.dev/explode is unknown: a simulated node supports fail"),
    ],
)
def test_an_invalid_instruction_is_rejected_with_the_valid_ones(annotations: dict[str, str], why: str) -> None:
    """A typing error must not make a pod healthy that should fail."""
    with pytest.raises(ScriptError) as refused:
        Script.of(pod(**annotations))
    assert why in str(refused.value)
