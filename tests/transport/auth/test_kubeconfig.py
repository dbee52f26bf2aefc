import base64
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from steersman.errors import ConfigError
from steersman.transport.auth.exec_plugin import ExecPlugin, PluginPolicy
from steersman.transport.auth.kubeconfig import Kubeconfig
from steersman.transport.auth.secret import Secret
from steersman.transport.config import Anonymous, ClusterConfig, Login, Token, TokenFromFile
from steersman.transport.http.tls import ClientCertificate

PEM = "-----BEGIN CERTIFICATE-----\n"
DATA = base64.b64encode(PEM.encode()).decode()


def _document(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://c.test:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
    }


def _write(folder: Path, document: Any, name: str = "config") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def _load(folder: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> ClusterConfig:
    return ClusterConfig.from_kubeconfig(_write(folder, _document(cluster, user)))


def test_the_current_context_names_the_server(tmp_path: Path) -> None:
    """The simplest kubeconfig."""
    config = ClusterConfig.from_kubeconfig(_write(tmp_path, _document(namespace="dev")))
    assert (config.server, config.namespace, config.context) == ("https://c.test:6443", "dev", "here")
    assert config.authentication == Anonymous()
    assert _load(tmp_path).namespace == "default"


def test_every_field_of_a_cluster_is_used(tmp_path: Path) -> None:
    """A field that is read and ignored is a trap."""
    config = _load(
        tmp_path,
        {
            "certificate-authority-data": DATA,
            "tls-server-name": "other.test",
            "proxy-url": "http://user:hunter2@proxy.test:3128",
            "disable-compression": True,
        },
    )
    assert (config.tls.ca, config.tls.server_name, config.compression) == (PEM, "other.test", False)
    assert config.proxy is not None
    assert (config.proxy.endpoint.host, config.proxy.login) == ("proxy.test", Secret("user:hunter2"))
    assert _load(tmp_path, {"insecure-skip-tls-verify": True}).tls.insecure


def test_paths_are_relative_to_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig is used from any directory."""
    monkeypatch.chdir("/")
    for name in ("ca.crt", "me.crt", "me.key"):
        (tmp_path / name).write_text(PEM)
    config = _load(
        tmp_path,
        {"certificate-authority": "ca.crt"},
        {"client-certificate": "me.crt", "client-key": "./me.key", "tokenFile": "../token"},
    )
    assert config.tls.ca == tmp_path / "ca.crt"
    assert config.tls.client == ClientCertificate(tmp_path / "me.crt", tmp_path / "me.key")
    assert config.authentication == TokenFromFile(tmp_path.parent / "token")


def test_inline_data_takes_precedence_over_files(tmp_path: Path) -> None:
    """As in kubectl; the file may be on another machine."""
    config = _load(
        tmp_path,
        {"certificate-authority": "missing", "certificate-authority-data": DATA},
        {"client-certificate-data": DATA, "client-key-data": DATA, "client-key": "missing"},
    )
    assert config.tls.ca == PEM
    assert config.tls.client == ClientCertificate(PEM, Secret(PEM))


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "t"}, Token(Secret("t"))),
        ({"token": "t", "tokenFile": "/f"}, TokenFromFile(Path("/f"), Secret("t"))),
        ({"username": "jane", "password": "p"}, Login("jane", Secret("p"))),
    ],
)
def test_every_kind_of_login_is_supported(tmp_path: Path, user: dict[str, Any], expected: object) -> None:
    """A token file is read repeatedly; the inline token is used until then."""
    assert _load(tmp_path, user=user).authentication == expected


def test_impersonation_is_read(tmp_path: Path) -> None:
    """Administrators act as other users to see their permissions."""
    user = {"as": "jane", "as-uid": "1", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v"]}}
    impersonation = _load(tmp_path, user=user).impersonation
    assert (impersonation.user, impersonation.uid, impersonation.groups) == ("jane", "1", ("a", "b"))
    assert impersonation.extra == {"k": ("v",)}


def test_an_exec_plugin_is_read_with_its_input(tmp_path: Path) -> None:
    """A command with a folder is relative to the kubeconfig, otherwise it is found in PATH."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "args": ["--now"],
        "env": [{"name": "A", "value": "hunter2"}],
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": True,
        "installHint": "get it",
    }
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]
    (tmp_path / "ca.crt").write_text(PEM)
    cluster = {"certificate-authority": "ca.crt", "extensions": extensions}
    config = ClusterConfig.from_kubeconfig(
        _write(tmp_path, _document(cluster, {"exec": plugin})), plugins=PluginPolicy.deny_all()
    )
    found = config.authentication
    assert isinstance(found, ExecPlugin)
    assert (found.command, found.args, found.env) == (str(tmp_path / "bin/login"), ("--now",), {"A": Secret("hunter2")})
    assert found.cluster == {
        "server": "https://c.test:6443",
        "certificate-authority-data": DATA,
        "config": {"audience": "x"},
    }
    assert (found.policy, found.install_hint) == (PluginPolicy.deny_all(), "get it")
    assert "hunter2" not in repr(config)


