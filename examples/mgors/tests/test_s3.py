"""Signatures of requests to storage that is compatible with S3."""

import hashlib
from datetime import UTC, datetime

from mgors.s3 import Bucket


def test_a_signature_is_that_of_the_documentation() -> None:
    """The example of the reference of S3, with its published keys: a request for the lifecycle of a bucket."""
    bucket = Bucket(
        endpoint="https://examplebucket.s3.amazonaws.com",
        name="examplebucket",
        access_key="AKIAIOSFODNN7EXAMPLE",
        secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",  # noqa: S106 - published
    )
    nothing, at = hashlib.sha256(b"").hexdigest(), datetime(2013, 5, 24, tzinfo=UTC)
    headers = bucket.signed("GET", "/", {"lifecycle": ""}, nothing, at)
    expected = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    assert headers["authorization"].endswith(f"Signature={expected}")


def test_keys_are_not_shown() -> None:
    """Objects end up in logs."""
    assert "hidden" not in repr(Bucket(endpoint="http://s3", name="b", access_key="a", secret_key="hidden"))  # noqa: S106
