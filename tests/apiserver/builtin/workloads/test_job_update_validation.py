from typing import Any

from steersman.apiserver.builtin.workloads.job_update_validation import job_change_errors

POD: dict[str, Any] = {"containers": [{"name": "a", "image": "i", "resources": {}}], "restartPolicy": "Never"}


def _job(pod: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}, **spec}}


def _changed(pod: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {**pod, "containers": [{**pod["containers"][0], **container}]}


def test_pods_of_a_suspended_job_may_ask_for_more_and_run_elsewhere() -> None:
    """A queue admits Jobs late, and only then knows where they run and what they get."""
    after = {**_changed(POD, resources={"limits": {"cpu": "1"}}), "nodeSelector": {"zone": "z"}}
    assert job_change_errors(_job(after, suspend=True), _job(POD, suspend=True)) == []


def test_pods_of_a_suspended_job_keep_their_images() -> None:
    """Only where pods run is open, not what they run."""
    found = job_change_errors(_job(_changed(POD, image="other"), suspend=True), _job(POD, suspend=True))
    assert [error.field for error in found] == ["spec.template.spec"]


def test_pods_of_a_running_job_stay_as_they_are() -> None:
    """Its pods exist already."""
    found = job_change_errors(_job({**POD, "nodeSelector": {"zone": "z"}}), _job(POD))
    assert [error.field for error in found] == ["spec.template"]
