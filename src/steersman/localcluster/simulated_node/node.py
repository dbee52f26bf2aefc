"""`simulated_node`: an operator that is a node. Its pods become Running and Ready, and end, without any process."""

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.context import Context
from steersman.controller.predicates import on_objects
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import Node, Pod
from steersman.localcluster.container_report import ContainerReport, PodReport, Waiting
from steersman.localcluster.node_object import NodeDescription
from steersman.localcluster.node_presence import NodePresence
from steersman.localcluster.pod_status import pod_status
from steersman.localcluster.simulated_node.addresses import Addresses
from steersman.localcluster.simulated_node.script import Script, ScriptError
from steersman.localcluster.simulated_node.timeline import PodObservation, pod_at, stopped_at
from steersman.localcluster.workloads.pods import is_finished
from steersman.manager.operator import Operator
from steersman.protocol.options import DeleteOptions, Preconditions
from steersman.version import __version__

NAME = "simulated"
_ADDRESS = "10.0.0.1"


def simulated_node(name: str = NAME) -> Operator:
    """Return a node of that name, to be run beside other operators."""
    description = NodeDescription(name=name, address=_ADDRESS, runtime=f"simulated://{__version__}")
    operator = Operator(f"node-{name}")
    addresses = Addresses()
    operator.permit(Node, "get", "create")
    operator.permit(Node, "patch", subresource="status")
    operator.permit(Lease, "create", "patch")
    operator.permit(Pod, "delete")

    def is_here(old: Pod | None, new: Pod | None) -> bool:
        pod = new if new is not None else old
        return pod is not None and pod.spec.node_name == name

    @operator.background
    async def presence(client: Client, clock: Clock) -> None:
        node = NodePresence(description, client, clock)
        await node.register()
        await node.run()

    @operator.reconciler(Pod, when=on_objects(Pod, is_here), while_deleting=True, name=f"pods-on-{name}")
    async def reconcile(pod: Pod, ctx: Context[Pod]) -> None:
        if pod.spec.node_name != name:
            return
        await _Pod(pod, ctx, description.address, addresses).live()

    return operator


class _Pod:
    """One look at one pod of the node."""

    def __init__(self, pod: Pod, ctx: Context[Pod], host_ip: str, addresses: Addresses) -> None:
        self._pod = pod
        self._ctx = ctx
        self._host_ip = host_ip
        self._addresses = addresses
        #: Error in its annotations.
        self._complaint = ""

    async def live(self) -> None:
        """Write how the pod stands, or take it away when it has ended."""
        pod, ctx = self._pod, self._ctx
        script = self._script()
        if pod.is_deleting:
            await self._end(script or Script())
            return
        if is_finished(pod):
            return
        now = ctx.now()
        sight = self._sight(script)
        pod.status = pod_status(pod, sight.report, now.replace(microsecond=0))
        if sight.until is not None:
            ctx.requeue_after(max((sight.until - now).total_seconds(), 0.001))

    def _sight(self, script: Script | None) -> PodObservation:
        pod, now = self._pod, self._ctx.now()
        began = pod.status.start_time or now.replace(microsecond=0)
        address = self._address()
        if script is None:
            states = {
                one.name: ContainerReport(state=Waiting("CreateContainerConfigError", self._complaint))
                for one in pod.spec.containers
            }
            return PodObservation(PodReport(containers=states, started_at=began, host_ip=self._host_ip, pod_ip=address))
        return pod_at(pod, script, began, now, host_ip=self._host_ip, pod_ip=address)

    def _script(self) -> Script | None:
        try:
            return Script.of(self._pod)
        except ScriptError as error:
            self._complaint = str(error)
            if self._pod.status.start_time is None:
                self._ctx.event("InvalidSimulation", str(error), kind="Warning")
            return None

    def _address(self) -> str:
        if self._pod.spec.host_network:
            return self._host_ip
        return self._addresses.address_of(self._pod.uid, self._pod.status.pod_ip)

    async def _end(self, script: Script) -> None:
        """Finish the deletion of a pod in time: only its node can finish a graceful deletion."""
        pod, ctx, now = self._pod, self._ctx, self._ctx.now()
        left = (stopped_at(pod, script, now) - now).total_seconds()
        if left > 0:
            ctx.requeue_after(left)
            return
        options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=pod.uid))
        await ctx.client.delete(pod, options=options, missing_ok=True)
        self._addresses.release(pod.uid, pod.status.pod_ip)
