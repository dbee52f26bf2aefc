"""Paths, variables, files and addresses as containers see them: pure rules."""

import sys
from pathlib import Path
from typing import Any

import pytest

from steersman import meta
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import (
    ConfigMap,
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    ConfigMapProjection,
    ConfigMapVolumeSource,
    Container,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    KeyToPath,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    ProjectedVolumeSource,
    ResourceFieldSelector,
    ResourceRequirements,
    Secret,
    SecretEnvSource,
    SecretKeySelector,
    SecretProjection,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from steersman.localcluster.process_node.addresses import AddressBook
from steersman.localcluster.process_node.containers.container_context import ContainerContext
from steersman.localcluster.process_node.containers.downward import NodeFacts
from steersman.localcluster.process_node.containers.environment import environment
from steersman.localcluster.process_node.containers.expansion import expand
from steersman.localcluster.process_node.containers.images import Images
from steersman.localcluster.process_node.containers.problem import MountError, ProgramError, SourceError
from steersman.localcluster.process_node.files.atomic_files import write_files
from steersman.localcluster.process_node.files.directory import NodeDirectory, checked
from steersman.localcluster.process_node.files.mounts import Mounts
from steersman.localcluster.process_node.files.projected_files import File, projected_files, tokens_wanted
from steersman.objects.quantity import Quantity

AROUND = NodeFacts("127.1.2.3", "127.0.0.1", {"cpu": "8", "memory": "1Gi"})


class Sources:
    """The ConfigMap and the Secret of the tests."""

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """Return the ConfigMap."""
        if (namespace, name) != ("ns", "c"):
            return None
        return ConfigMap(meta("c"), data={"k": "v", "path": "dir /data"}, binary_data={"b": b"\xff"})

    def secret(self, namespace: str, name: str) -> Secret | None:
        """Return the Secret."""
        return Secret(meta("s"), data={"k": b"hush", "b": b"\xff"}) if (namespace, name) == ("ns", "s") else None


def pod_with(container: Container) -> Pod:
    """Return a pod with one container."""
    metadata = meta("p", namespace="ns", uid="u", labels={"app": "x", "a/b": 'q"'}, annotations={"note": "n"})
    spec = PodSpec(containers=[container], node_name="process", service_account_name="sa")
    return Pod(metadata, spec=spec)


def variables(*env: EnvVar, env_from: list[EnvFromSource] | None = None, **fields: Any) -> dict[str, str]:
    """Return the variables of a container with these declarations."""
    container = Container(name="main", env=list(env), env_from=env_from, **fields)
    return environment(pod_with(container), container, Sources(), AROUND)


# Paths.


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("/data", "/host/d"),
        ("/data/", "/host/d/"),
        ("--dir=/data/x", "--dir=/host/d/x"),
        ("/data/db/file", "/host/db/file"),
        ("dir /data\ninclude /data/db/x.conf\n", "dir /host/d\ninclude /host/db/x.conf\n"),
        ('"/data","/data/db"', '"/host/d","/host/db"'),
        ("file:///data/x", "file:///host/d/x"),
        ("a:/data:b", "a:/host/d:b"),
        ("/database", "/database"),
        ("/data-old /data.bak", "/data-old /data.bak"),
        ("/my/data", "/my/data"),
        ("./data ~/data", "./data ~/data"),
        ("http://data/db", "http://data/db"),
        ("data", "data"),
    ],
)
def test_a_path_below_a_mount_is_replaced_if_it_is_a_whole_path(text: str, rewritten: str) -> None:
    """A manifest for a cluster contains paths in arguments, variables and configuration files."""
    assert Mounts({"/data/": "/host/d", "/data/db": "/host/db"}).rewrite(text) == rewritten


def test_without_mounts_nothing_is_replaced() -> None:
    """The usual case of small pods."""
    assert Mounts({}).rewrite("/data") == "/data"
    assert Mounts({"/data": "/h"}).place_of("/etc") is None
    assert Mounts({"/data": "/h"}).place_of("/data//x/") == "/h/x"


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)-$(B)", "1-2"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$A ${A} $( A", "$A ${A} $( A"),
        ("$$$(A)", "$1"),
    ],
)
def test_references_are_replaced_as_kubernetes_does(text: str, expanded: str) -> None:
    """Variables of the shell stay."""
    assert expand(text, {"A": "1", "B": "2"}) == expanded


# Commands.


def context(container: Container, entry: Any) -> ContainerContext:
    """Return the context of a container with this image."""
    return ContainerContext(
        container=container,
        image=Images({"i": entry}).find("i"),
        base={"HOME": "/h"},
        variables={"NAME": "n", "DATA": "/data"},
        mounts=Mounts({"/data": "/host"}),
        home=Path("/h"),
    )


