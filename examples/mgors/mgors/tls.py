"""TLS of a replica set: the mode of its members, and what the operator trusts. Pure functions.

A member in one mode can talk to members in the same mode and in the neighbouring ones only:

    disabled    accepts and opens plain connections
    allowTLS    accepts both, opens plain ones
    preferTLS   accepts both, opens TLS ones
    requireTLS  accepts and opens TLS ones

So running members get to another mode step by step. The mode of a pod never changes: each step replaces the pods, one
by one, and begins when **every pod** has the mode of the step before. The template does not prove that, and neither
does the absence of pods: the StatefulSet's controller may create one from a template that it read some steps ago. A pod
of the current template proves that the controller has read it.
"""

import ssl
from collections.abc import Collection
from dataclasses import dataclass, field

from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod, PodSpec

from mgors.api.mgors_v1 import Mgors, Tls, TlsMode

MODES: tuple[TlsMode, ...] = ("disabled", "allowTLS", "preferTLS", "requireTLS")
OPTION = "--tlsMode"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCertificate:
    """What members serve: a certificate with its key, and the authorities that they trust."""

    certificate: bytes
    #: The certificate and the key in one file.
    pem: bytes = field(repr=False)
    authority: bytes
    #: The authorities before the last change: members that have not read the new certificate yet have one of these.
    previous: bytes = b""

    def is_served(self, der: bytes) -> bool:
        """Return whether a server showed this certificate."""
        return ssl.PEM_cert_to_DER_cert(self.certificate.decode().partition("-----END")[0] + _END) == der


_END = "-----END CERTIFICATE-----\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How clients verify members."""

    authority: bytes
    #: Whether any name will do, as long as the certificate was signed by the authority.
    any_hostname: bool


def wanted_tls(mgors: Mgors) -> Tls:
    """Return the TLS settings of the spec."""
    return mgors.spec.tls or Tls(mode="disabled")


def ignores_hostnames(tls: Tls) -> bool:
    """Return whether names in certificates are ignored: the operator's own authority signs for one set only."""
    return tls.secret_name is None or tls.allow_invalid_hostnames


def mode_of(spec: PodSpec | None) -> TlsMode:
    """Return the mode that pods of a spec start with."""
    args = (spec.containers[0].args or []) if spec is not None and spec.containers else []
    found = args[args.index(OPTION) + 1] if OPTION in args else "disabled"
    return next(mode for mode in MODES if mode == found)


def template_mode(sets: Collection[StatefulSet], wanted: TlsMode, pods: Collection[Pod]) -> TlsMode:
    """Return the mode of the current template. A set that does not run starts with the wanted mode.

    That there are no pods is not enough: a StatefulSet with replicas may create some of them at any time.
    """
    if not pods and all(one.spec.replicas == 0 for one in sets):
        return wanted
    return next((mode_of(one.spec.template.spec) for one in sets), wanted)


def next_mode(template: TlsMode, wanted: TlsMode, pods: Collection[Pod]) -> TlsMode:
    """Return the mode of the next template: one step towards the wanted one, if all pods have that of the last one."""
    if template == wanted or not pods or any(mode_of(pod.spec) != template for pod in pods):
        return template
    step = 1 if MODES.index(wanted) > MODES.index(template) else -1
    return MODES[MODES.index(template) + step]


def uses_tls(template: TlsMode) -> bool:
    """Return whether clients use TLS: all pods of such a template accept it, and those that are to be replaced, too."""
    return template in ("preferTLS", "requireTLS")
