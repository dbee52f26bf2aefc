"""How the contents of Secrets are recognised in texts without being kept."""

import gc
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.history import redaction
from steersman.history.records import ConditionRecord, ObjectName, Read
from steersman.history.redaction import MASK, Redactor, SecretMemory

CANARY = b"kanarienvogel-4711"


def remembering(*values: bytes) -> SecretMemory:
    """Return a memory that has learned some values."""
    memory = SecretMemory()
    memory.learn(values)
    return memory


@pytest.mark.parametrize(
    "write",
    [
        bytes.decode,
        repr,
        bytes.hex,
        lambda secret: b64encode(secret).decode(),
        lambda secret: b64encode(b"user:" + secret).decode(),
        lambda secret: b64encode(b"u:" + secret + b":x").decode(),
        lambda secret: b64encode(b"aa:" + secret + b"more").decode(),
        lambda secret: urlsafe_b64encode(b"\xff\xfe" + secret).decode(),
        lambda secret: f"prefix{secret.decode()}suffix",
    ],
)
def test_a_value_is_found_in_every_form(write: Callable[[bytes], str]) -> None:
    """Also inside of base64 of longer data: that is how ``user:password`` is sent, and stored in registry configs."""
    shown = remembering(CANARY).mask(f"with {write(CANARY)} at the end")
    assert MASK in shown
    assert shown.startswith("with ")
    assert shown.endswith(" at the end")
    for form in (CANARY.decode(), CANARY.hex(), *(b64encode(b"x" * n + CANARY).decode()[4:-6] for n in range(3))):
        assert form not in shown


@given(st.binary(min_size=8, max_size=60), st.binary(max_size=7), st.binary(max_size=7))
def test_a_value_inside_of_base64_is_found_wherever_it_begins(secret: bytes, before: bytes, after: bytes) -> None:
    """Four characters stand for three bytes: where the value begins decides how it looks."""
    assert MASK in remembering(secret).mask(b64encode(before + secret + after).decode())


def test_the_longest_of_two_values_is_masked() -> None:
    """One may be the beginning of the other, whose rest would be left."""
    memory = remembering(b"password", b"password-of-root")
    assert memory.mask("x password-of-root x password x") == f"x {MASK} x {MASK} x"


def test_no_value_is_kept() -> None:
    """The memory lives as long as the process, and must not become a second copy of all Secrets."""
    memory = remembering(CANARY)
    gc.collect()
    forms = [CANARY, CANARY.decode(), CANARY.hex(), b64encode(CANARY).decode()]
    reachable: list[object] = [memory]
    seen = set[int]()
    while reachable:
        one = reachable.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        assert one not in forms if isinstance(one, (str, bytes)) else True
        if isinstance(one, (dict, list, tuple, set, frozenset)) or hasattr(one, "__dict__") or one is memory:
            reachable += gc.get_referents(one)
    assert "kanarie" not in repr(memory)


def test_values_that_are_not_used_any_more_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that sees a new Secret every second runs for years."""
    monkeypatch.setattr(redaction, "_VALUES", 100)
    memory = SecretMemory()
    for number in range(1000, 1300):
        memory.learn([b"secret-%d" % number, b"in-use-always"])
    assert 100 <= len(memory) <= 200
    assert memory.mask("secret-1299, in-use-always") == f"{MASK}, {MASK}"
    assert memory.mask("secret-1000") == "secret-1000"


def test_a_short_value_is_masked_only_by_the_run_that_has_read_it() -> None:
    """``admin`` and ``5432`` would otherwise be masked in every text about any object."""
    memory = remembering(b"admin")
    assert Redactor(memory).text("admin logs in") == "admin logs in"
    assert Redactor(memory, [b"admin", b"abc"]).text("admin logs in as abc") == f"{MASK} logs in as abc"


def test_every_text_of_a_record_is_masked_except_the_name_of_its_object() -> None:
    """An object is found by its name; any other name, and the type of a condition, is data like any other."""
    secret = "kanarienvogel"
    redactor = Redactor(remembering(secret.encode()), about=ObjectName("Site", "default", "a"))
    assert redactor.record(ConditionRecord(secret, secret, secret, secret)) == ConditionRecord(MASK, MASK, MASK, MASK)
    read = Read("Secret", 1, ObjectName("Secret", "default", f"of-{secret}"), "12")
    assert redactor.record(read).object == ObjectName("Secret", "default", f"of-{MASK}")
    own = Redactor(remembering(secret.encode()), about=ObjectName("Site", "default", secret))
    assert own.record(ObjectName("Site", "default", secret)).name == secret


def test_a_text_is_masked_once_its_secret_is_known() -> None:
    """Texts without secrets are remembered as such, until there is another secret."""
    memory = remembering(b"something-else")
    assert memory.mask(CANARY.decode()) == CANARY.decode()
    memory.learn([CANARY])
    assert memory.mask(CANARY.decode()) == MASK
