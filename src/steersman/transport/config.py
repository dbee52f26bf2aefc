"""How to reach one cluster: a plain value.

It comes from a kubeconfig, from inside a pod, or is written by hand. Nothing is read from a home directory unless a
caller asks for the default kubeconfig by one of the constructors here.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.transport.auth.credentials import Credentials, Impersonation, StaticCredentials, TokenFile, basic, bearer
from steersman.transport.auth.exec_plugin import ExecPlugin, PluginPolicy
from steersman.transport.auth.secret import Secret
from steersman.transport.endpoint import Endpoint, Proxy
from steersman.transport.http.proxies import proxy_from_environment
from steersman.transport.http.tls import TlsConfig

#: Where Kubernetes puts a pod's own credentials.
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Anonymous(Struct, frozen=True):
    """No credentials beside a client certificate, if there is one."""


class Token(Struct, frozen=True):
    """A bearer token that stays the same."""

    token: Secret


class TokenFromFile(Struct, frozen=True):
    """A bearer token in a file that is read again and again."""

    path: Path
    #: In force until the file can be read.
    initial: Secret | None = None


class Login(Struct, frozen=True):
    """A user name and password."""

    username: str
    password: Secret


Authentication = Anonymous | Token | TokenFromFile | Login | ExecPlugin


class ClusterConfig(Struct, frozen=True, kw_only=True):
    """Server, trust, credentials and defaults of one cluster. Its ``repr`` shows no secret."""

    server: str
    tls: TlsConfig = field(default_factory=TlsConfig)
    authentication: Authentication = field(default_factory=Anonymous)
    impersonation: Impersonation = field(default_factory=Impersonation)
    #: The default namespace of objects.
    namespace: str = "default"
    proxy: Proxy | None = None
    #: Whether to ask for compressed answers.
    compression: bool = True
    #: The kubeconfig context this came from, for messages.
    context: str = ""

    def __post_init__(self) -> None:
        endpoint = Endpoint.parse(self.server)
        if not endpoint.is_tls and not isinstance(self.authentication, Anonymous) and not _is_loopback(endpoint.host):
            raise ConfigError(f"{endpoint}: credentials are not sent without TLS, except to this machine itself")

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        context: str | None = None,
        plugins: PluginPolicy | None = None,
    ) -> "ClusterConfig":
        """Read a kubeconfig; without a path, the default one: the files of ``$KUBECONFIG``, or ``~/.kube/config``."""
        from steersman.transport.auth.kubeconfig import Kubeconfig  # noqa: PLC0415 - YAML is loaded only where it is read

        kubeconfig = Kubeconfig.load_default() if path is None else Kubeconfig.load(Path(path))
        return kubeconfig.resolve(context, plugins=plugins or PluginPolicy.allow_all())

    @classmethod
    def in_cluster(
        cls, *, environ: Mapping[str, str] = os.environ, directory: Path = SERVICE_ACCOUNT
    ) -> "ClusterConfig":
        """Return the configuration of the service account of the pod this runs in."""
        host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            raise ConfigError("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
        for name in ("token", "ca.crt"):
            if not (directory / name).is_file():
                raise ConfigError(f"not in a cluster, or without a service account: {directory / name} is missing")
        namespace = directory / "namespace"
        return cls(
            server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
            tls=TlsConfig(ca=directory / "ca.crt"),
            authentication=TokenFromFile(directory / "token"),
            namespace=(namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else "") or "default",
            context="in-cluster",
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        context: str | None = None,
        plugins: PluginPolicy | None = None,
    ) -> "ClusterConfig":
        """Find the cluster as operators do: the given file, ``$KUBECONFIG``, the pod's own, then ``~/.kube/config``."""
        asked = path is not None or context is not None or bool(os.environ.get("KUBECONFIG"))
        if not asked and os.environ.get("KUBERNETES_SERVICE_HOST"):
            return cls.in_cluster()
        return cls.from_kubeconfig(path, context=context, plugins=plugins)

    def route_proxy(self, environ: Mapping[str, str] = os.environ) -> Proxy | None:
        """Return the proxy: the configured one, otherwise that of the environment."""
        return self.proxy or proxy_from_environment(Endpoint.parse(self.server), environ)

    def credentials(self, clock: Clock) -> Credentials:
        """Return the source of identities that this configuration describes."""
        match self.authentication:
            case Anonymous():
                return StaticCredentials()
            case Token(token):
                return StaticCredentials(bearer(token))
            case TokenFromFile(path, initial):
                return TokenFile(path, clock=clock, initial=initial)
            case Login(username, password):
                return StaticCredentials(basic(username, password))
            case ExecPlugin():
                from steersman.transport.auth.exec_credentials import ExecCredentials  # noqa: PLC0415 - only for plugins

                return ExecCredentials(self.authentication, clock=clock)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
