"""Validation of Events of both API groups."""

from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.golang.empty_values import same_content
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required

_OPEN_NAMESPACES = ("", "default")
_SYSTEM_NAMESPACES = ("default", "kube-system")
_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128))
_NOTE_LIMIT = 1024
_FEWEST = 2
_MISMATCH = "does not match event.namespace"


def core_event_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate an Event of the core group."""
    del old, subresource
    return _event_errors(obj, obj.get("involvedObject") or {}, "reportingComponent", obj.get("message") or "")


def events_v1_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate an Event of events.k8s.io; errors name the fields of the core group."""
    del subresource
    errors = _event_errors(obj, obj.get("regarding") or {}, "reportingController", obj.get("note") or "")
    if old is not None:
        return errors + _immutable_field_errors(obj, old)
    errors += _series_errors(obj.get("series"))
    if not obj.get("eventTime"):
        errors.append(required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    source = obj.get("deprecatedSource") or {}
    if source.get("component") or source.get("host"):
        errors.append(invalid("source", "", "needs to be unset"))
    return errors + [invalid(core_name, "", "needs to be unset") for field, core_name in _DEPRECATED if obj.get(field)]


_DEPRECATED = (
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)


def _event_errors(obj: JsonObject, about: JsonObject, reporter: str, note: str) -> Errors:
    namespace, own = about.get("namespace") or "", obj["metadata"].get("namespace") or ""
    field = "involvedObject.namespace"
    if not obj.get("eventTime"):
        fits = own in _OPEN_NAMESPACES if not namespace else own == namespace
        return [] if fits else [invalid(field, namespace, _MISMATCH)]
    errors: Errors = []
    if not namespace and own not in _SYSTEM_NAMESPACES:
        errors.append(invalid(field, namespace, _MISMATCH))
    name = obj.get(reporter) or ""
    if not name:
        errors.append(required(reporter))
    errors += qualified_errors(name, reporter)
    for text, limit in _LIMITS:
        if not obj.get(text):
            errors.append(required(text))
        elif len(obj[text]) > limit:
            errors.append(invalid(text, "", f"can have at most {limit} characters"))
    if len(note) > _NOTE_LIMIT:
        errors.append(invalid("message", "", f"can have at most {_NOTE_LIMIT} characters"))
    return errors


def _series_errors(series: JsonObject | None) -> Errors:
    if series is None:
        return []
    errors: Errors = []
    if (series.get("count") or 0) < _FEWEST:
        errors.append(invalid("series.count", "", f"should be at least {_FEWEST}"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


#: Fields that cannot change, with their names in the core group.
_FIXED = (
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)


def _immutable_field_errors(obj: JsonObject, old: JsonObject) -> Errors:
    errors = [] if same_content(obj.get("series"), old.get("series")) else _series_errors(obj.get("series"))
    errors += [
        invalid(core_name, _quoted(obj.get(field)), "field is immutable")
        for field, core_name in _FIXED
        if not same_content(obj.get(field), old.get(field))
    ]
    return errors


def _quoted(value: object) -> object:
    if not isinstance(value, dict):
        return "" if value is None else value
    names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    go_names = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")
    return GoStruct({go: value.get(name) or "" for name, go in zip(names, go_names, strict=True)})
