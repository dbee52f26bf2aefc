"""What a recording shows of objects with secrets, and what it must keep for a replay."""

import json
from base64 import b64encode

import pytest

from steersman.controller.recording.run_notes import Masking
from steersman.history.redaction import MASK, Redactor, SecretMemory

CANARY = "kanarienvogel-4711"


def test_a_field_that_names_an_object_is_kept_whatever_it_is_called() -> None:
    """``credentials: db`` is how the run found the Secret; with the name masked, its replay reads another one."""
    masking = Masking(None, [])
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db-login", "namespace": "default"}}
    site = {
        "kind": "Site",
        "metadata": {"name": "a"},
        "spec": {"credentials": "db-login", "password": CANARY, "text": f"db-login {CANARY}"},
    }
    masking.keep_names([secret, site])
    masking.learn(secret, is_confidential=True)
    masking.learn(site, is_confidential=False)
    assert masking.input(site, is_confidential=False)["spec"] == {
        "credentials": "db-login",
        "password": MASK,
        "text": f"db-login {MASK}",
    }


@pytest.mark.parametrize("path", ["/data/key", "/data", ""])
def test_values_that_a_json_patch_writes_to_a_secret_are_masked_elsewhere(path: str) -> None:
    """The body of such a patch is a list, and the value stands at any of three levels."""
    value = b64encode(CANARY.encode()).decode()
    wrapped = {"/data/key": value, "/data": {"key": value}, "": {"data": {"key": value}}}[path]
    masking = Masking(None, [])
    masking.learn([{"op": "add", "path": path, "value": wrapped}], is_confidential=True)
    assert masking.value({"text": f"is {CANARY}"}) == {"text": f"is {MASK}"}


def test_copies_of_a_value_are_masked_as_number_escaped_twice_and_encoded_twice() -> None:
    """A password of digits becomes a number in YAML, a document is often a text in another one."""
    digits, special = "4711081512", 'kanarien"vogel\\4711'
    memory = SecretMemory()
    memory.learn([digits.encode(), special.encode(), CANARY.encode()])
    masking = Masking(Redactor(memory), [])
    twice = b64encode(b64encode(CANARY.encode())).decode()
    document = json.dumps(json.dumps({"password": special}))
    shown = masking.value({"port": int(digits), "other": 5432, "twice": twice, "document": document})
    assert shown == {"port": MASK, "other": 5432, "twice": MASK, "document": shown["document"]}
    assert "kanarien" not in shown["document"]
