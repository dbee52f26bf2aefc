"""Credentials change while clients write."""

from mongod_testbed import NAME, StartTestbed
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Auth


async def test_the_keyfile_is_rotated_while_clients_write(start: StartTestbed) -> None:
    """Pods are replaced twice, one by one; no acknowledged write is lost, and the old key is worth nothing."""
    async with start() as testbed:
        await testbed.create(3, auth=Auth(keyfile_revision="1"))
        await testbed.until_ready()
        await testbed.write(0, 100)
        old = testbed.secret(f"{NAME}-keyfile")["keyfile"]
        before = {pod.uid for pod in testbed.cluster.list(Pod)}
        async with testbed.writing() as writes:
            await testbed.patch({"auth": {"keyfileRevision": "2"}})
            await testbed.until(lambda: "KeyfileRotated" in testbed.events, within=120)
            marks = {pod.annotations.get("mongo.example.com/keyfile") for pod in testbed.cluster.list(Pod)}
            assert len(marks) == 1
            await testbed.until(
                lambda: testbed.is_ready() and marks.isdisjoint(_marks(testbed.cluster.list(Pod))), within=120
            )
            await testbed.until(lambda: len(writes.acknowledged) > 100)
        await testbed.check(100, writes)
        assert before.isdisjoint(pod.uid for pod in testbed.cluster.list(Pod))
        assert old not in testbed.secret(f"{NAME}-keyfile")["keyfile"]
        assert "NotAuthorised" not in testbed.events


def _marks(pods: list[Pod]) -> set[str | None]:
    return {pod.annotations.get("mongo.example.com/keyfile") for pod in pods}
