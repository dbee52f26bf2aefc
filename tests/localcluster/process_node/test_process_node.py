"""Pods as processes: what they see, how they end, and what their status shows."""

import os
from pathlib import Path

import pytest

from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet, StatefulSetSpec
from steersman.kinds.authentication_v1 import TokenReview, TokenReviewSpec
from steersman.kinds.core_v1 import (
    ConfigMap,
    ConfigMapVolumeSource,
    Container,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EnvVar,
    ExecAction,
    HostPathVolumeSource,
    Lifecycle,
    LifecycleHandler,
    Node,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Probe,
    Secret,
    SecretVolumeSource,
    TCPSocketAction,
    Volume,
    VolumeMount,
)
from steersman.kinds.events_v1 import Event
from steersman.kinds.meta_v1 import LabelSelector
from steersman.localcluster.process_node.faults import PodFaults
from steersman.objects.meta import OwnerReference
from steersman.protocol.options import DeleteOptions
from steersman.testing.cluster import Cluster
from tests.localcluster.process_node.conftest import IDLE, StartNode, placed, script
from tests.localcluster.process_node.looks import (
    POD_IP,
    claim,
    container_of,
    is_alive,
    is_ready,
    names,
    output_of,
    phase_of,
    pod_of,
    text,
    waiting_reason,
    with_claim,
)


async def test_a_pod_runs_as_a_process_with_an_address_of_its_own(cluster: Cluster, start_node: StartNode) -> None:
    """The purpose of the node: a program of this machine runs as a pod."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(IDLE)))
        await cluster.eventually(lambda: is_ready(cluster))
        status = pod_of(cluster).status
        assert status.phase == "Running"
        assert (status.pod_ip or "").startswith("127.")
        assert status.pod_ip != "127.0.0.1"
        os.kill(node.pod("a").runs["main"].process.pid, 0)


async def test_the_node_exists_and_is_ready(cluster: Cluster, start_node: StartNode) -> None:
    """A scheduler finds it."""
    async with start_node() as node:
        await cluster.eventually(lambda: [item.name for item in cluster.list(Node)] == [node.options.name])


async def test_a_process_that_exits_completes_its_pod(cluster: Cluster, start_node: StartNode) -> None:
    """Jobs depend on it."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script("print('done')"), restart_policy="Never"))
        await cluster.eventually(lambda: phase_of(cluster) == "Succeeded")
        assert output_of(node) == ["done"]


async def test_an_exit_code_fails_the_pod_and_is_shown(cluster: Cluster, start_node: StartNode) -> None:
    """The status shows what went wrong."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script("raise SystemExit(3)"), restart_policy="Never"))
        await cluster.eventually(lambda: phase_of(cluster) == "Failed")
        state = container_of(cluster).state
        assert state is not None
        assert state.terminated is not None
        assert (state.terminated.exit_code, state.terminated.reason) == (3, "Error")
        assert node.pods


async def test_an_unknown_image_is_never_run_and_the_message_says_what_to_do(
    cluster: Cluster, start_node: StartNode
) -> None:
    """Only programs that the author mapped are executed."""
    async with start_node() as node:
        await cluster.client.create(placed("a", Container(name="main", image="nginx:1.27", command=["/bin/ls"])))
        await cluster.eventually(lambda: waiting_reason(cluster) == "ErrImagePull")
        state = container_of(cluster).state
        assert state is not None
        assert state.waiting is not None
        assert 'add "nginx" = "/path/to/program" to [tool.steersman.images]' in (state.waiting.message or "")
        assert not node.pod("a").runs


@pytest.mark.parametrize("command", [["ls", "/"], ["/bin/ls"], ["../../bin/ls"], ["sh;ls"], [""]])
async def test_a_program_that_its_image_does_not_have_is_never_run(
    cluster: Cluster, start_node: StartNode, command: list[str]
) -> None:
    """A pod's command chooses among the programs of its image, and no others."""
    async with start_node() as node:
        await cluster.client.create(placed("a", Container(name="main", image="python:3", command=command)))
        await cluster.eventually(lambda: waiting_reason(cluster) == "RunContainerError")
        assert not node.pod("a").runs


