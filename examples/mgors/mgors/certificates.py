"""Certificates of the members: from the operator's own authority, or from a Secret of another tool.

``NAME-certificates`` has the authority with its key, for the operator only. ``NAME-tls`` is mounted by members, which
read it again when they are told to (``rotateCertificates``): no pod is replaced. The ConfigMap ``NAME-ca`` has the
authorities that clients must trust.

What a kubelet has mounted, and what a member has read, is not known. But a member shows the certificate that it serves,
and every change of the authorities comes with another certificate. So the next step of a rotation begins only when all
members that respond serve the certificate of the last one.
"""

import asyncio
import ssl
from dataclasses import dataclass, replace
from datetime import timedelta

from steersman import Context, SteersmanError, meta
from steersman.clock import RealClock
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.serving import CertificateBundle, Lifetimes, advance_bundle

from mgors.api.mgors_v1 import Mgors
from mgors.connections import CONNECT_MS, Connector, MemberError
from mgors.members import Slot
from mgors.names import CLUSTER, ca_name, certificates_name, tls_name
from mgors.settings import Settings
from mgors.situation import Situation
from mgors.tls import ServerCertificate, wanted_tls

#: Members check certificates by real time, even if the operator does not.
_CLOCK = RealClock()
_REVISION = "revision"


class CertificateError(SteersmanError):
    """There is no certificate that members could serve. ``reason`` is for conditions."""

    def __init__(self, reason: str, message: str) -> None:
        """Create the error; ``message`` names the Secret."""
        super().__init__(message)
        self.reason = reason


async def ensure_certificate(mgors: Mgors, ctx: Context[Mgors], settings: Settings) -> ServerCertificate:
    """Return the certificate that members should serve, and store it where they mount it."""
    mounted = await ctx.get(Secret, tls_name(mgors))
    current = _mounted(mounted)
    name = wanted_tls(mgors).secret_name
    wanted = await _given(name, ctx) if name else await _own(mgors, ctx, settings, is_new=current is None)
    if wanted is None:
        if current is None:
            source = name or certificates_name(mgors)
            raise CertificateError("CertificateMissing", f"the Secret {source} has no tls.crt, tls.key and ca.crt")
        return current  # a Secret that is missing for a moment changes nothing: members have its content
    if current is not None and replace(wanted, previous=current.previous) == current:
        return current
    return await _mount(mgors, ctx, wanted, current)


async def _mount(
    mgors: Mgors, ctx: Context[Mgors], wanted: ServerCertificate, current: ServerCertificate | None
) -> ServerCertificate:
    """Store a certificate where members mount it. The operator trusts the authorities before it, too, to reach them."""
    if current is not None:
        is_other = current.authority != wanted.authority
        wanted = replace(wanted, previous=current.authority if is_other else current.previous)
    data = {"server.pem": wanted.pem, "tls.crt": wanted.certificate, "ca.crt": wanted.authority}
    data["previous-ca.crt"] = wanted.previous
    await ctx.apply(Secret(meta(tls_name(mgors), labels={CLUSTER: mgors.name}), data=data))
    return wanted


async def publish_authority(mgors: Mgors, ctx: Context[Mgors], certificate: ServerCertificate) -> None:
    """Store the authorities that clients must trust."""
    about = meta(ca_name(mgors), labels={CLUSTER: mgors.name})
    await ctx.apply(ConfigMap(about, data={"ca.crt": certificate.authority.decode()}))


def _mounted(secret: Secret | None) -> ServerCertificate | None:
    data = (secret.data or {}) if secret is not None else {}
    if not data.get("server.pem"):
        return None
    return ServerCertificate(
        certificate=data["tls.crt"],
        pem=data["server.pem"],
        authority=data["ca.crt"],
        previous=data.get("previous-ca.crt", b""),
    )


async def _given(name: str, ctx: Context[Mgors]) -> ServerCertificate | None:
    secret = await ctx.get(Secret, name)
    data = (secret.data or {}) if secret is not None else {}
    if not all(data.get(key) for key in ("tls.crt", "tls.key", "ca.crt")):
        return None
    pem = data["tls.crt"].rstrip() + b"\n" + data["tls.key"]
    return ServerCertificate(certificate=data["tls.crt"], pem=pem, authority=data["ca.crt"])


