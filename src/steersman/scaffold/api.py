"""`Api`: a kind that is added to a project, and the names of everything that it becomes."""

import re
from dataclasses import dataclass
from typing import Final

from steersman.codegen.naming import words
from steersman.errors import ConfigError
from steersman.schema.declaration import plural_of
from steersman.structural.crd.protected_groups import is_protected_group
from steersman.validation.names import dns1035_faults, kind_faults, subdomain_faults

_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
#: Names that the files of a project use themselves.
_USED: Final = frozenset(
    {"Annotated", "Cluster", "Column", "Context", "MaxLength", "Model", "Operator", "Resource", "Status"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A kind of one group and version."""

    group: str
    version: str
    kind: str
    namespaced: bool = True

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind) or kind_faults(self.kind):
            raise ConfigError(f"{self.kind!r} is not a kind: write it in CamelCase, such as CustomPod")
        if self.kind in _USED:
            raise ConfigError(f"a kind named {self.kind} would hide a name of Steersman: choose another")
        if dns1035_faults(self.version):
            raise ConfigError(f"{self.version!r} is not an API version: write one such as v1 or v1alpha1")

    def check_custom(self) -> None:
        """Reject names that cannot be a custom kind."""
        if "." not in self.group or subdomain_faults(self.group):
            raise ConfigError(
                f"{self.group!r} is not an API group: write a lower-case DNS name such as apps.example.com"
            )
        if is_protected_group(self.group):
            raise ConfigError(f"the group {self.group!r} belongs to the Kubernetes community: use your own domain")

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def variable(self) -> str:
        """The name of one such object in code."""
        return "_".join(word.lower() for word in words(self.kind))

    @property
    def versioned_kind(self) -> str:
        """The name of its class beside classes of other versions, such as ``CustomPodV1alpha1``."""
        return f"{self.kind}{self.version.capitalize()}"

    @property
    def module(self) -> str:
        """The module of its classes."""
        return f"{self.variable}_{self.version}"

    @property
    def plural(self) -> str:
        """Where it is served."""
        return plural_of(self.kind)