async def test_a_container_that_crashes_is_restarted_and_then_waits(cluster: Cluster, start_node: StartNode) -> None:
    """At once the first time, then with a back-off."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script("raise SystemExit(1)")))
        await cluster.eventually(lambda: waiting_reason(cluster) == "CrashLoopBackOff")
        assert container_of(cluster).restart_count == 1
        assert node.pod("a").life.wakes_at(cluster.clock.monotonic()) is not None


async def test_init_containers_prepare_a_volume_for_the_others(cluster: Cluster, start_node: StartNode) -> None:
    """Containers of a pod share their volumes, each under its own mount path."""
    async with start_node() as node:
        mount = [VolumeMount(name="work", mount_path="/data")]
        other = [VolumeMount(name="work", mount_path="/srv/other/place")]
        pod = placed(
            "a",
            script("print(open('/srv/other/place/note').read())", volume_mounts=other),
            init_containers=[script("open('/data/note', 'w').write('ready')", name="prepare", volume_mounts=mount)],
            volumes=[Volume(name="work", empty_dir=EmptyDirVolumeSource())],
            restart_policy="Never",
        )
        await cluster.client.create(pod)
        await cluster.eventually(lambda: phase_of(cluster) == "Succeeded")
        assert output_of(node) == ["ready"]


async def test_a_container_sees_its_variables_files_and_address(cluster: Cluster, start_node: StartNode) -> None:
    """A manifest for a cluster runs unchanged: paths are those of its mounts."""
    async with start_node() as node:
        await cluster.client.create(ConfigMap(meta("conf", namespace="default"), data={"app.conf": "dir /data/db\n"}))
        await cluster.client.create(Secret(meta("key", namespace="default"), data={"key": b"/data/db is not touched"}))
        text = (
            "import os, sys; print(open(sys.argv[1]).read().split()[1] == os.environ['DATA']);"
            "print(open('/etc/key/key').read(), oct(os.stat('/etc/key/key').st_mode & 0o777));"
            "print(os.environ['POD_IP'], os.environ['URL'], 'VIRTUAL_ENV' in os.environ)"
        )
        container = script(text)
        container.args = [text, "/config/app.conf"]
        container.env = [POD_IP, EnvVar(name="URL", value="http://$(POD_IP):80"), EnvVar(name="DATA", value="/data/db")]
        container.volume_mounts = [
            VolumeMount(name="conf", mount_path="/config"),
            VolumeMount(name="key", mount_path="/etc/key", read_only=True),
            VolumeMount(name="data", mount_path="/data/db"),
        ]
        volumes = [
            Volume(name="conf", config_map=ConfigMapVolumeSource(name="conf")),
            Volume(name="key", secret=SecretVolumeSource(secret_name="key", default_mode=0o400)),
            Volume(name="data", empty_dir=EmptyDirVolumeSource()),
        ]
        await cluster.client.create(placed("a", container, volumes=volumes, restart_policy="Never"))
        await cluster.eventually(lambda: phase_of(cluster) in ("Succeeded", "Failed"))
        address = pod_of(cluster).status.pod_ip
        assert output_of(node) == ["True", "/data/db is not touched 0o400", f"{address} http://{address}:80 False"]


async def test_a_pod_waits_for_a_missing_config_map(cluster: Cluster, start_node: StartNode) -> None:
    """The order in which objects are created does not matter."""
    async with start_node() as node:
        source = ConfigMapVolumeSource(name="late")
        container = script("print(open('/c/k').read())", volume_mounts=[VolumeMount(name="c", mount_path="/c")])
        await cluster.client.create(
            placed("a", container, volumes=[Volume(name="c", config_map=source)], restart_policy="Never")
        )
        await cluster.eventually(lambda: any(event.reason == "FailedMount" for event in cluster.list(Event)))
        assert waiting_reason(cluster) == "ContainerCreating"
        await cluster.client.create(ConfigMap(meta("late", namespace="default"), data={"k": "here"}))
        await cluster.eventually(lambda: phase_of(cluster) == "Succeeded")
        assert output_of(node) == ["here"]


async def test_a_changed_config_map_changes_in_the_volume(cluster: Cluster, start_node: StartNode) -> None:
    """Programs that reload their configuration need no restart."""
    async with start_node() as node:
        config = await cluster.client.create(ConfigMap(meta("c", namespace="default"), data={"k": "one"}))
        container = script(IDLE, volume_mounts=[VolumeMount(name="c", mount_path="/c")])
        volumes = [Volume(name="c", config_map=ConfigMapVolumeSource(name="c"))]
        await cluster.client.create(placed("a", container, volumes=volumes))
        await cluster.eventually(lambda: is_ready(cluster))
        place = node.pod("a").runs["main"].context.mounts.place_of("/c/k")
        assert place is not None
        assert text(place) == "one"
        config.data = {"k": "two"}
        await cluster.client.update(config)
        await cluster.eventually(lambda: text(place) == "two")


async def test_a_changed_label_changes_in_the_volume(cluster: Cluster, start_node: StartNode) -> None:
    """Sidecars are often told what to do by an annotation or a label of their own pod."""
    async with start_node() as node:
        field = ObjectFieldSelector(field_path="metadata.labels['role']")
        source = DownwardAPIVolumeSource(items=[DownwardAPIVolumeFile(path="role", field_ref=field)])
        container = script(IDLE, volume_mounts=[VolumeMount(name="me", mount_path="/me")])
        pod = placed("a", container, volumes=[Volume(name="me", downward_api=source)])
        pod.metadata.labels = {"role": "secondary"}
        await cluster.client.create(pod)
        await cluster.eventually(lambda: is_ready(cluster))
        place = node.pod("a").runs["main"].context.mounts.place_of("/me/role")
        assert place is not None
        assert text(place) == "secondary"
        await cluster.client.patch(pod, {"metadata": {"labels": {"role": "primary"}}})
        await cluster.eventually(lambda: text(place) == "primary")


async def test_a_container_finds_the_token_of_its_service_account(cluster: Cluster, start_node: StartNode) -> None:
    """Programs that talk to the API server read their credentials there, without being configured."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(IDLE)))
        await cluster.eventually(lambda: is_ready(cluster))
        account = node.pod("a").runs["main"].context.mounts.place_of("/var/run/secrets/kubernetes.io/serviceaccount")
        assert account is not None
        assert text(f"{account}/namespace") == "default"
        review = TokenReview(spec=TokenReviewSpec(token=text(f"{account}/token")))
        reviewed = await cluster.client.create(review)
        assert reviewed.status is not None
        assert reviewed.status.user is not None
        assert reviewed.status.user.username == "system:serviceaccount:default:default"


