"""Error messages about Secrets, without the content that servers quote in them."""

import pytest

from steersman.errors import Cause, Invalid
from steersman.protocol.confidential import is_confidential, without_values


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/api/v1/namespaces/default/secrets/a", True),
        ("/api/v1/secrets?watch=1", True),
        ("/api/v1/namespaces/default/serviceaccounts/robot/token", True),
        ("/apis/authentication.k8s.io/v1/tokenreviews", True),
        ("/api/v1/namespaces/default/configmaps/a?fieldManager=secrets", False),
        ("/api/v1/namespaces/default/pods/a", False),
    ],
)
def test_requests_with_secrets_are_recognised_by_their_path(target: str, expected: bool) -> None:
    """Only whole segments of the path count."""
    assert is_confidential(target) is expected


def test_the_error_of_a_patch_does_not_quote_the_secret() -> None:
    """A kube-apiserver quotes the whole Secret when a patch of it is invalid; the message is its own."""
    quoted = r'Invalid value: "{\"data\":{\"a\":\"hunter2\"}}": illegal base64 data at input byte 7'
    error = Invalid(
        f' "" is invalid: patch: {quoted}',
        code=422,
        reason="Invalid",
        causes=[Cause("FieldValueInvalid", quoted, "patch")],
        retry_after=1.0,
    )
    shown = without_values(error)
    assert isinstance(shown, Invalid)
    assert shown.message == ' "" is invalid: patch: Invalid value: <secret>: illegal base64 data at input byte 7'
    assert shown.causes[0].message == "Invalid value: <secret>: illegal base64 data at input byte 7"
    assert (shown.code, shown.reason, shown.retry_after) == (422, "Invalid", 1.0)


def test_an_invalid_name_is_still_reported() -> None:
    """The user who chose the name must see what is wrong with it."""
    text = 'Secret "A_B" is invalid: metadata.name: Invalid value: "A_B": a lowercase RFC 1123 subdomain'
    cause = Cause("FieldValueInvalid", 'Invalid value: "A_B": a lowercase RFC 1123 subdomain', "metadata.name")
    shown = without_values(Invalid(text, code=422, causes=[cause]))
    assert shown.message == text
    assert shown.causes == (cause,)
