"""Events of both API groups: strategies, and conversion between the groups."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject
from steersman.validation.object_meta import subdomain_name_faults, url_name_faults

#: Names of fields in events.k8s.io → in the core group.
_EVENT_NAMES = {
    "reportingController": "reportingComponent",
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: new for new, core in _EVENT_NAMES.items()}
#: Fields that the core group writes even when they are empty, and events.k8s.io leaves out.
_CORE_ALWAYS = {"reportingComponent": "", "reportingInstance": "", "source": {}, "involvedObject": {}}


def event_to_core(event: JsonObject) -> JsonObject:
    """Convert an Event of events.k8s.io to the core group."""
    made = {_EVENT_NAMES.get(key, key): value for key, value in event.items()}
    made["apiVersion"] = "v1"
    for name, empty in _CORE_ALWAYS.items():
        made.setdefault(name, empty)
    return made


def event_from_core(event: JsonObject) -> JsonObject:
    """Convert a core Event to events.k8s.io."""
    made = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    made["apiVersion"] = "events.k8s.io/v1"
    for name in ("reportingController", "reportingInstance"):
        if made.get(name) == "":
            del made[name]
    return made


class EventStrategy(BuiltinStrategy):
    """Events of the core group, whose names may be any path segment."""

    create_on_update = True

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error for a name that cannot be a path segment of a URL."""
        return url_name_faults(name, prefix)

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the fields that Events can be selected by, under the names of both groups."""
        core = self.to_stored(obj)
        about = core.get("involvedObject") or {}
        found = {f"involvedObject.{name}": str(about.get(name, "")) for name in _REFERENCE}
        found |= {f"regarding.{name}": str(about.get(name, "")) for name in _REFERENCE}
        source = (core.get("source") or {}).get("component", "") or core.get("reportingComponent", "")
        return {
            **found,
            "reason": core.get("reason", ""),
            "type": core.get("type", ""),
            "source": source,
            "reportingComponent": core.get("reportingComponent", ""),
            "reportingController": core.get("reportingComponent", ""),
        }

    def field_label_error(self, label: str) -> str:
        """Return an error for a label that is not a field selector of Events."""
        prefix = "involvedObject" if not self.gvk.group else "regarding"
        controller = "reportingComponent" if not self.gvk.group else "reportingController"
        known = {f"{prefix}.{name}" for name in _REFERENCE}
        known |= {"metadata.name", "metadata.namespace", "reason", "type", "source", controller}
        return "" if label in known else f"field label not supported: {label}"


class EventsV1Strategy(EventStrategy):
    """Events of events.k8s.io, which are stored as core Events."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error unless the name is a DNS subdomain."""
        return subdomain_name_faults(name, prefix)

    def to_stored(self, obj: JsonObject) -> JsonObject:
        """Return the Event as a core Event."""
        return event_to_core(obj)

    def from_stored(self, stored: JsonObject, api_version: str) -> JsonObject:
        """Return a stored core Event as an Event of this group."""
        del api_version
        return event_from_core(stored)


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
