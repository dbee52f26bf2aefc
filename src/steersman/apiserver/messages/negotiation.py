"""Content negotiation: the form of the response (``Accept``) and of the body (``Content-Type``).

The server writes JSON and YAML; a client that prefers protobuf is answered in JSON, which every known client reads.
"""

from dataclasses import dataclass
from functools import lru_cache

from steersman.apiserver.status import Refusal, not_acceptable, unsupported_media_type

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_KNOWN = (JSON, YAML, PROTOBUF)
_ACCEPTED = "only the following media types are accepted: " + ", ".join(_KNOWN)
_AVAILABLE = "406: Not Acceptable\n\nAvailable representations: " + ", ".join(_KNOWN)
_UNREADABLE = "the body of the request was in an unknown format - accepted media types include: "
_TRANSFORMS = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})
_META_VERSIONS = frozenset({"v1", "v1beta1"})
_BROWSERS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a response."""

    media: str = JSON
    #: ``Table``, ``PartialObjectMetadata``, ``PartialObjectMetadataList`` or nothing.
    transform: str = ""
    #: The version of the transform's group.
    version: str = "v1"
    pretty: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One entry of an ``Accept`` header."""

    media: str
    parameters: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str:
        """Return a parameter; empty if it is missing."""
        return next((value for key, value in self.parameters if key == name), "")


PLAIN = Form()


def _clause(text: str) -> tuple[float, Clause]:
    media, *rest = [part.strip() for part in text.split(";")]
    parameters = []
    quality = 1.0
    for part in rest:
        name, _, value = part.partition("=")
        name, value = name.strip(), value.strip().strip('"')
        if name == "q":
            quality = float(value) if value.replace(".", "", 1).isdigit() else 0.0
        else:
            parameters.append((name, value))
    return quality, Clause(media, tuple(parameters))


@lru_cache(maxsize=256)
def accept_clauses(header: str) -> tuple[Clause, ...]:
    """Read an ``Accept`` header, best first; an empty one accepts everything."""
    if not header.strip():
        return (Clause("*/*"),)
    weighed = [_clause(part) for part in header.split(",") if part.strip()]
    weighed.sort(key=lambda pair: -pair[0])
    return tuple(clause for _, clause in weighed)


def _form_of(clause: Clause) -> Form | None:
    if clause.media not in (*_KNOWN, "*/*"):
        return None
    media = YAML if clause.media == YAML else JSON
    pretty = clause.get("pretty") in ("1", "true")
    transform = clause.get("as")
    if not transform:
        return Form(media, pretty=pretty)
    if transform in _TRANSFORMS and clause.get("g") == "meta.k8s.io" and clause.get("v") in _META_VERSIONS:
        return Form(media, transform, clause.get("v"), pretty)
    return None


def negotiate_without_tables(accept: str) -> Form:
    """Return the form of a response that cannot be a table: reviews have no columns."""
    form = _negotiated(accept, tables=False)
    if isinstance(form, Refusal):
        raise form
    return form


@lru_cache(maxsize=256)
def _negotiated(header: str, *, tables: bool = True) -> Form | Refusal:
    for clause in accept_clauses(header):
        form = _form_of(clause)
        if form is not None and (tables or form.transform != "Table"):
            return form
    return not_acceptable(_ACCEPTED)


@lru_cache(maxsize=256)
def _routable(header: str) -> bool:
    """Return whether the router of built-in kinds accepts the header; it supports neither parameters nor ``a/*``."""
    return any(clause.media in _KNOWN or clause.media == "*/*" for clause in accept_clauses(header))


def negotiate(accept: str, *, builtin: bool) -> Form:
    """Return the form of the response; built-in kinds and custom resources word their errors differently."""
    if builtin and not _routable(accept):
        raise not_acceptable(_AVAILABLE, with_details=True)
    form = _negotiated(accept)
    if isinstance(form, Refusal):
        raise form
    return form


def error_form(accept: str) -> Form:
    """Return the form of a failure, which is sent even if no accepted form is possible."""
    form = _negotiated(accept)
    if isinstance(form, Refusal):
        return Form(pretty=True)
    return Form(form.media, pretty=form.pretty)


@lru_cache(maxsize=256)
def wants_pretty(parameter: str, agent: str) -> bool | None:
    """Return whether a person reads the response; ``None`` if neither the parameter nor the client tells."""
    if parameter:
        return parameter.lower() in ("true", "1")
    return True if agent.startswith(_BROWSERS) else None


def media_type(content_type: str) -> str:
    """Return the media type of a body without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


@lru_cache(maxsize=256)
def body_media(content_type: str) -> str:
    """Return the media type of an object's body; a missing one means JSON."""
    media = media_type(content_type)
    if not media:
        return JSON
    if media not in _KNOWN:
        raise unsupported_media_type(_UNREADABLE + ", ".join(_KNOWN))
    return media


def patch_media(content_type: str, *, builtin: bool) -> str:
    """Return the media type of a patch; custom resources have no strategic merge."""
    media = content_type.partition(";")[0].strip()
    if builtin:
        if media not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH):
            raise unsupported_media_type("415: Unsupported Media Type", with_details=True)
        return media
    known = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    if media not in known:
        raise unsupported_media_type(_UNREADABLE + ", ".join(known))
    return media