async def test_a_host_path_is_not_provided(cluster: Cluster, start_node: StartNode) -> None:
    """A pod gets directories of the node, not files of the machine."""
    async with start_node() as node:
        container = script(IDLE, volume_mounts=[VolumeMount(name="h", mount_path="/h")])
        volumes = [Volume(name="h", host_path=HostPathVolumeSource(path="/etc"))]
        await cluster.client.create(placed("a", container, volumes=volumes))
        await cluster.eventually(lambda: any("host_path" in (event.note or "") for event in cluster.list(Event)))
        assert not node.pod("a").runs


async def test_a_claim_outlives_its_pods_and_its_files_are_deleted_with_it(
    cluster: Cluster, start_node: StartNode
) -> None:
    """A database finds its data again; a deleted claim leaves no files."""
    async with start_node() as node:
        kept = await cluster.client.create(claim("data"))
        await cluster.client.create(with_claim("a", "open('/data/x', 'w').write('kept')"))
        await cluster.eventually(lambda: phase_of(cluster) == "Succeeded")
        await cluster.client.create(with_claim("b", "print(open('/data/x').read())"))
        await cluster.eventually(lambda: phase_of(cluster, "b") == "Succeeded")
        assert output_of(node, "b") == ["kept"]
        place = node.options.data / "claims" / "default" / f"data_{kept.uid}"
        assert (place / "x").exists()
        for name in ("a", "b"):
            await cluster.client.delete(pod_of(cluster, name))
        await cluster.client.patch(kept, {"metadata": {"finalizers": None}})
        await cluster.client.delete(kept)
        await cluster.eventually(lambda: not place.exists())


async def test_a_member_of_a_stateful_set_gets_the_same_address_again(cluster: Cluster, start_node: StartNode) -> None:
    """A database that stores the addresses of its peers finds them."""
    async with start_node() as node:
        members = StatefulSet(
            meta("db", namespace="default"),
            spec=StatefulSetSpec(
                selector=LabelSelector(match_labels={"a": "b"}),
                template=PodTemplateSpec(metadata=meta(labels={"a": "b"}), spec=PodSpec(containers=[script(IDLE)])),
            ),
        )
        uid = (await cluster.client.create(members)).uid
        owner = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="db", uid=uid, controller=True)
        addresses = []
        for _ in range(2):
            pod = placed("db-0", script(IDLE))
            pod.metadata.owner_references = [owner]
            await cluster.client.create(pod)
            await cluster.eventually(lambda: is_ready(cluster, "db-0"))
            addresses.append(pod_of(cluster, "db-0").status.pod_ip)
            await cluster.client.delete(pod_of(cluster, "db-0"))
            await cluster.eventually(lambda: not cluster.list(Pod))
        assert addresses[0] == addresses[1]
        await cluster.eventually(lambda: not node.pods)


