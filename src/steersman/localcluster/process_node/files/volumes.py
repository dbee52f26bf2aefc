"""Provides the volumes of a pod as directories of this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steersman.kinds.core_v1 import Container, PersistentVolumeClaim, Pod, Volume, VolumeMount
from steersman.localcluster.process_node.containers.downward import NodeFacts
from steersman.localcluster.process_node.containers.environment import Sources
from steersman.localcluster.process_node.containers.expansion import expand
from steersman.localcluster.process_node.containers.problem import MountError
from steersman.localcluster.process_node.files.atomic_files import write_files
from steersman.localcluster.process_node.files.directory import NodeDirectory, PodDirectory
from steersman.localcluster.process_node.files.mounts import Mounts
from steersman.localcluster.process_node.files.projected_files import (
    File,
    check_path,
    is_projected,
    projected_files,
    tokens_wanted,
)

_TERMINATION_LOG = "/dev/termination-log"


class Inventory(Sources, Protocol):
    """Where everything is looked up that volumes are made of."""

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodVolumes:
    """The volumes of one pod."""

    pod: Pod
    directory: PodDirectory
    node: NodeDirectory
    inventory: Inventory
    facts: NodeFacts

    def mount(self, container: Container, variables: dict[str, str], tokens: dict[tuple[str, str], str]) -> Mounts:
        """Provide the mounts of a container; raise ``MountError`` if something is missing.

        Content that comes from the API is written for each container separately: files of config maps contain paths,
        and another container may have mounted something else there.
        """
        places = {_termination_path(container): str(self.termination_log(container))}
        for mount in container.volume_mounts or ():
            if not mount.mount_path.strip("/"):
                raise MountError(f"container {container.name} mounts {mount.name} at /, which no process node can do")
            places[mount.mount_path] = str(self._place(container, mount, variables))
        mounts = Mounts(places)
        for mount in container.volume_mounts or ():
            volume = self._volume(mount.name)
            if is_projected(volume):
                self._write(container, volume, mounts, tokens)
        for mount in container.volume_mounts or ():
            self._make_sub_path(mount, Path(places[mount.mount_path]))
        return mounts

    def refresh(self, container: Container, mounts: Mounts, tokens: dict[tuple[str, str], str]) -> None:
        """Update content that comes from the API; content that has become impossible stays unchanged."""
        for mount in container.volume_mounts or ():
            volume = self._volume(mount.name)
            if is_projected(volume) and not (mount.sub_path or mount.sub_path_expr):
                self._write(container, volume, mounts, tokens)

    def termination_log(self, container: Container) -> Path:
        """Return where a container leaves a message about its end."""
        return self.directory.container(container.name) / "termination-log"

    def root_of(self, name: str) -> Path:
        """Return the directory of a volume of the pod that containers can write to."""
        volume = self._volume(name)
        if volume.empty_dir is not None or volume.ephemeral is not None:
            return self.directory.scratch(name)
        if volume.persistent_volume_claim is None:
            kind = next((key for key in volume.__struct_fields__ if key != "name" and getattr(volume, key)), "nothing")
            raise MountError(
                f'volume "{name}" is of a kind that a process node does not provide ({kind}): '
                "use emptyDir, persistentVolumeClaim, configMap, secret, downwardAPI or projected"
            )
        claim = self.inventory.claim(self.pod.namespace, volume.persistent_volume_claim.claim_name)
        if claim is None:
            raise MountError(f'persistentvolumeclaim "{volume.persistent_volume_claim.claim_name}" not found')
        return self.node.claim(claim.namespace, claim.name, claim.uid)

    def _volume(self, name: str) -> Volume:
        found = next((volume for volume in self.pod.spec.volumes or () if volume.name == name), None)
        if found is None:
            raise MountError(f'volume "{name}" is not among the volumes of pod {self.pod.name}')
        return found

    def _place(self, container: Container, mount: VolumeMount, variables: dict[str, str]) -> Path:
        volume = self._volume(mount.name)
        root = self._projected(container, volume) if is_projected(volume) else self.root_of(mount.name)
        sub_path = expand(mount.sub_path_expr, variables) if mount.sub_path_expr else mount.sub_path
        if not sub_path:
            return root
        check_path(sub_path.rstrip("/"))
        place = root / sub_path
        if not is_projected(volume) and not place.resolve().is_relative_to(root.resolve()):
            raise MountError(f"subPath {sub_path} leads out of volume {mount.name}")
        return place

    def _make_sub_path(self, mount: VolumeMount, place: Path) -> None:
        if not is_projected(self._volume(mount.name)):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _projected(self, container: Container, volume: Volume) -> Path:
        return self.directory.container(container.name) / "volumes" / volume.name

    def _write(self, container: Container, volume: Volume, mounts: Mounts, tokens: dict[tuple[str, str], str]) -> None:
        files = projected_files(volume, self.pod, self.inventory, self.facts)
        written = {path: _rewritten(file, mounts) for path, file in files.items()}
        for token in tokens_wanted(volume):
            written[token.path] = File(tokens[volume.name, token.path].encode(), 0o600)
        write_files(self._projected(container, volume), written)


def _termination_path(container: Container) -> str:
    return container.termination_message_path or _TERMINATION_LOG


def _rewritten(file: File, mounts: Mounts) -> File:
    if not file.is_text:
        return file
    return File(mounts.rewrite(file.content.decode()).encode(), file.mode, is_text=True)
