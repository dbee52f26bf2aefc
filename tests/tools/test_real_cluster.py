import os
import signal
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from cryptography import x509

from steersman.scaffold.image.base import read_base
from steersman.scaffold.image.layer import File
from steersman.scaffold.image.layout import Layout
from tools.real_cluster import host
from tools.real_cluster.certificates import Authority
from tools.real_cluster.cgroups import (
    Groups,
    Hierarchy,
    NoCgroupError,
    groups_named,
    hand_down_all,
    hierarchies,
    mount_commands,
)
from tools.real_cluster.cluster import StartError
from tools.real_cluster.images import Image, package_files, write_image
from tools.real_cluster.leftovers import changes
from tools.real_cluster.scenarios import __main__ as scenarios
from tools.real_cluster.supervisor import sweep

#: A host with version 1, and an empty hierarchy of version 2 beside it.
HYBRID = "3:name=systemd:/\n2:cpu,cpuacct:/jobs/7\n1:memory:/jobs/7\n0::/\n"
HYBRID_MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
PURE = "0::/user.slice/session.scope\n"
PURE_MOUNTS = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"


def group(folder: Path, *, available: str, enabled: str) -> Path:
    """Write the files of a cgroup of version 2."""
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.controllers").write_text(available)
    (folder / "cgroup.subtree_control").write_text(enabled)
    (folder / "cgroup.procs").write_text("1\n7\n")
    return folder


def test_hierarchies_of_version_1_are_found_and_version_2_beside_them_is_not() -> None:
    """Beside version 1 the other hierarchy has no controllers: a kubelet in it would limit nothing."""
    found = hierarchies(HYBRID, HYBRID_MOUNTS)
    assert [(one.controllers, str(one.folder)) for one in found] == [
        ("name=systemd", "/sys/fs/cgroup/systemd"),
        ("cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/jobs/7"),
        ("memory", "/sys/fs/cgroup/memory/jobs/7"),
    ]


def test_the_hierarchy_of_a_version_2_host_is_found() -> None:
    """Current distributions have nothing else."""
    (found,) = hierarchies(PURE, PURE_MOUNTS)
    assert (found.controllers, str(found.folder)) == ("", "/sys/fs/cgroup/user.slice/session.scope")


def test_a_container_sees_its_own_group_at_the_mount() -> None:
    """A container's mount begins at its own group, while the kernel lists the whole path."""
    mounts = "33 31 0:30 /box/9 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    (found,) = hierarchies("1:memory:/box/9\n", mounts)
    assert str(found.folder) == "/sys/fs/cgroup/memory"


def test_all_hierarchies_are_mounted_inside() -> None:
    """The kubelet looks at fixed places; a named hierarchy has no controller to mount it by."""
    commands = list(mount_commands(HYBRID))
    assert ("mount", "-t", "cgroup", "-o", "none,name=systemd", "cgroup", "/sys/fs/cgroup/systemd") in commands
    assert ("mount", "-t", "cgroup", "-o", "cpu,cpuacct", "cgroup", "/sys/fs/cgroup/cpu,cpuacct") in commands
    assert list(mount_commands(PURE)) == [("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")]


def test_a_version_2_group_is_created_where_controllers_can_be_delegated(tmp_path: Path) -> None:
    """A session's own group contains processes and has no controllers for children; an ancestor does."""
    group(tmp_path, available="cpuset cpu io memory pids", enabled="cpu memory pids")
    group(tmp_path / "session", available="memory pids", enabled="")
    groups = Groups.create([Hierarchy("", tmp_path, PurePosixPath("/session"))], "mine")
    assert groups.folders == [tmp_path / "mine"]
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpuset +io"
    groups.remove()
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "-cpuset -io"


def test_the_starter_of_a_version_2_cluster_leaves_the_group(tmp_path: Path) -> None:
    """It cannot be moved from inside, and while it is there the group delegates nothing."""
    mine = group(tmp_path / "mine", available="cpu memory pids", enabled="")
    Groups([mine]).set_aside(42)
    assert (mine / "starter" / "cgroup.procs").read_text() == "42"


def test_without_controllers_no_version_2_group_is_created(tmp_path: Path) -> None:
    """Pods without limits would differ from a user's cluster, so it is an error."""
    group(tmp_path, available="pids", enabled="")
    with pytest.raises(NoCgroupError, match="cannot hand controllers"):
        Groups.create([Hierarchy("", tmp_path, PurePosixPath("/"))], "mine")