SERVER = """
import os, socket, time
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((os.environ["POD_IP"], 8080))
server.listen()
time.sleep(600)
"""


async def test_each_pod_can_have_the_same_port_and_is_probed_there(cluster: Cluster, start_node: StartNode) -> None:
    """Each pod has its own address, so ports need no mapping."""
    async with start_node() as node:
        probe = Probe(tcp_socket=TCPSocketAction(port=8080), period_seconds=1)
        for name in ("a", "b"):
            await cluster.client.create(placed(name, script(SERVER, env=[POD_IP], readiness_probe=probe)))
        await cluster.eventually(lambda: is_ready(cluster, "a") and is_ready(cluster, "b"))
        addresses = {pod_of(cluster, name).status.pod_ip for name in ("a", "b")}
        assert len(addresses) == 2
        assert len(node.pods) == 2


async def test_a_failed_liveness_probe_ends_the_container(cluster: Cluster, start_node: StartNode) -> None:
    """It is then restarted."""
    async with start_node() as node:
        probe = Probe(exec=ExecAction(command=["sh", "-c", "exit 1"]), period_seconds=1, failure_threshold=1)
        await cluster.client.create(placed("a", script(IDLE, liveness_probe=probe)))
        await cluster.eventually(lambda: container_of(cluster).restart_count == 1)
        assert node.pods


async def test_hooks_run_inside_the_container(cluster: Cluster, start_node: StartNode, tmp_path: Path) -> None:
    """After the start, and before the stop signal."""
    async with start_node() as node:
        lifecycle = Lifecycle(
            post_start=LifecycleHandler(exec=ExecAction(command=["sh", "-c", f"echo $ME > {tmp_path}/started"])),
            pre_stop=LifecycleHandler(exec=ExecAction(command=["sh", "-c", f"echo $ME > {tmp_path}/stopped"])),
        )
        await cluster.client.create(placed("a", script(IDLE, lifecycle=lifecycle, env=[EnvVar(name="ME", value="m")])))
        await cluster.eventually(lambda: is_ready(cluster))
        assert (tmp_path / "started").read_text() == "m\n"
        await cluster.client.delete(pod_of(cluster))
        await cluster.eventually(lambda: not node.pods)
        assert (tmp_path / "stopped").read_text() == "m\n"


STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


async def test_a_pod_that_does_not_stop_is_killed_after_its_grace_period(
    cluster: Cluster, start_node: StartNode
) -> None:
    """Its files are deleted with it."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(STUBBORN), termination_grace_period_seconds=1))
        await cluster.eventually(lambda: output_of(node) == ["up"])
        pid = node.pod("a").runs["main"].process.pid
        await cluster.client.delete(pod_of(cluster))
        await cluster.eventually(lambda: not cluster.list(Pod))
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert not names(node.options.data / "pods")


async def test_a_pod_deleted_by_force_is_stopped_too(cluster: Cluster, start_node: StartNode) -> None:
    """Its object is deleted at once; its processes follow."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(IDLE)))
        await cluster.eventually(lambda: output_of(node) == ["up"])
        pid = node.pod("a").runs["main"].process.pid
        await cluster.client.delete(pod_of(cluster), options=DeleteOptions(grace_period_seconds=0))
        await cluster.eventually(lambda: not node.pods)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


FAMILY = """
import os, sys, time, subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


async def test_child_processes_end_with_their_container(cluster: Cluster, start_node: StartNode) -> None:
    """Workers of a server do not outlive it, even when it is killed."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(FAMILY)))
        await cluster.eventually(lambda: len(output_of(node)) == 1)
        child = int(output_of(node)[0])
        PodFaults(node, "a").kill()
        await cluster.eventually(lambda: not is_alive(child))


async def test_a_termination_message_is_shown(cluster: Cluster, start_node: StartNode) -> None:
    """From its file, or the last lines of the log."""
    async with start_node() as node:
        failing = script("open('/dev/termination-log', 'w').write('out of luck'); raise SystemExit(1)")
        logged = script("print('out of words'); raise SystemExit(1)")
        logged.termination_message_policy = "FallbackToLogsOnError"
        await cluster.client.create(placed("a", failing, restart_policy="Never"))
        await cluster.client.create(placed("b", logged, restart_policy="Never"))
        await cluster.eventually(lambda: phase_of(cluster, "a") == "Failed" and phase_of(cluster, "b") == "Failed")
        messages = []
        for name in ("a", "b"):
            state = container_of(cluster, name).state
            messages.append(state.terminated.message if state is not None and state.terminated is not None else None)
        assert messages == ["out of luck", "out of words\n"]
        assert node.pods