def test_a_command_is_that_of_the_container_or_of_the_image() -> None:
    """As Kubernetes combines command and args with an image's entry point."""
    entry = {"command": [sys.executable, "-c"], "programs": {"sh": "/bin/sh"}}
    default = context(Container(name="a", args=["$(NAME)", "/data/x"]), entry).command()
    assert default.arguments == [sys.executable, "-c", "n", "/host/x"]
    assert default.environment == {"HOME": "/h", "NAME": "n", "DATA": "/host"}
    own = context(Container(name="a", command=["sh", "-c"], args=["ls /data"]), entry)
    assert own.command().arguments[1:] == ["-c", "ls /host"]
    assert own.program(["sh", "/data/probe.sh"]).arguments[1:] == ["/host/probe.sh"]


def test_an_image_without_a_command_needs_one_from_the_pod() -> None:
    """The message says where to add it."""
    with pytest.raises(ProgramError, match="has no command"):
        context(Container(name="a"), {"programs": {"sh": "/bin/sh"}}).command()


def test_a_script_in_a_volume_is_not_a_program() -> None:
    """Only its interpreter can be named: the content of a ConfigMap is never executed directly."""
    with pytest.raises(ProgramError):
        context(Container(name="a", command=["/data/start.sh"]), {"programs": {"sh": "/bin/sh"}}).command()


# Variables.


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u"),
        ("metadata.labels['app']", "x"),
        ("metadata.annotations['note']", "n"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "process"),
        ("spec.serviceAccountName", "sa"),
        ("status.podIP", "127.1.2.3"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_a_variable_can_be_a_field_of_the_pod(path: str, value: str) -> None:
    """A database binds to its own address with it."""
    assert variables(EnvVar(name="V", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path=path)))) == {
        "V": value
    }


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", None, "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "1m", "250"),
        ("limits.memory", "1Mi", "1024"),
        ("requests.memory", None, "0"),
    ],
)
def test_a_variable_can_be_a_limit(resource: str, divisor: str | None, value: str) -> None:
    """Rounded up, and the node's capacity if there is no limit."""
    selector = ResourceFieldSelector(resource=resource, divisor=Quantity(divisor) if divisor else None)
    resources = ResourceRequirements(limits={"cpu": Quantity("1500m")}, requests={"cpu": Quantity("250m")})
    variable = EnvVar(name="V", value_from=EnvVarSource(resource_field_ref=selector))
    assert variables(variable, resources=resources) == {"V": value}


def test_variables_come_from_config_maps_secrets_and_each_other() -> None:
    """In the order of declaration; the later one wins."""
    keyed = EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="c", key="k"))
    secret = EnvVarSource(secret_key_ref=SecretKeySelector(name="s", key="k"))
    sources = [EnvFromSource(prefix="C_", config_map_ref=ConfigMapEnvSource(name="c"))]
    found = variables(
        EnvVar(name="A", value_from=keyed),
        EnvVar(name="B", value_from=secret),
        EnvVar(name="AB", value="$(A)+$(B)+$(C_k)"),
        EnvVar(name="C_path", value="mine"),
        env_from=sources,
    )
    assert found == {"C_k": "v", "C_path": "mine", "A": "v", "B": "hush", "AB": "v+hush+v"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="x", key="k")), 'configmap "x" not found'),
        (EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="c", key="x")), "find key x in ConfigMap ns/c"),
        (EnvVarSource(secret_key_ref=SecretKeySelector(name="x", key="k")), 'secret "x" not found'),
        (EnvVarSource(secret_key_ref=SecretKeySelector(name="s", key="b")), "is not text"),
        (EnvVarSource(field_ref=ObjectFieldSelector(field_path="spec.x")), "unsupported fieldPath spec.x"),
        (EnvVarSource(), "does not support"),
    ],
)
def test_a_missing_source_is_named(source: EnvVarSource, message: str) -> None:
    """`kubectl describe pod` shows it."""
    with pytest.raises(SourceError, match=message):
        variables(EnvVar(name="V", value_from=source))


def test_an_optional_source_may_be_missing() -> None:
    """Its variables are not set then."""
    keyed = EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="x", key="k", optional=True))
    sources = [EnvFromSource(secret_ref=SecretEnvSource(name="x", optional=True))]
    assert variables(EnvVar(name="V", value_from=keyed), env_from=sources) == {}
    with pytest.raises(SourceError, match='secret "x" not found'):
        variables(env_from=[EnvFromSource(secret_ref=SecretEnvSource(name="x"))])


# Files.


def files(volume: Volume) -> dict[str, File]:
    """Return the files of a volume."""
    return projected_files(volume, pod_with(Container(name="main")), Sources(), AROUND)


def test_a_config_map_becomes_files_and_only_texts_get_paths_replaced() -> None:
    """Binary and secret content is never changed."""
    found = files(Volume(name="v", config_map=ConfigMapVolumeSource(name="c", default_mode=0o600)))
    assert found["path"] == File(b"dir /data", 0o600, is_text=True)
    assert found["b"] == File(b"\xff", 0o600)
    assert files(Volume(name="v", secret=SecretVolumeSource(secret_name="s")))["k"] == File(b"hush", 0o644)


def test_keys_can_be_selected_and_mapped_to_paths() -> None:
    """Each with a mode of its own."""
    items = [KeyToPath(key="k", path="a/b", mode=0o400)]
    found = files(Volume(name="v", secret=SecretVolumeSource(secret_name="s", items=items)))
    assert found == {"a/b": File(b"hush", 0o400)}