def test_files_are_merged_and_the_first_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Context, cluster and user may be in three files; a missing file is skipped."""
    first = {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "first"}}]}
    second = {**_document(user={"token": "second"}), "contexts": [{"name": "x", "context": {"cluster": "nowhere"}}]}
    second["current-context"] = "x"
    third = {**_document(user={"token": "third"}), "current-context": "other"}
    names = [
        str(_write(tmp_path, first, "1")),
        str(tmp_path / "missing"),
        "",
        str(_write(tmp_path, second, "2")),
        str(_write(tmp_path, third, "3")),
    ]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(names))
    config = ClusterConfig.from_kubeconfig()
    assert (config.context, config.namespace, config.authentication) == ("x", "first", Token(Secret("second")))
    assert Kubeconfig.load_default().contexts == ["x", "here"]


def test_the_home_directory_is_read_only_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test or a build must not reach a user's cluster by accident."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (tmp_path / ".kube").mkdir()
    _write(tmp_path / ".kube", _document())
    assert ClusterConfig.from_kubeconfig().context == "here"
    assert ClusterConfig.load().context == "here"
    with pytest.raises(ConfigError, match="not in a cluster"):
        ClusterConfig.in_cluster()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("clusters: [}", "line 1"),
        ("a: 1\nb: 2\na: 3\n", "line 3"),
        ("- just\n- a list\n", "must be an object"),
        ("clusters: {name: c}", r"clusters"),
        ("users: [{name: u, user: {token: 12}}]", r"users\[0\].user.token"),
        ("a: &a [x, x]\nb: &b [*a, *a]\n" + "c: " + "[" * 3000 + "]" * 3000, "max depth"),
        ("---\na: 1\n---\nb: 2\n", "more than one document"),
    ],
    ids=["syntax", "duplicate key", "list", "wrong shape", "wrong type", "too deep", "two documents"],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, document: str, message: str) -> None:
    """A user who edits a kubeconfig needs the line."""
    path = _write(tmp_path, document)
    with pytest.raises(ConfigError, match=message) as caught:
        ClusterConfig.from_kubeconfig(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("cluster", "user", "field"),
    [
        ({"server": ""}, {}, "cluster 'c'.*: server: is missing"),
        ({"server": "ftp://x"}, {}, "cluster 'c'.*: server: .*ftp"),
        ({"proxy-url": "socks5://x"}, {}, "cluster 'c'.*: proxy-url: .*socks5"),
        ({"certificate-authority": "no.crt"}, {}, "certificate-authority: there is no file .*/no.crt"),
        ({"certificate-authority-data": "%%"}, {}, "certificate-authority-data: not the base64"),
        ({"certificate-authority-data": DATA, "insecure-skip-tls-verify": True}, {}, "insecure-skip-tls-verify"),
        ({}, {"client-certificate-data": DATA}, "user 'u'.*: client-key: is missing"),
        ({}, {"client-key-data": "hunter2"}, "user 'u'.*: client-key-data: not the base64"),
        ({}, {"client-key": "no.key"}, "user 'u'.*: client-key: there is no file"),
        ({}, {"auth-provider": {"name": "oidc"}}, "user 'u'.*: auth-provider"),
        ({}, {"exec": {"command": "", "apiVersion": "client.authentication.k8s.io/v1"}}, "exec: command is missing"),
        ({}, {"exec": {"command": "x", "apiVersion": "v0"}}, "exec: apiVersion 'v0'"),
        (
            {},
            {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Always"}},
            "exec: interactiveMode Always",
        ),
        ({}, {"token": "hunter2", "exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}}, "exec: "),
        ({}, {"as-groups": ["g"]}, "user 'u'.*: as: "),
        ({"server": "http://far.test"}, {"token": "hunter2"}, "credentials are not sent without TLS"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_context(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], field: str
) -> None:
    """The message alone must be enough to fix the file, and must not contain its secrets."""
    with pytest.raises(ConfigError, match=f"^{tmp_path}/config: context 'here': .*{field}") as caught:
        _load(tmp_path, cluster, user)
    assert "hunter2" not in str(caught.value)


def test_unknown_names_are_reported_with_the_existing_ones(tmp_path: Path) -> None:
    """A typo in a context's name is the most common mistake of all."""
    path = _write(tmp_path, _document())
    with pytest.raises(ConfigError, match=r"context 'there' is not in .*config; there are: here"):
        ClusterConfig.from_kubeconfig(path, context="there")
    with pytest.raises(ConfigError, match="No such file"):
        ClusterConfig.from_kubeconfig(tmp_path / "none")
    with pytest.raises(ConfigError, match="current-context is not set"):
        ClusterConfig.from_kubeconfig(_write(tmp_path, {}, "empty"))
    document = {**_document(), "users": []}
    with pytest.raises(ConfigError, match="context 'here': user 'u' is not in"):
        ClusterConfig.from_kubeconfig(_write(tmp_path, document))


