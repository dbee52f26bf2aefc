"""`Conversions`: answers the reviews in which an API server asks for objects in another version.

A pure function from bytes to bytes: the webhook server mounts `review`. What cannot be converted is told with the
object and the field, and then nothing of that review is converted.
"""

from collections.abc import Iterable
from typing import Any

from steersman.errors import ConversionError, DecodeError
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.resource import KubeObject
from steersman.schema.round_trips import check_round_trips
from steersman.schema.versions import Versions, versions_of

Document = dict[str, Any]
#: The only form of review that definitions ask for.
API_VERSION = "apiextensions.k8s.io/v1"


class Conversions:
    """Converts objects of every kind that has several versions with conversions between them."""

    def __init__(self, kinds: Iterable[type[KubeObject]]) -> None:
        """Raise `DeclarationError` for versions without a way between them, or that lose a field, which it names."""
        self._kinds = {
            (versions.hub.gvk.group, versions.hub.gvk.kind): versions
            for versions in map(Versions, versions_of(kinds))
            if versions.is_converted
        }
        for versions in self._kinds.values():
            check_round_trips(versions)

    def __bool__(self) -> bool:
        """Tell whether there is anything to convert."""
        return bool(self._kinds)

    def review(self, body: bytes) -> bytes:
        """Answer one review; `DecodeError` for what is none: there is nobody to answer then.

        Objects that cannot be converted fail the review, with the reason.
        """
        uid, api_version, objects = _asked(body)
        response: Document = {"uid": uid, "convertedObjects": [], "result": {"status": "Success"}}
        try:
            response["convertedObjects"] = [self._convert(obj, api_version) for obj in objects]
        except ConversionError as error:
            response["result"] = {"status": "Failure", "message": str(error), "reason": "BadRequest", "code": 400}
        return encode_json({"apiVersion": API_VERSION, "kind": "ConversionReview", "response": response})

    def _convert(self, document: Any, api_version: str) -> Document:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise ConversionError("the review contains something that is not an object with metadata")
        group = str(document.get("apiVersion")).rpartition("/")[0]
        versions = self._kinds.get((group, str(document.get("kind"))))
        if versions is None:
            raise ConversionError(f"nothing converts {document.get('kind')} of {document.get('apiVersion')}")
        return versions.convert(document, api_version)

    def __repr__(self) -> str:
        return f"<Conversions of {[versions.name for versions in self._kinds.values()]}>"


def _asked(body: bytes) -> tuple[str, str, list[Any]]:
    """Read what a review asks for: its uid, the version that is wanted, and the objects."""
    review = decode_json(body)
    if not isinstance(review, dict) or review.get("kind") != "ConversionReview":
        raise DecodeError("not a ConversionReview")
    if review.get("apiVersion") != API_VERSION:
        raise DecodeError(f"a ConversionReview of {review.get('apiVersion')!r}: only {API_VERSION} is understood")
    request = review.get("request")
    if not isinstance(request, dict):
        raise DecodeError("a ConversionReview without a request")
    uid, api_version, objects = request.get("uid"), request.get("desiredAPIVersion"), request.get("objects")
    if not isinstance(uid, str) or not uid or not isinstance(api_version, str) or not isinstance(objects, list):
        raise DecodeError("a ConversionReview needs uid, desiredAPIVersion and objects")
    return uid, api_version, objects