def test_inside_of_version_2_the_root_is_emptied_first(tmp_path: Path) -> None:
    """A group with processes cannot delegate controllers to those of pods; 0 is one that cannot be moved."""
    group(tmp_path, available="cpu memory pids rdma", enabled="")
    (tmp_path / "cgroup.procs").write_text("0\n7\n")
    hand_down_all(tmp_path)
    assert (tmp_path / "init" / "cgroup.procs").read_text() == "7"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"


def test_controllers_that_another_cluster_uses_stay_enabled(tmp_path: Path) -> None:
    """Two clusters share the group above them: the first to end must still remove all that is its own."""
    group(tmp_path, available="cpu io memory pids", enabled="cpu memory pids")
    groups = Groups.create([Hierarchy("", tmp_path, PurePosixPath("/"))], "mine")
    (tmp_path / "cgroup.subtree_control").unlink()
    (tmp_path / "cgroup.subtree_control").mkdir()  # every write fails, as while a child has the controllers
    groups.remove()
    assert not (tmp_path / "mine").exists()


def test_a_host_without_cgroups_to_write_is_named_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container often has them read-only: `.ci/run` then prints this line and goes on."""
    (tmp_path / "memory").write_text("")  # a file: nothing can be created below it
    found = [Hierarchy("memory", tmp_path / "memory", PurePosixPath("/"))]
    monkeypatch.setattr(host, "own_hierarchies", lambda: found)
    monkeypatch.setattr(host.os, "geteuid", lambda: 0)
    monkeypatch.setattr(host.os, "access", lambda *_: True)
    monkeypatch.setattr(host.shutil, "which", lambda name: name)
    lack = host.missing()
    assert lack.startswith("it needs cgroups of its own, and no cgroup can be made: ")
    assert "\n" not in lack


def test_a_setting_of_a_module_that_was_loaded_meanwhile_is_no_change() -> None:
    """The first cluster on a machine loads connection tracking, whose settings then exist for all."""
    before = {"mounts": ["/"], "settings": ["/proc/sys/kernel/panic=0"]}
    loaded = {"mounts": ["/"], "settings": ["/proc/sys/kernel/panic=0", "/proc/sys/net/nf_conntrack_max=1"]}
    assert changes(before, loaded) == []
    changed = {"mounts": ["/"], "settings": ["/proc/sys/kernel/panic=10"]}
    assert changes(before, changed) == [
        "settings: ['/proc/sys/kernel/panic=0'] became ['/proc/sys/kernel/panic=10']",
    ]


def test_where_no_cluster_can_run_scenarios_succeed_with_one_line_of_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The machine of `.ci/run` may lack root, Go or a kernel feature, which is no defect of a change."""
    monkeypatch.setattr(scenarios, "missing", lambda: "it needs root")
    monkeypatch.setattr(scenarios, "interrupt_on_signals", lambda: None)
    monkeypatch.setattr(sys, "argv", ["scenarios", "--if-possible", "guide"])
    assert scenarios.main() == 0
    output = capsys.readouterr()
    assert output.out == "not run: guide, because a real cluster cannot run here: it needs root\n"
    assert output.err == ""
    monkeypatch.setattr(sys, "argv", ["scenarios", "guide"])
    assert scenarios.main() == 2