def _service_account(folder: Path) -> dict[str, str]:
    for name, content in {"token": "t", "ca.crt": PEM, "namespace": "mine\n"}.items():
        (folder / name).write_text(content)
    return {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_a_pod_uses_its_own_service_account(tmp_path: Path) -> None:
    """Inside a cluster nothing has to be configured."""
    environ = _service_account(tmp_path)
    config = ClusterConfig.in_cluster(environ=environ, directory=tmp_path)
    assert (config.server, config.namespace) == ("https://10.0.0.1:443", "mine")
    assert (config.tls.ca, config.authentication) == (tmp_path / "ca.crt", TokenFromFile(tmp_path / "token"))
    sixes = ClusterConfig.in_cluster(environ={**environ, "KUBERNETES_SERVICE_HOST": "fd00::1"}, directory=tmp_path)
    assert sixes.server == "https://[fd00::1]:443"


def test_a_pod_without_a_service_account_is_reported(tmp_path: Path) -> None:
    """automountServiceAccountToken: false looks like this."""
    environ = _service_account(tmp_path)
    (tmp_path / "token").unlink()
    with pytest.raises(ConfigError, match="token is missing"):
        ClusterConfig.in_cluster(environ=environ, directory=tmp_path)


def test_an_operator_finds_its_cluster_in_the_usual_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Explicit options first, then the pod's own cluster, then the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / ".kube").mkdir()
    _write(tmp_path / ".kube", _document(namespace="home"))
    named = _write(tmp_path, _document(namespace="named"))
    with pytest.raises(ConfigError, match="service account"):
        ClusterConfig.load()
    assert ClusterConfig.load(named).namespace == "named"
    assert ClusterConfig.load(context="here").namespace == "home"
    monkeypatch.setenv("KUBECONFIG", str(named))
    assert ClusterConfig.load().namespace == "named"
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    assert ClusterConfig.load().namespace == "home"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Create a directory that every user can enter; those of pytest are private."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


SECRETS = {
    "token": "token: t",
    "password": "{username: u, password: p}",
    "key": "{client-certificate-data: eA==, client-key-data: eA==}",
    "environment of a plugin": (
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, env: [{name: TOKEN, value: t}]}"
    ),
}


@pytest.mark.parametrize("user", SECRETS.values(), ids=SECRETS)
def test_a_kubeconfig_that_everyone_can_read_is_reported_once(
    open_folder: Path, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A kubeconfig gives its reader the user's permissions; some tools create it readable for all, unnoticed."""
    path = open_folder / "config"
    path.write_text(f"users:\n- name: u\n  user: {user if user.startswith('{') else f'{{{user}}}'}\n")
    path.chmod(0o644)
    for _ in range(2):
        Kubeconfig.load(path)
    assert [record.getMessage() for record in caplog.records] == [
        f"kubeconfig {path} holds credentials and every user of this machine can read it; run: chmod 600 {path}"
    ]


@pytest.mark.parametrize(
    ("mode", "folder_mode", "user"),
    [
        (0o600, 0o755, "token: t"),
        (0o640, 0o755, "token: t"),
        (0o644, 0o700, "token: t"),
        (0o644, 0o755, "tokenFile: t"),
        (0o644, 0o755, "client-key: k"),
    ],
    ids=["private", "for a group", "in a private folder", "in another file", "a key in another file"],
)
def test_a_private_or_harmless_kubeconfig_is_not_reported(
    open_folder: Path, mode: int, folder_mode: int, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning without a reason teaches users to ignore warnings."""
    path = open_folder / "config"
    path.write_text(f"users:\n- name: u\n  user: {{{user}}}\n")
    path.chmod(mode)
    open_folder.chmod(folder_mode)
    Kubeconfig.load(path)
    assert caplog.records == []
