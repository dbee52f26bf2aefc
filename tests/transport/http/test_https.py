import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from steersman.clock import RealClock
from steersman.errors import ConfigError, ConnectionFailed, ConnectionLost, TlsError
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.certificates import CertificateAuthority, KeyPair
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from steersman.testing.fake_clock import FakeClock
from steersman.transport.auth.secret import Secret
from steersman.transport.http.tls import ClientCertificate, TlsConfig, build_context
from tests.support.peer import PeerConnection, scripted, until
from tests.transport.conftest import Connect

GET = Request("GET", "/")
AUTHORITY = CertificateAuthority.create("test authority", clock=RealClock())
CA = AUTHORITY.certificate.decode()
SERVER = AUTHORITY.issue_server(["127.0.0.1", "api.example.test"])
OTHER = CertificateAuthority.create("another authority", clock=RealClock())


class WhoAmI:
    """Answers with the common name of the client's certificate."""

    def handle(self, request: Request, exchange: Exchange) -> None:  # noqa: ARG002 - an app's signature
        """Answer."""
        certificate = exchange.peer.certificate or {"subject": ()}
        names = [value for part in certificate["subject"] for key, value in part]
        exchange.respond(Response(200, [], ",".join(names).encode()))


def _https(pair: KeyPair = SERVER) -> Server:
    tls = server_context(certificate=pair.certificate, key=pair.key, client_ca=AUTHORITY.certificate)
    return Server(WhoAmI(), clock=RealClock(), listen=Listen(tls=tls))


def _client(pair: KeyPair) -> ClientCertificate:
    return ClientCertificate(pair.certificate.decode(), Secret(pair.key.decode()))


async def _handshakes_over() -> None:
    """Wait for the event loop's own task that accepts a connection: it outlives a handshake by a moment."""
    await until(lambda: len(asyncio.all_tasks()) == 1)


async def test_a_server_signed_by_the_given_ca_is_trusted(connected: Connect) -> None:
    """The usual case: a cluster with its own CA."""
    async with _https() as server, connected(server.url, tls=TlsConfig(ca=CA)) as transport:
        assert (await transport.request(GET)).status == 200


async def test_the_serving_certificate_itself_can_be_trusted(connected: Connect) -> None:
    """Tests of other frameworks put a webhook's serving certificate into its caBundle, and Go accepts it."""
    config = TlsConfig(ca=SERVER.certificate.decode())
    async with _https() as server, connected(server.url, tls=config) as transport:
        assert (await transport.request(GET)).status == 200


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (TlsConfig(ca=OTHER.certificate.decode()), "does not fit"),
        (TlsConfig(), "does not fit"),
        (TlsConfig(ca=CA, server_name="elsewhere.example.test"), "[Hh]ostname mismatch"),
    ],
    ids=["another authority", "the system's authorities", "another name"],
)
async def test_any_other_server_is_rejected(connected: Connect, config: TlsConfig, reason: str) -> None:
    """The given CA is the only one; the name is checked; nothing is sent to another server."""
    async with _https() as server, connected(server.url, tls=config) as transport:
        with pytest.raises(TlsError, match=reason):
            await transport.request(Request("POST", "/", {}, b"secret"))
        await _handshakes_over()


async def test_an_expired_certificate_is_rejected(connected: Connect) -> None:
    """Its key may be known to others by now."""
    past = FakeClock(datetime(2020, 1, 1, tzinfo=UTC))
    expired = CertificateAuthority.load(AUTHORITY.key_pair(), clock=past).issue_server(["127.0.0.1"])
    async with _https(expired) as server, connected(server.url, tls=TlsConfig(ca=CA)) as transport:
        with pytest.raises(TlsError, match="expired"):
            await transport.request(GET)
        await _handshakes_over()


async def test_the_name_to_check_can_be_given(connected: Connect) -> None:
    """A tunnel to a cluster ends at localhost, but the certificate is the cluster's."""
    config = TlsConfig(ca=CA, server_name="api.example.test")
    async with _https() as server, connected(server.url, tls=config) as transport:
        assert (await transport.request(GET)).status == 200


async def test_a_client_certificate_identifies_the_user(connected: Connect) -> None:
    """Kubernetes reads user and groups from the subject."""
    client = _client(AUTHORITY.issue_client("admin", ["masters", "others"]))
    async with _https() as server, connected(server.url, tls=TlsConfig(ca=CA, client=client)) as transport:
        assert (await transport.request(GET)).body == b"masters,others,admin"


