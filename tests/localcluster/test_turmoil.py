"""Workloads under random writes, faults and lost watches, seeded: in the end the desired state is reached."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from steersman.errors import ApiError, TransportError
from steersman.kinds.apps_v1 import DaemonSet, Deployment, StatefulSet
from steersman.kinds.batch_v1 import Job
from steersman.kinds.core_v1 import Pod, Service, ServicePort, ServiceSpec
from steersman.kinds.discovery_v1 import EndpointSlice
from steersman.localcluster.local_cluster import local_operators
from steersman.objects.meta import meta
from steersman.randomness import Randomness
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Fault, Lose, Refuse, Reset
from tests.localcluster.workloads.making import daemon_set, deployment, job, set_image, stateful_set

T = TypeVar("T")

_STEPS = 18
_FAULTS: tuple[Fault, ...] = (Lose(), Reset(), Refuse(503, "ServiceUnavailable"), Refuse(409, "Conflict"))


class RandomFaults:
    """Random writes and faults on a cluster."""

    def __init__(self, cluster: Cluster, clock: FakeClock, seed: int) -> None:
        self._cluster = cluster
        self._clock = clock
        self._chance = Randomness(seed)

    def _one_of(self, choices: Sequence[T]) -> T:
        return choices[min(int(self._chance.between(0, len(choices))), len(choices) - 1)]

    async def make(self) -> None:
        """Create one workload of each kind."""
        client = self._cluster.client
        self._web = await client.create(deployment(3, surge=1, unavailable=self._one_of(range(2))))
        self._db = await client.create(stateful_set(3))
        self._agent = await client.create(daemon_set())
        mode = self._one_of(["Indexed", "NonIndexed"])
        script = {"run_for": "5s"}
        await client.create(job(completions=5, parallelism=2, backoff_limit=50, completion_mode=mode, script=script))
        spec = ServiceSpec(selector={"app": "web"}, ports=[ServicePort(port=80)])
        await client.create(Service(meta("web"), spec=spec))

    async def disturb(self) -> None:
        """Run many random operations, some of which fail."""
        deeds = (self._change, self._scale, self._kill, self._fault, self._lose_watches, self._lag, self._pause)
        for _ in range(_STEPS):
            await self._try(self._one_of(deeds))
            await self._clock.advance(self._one_of([0, 0.1, 1, 5]))

    async def settle(self) -> None:
        """Wait long enough without disturbing anything."""
        self._cluster.faults.clear()
        await self._cluster.client.patch(self._web, {"spec": {"paused": False}})
        await self._clock.advance(400)

    async def _try(self, deed: Callable[[], Awaitable[None]]) -> None:
        try:
            await deed()
        except (ApiError, TransportError):
            # A fault that was meant for the controllers; the desired state is what the server has.
            return

    async def _change(self) -> None:
        target = self._one_of([self._web, self._db, self._agent])
        await set_image(self._cluster, target, f"image-{self._one_of(range(3))}")

    async def _scale(self) -> None:
        target = self._one_of([self._web, self._db])
        await self._cluster.client.scale(target, self._one_of(range(5)))

    async def _kill(self) -> None:
        pods = self._cluster.list(Pod)
        await self._cluster.client.delete(self._one_of(pods), missing_ok=True)

    async def _fault(self) -> None:
        method = self._one_of(["POST", "PATCH", "DELETE"])
        self._cluster.faults.inject(self._one_of(_FAULTS), method=method, times=self._one_of(range(1, 4)))

    async def _lose_watches(self) -> None:
        self._cluster.faults.drop()

    async def _lag(self) -> None:
        self._cluster.faults.hold("/pods")
        await self._clock.advance(self._chance.between(0, 2))
        self._cluster.faults.release()

    async def _pause(self) -> None:
        await self._cluster.client.patch(self._web, {"spec": {"paused": self._one_of([True, False])}})


@pytest.mark.parametrize("seed", [1, 2])
async def test_after_any_disturbance_the_desired_state_is_reached(
    cluster: Cluster, fake_clock: FakeClock, seed: int
) -> None:
    """No pod too many or too few, none of an old template, every success counted once, and then no more writes."""
    faults = RandomFaults(cluster, fake_clock, seed)
    async with cluster.running(*local_operators()):
        await faults.make()
        await faults.disturb()
        await faults.settle()
        (web,), (db,), (agent,) = cluster.list(Deployment), cluster.list(StatefulSet), cluster.list(DaemonSet)
        pods = cluster.list(Pod)
        for owner, app, size in ((web, "web", web.spec.replicas), (db, "db", db.spec.replicas), (agent, "agent", 1)):
            spec = owner.spec.template.spec
            assert spec is not None
            wanted = spec.containers[0].image
            images = [pod.spec.containers[0].image for pod in pods if pod.labels.get("app") == app]
            assert images == [wanted] * (size or 0), app
        assert (web.status.available_replicas or 0) == web.spec.replicas
        assert (db.status.ready_replicas or 0) == db.spec.replicas
        assert db.status.current_revision == db.status.update_revision
        assert agent.status.number_available == 1
        assert cluster.list(Job)[0].status.succeeded == 5
        slices = cluster.list(EndpointSlice, selector="kubernetes.io/service-name=web")
        addresses = [address for one in slices for endpoint in one.endpoints or () for address in endpoint.addresses]
        assert sorted(addresses) == sorted(pod.status.pod_ip or "" for pod in pods if pod.labels.get("app") == "web")
        cluster.faults.clear()
        await fake_clock.advance(100)
        rest = [str(write) for write in cluster.faults.writes()]
        assert [write for write in rest if "/leases/" not in write and "/events/" not in write] == []
