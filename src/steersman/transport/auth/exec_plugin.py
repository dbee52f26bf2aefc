"""The settings of a kubeconfig about a program that provides credentials, and which such programs may run.

A kubeconfig with a plugin is code that will run: the policy decides. ``exec_credentials`` runs it.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from steersman.errors import ConfigError
from steersman.transport.auth.secret import Secret

_GROUP: Final = "client.authentication.k8s.io"
API_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")


class PluginPolicy(Struct, frozen=True):
    """The plugins that may run: all (``None``), or those listed by command name or by absolute path."""

    allowed: frozenset[str] | None = None

    @classmethod
    def allow_all(cls) -> "PluginPolicy":
        """Return a policy that trusts the kubeconfig, as kubectl does."""
        return cls(None)

    @classmethod
    def deny_all(cls) -> "PluginPolicy":
        """Run nothing: for kubeconfigs from elsewhere."""
        return cls(frozenset())

    @classmethod
    def allow(cls, *commands: str) -> "PluginPolicy":
        """Run only these."""
        return cls(frozenset(commands))

    def permits(self, command: str, path: str) -> bool:
        """Return whether a command that was found at a path may run."""
        return self.allowed is None or path in self.allowed or ("/" not in command and command in self.allowed)


class ExecPlugin(Struct, frozen=True, kw_only=True):
    """The validated settings of a plugin."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, Secret] = field(default_factory=dict)
    api_version: str
    install_hint: str = ""
    #: Cluster information for the plugin by ``provideClusterInfo``; ``None`` without it.
    cluster: Mapping[str, Any] | None = None
    policy: PluginPolicy = field(default_factory=PluginPolicy)
    #: Origin for messages: file, user, field.
    origin: str = "exec plugin"

    def __post_init__(self) -> None:
        if self.api_version not in API_VERSIONS:
            raise ConfigError(f"{self.origin}: apiVersion {self.api_version!r} is not one of {', '.join(API_VERSIONS)}")

    def __repr__(self) -> str:
        # People write secrets into arguments, too.
        return f"<ExecPlugin {self.command} {self.origin}>"