async def test_a_client_certificate_of_a_stranger_is_a_tls_error(connected: Connect) -> None:
    """The server rejects it after our side of the handshake is done; not every server says so before it disconnects."""
    client = _client(OTHER.issue_client("admin"))
    async with _https() as server, connected(server.url, tls=TlsConfig(ca=CA, client=client)) as transport:
        with pytest.raises((TlsError, ConnectionLost)):
            await transport.request(Request("POST", "/"))


async def test_rotated_certificate_files_are_used_for_new_connections(connected: Connect, tmp_path: Path) -> None:
    """Short-lived certificates are replaced on disk while an operator runs."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def put(user: str) -> None:
        pair = AUTHORITY.issue_client(user)
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)

    put("first")
    config = TlsConfig(ca=CA, client=ClientCertificate(certificate, key))
    async with _https() as server, connected(server.url, tls=config) as transport:
        assert (await transport.request(GET)).body == b"first"
        put("second")
        transport._close_idle()
        await until(lambda: not transport._connections)
        assert (await transport.request(GET)).body == b"second"
        certificate.unlink()
        transport._close_idle()
        await until(lambda: not transport._connections)
        assert (await transport.request(GET)).body == b"second"


async def test_skipping_verification_works_and_is_logged(connected: Connect, caplog: pytest.LogCaptureFixture) -> None:
    """Users forget that they turned it off; every start must say so."""
    async with _https() as server, connected(server.url, tls=TlsConfig(insecure=True)) as transport:
        assert (await transport.request(GET)).status == 200
    assert [(record.levelno, record.message[:8]) for record in caplog.records] == [(logging.WARNING, "INSECURE")]


def test_skipping_verification_excludes_a_ca() -> None:
    """One of the two is a mistake, and guessing which is not safe."""
    with pytest.raises(ConfigError, match="exclude each other"):
        TlsConfig(ca=CA, insecure=True)


async def test_a_silent_handshake_times_out(connected: Connect) -> None:
    """A port that accepts and sends nothing must not block a request."""
    clock = FakeClock()
    accepted = asyncio.Event()

    async def silent(connection: PeerConnection) -> None:
        accepted.set()
        await connection.gone()

    async def call() -> None:
        with pytest.raises(TlsError, match="no TLS handshake within 10 s"):
            await transport.request(GET)

    async with scripted(silent) as peer:
        url = peer.url.replace("http", "https")
        async with connected(url, clock=clock, tls=TlsConfig(ca=CA)) as transport, asyncio.TaskGroup() as tasks:
            tasks.create_task(call())
            await accepted.wait()
            await until(lambda: (clock.next_timer() or 99.0) <= 10.0)
            await clock.advance(10)


async def test_plain_http_on_the_other_side_is_a_tls_error(connected: Connect) -> None:
    """The wrong scheme is a common mistake."""

    async def plain(connection: PeerConnection) -> None:
        await connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await connection.gone()

    async with scripted(plain) as peer, connected(peer.url.replace("http", "https"), tls=TlsConfig(ca=CA)) as transport:
        with pytest.raises((TlsError, ConnectionFailed)):
            await transport.request(GET)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TlsConfig(ca="not a certificate"), r"authority \(inline\)"),
        (TlsConfig(ca=Path("/nowhere/ca.crt")), "/nowhere/ca.crt: No such file"),
        (TlsConfig(client=ClientCertificate(Path("/nowhere/a.crt"), Path("/nowhere/a.key"))), "No such file"),
        (TlsConfig(client=ClientCertificate(CA, Secret("not a key"))), "client certificate"),
        (TlsConfig(client=ClientCertificate(CA, Secret(SERVER.key.decode()))), "client certificate"),
    ],
    ids=["authority", "missing authority", "missing certificate", "garbage key", "another's key"],
)
def test_unusable_certificates_are_named(config: TlsConfig, message: str) -> None:
    """OpenSSL's own messages name neither the file nor the field."""
    with pytest.raises(ConfigError, match=message):
        build_context(config)


def test_an_encrypted_key_is_rejected_instead_of_prompting() -> None:
    """An operator that waits for a password in its pod looks as if it hangs."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - only here

    key = serialization.load_pem_private_key(SERVER.key, None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    client = ClientCertificate(SERVER.certificate.decode(), Secret(locked.decode()))
    with pytest.raises(ConfigError, match="encrypted"):
        build_context(TlsConfig(client=client))
