"""What the operator counts, for Prometheus."""

from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge

from mgors.api.mgors_v1 import Mgors
from mgors.members import State
from mgors.plan import Situation

_SET = ("namespace", "name")


class Numbers:
    """The numbers of all replica sets of one operator."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Begin to count."""
        self._members = Gauge(
            "mgors_members", "Members by what they say of themselves.", [*_SET, "state"], registry=registry
        )
        self._primary = Gauge("mgors_primary", "Whether there is a primary.", _SET, registry=registry)
        self._lag = Gauge(
            "mgors_replication_lag_seconds", "How far the last secondary is behind.", _SET, registry=registry
        )
        self._failovers = Counter(
            "mgors_failovers", "How often another member became primary.", _SET, registry=registry
        )
        self._last_backup = Gauge(
            "mgors_last_backup_timestamp_seconds", "When the last backup succeeded.", _SET, registry=registry
        )

    def tell(self, mgors: Mgors, situation: Situation) -> None:
        """Count the members as they are now."""
        place = (mgors.namespace, mgors.name)
        states = [str(seat.seen.state) if seat.seen else "NoAnswer" for seat in situation.seats]
        for state in [*map(str, State), "NoAnswer"]:
            self._members.labels(*place, state).set(states.count(state))
        self._primary.labels(*place).set(1 if situation.primary else 0)
        times = [
            seat.seen.optime.seconds
            for seat in situation.seats
            if seat.seen and seat.seen.state in (State.PRIMARY, State.SECONDARY)
        ]
        self._lag.labels(*place).set(max(times) - min(times) if times else 0)

    def tell_failover(self, mgors: Mgors) -> None:
        """Count one more primary."""
        self._failovers.labels(mgors.namespace, mgors.name).inc()

    def tell_backup(self, mgors: Mgors, completed: datetime) -> None:
        """Remember when the last backup was complete."""
        self._last_backup.labels(mgors.namespace, mgors.name).set(completed.timestamp())

    def forget(self, mgors: Mgors) -> None:
        """Remove the numbers of a replica set that is gone."""
        place = {"namespace": mgors.namespace, "name": mgors.name}
        for metric in (self._primary, self._lag, self._members):
            metric.remove_by_labels(place)