def test_a_cluster_that_does_not_start_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine can forbid what no trial foresees; the reason is the last that the cluster printed."""

    def fail(_: object, __: object) -> int:
        raise StartError("the cluster did not start:\n1.0 s  namespaces\nmount: permission denied")

    monkeypatch.setattr(scenarios, "_parts", lambda *_: None)
    monkeypatch.setattr(scenarios, "_run_all", fail)
    monkeypatch.setattr(scenarios, "interrupt_on_signals", lambda: None)
    monkeypatch.setattr(sys, "argv", ["scenarios", "--if-possible", "guide"])
    assert scenarios.main() == 0
    expected = "not run: guide, because the cluster did not start: mount: permission denied\n"
    assert capsys.readouterr().out == expected


def test_scenarios_share_a_cluster_only_on_request() -> None:
    """Killed clusters are others in any case, and come last."""
    names = ["killed", "guide", "sharded"]
    assert scenarios.rounds(names, is_together=True) == [["guide", "sharded"], ["killed"]]
    assert scenarios.rounds(names, is_together=False) == [["guide"], ["sharded"], ["killed"]]


#: Builds with the program `go` of a folder.
BUILDER = """
import sys
from pathlib import Path
from tools.control_plane import binaries
from tools.real_cluster.cluster import interrupt_on_signals
interrupt_on_signals()
binaries.build_program("nothing", Path(sys.argv[1]))
"""
#: A build that takes long.
GO = f"""#!{sys.executable}
import time
print("builds", flush=True)
time.sleep(30)
print("survived", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_go_ends_with_the_process_that_builds(tmp_path: Path, number: signal.Signals) -> None:
    """A build takes minutes: after Ctrl-C or a kill it must not go on in the background."""
    (tmp_path / "go").write_text(GO)
    (tmp_path / "go").chmod(0o755)
    with subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-c", BUILDER, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    ) as builder:
        assert builder.stdout is not None
        assert "builds" in (builder.stdout.readline(), builder.stdout.readline())[1]
        builder.send_signal(number)
        # The output ends when the last process that can write to it has ended.
        assert "survived" not in builder.stdout.read()


def test_groups_of_other_clusters_may_vanish_during_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several clusters run on a machine, and one that ended during a search made another one fail."""
    for name in ("mine", "other/pods", "jobs/mine"):
        (tmp_path / name).mkdir(parents=True)
    real = os.scandir

    def vanishing(path: str) -> object:
        if str(path).endswith("other"):
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    found = groups_named("mine", [Hierarchy("memory", tmp_path, PurePosixPath("/"))])
    assert sorted(found) == [tmp_path / "jobs/mine", tmp_path / "mine"]


def test_a_new_cpuset_gets_the_processors_of_its_parent(tmp_path: Path) -> None:
    """A version 1 cpuset starts empty and rejects every process."""
    (tmp_path / "cpuset.cpus").write_text("0-1")
    (tmp_path / "cpuset.mems").write_text("0")
    Groups.create([Hierarchy("cpuset", tmp_path, PurePosixPath("/"))], "mine")
    assert (tmp_path / "mine" / "cpuset.cpus").read_text() == "0-1"


def test_the_node_does_not_run_on_the_machine_itself() -> None:
    """It mounts over folders of the machine: a developer who starts it by hand must lose nothing."""
    command = [sys.executable, "-m", "tools.real_cluster.node", "a", "b", "c"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this interpreter
    assert answer.returncode == 1
    assert "only as the first process of its own namespaces" in answer.stderr


#: Holds a run folder as a supervisor does, until it is killed.
HOLDER = """
import sys
from pathlib import Path
from tools.real_cluster.supervisor import hold
held = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_files_of_a_running_cluster_are_kept_and_those_of_a_killed_one_removed(tmp_path: Path) -> None:
    """A starting cluster must not delete another one's files: process ids and names prove nothing."""
    runs = tmp_path / "runs"
    run = runs / "7"
    with subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-c", HOLDER, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        sweep(runs)
        assert run.exists()
        holder.kill()
    sweep(runs)
    assert not run.exists()


def test_a_certificate_names_its_user_and_hosts(tmp_path: Path) -> None:
    """The API server reads user and group from it, and clients compare the host."""
    authority = Authority(tmp_path)
    authority.issue("kubelet", "system:node:a", "system:nodes", ["a", "10.0.0.1"])
    issued = x509.load_pem_x509_certificate((tmp_path / "kubelet.crt").read_bytes())
    assert issued.subject.rfc4514_string() == "CN=system:node:a,O=system:nodes"
    names = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a"]
    issued.verify_directly_issued_by(x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes()))
    assert (tmp_path / "kubelet.key").stat().st_mode & 0o077 == 0


def test_links_in_packages_become_files(tmp_path: Path) -> None:
    """Programs are often links to others, with absolute targets that mean the package's root, not the machine's."""
    for name in ("usr/bin", "lib/x86_64-linux-gnu", "lib64"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "usr/bin/redis-check").write_bytes(b"program")
    (tmp_path / "usr/bin/redis-server").symlink_to("redis-check")
    (tmp_path / "lib/x86_64-linux-gnu/ld.so").write_bytes(b"loader")
    (tmp_path / "lib64/ld-linux.so.2").symlink_to("/lib/x86_64-linux-gnu/ld.so")
    found = {file.path: file.data for file in package_files(tmp_path, "redis-*")}
    assert found["usr/bin/redis-server"] == b"program"
    assert found["lib64/ld-linux.so.2"] == b"loader"


def test_an_image_is_a_base_for_steer_image_build(tmp_path: Path) -> None:
    """The operator's image is built on top of it, which needs the version of its Python."""
    files = [File("usr/local/lib/libz.so.1", b"")]
    image = Image(title="python", files=files, command=("python3",), environment=("PYTHON_VERSION=3.11.7",))
    write_image(image, tmp_path / "python", "x86_64")
    base = read_base(Layout(tmp_path / "python"), "linux/amd64")
    assert base.python == "3.11.7"
    assert base.names == {"libz.so.1"}
