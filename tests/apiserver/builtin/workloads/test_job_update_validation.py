from typing import Any

from steersman.apiserver.builtin.workloads.job_update_validation import job_change_errors

POD: dict[str, Any] = {"containers": [{"name": "a", "image": "i", "resources": {}}], "restartPolicy": "Never"}


def _job(pod: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}, **spec}}


def _changed(pod: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {**pod, "containers": [{**pod["containers"][0], **container}]}


def test_resources_and_placement_of_a_suspended_job_may_change() -> None:
    """A queue decides only when it admits a Job where its pods run and which resources they get."""
    after = {**_changed(POD, resources={"limits": {"cpu": "1"}}), "nodeSelector": {"zone": "z"}}
    assert job_change_errors(_job(after, suspend=True), _job(POD, suspend=True)) == []


def test_pods_of_a_suspended_job_keep_their_images() -> None:
    """Only the placement and the resources may change."""
    found = job_change_errors(_job(_changed(POD, image="other"), suspend=True), _job(POD, suspend=True))
    assert [error.field for error in found] == ["spec.template.spec"]


def test_the_template_of_a_running_job_cannot_change() -> None:
    """Its pods already exist."""
    found = job_change_errors(_job({**POD, "nodeSelector": {"zone": "z"}}), _job(POD))
    assert [error.field for error in found] == ["spec.template"]
