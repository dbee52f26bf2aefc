"""Registration of Leases and of Events of both API groups."""

from steersman.apiserver.builtin.coordination.events import EventStrategy, EventsV1Strategy
from steersman.apiserver.builtin.coordination.leases import LeaseStrategy
from steersman.apiserver.builtin.kind import BuiltinKind

KINDS = (
    BuiltinKind(
        "coordination.k8s.io",
        "Lease",
        strategy=LeaseStrategy,
        validation="coordination.lease_validation:lease_errors",
        columns="coordination.columns:LEASE",
    ),
    BuiltinKind(
        "",
        "Event",
        strategy=EventStrategy,
        validation="coordination.event_validation:core_event_errors",
        columns="coordination.columns:EVENT",
    ),
    BuiltinKind(
        "events.k8s.io",
        "Event",
        strategy=EventsV1Strategy,
        validation="coordination.event_validation:events_v1_errors",
        columns="coordination.columns:EVENT",
        stored_as="events",
        stored_version="v1",
    ),
)
