from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.testing.fake_clock import FakeClock
from steersman.transport.auth.credentials import Identity, Impersonation, StaticCredentials, TokenFile, basic, bearer
from steersman.transport.auth.secret import Secret


def _authorization(identity: Identity | None) -> str:
    assert identity is not None
    assert identity.authorization is not None
    return identity.authorization.reveal()


def test_a_fixed_identity_has_no_alternative() -> None:
    """A second attempt with the same token would be rejected again."""
    fixed = StaticCredentials(bearer(Secret("t")))
    assert _authorization(fixed.current()) == "Bearer t"
    assert not fixed.reject(fixed.current())


def test_a_login_is_encoded_for_http() -> None:
    """Names and passwords may contain anything but a colon in the name."""
    assert _authorization(basic("user", Secret("pä:ss"))) == "Basic dXNlcjpww6Q6c3M="


async def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    """A pod's token is replaced every hour; reading it for every request would cost more than the request."""
    clock, path = FakeClock(), tmp_path / "token"
    path.write_text("one\n")
    credentials = TokenFile(path, clock=clock)
    first = credentials.current()
    path.write_text("two\n")
    await clock.advance(49)
    assert credentials.current() is first
    await clock.advance(2)
    assert _authorization(credentials.current()) == "Bearer two"


@pytest.mark.parametrize("fault", ["missing", "empty", "binary"])
async def test_the_last_good_token_stays_while_its_file_cannot_be_read(tmp_path: Path, fault: str) -> None:
    """A file that is being replaced is missing or empty for a moment."""
    clock, path = FakeClock(), tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path, clock=clock)
    credentials.current()
    if fault == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if fault == "empty" else b"\xff\xfe")
    await clock.advance(120)
    assert _authorization(credentials.current()) == "Bearer one"


async def test_a_token_file_that_never_existed_is_named(tmp_path: Path) -> None:
    """Continuing without credentials would turn a wrong path into a confusing 403."""
    credentials = TokenFile(tmp_path / "token", clock=FakeClock())
    assert credentials.current() is None
    with pytest.raises(ConfigError, match=str(tmp_path / "token")):
        await credentials.obtain()


def test_a_rejected_token_is_replaced_only_if_the_file_has_another(tmp_path: Path) -> None:
    """Another attempt makes sense only with another token."""
    path = tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path, clock=FakeClock())
    first = credentials.current()
    assert first is not None
    assert not credentials.reject(first)
    path.write_text("two")
    assert credentials.reject(first)
    assert _authorization(credentials.current()) == "Bearer two"
    assert credentials.reject(first), "an identity that was replaced meanwhile is worth another try"


def test_impersonation_becomes_headers() -> None:
    """Groups are one header each; keys of extra fields may hold characters that a header's name may not."""
    impersonation = Impersonation(
        user="jane", uid="42", groups=("a", "b"), extra={"Scopes/All": ("x", "y"), "ä": ("z",)}
    )
    assert impersonation.headers() == [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "42"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-scopes%2Fall", "x"),
        ("impersonate-extra-scopes%2Fall", "y"),
        ("impersonate-extra-%C3%A4", "z"),
    ]


def test_groups_without_a_user_are_rejected() -> None:
    """The API server rejects them, too, but later and for every request."""
    with pytest.raises(ConfigError, match="needs a user"):
        Impersonation(groups=("a",))


def test_a_secret_is_not_shown() -> None:
    """Printing, formatting, logging or pickling an object must not reveal a secret in it."""
    import pickle  # noqa: PLC0415 - to show that it does not work

    secret = Secret("canary")
    shown = f"{secret} {secret!r} {secret!s:>20} {[secret]} {Identity(secret)}" + "%s %r" % (secret, secret)  # noqa: UP031 - the way of log messages
    assert "canary" not in shown
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert (secret == Secret("canary"), secret == Secret("other"), secret == "canary") == (True, False, False)
