"""`Conversions`: answers ConversionReviews, in which the API server asks for objects in another version.

`review` is a pure function from bytes to bytes, which the webhook server mounts. If one object cannot be converted the
whole review fails, and the message names the object and the field.
"""

from collections.abc import Iterable
from typing import Any

from steersman.errors import ConversionError, DecodeError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.resource import KubeObject
from steersman.schema.round_trips import check_round_trips
from steersman.schema.versions import Versions, versions_of

#: The only version of ConversionReview that our CRDs ask for.
API_VERSION = "apiextensions.k8s.io/v1"


class Conversions:
    """Convert objects of every kind that has several versions with conversions between them."""

    def __init__(self, kinds: Iterable[type[KubeObject]], *, is_checked: bool = False) -> None:
        """Raise `DeclarationError` for versions without a conversion between them.

        Unless they were checked before, try generated objects, too, and raise for versions that lose a field.
        """
        self._kinds = {
            (versions.hub.gvk.group, versions.hub.gvk.kind): versions
            for versions in map(Versions, versions_of(kinds))
            if versions.is_converted
        }
        for versions in () if is_checked else self._kinds.values():
            check_round_trips(versions)

    def __bool__(self) -> bool:
        """Return whether there is anything to convert."""
        return bool(self._kinds)

    def review(self, body: bytes) -> bytes:
        """Return the response to one review; raise `DecodeError` if the body is not a ConversionReview.

        Objects that cannot be converted fail the review, with the reason.
        """
        uid, api_version, objects = _request(body)
        response: JsonObject = {"uid": uid, "convertedObjects": [], "result": {"status": "Success"}}
        try:
            response["convertedObjects"] = [self._convert(obj, api_version) for obj in objects]
        except ConversionError as error:
            response["result"] = {"status": "Failure", "message": str(error), "reason": "BadRequest", "code": 400}
        return encode_json({"apiVersion": API_VERSION, "kind": "ConversionReview", "response": response})

    def _convert(self, document: object, api_version: str) -> JsonObject:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise ConversionError("the review contains something that is not an object with metadata")
        group = str(document.get("apiVersion")).rpartition("/")[0]
        versions = self._kinds.get((group, str(document.get("kind"))))
        if versions is None:
            raise ConversionError(f"there is no conversion of {document.get('apiVersion')} {document.get('kind')}")
        return versions.convert(document, api_version)

    def __repr__(self) -> str:
        return f"<Conversions of {[versions.name for versions in self._kinds.values()]}>"


def _request(body: bytes) -> tuple[str, str, list[Any]]:
    """Return the uid, the desired API version and the objects of a review."""
    review = decode_json(body)
    if not isinstance(review, dict) or review.get("kind") != "ConversionReview":
        raise DecodeError("not a ConversionReview")
    if review.get("apiVersion") != API_VERSION:
        raise DecodeError(f"a ConversionReview of {review.get('apiVersion')!r}: only {API_VERSION} is supported")
    request = review.get("request")
    if not isinstance(request, dict):
        raise DecodeError("a ConversionReview without a request")
    uid, api_version, objects = request.get("uid"), request.get("desiredAPIVersion"), request.get("objects")
    if not isinstance(uid, str) or not uid or not isinstance(api_version, str) or not isinstance(objects, list):
        raise DecodeError("a ConversionReview needs uid, desiredAPIVersion and objects")
    return uid, api_version, objects
