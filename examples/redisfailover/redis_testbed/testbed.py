"""A test cluster whose pods are real Redis processes."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from redis.exceptions import RedisError
from steersman import Operator, meta
from steersman.concurrency import background
from steersman.kinds.core_v1 import (
    Container,
    EnvVar,
    EnvVarSource,
    Event,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    Service,
)
from steersman.localcluster import PodFaults, ProcessNode, ProcessNodeOptions, local_operators
from steersman.testing import Cluster

from redis_testbed.binaries import redis_programs
from redisfailover.api.redis_failover_v1 import RedisFailover, RedisFailoverSpec, RedisSettings, SentinelSettings
from redisfailover.connection import Connection
from redisfailover.names import ROLE
from redisfailover.observation import Address
from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers

#: Options of sentinels with short time limits, so that tests are fast.
QUICK = ["down-after-milliseconds 1000", "failover-timeout 3000"]
KEYS = 200
_TIMEOUT = 120.0
#: Seconds to wait for a reply: longer than a master that hands over delays writes.
_REPLY_TIMEOUT = 15.0


def failover_spec(*config: str, replicas: int = 3) -> RedisFailoverSpec:
    """Return a spec whose sentinels have short time limits."""
    # By default a master waits five seconds before a synchronisation, to serve several replicas with one snapshot.
    redis = RedisSettings(replicas=replicas, custom_config=["repl-diskless-sync-delay 0", *config])
    return RedisFailoverSpec(redis=redis, sentinel=SentinelSettings(custom_config=QUICK))


class RedisTestbed:
    """One RedisFailover named ``a``, its processes, and faults."""

    def __init__(self, cluster: Cluster, node: ProcessNode, backups: Path) -> None:
        """Use a cluster with a running node."""
        self.cluster = cluster
        self.node = node
        self.backups = backups
        self.password: str | None = None

    @classmethod
    @asynccontextmanager
    async def start(cls, folder: Path) -> "AsyncIterator[RedisTestbed]":
        """Run a cluster with a node for real processes, without the operator, for the duration of the block."""
        images = {"redis:*": {"command": [redis_programs()["redis-server"]], "programs": redis_programs()}}
        # The back-off doubles with each restart; it starts so low that killed containers restart at once.
        options = ProcessNodeOptions(images=images, data=folder / "node", restart_seconds=0.0001, stop_seconds=2.0)
        node = ProcessNode(options)
        async with Cluster.start() as cluster:
            cluster.patience = _TIMEOUT
            node.serve(cluster.server)
            async with cluster.running(*local_operators(node=node.operator)):
                yield cls(cluster, node, folder / "backups")

    @property
    def operator(self) -> Operator:
        """A new instance of the operator, without any state."""
        return redis_operator(RedisServers(), backups=self.backups)

    async def submit(self, spec: RedisFailoverSpec) -> RedisFailover:
        """Create the RedisFailover."""
        return await self.cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))

    async def create(self, spec: RedisFailoverSpec) -> RedisFailover:
        """Create the RedisFailover and wait until it is ready."""
        created = await self.submit(spec)
        await self.wait_ready()
        return created

    @asynccontextmanager
    async def external_redis(self, *options: str) -> AsyncIterator[tuple[str, Connection]]:
        """Run a Redis outside of the RedisFailover for the duration of the block; yield its host and a connection."""
        command = ["redis-server", "--bind", "$(POD_IP)", "--bind-source-addr", "$(POD_IP)", "--protected-mode", "no"]
        command += options
        address = EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP"))
        container = Container(
            name="redis", image="redis:old", command=command, env=[EnvVar(name="POD_IP", value_from=address)]
        )
        labels = {"app.kubernetes.io/component": "outside"}
        pod = Pod(meta("outside", namespace="default", labels=labels), spec=PodSpec(containers=[container]))
        await self.cluster.client.create(pod)
        await self.cluster.eventually(lambda: any(one.status.pod_ip for one in self.pods("outside")))
        host = self.pods("outside")[0].status.pod_ip or ""
        async with self.redis("outside") as client:

            async def answers() -> bool:
                try:
                    return bool(await client.execute_command("PING"))
                except RedisError:
                    return False

            await self.cluster.eventually(answers)
            yield host, client
        await self.cluster.client.delete(pod)
        await self.cluster.eventually(lambda: not self.pods("outside"))

    @property
    def failover(self) -> RedisFailover:
        """The current RedisFailover."""
        [found] = self.cluster.list(RedisFailover)
        return found

    def condition(self, name: str) -> str:
        """Return status and reason of a condition: ``True/Replicating``."""
        found = self.failover.status.condition(name)
        return f"{found.status}/{found.reason}" if found is not None else ""

    def message(self, name: str) -> str:
        """Return the message of a condition."""
        found = self.failover.status.condition(name)
        return found.message if found is not None else ""

    async def wait_condition(self, name: str, said: str) -> None:
        """Wait until a condition has this status and reason."""

        def holds() -> bool:
            assert self.condition(name) == said, [
                (one.type, one.status, one.reason, one.message) for one in self.failover.status.conditions
            ]
            return True

        await self.cluster.eventually(holds)

    async def wait_ready(self) -> None:
        """Wait until the current generation is ready."""

        def holds() -> bool:
            seen = self.failover
            assert seen.status.observed_generation == seen.generation
            assert self.condition("Ready") == "True/Replicating", [
                (one.type, one.status, one.reason, one.message) for one in seen.status.conditions
            ]
            return True

        await self.cluster.eventually(holds)

    async def wait_other_master(self, than: str) -> None:
        """Wait until another server is master and the RedisFailover is ready."""
        await self.cluster.eventually(lambda: self.failover.status.master not in ("", than))
        await self.wait_ready()

    @property
    def events(self) -> set[str]:
        """Reasons of all events of the RedisFailover."""
        return {one.reason or "" for one in self.cluster.list(Event) if one.involved_object.kind == "RedisFailover"}

    def pods(self, component: str) -> list[Pod]:
        """Return the pods of the servers (``redis``) or the sentinels (``sentinel``)."""
        found = self.cluster.list(Pod, selector=f"app.kubernetes.io/component={component}")
        return sorted(found, key=lambda pod: pod.name)

    @property
    def served_master(self) -> list[str]:
        """The pods that the Service of the master selects."""
        [service] = [one for one in self.cluster.list(Service) if one.name == "rfrm-a"]
        return [pod.name for pod in self.pods("redis") if (service.spec.selector or {}).items() <= pod.labels.items()]

    def faults(self, pod: str) -> PodFaults:
        """Return the faults that can be injected into a pod."""
        return PodFaults(self.node, pod)

    @asynccontextmanager
    async def redis(self, pod: str, *, within: float = _REPLY_TIMEOUT) -> AsyncIterator[Connection]:
        """Connect to the server or sentinel of a pod."""
        async with Connection.to(self.address(pod), self.password or "", within=within) as client:
            yield client

    def address(self, pod: str) -> Address:
        """Return the address of the server or sentinel of a pod."""
        [found] = [one for one in self.cluster.list(Pod) if one.name == pod]
        port = 26379 if found.labels["app.kubernetes.io/component"] == "sentinel" else 6379
        return Address(found.status.pod_ip or "", port)

    async def write(self, begin: int = 0) -> None:
        """Write keys through the master, and wait until every replica has them."""
        async with self.redis(self.failover.status.master) as redis:
            for number in range(begin, begin + KEYS):
                await redis.set(f"key-{number}", number)
            await redis.execute_command("WAIT", self.failover.spec.redis.replicas - 1, 5000)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[list[str]]:
        """Write keys continuously to the pod of the master's Service; yield the list of acknowledged keys."""
        acknowledged: list[str] = []

        async def write_on() -> None:
            for number in itertools.count():
                try:
                    async with self.redis(self.served_master[0]) as redis:
                        await redis.set(f"on-{number}", number)
                except (RedisError, OSError, IndexError, ValueError):
                    await self.cluster.clock.sleep(0.05)
                else:
                    acknowledged.append(f"on-{number}")

        async with background(write_on(), name="writer"):
            yield acknowledged

    async def watched(self) -> set[str]:
        """Return the addresses of the masters that the sentinels monitor."""
        found = set()
        for pod in self.pods("sentinel"):
            async with self.redis(pod.name) as redis:
                reported = await redis.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", "mymaster")
                found.add(reported[0] if reported else "")
        return found

    async def run_ids(self) -> set[str]:
        """Return the run id of each server that responds: a restart changes it."""
        found = set()
        for pod in self.pods("redis"):
            with suppress(RedisError, OSError):
                async with self.redis(pod.name) as redis:
                    found.add((await redis.info("server"))["run_id"])
        return found

    async def wait_consistent(self) -> None:
        """Wait until servers, sentinels and the status all show the wanted state."""

        async def well() -> bool:
            found = await self._inconsistencies()
            assert found == [], found
            return True

        await self.cluster.eventually(well)

    async def _inconsistencies(self) -> list[str]:
        """Query all servers and sentinels; return how they differ from the wanted state."""
        spec = self.failover.spec
        servers, sentinels = self.pods("redis"), self.pods("sentinel")
        if (len(servers), len(sentinels)) != (spec.redis.replicas, spec.sentinel.replicas):
            return [f"there are {len(servers)} servers and {len(sentinels)} sentinels"]
        try:
            found = [*[await self._server(pod) for pod in servers], *[await self._sentinel(pod) for pod in sentinels]]
        except (RedisError, OSError, ValueError) as error:
            return [f"a server or sentinel does not respond: {error}"]
        if self.condition("Ready") != "True/Replicating":
            found.append(f"{self.condition('Ready')}: {self.message('Ready')}")
        if self.served_master != [self.failover.status.master]:
            found.append(f"the service leads to {self.served_master}")
        return [one for one in found if one]

    async def _server(self, pod: Pod) -> str:
        async with self.redis(pod.name) as redis:
            reported = await redis.info("replication")
        if pod.name == self.failover.status.master:
            return "" if reported["role"] == "master" else f"{pod.name} is not a master"
        is_well = (
            reported["role"] == "slave"
            and reported["master_host"] == self._master_ip
            and reported["master_link_status"] == "up"
        )
        return "" if is_well else f"{pod.name} does not follow: {reported}"

    async def _sentinel(self, pod: Pod) -> str:
        spec = self.failover.spec
        async with self.redis(pod.name) as redis:
            reported = await redis.sentinel_master("mymaster")
        known = reported["ip"], reported["quorum"], reported["num-slaves"], reported["num-other-sentinels"]
        wanted = self._master_ip, spec.sentinel.replicas // 2 + 1, spec.redis.replicas - 1, spec.sentinel.replicas - 1
        return "" if known == wanted else f"{pod.name} knows {known} and not {wanted}"

    @property
    def _master_ip(self) -> str:
        """The IP of the server that is master according to the status."""
        return next(
            (pod.status.pod_ip or "" for pod in self.pods("redis") if pod.name == self.failover.status.master), ""
        )

    async def check_acknowledged(self, keys: list[str]) -> None:
        """Fail unless the master has every acknowledged key."""
        assert keys
        async with self.redis(self.failover.status.master) as redis:
            kept = await redis.mget(keys)
        lost = [key for key, value in zip(keys, kept, strict=True) if value is None]
        assert not lost, f"{len(lost)} of {len(keys)} confirmed keys are lost, from {lost[0]} to {lost[-1]}"

    async def wait_synced(self) -> None:
        """Wait until every server is in sync with its master."""

        async def synced() -> bool:
            for pod in self.pods("redis"):
                async with self.redis(pod.name) as redis:
                    if (await redis.info("replication")).get("master_link_status") != "up":
                        return False
            return True

        await self.cluster.eventually(synced)

    async def check(self, begin: int = 0) -> None:
        """Fail unless every server has every key."""
        for pod in self.pods("redis"):
            async with self.redis(pod.name) as redis:
                found = await redis.mget([f"key-{number}" for number in range(begin, begin + KEYS)])
            assert found == [str(number) for number in range(begin, begin + KEYS)], pod.name

    def roles(self) -> dict[str, str]:
        """Return the role label of each server."""
        return {pod.name: pod.labels.get(ROLE, "") for pod in self.pods("redis")}
