"""What every pod of a node needs of it."""

from dataclasses import dataclass

from steersman.client.client import Client
from steersman.client.events import EventRecorder
from steersman.clock import Clock
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.node_object import NodeDescription
from steersman.localcluster.process_node.addresses import AddressBook
from steersman.localcluster.process_node.containers.images import Images
from steersman.localcluster.process_node.files.directory import NodeDirectory
from steersman.localcluster.process_node.inventory import CachedInventory
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.localcluster.process_node.processes.spawning import Processes

_ADDRESSES = "addresses.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeServices:
    """The collaborators of a node, shared by its pods."""

    options: ProcessNodeOptions
    description: NodeDescription
    client: Client
    clock: Clock
    directory: NodeDirectory
    processes: Processes
    images: Images
    inventory: CachedInventory
    addresses: AddressBook
    recorder: EventRecorder

    def address_of(self, pod: Pod) -> str:
        """Return a pod's address: a pod of a StatefulSet gets the one it had before."""
        if pod.spec.host_network:
            return self.description.address
        address = self.addresses.address_of(_key(pod))
        self._keep_addresses()
        return address

    def give_back_address(self, pod: Pod, *, for_good: bool = False) -> None:
        """Release the address of a removed pod; a StatefulSet's pod keeps its address unless ``for_good``."""
        if for_good or not _is_member(pod):
            self.addresses.give_back(_key(pod))
            self._keep_addresses()

    def _keep_addresses(self) -> None:
        self.directory.keep(_ADDRESSES, self.addresses.entries())


def known_addresses(directory: NodeDirectory) -> AddressBook:
    """Return the addresses as they were when the node was stopped."""
    return AddressBook(str(directory.root), directory.read(_ADDRESSES))


def _is_member(pod: Pod) -> bool:
    return pod.controller is not None and pod.controller.kind == "StatefulSet"


def _key(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}" if _is_member(pod) else pod.uid
