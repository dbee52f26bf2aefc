"""Kubeconfig files: read, merged as kubectl merges them, and one context of them turned into a ``ClusterConfig``.

Every error names the file, the entry and the field. Values of secrets appear in no message.
"""

import base64
import binascii
import logging
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from steersman.errors import ConfigError, DecodeError
from steersman.json_types import JsonObject
from steersman.protocol import manifests
from steersman.transport.auth.credentials import Impersonation
from steersman.transport.auth.exec_plugin import ExecPlugin, PluginPolicy
from steersman.transport.auth.secret import Secret
from steersman.transport.config import Anonymous, Authentication, ClusterConfig, Login, Token, TokenFromFile
from steersman.transport.endpoint import Endpoint, Proxy
from steersman.transport.http.tls import ClientCertificate, TlsConfig

_log = logging.getLogger(__name__)
#: The extension of a cluster whose content is passed to exec plugins.
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
#: Maximum size of a file in bytes; files with a hundred clusters are far below.
_LARGEST = 4 * 1024 * 1024


class _Unseen(msgspec.Struct):
    """A value that may contain secrets: its repr does not show it."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class _ExecEnv(_Unseen):
    name: str
    value: str


class _Exec(_Unseen, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_ExecEnv] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _Extension(msgspec.Struct):
    name: str
    extension: Any = None


class _Cluster(_Unseen, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[_Extension] | None = None


class _User(_Unseen, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    impersonate_extra: dict[str, list[str]] | None = msgspec.field(default=None, name="as-user-extra")
    username: str = ""
    password: str = ""
    auth_provider: Any = None
    exec: _Exec | None = None


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster | None = None


class _NamedUser(msgspec.Struct):
    name: str
    user: _User | None = None


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context | None = None


class _File(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[_T]):
    """An entry and the file that it was found in: relative paths start there."""

    value: _T
    file: Path

    def path(self, name: str) -> Path:
        """Resolve a path of the entry."""
        return Path(os.path.normpath(self.file.parent / name))


@dataclass(slots=True)
class Kubeconfig:
    """One or more files, merged: the first definition of an entry wins, as in kubectl."""

    files: list[Path] = field(default_factory=list)
    current_context: str = ""
    _clusters: dict[str, _Entry[_Cluster]] = field(default_factory=dict, repr=False)
    _users: dict[str, _Entry[_User]] = field(default_factory=dict, repr=False)
    _contexts: dict[str, _Entry[_Context]] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, path: Path) -> "Kubeconfig":
        """Read one file, which must be there."""
        kubeconfig = cls()
        kubeconfig._add(path.expanduser().absolute())
        return kubeconfig

    @classmethod
    def load_default(cls, environ: Mapping[str, str] = os.environ) -> "Kubeconfig":
        """Read the files that ``$KUBECONFIG`` lists, skipping missing ones; otherwise ``~/.kube/config``."""
        listed = [name for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]
        if not listed:
            return cls.load(Path("~/.kube/config"))
        paths = [Path(name).expanduser().absolute() for name in dict.fromkeys(listed)]
        kubeconfig = cls()
        for path in paths:
            if path.exists():
                kubeconfig._add(path)
        if not kubeconfig.files:
            raise ConfigError(f"KUBECONFIG={environ['KUBECONFIG']}: none of these files exists")
        return kubeconfig

    @classmethod
    def parse_foreign(cls, content: bytes, origin: str) -> "Kubeconfig":
        """Parse a kubeconfig from elsewhere, such as a Secret; reject one that names files or programs of this machine.

        Its author could otherwise have the token of this process sent to any server.
        """
        kubeconfig = cls()
        kubeconfig._merge_file(_read(content, Path(origin)), Path(origin))
        for name, entry in kubeconfig._clusters.items():
            _reject_local(origin, f"cluster {name!r}", {"certificate-authority": entry.value.certificate_authority})
        for name, found in kubeconfig._users.items():
            user = found.value
            local = {
                "client-certificate": user.client_certificate,
                "client-key": user.client_key,
                "tokenFile": user.token_file,
                "exec": user.exec,
            }
            _reject_local(origin, f"user {name!r}", local)
        return kubeconfig

    @property
    def contexts(self) -> list[str]:
        """The names of all contexts."""
        return list(self._contexts)

    def resolve(self, context: str | None = None, *, plugins: PluginPolicy) -> ClusterConfig:
        """Return the configuration of a context (the current one by default)."""
        name = context or self.current_context
        if not name:
            raise ConfigError(f"{self._where()}: current-context is not set and no context was given")
        entry = self._find(self._contexts, name, "context")
        origin = f"{entry.file}: context {name!r}"
        cluster = self._find(self._clusters, entry.value.cluster, f"{origin}: cluster")
        user = self._find(self._users, entry.value.user, f"{origin}: user") if entry.value.user else None
        return _Resolver(origin, entry, cluster, user, plugins).config(name)

    def _add(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"kubeconfig {path}: {error.strerror}; set KUBECONFIG, or pass a kubeconfig") from None
        file = _read(content, path)
        _warn_if_exposed(file, path)
        self._merge_file(file, path)

    def _merge_file(self, file: _File, path: Path) -> None:
        self.files.append(path)
        self.current_context = self.current_context or file.current_context
        _merge(self._clusters, ((entry.name, entry.cluster or _Cluster()) for entry in file.clusters or ()), path)
        _merge(self._users, ((entry.name, entry.user or _User()) for entry in file.users or ()), path)
        _merge(self._contexts, ((entry.name, entry.context or _Context()) for entry in file.contexts or ()), path)

    def _find(self, entries: dict[str, _Entry[_T]], name: str, what: str) -> _Entry[_T]:
        entry = entries.get(name)
        if entry is None:
            known = ", ".join(sorted(entries)) or "none"
            raise ConfigError(f"{what} {name!r} is not in {self._where()}; there are: {known}")
        return entry

    def _where(self) -> str:
        return ", ".join(map(str, self.files))


def _reject_local(origin: str, entry: str, fields: Mapping[str, object]) -> None:
    """Raise ``ConfigError`` for a field that names something of this machine."""
    for name, value in fields.items():
        if value:
            raise ConfigError(f"{origin}: {entry}: {name} is not possible here: put its content into the kubeconfig")


def _read(content: bytes, path: Path) -> _File:
    if len(content) > _LARGEST:
        raise ConfigError(f"kubeconfig {path}: larger than {_LARGEST} bytes")
    try:
        documents = manifests.load_documents(content, source=str(path))
    except DecodeError as error:
        raise ConfigError(f"kubeconfig {error}") from None
    if len(documents) > 1:
        raise ConfigError(f"kubeconfig {path}: more than one document")
    try:
        return msgspec.convert(documents[0] if documents else {}, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"kubeconfig {path}: {error}") from None


#: Files that were warned about: a process reads the same file again and again.
_warned: set[Path] = set()


def _warn_if_exposed(file: _File, path: Path) -> None:
    """Warn once if every user of the machine can read the credentials of a file."""
    if path in _warned or not any(_has_credentials(entry.user) for entry in file.users or ()):
        return
    if _is_world_readable(path):
        _warned.add(path)
        text = "kubeconfig %s holds credentials and every user of this machine can read it; run: chmod 600 %s"
        _log.warning(text, path, path)


def _has_credentials(user: _User | None) -> bool:
    """Return whether an entry holds a secret itself; paths to other files are not one."""
    if user is None:
        return False
    variables = user.exec.env if user.exec is not None else None
    return bool(user.token or user.password or user.client_key_data or variables)


def _is_world_readable(path: Path) -> bool:
    """Return whether other users can read a file: every directory above it must be accessible, too."""
    try:
        is_open = bool(path.stat().st_mode & stat.S_IROTH)
        return is_open and all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)
    except OSError:
        return False


def _merge(into: dict[str, _Entry[_T]], entries: Iterable[tuple[str, _T]], file: Path) -> None:
    for name, value in entries:
        into.setdefault(name, _Entry(value, file))


@dataclass(frozen=True, slots=True)
class _Resolver:
    """One context with its cluster and user, checked field by field."""

    origin: str
    context: _Entry[_Context]
    cluster: _Entry[_Cluster]
    user: _Entry[_User] | None
    plugins: PluginPolicy

    def config(self, name: str) -> ClusterConfig:
        """Return the configuration."""
        cluster = self.cluster.value
        if not cluster.server:
            raise ConfigError(f"{self._cluster_field('server')}: is missing")
        self._checked("server", lambda: Endpoint.parse(cluster.server))
        try:
            return ClusterConfig(
                server=cluster.server,
                tls=self._tls(),
                authentication=self._authentication(),
                impersonation=self._impersonation(),
                namespace=self.context.value.namespace or "default",
                proxy=self._checked("proxy-url", lambda: Proxy.parse(cluster.proxy_url)) if cluster.proxy_url else None,
                compression=not cluster.disable_compression,
                context=name,
            )
        except ConfigError as error:
            raise ConfigError(f"{self.origin}: {str(error).removeprefix(f'{self.origin}: ')}") from None

    def _cluster_field(self, name: str) -> str:
        return f"{self.origin}: cluster {self.context.value.cluster!r} ({self.cluster.file}): {name}"

    def _user_field(self, name: str) -> str:
        file = self.user.file if self.user is not None else ""
        return f"{self.origin}: user {self.context.value.user!r} ({file}): {name}"

    def _checked(self, name: str, parse: Callable[[], _T]) -> _T:
        try:
            return parse()
        except ConfigError as error:
            raise ConfigError(f"{self._cluster_field(name)}: {error}") from None

    def _tls(self) -> TlsConfig:
        cluster = self.cluster.value
        ca: Path | str | None = None
        if cluster.certificate_authority_data:
            ca = _decode(cluster.certificate_authority_data, self._cluster_field("certificate-authority-data"))
        elif cluster.certificate_authority:
            ca = _existing(
                self.cluster.path(cluster.certificate_authority), self._cluster_field("certificate-authority")
            )
        if cluster.insecure_skip_tls_verify and ca is not None:
            raise ConfigError(f"{self._cluster_field('insecure-skip-tls-verify')}: excludes a certificate authority")
        return TlsConfig(
            ca=ca,
            client=self._client_certificate(),
            server_name=cluster.tls_server_name or None,
            insecure=cluster.insecure_skip_tls_verify,
        )

    def _client_certificate(self) -> ClientCertificate | None:
        if self.user is None:
            return None
        user = self.user.value
        certificate: Path | str | None = None
        key: Path | Secret | None = None
        if user.client_certificate_data:
            certificate = _decode(user.client_certificate_data, self._user_field("client-certificate-data"))
        elif user.client_certificate:
            certificate = _existing(self.user.path(user.client_certificate), self._user_field("client-certificate"))
        if user.client_key_data:
            key = Secret(_decode(user.client_key_data, self._user_field("client-key-data")))
        elif user.client_key:
            key = _existing(self.user.path(user.client_key), self._user_field("client-key"))
        if certificate is None and key is None:
            return None
        if certificate is None or key is None:
            missing = "client-certificate" if certificate is None else "client-key"
            raise ConfigError(f"{self._user_field(missing)}: is missing beside its other half")
        return ClientCertificate(certificate, key)

    def _authentication(self) -> Authentication:
        if self.user is None:
            return Anonymous()
        user = self.user.value
        if user.auth_provider is not None:
            raise ConfigError(
                f"{self._user_field('auth-provider')}: removed from Kubernetes in 1.26; use an exec plugin"
            )
        if user.exec is not None and (user.token or user.token_file or user.username):
            raise ConfigError(f"{self._user_field('exec')}: excludes token, tokenFile and username")
        if user.exec is not None:
            return self._plugin(user.exec)
        if user.token_file:
            return TokenFromFile(self.user.path(user.token_file), Secret(user.token) if user.token else None)
        if user.token:
            return Token(Secret(user.token))
        if user.username:
            return Login(user.username, Secret(user.password))
        return Anonymous()

    def _plugin(self, plugin: _Exec) -> ExecPlugin:
        assert self.user is not None  # noqa: S101 - a plugin stands in a user
        origin = self._user_field("exec")
        if not plugin.command:
            raise ConfigError(f"{origin}: command is missing")
        if plugin.interactive_mode not in ("", "Never", "IfAvailable", "Always"):
            raise ConfigError(f"{origin}: interactiveMode {plugin.interactive_mode!r} is unknown")
        if plugin.interactive_mode == "Always":
            raise ConfigError(f"{origin}: interactiveMode Always needs a terminal, which an operator has not")
        has_folder = "/" in plugin.command
        return ExecPlugin(
            command=str(self.user.path(plugin.command)) if has_folder else plugin.command,
            args=tuple(plugin.args or ()),
            env={variable.name: Secret(variable.value) for variable in plugin.env or ()},
            api_version=plugin.api_version,
            install_hint=plugin.install_hint,
            cluster=self._cluster_info() if plugin.provide_cluster_info else None,
            policy=self.plugins,
            origin=origin,
        )

    def _cluster_info(self) -> JsonObject:
        """Return the cluster information for a plugin, with the CA's content instead of its file."""
        cluster = self.cluster.value
        data = cluster.certificate_authority_data
        if not data and cluster.certificate_authority:
            path = _existing(
                self.cluster.path(cluster.certificate_authority), self._cluster_field("certificate-authority")
            )
            data = base64.b64encode(path.read_bytes()).decode()
        extension = next((item.extension for item in cluster.extensions or () if item.name == _EXEC_EXTENSION), None)
        info: JsonObject = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": data,
            "proxy-url": cluster.proxy_url,
            "config": extension,
        }
        return {name: value for name, value in info.items() if value}

    def _impersonation(self) -> Impersonation:
        if self.user is None:
            return Impersonation()
        user = self.user.value
        try:
            return Impersonation(
                user=user.impersonate,
                uid=user.impersonate_uid,
                groups=tuple(user.impersonate_groups or ()),
                extra={key: tuple(values) for key, values in (user.impersonate_extra or {}).items()},
            )
        except ConfigError as error:
            raise ConfigError(f"{self._user_field('as')}: {error}") from None


def _decode(data: str, where: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        raise ConfigError(f"{where}: not the base64 of PEM text") from None


def _existing(path: Path, where: str) -> Path:
    if not path.is_file():
        raise ConfigError(f"{where}: there is no file {path}")
    return path