async def _own(mgors: Mgors, ctx: Context[Mgors], settings: Settings, *, is_new: bool) -> ServerCertificate | None:
    """Return the certificate of the own authority; create that only for a set whose members have none."""
    secret = await ctx.get(Secret, certificates_name(mgors))
    data = dict((secret.data or {}) if secret is not None else {})
    bundle = CertificateBundle.of(data)
    if bundle is None:
        if not is_new:
            return None
        bundle = _advanced(None, mgors, settings)
        await _store(mgors, ctx, bundle, wanted_tls(mgors).revision or "")
    pem = bundle.serving.certificate + bundle.serving.key
    return ServerCertificate(certificate=bundle.serving.certificate, pem=pem, authority=bundle.authority)


async def _store(mgors: Mgors, ctx: Context[Mgors], bundle: CertificateBundle, revision: str) -> None:
    data = {**bundle.data(), _REVISION: revision.encode()}
    await ctx.apply(Secret(meta(certificates_name(mgors), labels={CLUSTER: mgors.name}), data=data))


def _advanced(
    bundle: CertificateBundle | None, mgors: Mgors, settings: Settings, *, renew: bool = False
) -> CertificateBundle:
    service = f"{mgors.name}.{mgors.namespace}.svc"
    names = [service, f"*.{service}", f"*.{service}.cluster.local", "localhost"]
    lifetimes = Lifetimes(overlap=timedelta(hours=settings.ca_overlap))
    return advance_bundle(bundle, names, clock=_CLOCK, lifetimes=lifetimes, is_peer=True, renew=renew)


@dataclass(frozen=True, slots=True)
class CertificateRotation:
    """Rotates the certificates of running members."""

    mgors: Mgors
    ctx: Context[Mgors]
    settings: Settings
    connector: Connector

    async def step(self, situation: Situation, wanted: ServerCertificate) -> None:
        """Make members read their certificate again, or, if all serve it, do the next step that is due."""
        late = [slot for slot in situation.slots if slot.view and not await self._serves(slot.host, wanted)]
        problems = [problem for slot in late if (problem := await self._read_again(slot))]
        if problems:
            message = ", ".join(problems)
            if self.ctx.condition("CertificatesServed", False, "RotationFailed", message):
                self.ctx.event("RotationFailed", message, kind="Warning")
            return
        message = f"{', '.join(slot.pod for slot in late)} served an older certificate" if late else ""
        self.ctx.condition("CertificatesServed", not late, "Rotating" if late else "AsAskedFor", message)
        if not late and wanted_tls(self.mgors).secret_name is None:
            await self._advance()

    async def _read_again(self, slot: Slot) -> str:
        """Make a member read its certificate again; return the problem, if any."""
        try:
            async with self.connector.member(slot.host) as member:
                await member.run_command({"rotateCertificates": 1})
        except MemberError as error:
            return f"{slot.pod}: {error}"
        return ""

    async def _serves(self, host: str, wanted: ServerCertificate) -> bool:
        der = await served_certificate(self.connector.dial(host))
        return der is None or wanted.is_served(der)

    async def _advance(self) -> None:
        secret = await self.ctx.get(Secret, certificates_name(self.mgors))
        data = dict((secret.data or {}) if secret is not None else {})
        before = CertificateBundle.of(data)
        if before is None:
            return
        wanted, revision = wanted_tls(self.mgors).revision or "", data.get(_REVISION, b"").decode()
        renew = wanted != revision and before.successor is None
        after = _advanced(before, self.mgors, self.settings, renew=renew)
        if after is before:
            return
        await _store(self.mgors, self.ctx, after, wanted if after.successor is not None else revision)
        authority = "CAAnnounced" if after.successor is not None else "CertificateIssued"
        self.ctx.event(authority, "members and clients get other certificates")


async def served_certificate(host: str) -> bytes | None:
    """Return the certificate that a member serves, as DER; ``None`` if there is no TLS connection."""
    name, _, port = host.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only the certificate itself is compared
    try:
        async with asyncio.timeout(CONNECT_MS / 1000):
            _, writer = await asyncio.open_connection(name, int(port), ssl=context)
    except OSError:  # includes TimeoutError and SSLError
        return None
    try:
        found: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
    return found
