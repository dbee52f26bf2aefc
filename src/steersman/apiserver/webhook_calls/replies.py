"""Parsing of webhook replies; errors are worded as Kubernetes' are."""

from steersman.apiserver.webhook_calls.targets import CallFailed, Reply
from steersman.errors import DecodeError
from steersman.golang.text import quoted
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json

_OK = 200
_MULTIPLE_CHOICES = 300
_BAD_REQUEST = 400
_TYPE = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def document_of(reply: Reply, kind: str, api_version: str) -> JsonObject:
    """Parse a reply as a review of a kind; the caller checks its response."""
    _check_status(reply)
    if not reply.body:
        raise CallFailed(f"0-length response with status code: {reply.status} and content type: {reply.media}")
    document = _parsed(reply.body)
    if document.__class__ is not dict:
        raise CallFailed(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type {_TYPE}"
        )
    found: JsonObject = document
    _check_kind(found, kind, api_version)
    return found


def _parsed(body: bytes) -> object:
    try:
        return decode_json(body)
    except DecodeError:
        return None


def _check_status(reply: Reply) -> None:
    if _OK <= reply.status < _MULTIPLE_CHOICES:
        return
    if reply.status < _BAD_REQUEST:
        raise CallFailed(f"the webhook answered with a redirect ({reply.status}), which is not followed")
    document = _parsed(reply.body)
    if document.__class__ is dict and document.get("kind") == "Status" and document.get("message"):
        raise CallFailed(str(document["message"]))
    shown = reply.body.decode("utf-8", "replace").strip() if reply.media.startswith("text/") else ""
    raise CallFailed(f"an error on the server ({quoted(shown or 'unknown')}) has prevented the request from succeeding")


def _check_kind(document: JsonObject, kind: str, api_version: str) -> None:
    """Reject a reply that is not a review; one without kind and apiVersion is left to the caller."""
    group, _, wanted = api_version.rpartition("/")
    given_kind, given = document.get("kind") or "", document.get("apiVersion") or ""
    if not given_kind and not given:
        return
    given_group, _, version = given.rpartition("/")
    if given_kind != kind or given_group != group:
        raise CallFailed(
            f'no kind "{given_kind}" is registered for version "{given}" in scheme "pkg/runtime/scheme.go:111"'
        )
    if version != wanted:
        raise CallFailed(f"converting ({version}.{kind}) to ({wanted}.{kind}): unknown conversion")
