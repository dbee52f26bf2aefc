"""The control groups of a cluster: one below that of the starter in each hierarchy, removed with everything in it.

Hosts come in two kinds. With version 1 each controller has a hierarchy of its own, and a group can be made anywhere in
it. With version 2 there is one hierarchy, and a group hands controllers to its children only while it contains no
process itself; so the group is made below the nearest ancestor that can.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Self

#: What the kubelet wants to limit, where the host has it.
_WANTED: Final = ("cpu", "cpuset", "memory", "pids", "hugetlb", "io")
_PATIENCE: Final = 60.0


class NoCgroupError(Exception):
    """No group can be made for the cluster."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted hierarchy, and the group in it of the process that asked."""

    #: As `/proc/self/cgroup` writes it: `memory`, `cpu,cpuacct`, `name=systemd`; empty for version 2.
    controllers: str
    mount: Path
    group: PurePosixPath

    @property
    def folder(self) -> Path:
        """The folder of the group."""
        return self.mount / self.group.relative_to("/")

    @property
    def name(self) -> str:
        """The name of the folder in which it is usually mounted."""
        return self.controllers.removeprefix("name=")


def hierarchies(groups: str, mounts: str) -> list[Hierarchy]:
    """Return the hierarchies of `/proc/self/cgroup` that `/proc/self/mountinfo` has a place for.

    Beside those of version 1 a hierarchy of version 2 has no controllers, and is left out.
    """
    places = dict(_mounted(mounts))
    found = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in places:
            root, mount = places[controllers]
            group = PurePosixPath("/") / (os.path.relpath(path, root) if path.startswith(root) else ".")
            found.append(Hierarchy(controllers, mount, group))
    first_version = [one for one in found if one.controllers]
    return first_version or found


def own_hierarchies() -> list[Hierarchy]:
    """Return the hierarchies of this process."""
    return hierarchies(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())


def groups_named(name: str, found: Iterable[Hierarchy]) -> list[Path]:
    """Return the groups with a name, wherever they are; groups of other clusters may vanish meanwhile."""
    return [
        Path(path, name)
        for hierarchy in found
        for path, folders, _ in os.walk(hierarchy.mount)  # unlike a glob it skips folders that are gone
        if name in folders
    ]


def _mounted(mounts: str) -> Iterator[tuple[str, tuple[str, Path]]]:
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, mount = before.split()[3:5]
        if kind == "cgroup2":
            yield "", (root, Path(mount))
        elif kind == "cgroup":
            flags = [flag for flag in options.split(",") if flag not in {"rw", "ro", "xattr", "none", "clone_children"}]
            yield ",".join(flag for flag in flags if not flag.startswith("release_agent")), (root, Path(mount))


@dataclass(slots=True)
class Groups:
    """The groups of one cluster."""

    folders: list[Path] = field(default_factory=list)
    #: Files in which controllers were switched on for the cluster, and what undoes it.
    undo: list[tuple[Path, str]] = field(default_factory=list)

    @classmethod
    def create(cls, found: Iterable[Hierarchy], name: str) -> Self:
        """Create a group of that name in each hierarchy; raise `NoCgroupError` if the host does not allow it."""
        groups = cls()
        try:
            for hierarchy in found:
                if hierarchy.controllers:
                    groups._create_first(hierarchy, name)
                else:
                    groups._create_second(hierarchy, name)
        except OSError as error:
            groups.remove()
            raise NoCgroupError(f"no cgroup can be made: {error}") from error
        if not groups.folders:
            raise NoCgroupError("no cgroup hierarchy is mounted")
        return groups

    def _create_first(self, hierarchy: Hierarchy, name: str) -> None:
        folder = hierarchy.folder / name
        folder.mkdir()
        self.folders.append(folder)
        if "cpuset" in hierarchy.controllers.split(","):
            # A new group has no processors and no memory of its own, and refuses processes until it has.
            for file in ("cpuset.cpus", "cpuset.mems"):
                (folder / file).write_text((hierarchy.folder / file).read_text())

    def _create_second(self, hierarchy: Hierarchy, name: str) -> None:
        parent = hierarchy.folder
        while not self._hands_down(parent):
            if parent == hierarchy.mount:
                raise NoCgroupError(
                    f"{parent} contains processes and cannot hand controllers to a new cgroup: start it in a cgroup "
                    "below the root, or on the host itself"
                )
            parent = parent.parent
        folder = parent / name
        folder.mkdir()
        self.folders.append(folder)

    def _hands_down(self, group: Path) -> bool:
        """Return whether the children of a group have all its controllers, switching on those that they lack."""
        control = group / "cgroup.subtree_control"
        enabled = control.read_text().split()
        available = (group / "cgroup.controllers").read_text().split()
        lacking = [name for name in available if name in _WANTED and name not in enabled]
        if not {"cpu", "memory", "pids"} <= set(available):
            return False
        if lacking:
            try:
                control.write_text(" ".join(f"+{name}" for name in lacking))
            except OSError:
                return False
            self.undo.append((control, " ".join(f"-{name}" for name in lacking)))
        return True

    def join(self) -> None:
        """Move the calling process into the groups."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text("0")

    def set_aside(self, pid: int) -> None:
        """Move a process of the cluster's starter from a version 2 group to a leaf: the group itself must be empty."""
        for folder in self.folders:
            if (folder / "cgroup.controllers").exists():
                (folder / "starter").mkdir()
                (folder / "starter" / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Remove the groups and all below them, once their processes have ended."""
        until = time.monotonic() + _PATIENCE
        for folder in self.folders:
            while not _removed(folder) and time.monotonic() < until:
                time.sleep(0.05)  # noqa: TID251 - a tool for people, outside the library
        for file, text in self.undo:
            with suppress(OSError):  # Another cluster that runs below the same group uses these controllers now.
                file.write_text(text)


def _removed(folder: Path) -> bool:
    try:
        for path, _, _ in os.walk(folder, topdown=False):
            Path(path).rmdir()
    except OSError:
        return False
    return True


def mount_commands(groups: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands that mount, in a cgroup namespace of its own, what `/proc/self/cgroup` lists."""
    root = "/sys/fs/cgroup"
    first_version = [
        controllers for _, controllers, _ in (line.split(":", 2) for line in groups.splitlines()) if controllers
    ]
    if not first_version:
        yield ("mount", "-t", "cgroup2", "cgroup2", root)
        return
    yield ("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
    for controllers in first_version:
        place = f"{root}/{controllers.removeprefix('name=')}"
        yield ("mkdir", place)
        options = f"none,{controllers}" if controllers.startswith("name=") else controllers
        yield ("mount", "-t", "cgroup", "-o", options, "cgroup", place)


def hand_down_all(root: Path = Path("/sys/fs/cgroup")) -> None:
    """Make the root of a version 2 namespace hand its controllers to pods: its own processes move into a leaf first."""
    if not (root / "cgroup.controllers").exists():
        return
    leaf = root / "init"
    leaf.mkdir()
    # 0: a process outside of this PID namespace, which the supervisor moves away.
    for pid in set((root / "cgroup.procs").read_text().split()) - {"0"}:
        (leaf / "cgroup.procs").write_text(pid)
    wanted = [name for name in (root / "cgroup.controllers").read_text().split() if name in _WANTED]
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            (root / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)  # noqa: TID251 - a tool for people, outside the library
        else:
            return
