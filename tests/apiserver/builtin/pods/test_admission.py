from typing import Any

import pytest

from tests.apiserver.api import Api

Document = dict[str, Any]
NAMESPACE = "/api/v1/namespaces/default"


async def limited(**limit: Any) -> Api:
    """Return a server whose default namespace has a LimitRange."""
    api = Api()
    body = {"metadata": {"name": "l"}, "spec": {"limits": [limit]}}
    assert (await api.send("POST", f"{NAMESPACE}/limitranges", body)).status == 201
    return api


def pod(*cpus: str) -> Document:
    """Return a pod with one container for each amount of CPU."""
    containers = [
        {"name": f"c{index}", "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}}
        for index, cpu in enumerate(cpus)
    ]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers}}


@pytest.mark.parametrize(
    ("limit", "cpus", "why"),
    [
        ({"type": "Container", "max": {"cpu": "1"}}, ("2",), "maximum cpu usage per Container is 1, but limit is 2"),
        ({"type": "Pod", "max": {"cpu": "1"}}, ("600m", "600m"), "maximum cpu usage per Pod is 1, but limit is 1200m"),
        ({"type": "Pod", "min": {"cpu": "1"}}, ("100m",), "minimum cpu usage per Pod is 1, but request is 100m"),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            ("1",),
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
    ],
)
async def test_a_pod_outside_the_limits_is_rejected(limit: Document, cpus: tuple[str, ...], why: str) -> None:
    """Users of a shared cluster see these messages; an operator that creates pods must pass them on."""
    api = await limited(**limit)
    answer = await api.ask("POST", f"{NAMESPACE}/pods", pod(*cpus))
    assert (answer["code"], answer["message"]) == (403, f'pods "p" is forbidden: {why}')


async def test_missing_requests_and_limits_are_set_and_listed_in_an_annotation() -> None:
    """The quality of service follows from the values that were set, not from those that were sent."""
    api = await limited(type="Container", default={"cpu": "1"}, defaultRequest={"cpu": "500m"})
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = await api.ask("POST", f"{NAMESPACE}/pods", body)
    assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}
    assert made["status"]["qosClass"] == "Burstable"
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"].startswith("LimitRanger plugin set: cpu")


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"runtimeClassName": "fast"}, 'pod rejected: RuntimeClass "fast" not found'),
        ({"priorityClassName": "high"}, "no PriorityClass with name high was found"),
    ],
)
async def test_admission_rejects_a_pod_without_a_name(field: dict[str, str], reason: str) -> None:
    """Admission runs before the name is validated, so its errors must not need one."""
    body = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}], **field}}
    answer = await Api().ask("POST", f"{NAMESPACE}/pods", body)
    assert (answer["code"], answer["message"]) == (403, f'pods "Unknown" is forbidden: {reason}')
