from typing import Any

import pytest

from tests.apiserver.api import Api

Document = dict[str, Any]
NAMESPACE = "/api/v1/namespaces/default"


async def limited(**limit: Any) -> Api:
    """Give a server whose default namespace has one limit."""
    api = Api()
    body = {"metadata": {"name": "l"}, "spec": {"limits": [limit]}}
    assert (await api.send("POST", f"{NAMESPACE}/limitranges", body)).status == 201
    return api


def pod(*cpus: str) -> Document:
    """Give a pod whose containers request and may use some of a processor."""
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
async def test_a_pod_outside_the_limits_is_refused(limit: Document, cpus: tuple[str, ...], why: str) -> None:
    """Tenants of a shared cluster meet these texts; an operator that makes pods must pass them on."""
    api = await limited(**limit)
    answer = await api.ask("POST", f"{NAMESPACE}/pods", pod(*cpus))
    assert (answer["code"], answer["message"]) == (403, f'pods "p" is forbidden: {why}')


async def test_what_a_container_leaves_out_is_filled_in_and_noted() -> None:
    """The quality of service follows from what was filled in, not from what was sent."""
    api = await limited(type="Container", default={"cpu": "1"}, defaultRequest={"cpu": "500m"})
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = await api.ask("POST", f"{NAMESPACE}/pods", body)
    assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}
    assert made["status"]["qosClass"] == "Burstable"
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"].startswith("LimitRanger plugin set: cpu")