def test_fields_of_the_pod_can_be_files() -> None:
    """Labels as lines that can be parsed."""
    items = [
        DownwardAPIVolumeFile(path="labels", field_ref=ObjectFieldSelector(field_path="metadata.labels")),
        DownwardAPIVolumeFile(path="cpu", resource_field_ref=ResourceFieldSelector(resource="limits.cpu")),
    ]
    found = files(Volume(name="v", downward_api=DownwardAPIVolumeSource(items=items)))
    assert found["labels"].content == b'a/b="q\\""\napp="x"'
    assert found["cpu"].content == b"8"


def test_several_sources_share_a_projected_volume() -> None:
    """Like the token, the CA and the namespace in every pod of a cluster."""
    sources = [
        VolumeProjection(config_map=ConfigMapProjection(name="c", items=[KeyToPath(key="k", path="one")])),
        VolumeProjection(secret=SecretProjection(name="s", items=[KeyToPath(key="k", path="two")])),
        VolumeProjection(downward_api=DownwardAPIProjection(items=[])),
        VolumeProjection(service_account_token=ServiceAccountTokenProjection(path="token", audience="me")),
    ]
    volume = Volume(name="v", projected=ProjectedVolumeSource(sources=sources, default_mode=0o440))
    assert files(volume) == {"one": File(b"v", 0o440, is_text=True), "two": File(b"hush", 0o440)}
    assert [(wanted.path, wanted.audience) for wanted in tokens_wanted(volume)] == [("token", "me")]


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a//b", "", "."])
def test_a_file_cannot_leave_its_volume(path: str) -> None:
    """The path of a key comes from a user."""
    items = [KeyToPath(key="k", path=path)]
    with pytest.raises(MountError, match="is not a path inside a volume"):
        files(Volume(name="v", secret=SecretVolumeSource(secret_name="s", items=items)))


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        (Volume(name="v", config_map=ConfigMapVolumeSource(name="x")), 'configmap "x" not found'),
        (Volume(name="v", secret=SecretVolumeSource(secret_name="x")), 'secret "x" not found'),
        (
            Volume(name="v", secret=SecretVolumeSource(secret_name="s", items=[KeyToPath(key="x", path="x")])),
            "secret s references non-existent config key: x",
        ),
    ],
)
def test_a_volume_reports_what_it_waits_for(volume: Volume, message: str) -> None:
    """Like the event of a kubelet."""
    with pytest.raises(MountError, match=message):
        files(volume)
    for source in (volume.config_map, volume.secret):
        if source is not None and "not found" in message:
            source.optional = True
            assert files(volume) == {}


def test_files_change_atomically_and_only_if_they_differ(tmp_path: Path) -> None:
    """Servers that watch a directory for certificates see one change."""
    place = tmp_path / "v"
    assert write_files(place, {"a": File(b"1"), "d/b": File(b"2", 0o400)})
    assert (place / "a").read_bytes() == b"1"
    assert (place / "d" / "b").stat().st_mode & 0o777 == 0o400
    assert not write_files(place, {"a": File(b"1"), "d/b": File(b"2", 0o400)})
    before = (place / "..data").readlink()
    assert write_files(place, {"a": File(b"3")})
    assert (place / "..data").readlink() != before
    assert (place / "a").read_bytes() == b"3"
    assert sorted(entry.name for entry in place.iterdir()) == ["..2", "..data", "a"]


# Addresses and names.


def test_every_pod_has_its_own_address_and_gets_it_again() -> None:
    """Deleted pods release theirs."""
    book = AddressBook("seed")
    addresses = {key: book.address_of(key) for key in map(str, range(600))}
    assert len(set(addresses.values())) == 600
    assert all(address.startswith("127.") and not address.startswith("127.0.") for address in addresses.values())
    assert not any(address.endswith((".0", ".255")) for address in addresses.values())
    assert AddressBook("other", book.entries()).address_of("7") == addresses["7"]
    book.give_back("7")
    assert book.address_of("7") != addresses["7"]


def test_several_nodes_use_different_addresses() -> None:
    """Two test runs on one machine must not use the same port."""
    assert AddressBook("one").address_of("a") != AddressBook("two").address_of("a")


@pytest.mark.parametrize("name", ["..", "a/b", "", ".", "a\0", "-a", "a..b", "/etc"])
def test_an_invalid_name_never_becomes_a_path(name: str) -> None:
    """The server validates names; before a name becomes a path it is validated again."""
    with pytest.raises(ConfigError, match="cannot be the name of a file"):
        checked(name)


def test_an_unreadable_table_counts_as_empty(tmp_path: Path) -> None:
    """A node must start after its machine lost power in the middle of a write."""
    directory = NodeDirectory(tmp_path)
    (tmp_path / "addresses.json").write_bytes(b'{"a": "127')
    assert directory.read("addresses.json") == {}
    directory.keep("addresses.json", {"a": "127.1.2.3"})
    assert directory.read("addresses.json") == {"a": "127.1.2.3"}
