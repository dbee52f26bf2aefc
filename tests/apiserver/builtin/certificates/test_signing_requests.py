"""CertificateSigningRequests: the server sets the requesting user, and approvers change only conditions."""

import base64
from typing import Any

from tests.apiserver.api import Api, Document

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
JSON = "application/json"
PEM = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n").decode()
APPROVED = {"type": "Approved", "status": "True", "reason": "ByHand", "message": "fine"}


def signing_request(**spec: Any) -> Document:
    """Return a request for a client certificate."""
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "a"},
        "spec": {"request": PEM, "signerName": "example.com/signer", "usages": ["client auth"], **spec},
    }


async def requested() -> Api:
    """Return a server that has one request for a certificate."""
    api = Api()
    assert (await api.send("POST", REQUESTS, signing_request(), content_type=JSON)).status == 201
    return api


async def test_an_approval_is_written_with_its_times() -> None:
    """``kubectl certificate approve`` sends the whole object with PUT; it once had no effect."""
    api = await requested()
    obj = await api.ask("GET", f"{REQUESTS}/a")
    obj["status"] = {"conditions": [APPROVED], "certificate": "bm90IHlvdXJz"}
    obj["spec"]["usages"] = ["any"]
    answer = await api.ask("PUT", f"{REQUESTS}/a/approval", obj, content_type=JSON)
    kept = await api.ask("GET", f"{REQUESTS}/a")
    assert answer["status"] == kept["status"]
    (condition,) = kept["status"]["conditions"]
    assert condition["type"] == "Approved"
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] == "2030-01-01T00:00:00Z"
    assert "certificate" not in kept["status"]
    assert kept["spec"]["usages"] == ["client auth"]


async def test_an_approval_can_be_a_patch() -> None:
    """Other clients patch."""
    api = await requested()
    patch = {"status": {"conditions": [APPROVED]}}
    kept = await api.ask("PATCH", f"{REQUESTS}/a/approval", patch, content_type="application/merge-patch+json")
    assert [condition["type"] for condition in kept["status"]["conditions"]] == ["Approved"]


async def test_a_signer_cannot_change_the_conditions_of_an_approver() -> None:
    """A user with permission for the status must not rewrite the reason of an approval."""
    api = await requested()
    patch = {"status": {"conditions": [APPROVED]}}
    await api.send("PATCH", f"{REQUESTS}/a/approval", patch, content_type="application/merge-patch+json")
    obj = await api.ask("GET", f"{REQUESTS}/a")
    obj["status"]["conditions"][0]["reason"] = "Forged"
    obj["status"]["certificate"] = PEM
    kept = await api.ask("PUT", f"{REQUESTS}/a/status", obj, content_type=JSON)
    assert kept["status"]["conditions"][0]["reason"] == "ByHand"
    assert kept["status"]["certificate"] == PEM


async def test_the_requesting_user_is_stored_with_extra_information() -> None:
    """Signers decide by it; values that the client sends are dropped."""
    api = Api()
    headers = {"impersonate-user": "eve", "impersonate-group": "system:masters", "impersonate-extra-scopes": "view"}
    made = await api.ask(
        "POST", REQUESTS, signing_request(extra={"scopes": ["admin"]}, username="root"), content_type=JSON, **headers
    )
    assert made["spec"]["username"] == "eve"
    assert made["spec"]["extra"] == {"scopes": ["view"]}
