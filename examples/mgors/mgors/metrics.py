"""Metrics of replica sets, for Prometheus."""

from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge

from mgors.actions import Action, Wait
from mgors.api.mgors_v1 import Mgors
from mgors.members import ALL_STATES, State
from mgors.plan import NEEDS_PERSON
from mgors.situation import Situation

_SET = ("namespace", "name")


class Metrics:
    """Metrics of all replica sets of one operator."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register the metrics."""
        self._members = Gauge(
            "mgors_members",
            "Members by state, or by how they failed to respond.",
            [*_SET, "state"],
            registry=registry,
        )
        self._primary = Gauge("mgors_primary", "Whether there is a primary.", _SET, registry=registry)
        self._lag = Gauge(
            "mgors_replication_lag_seconds", "How far the last secondary is behind.", _SET, registry=registry
        )
        self._attention = Gauge(
            "mgors_attention_needed",
            "1 for the reason for which the operator waits for a person.",
            [*_SET, "reason"],
            registry=registry,
        )
        self._failovers = Counter(
            "mgors_failovers", "How often another member became primary.", _SET, registry=registry
        )
        self._last_backup = Gauge(
            "mgors_last_backup_timestamp_seconds", "When the last backup succeeded.", _SET, registry=registry
        )

    def report(self, mgors: Mgors, situation: Situation, action: Action) -> None:
        """Record the observed members, and whether the action is to wait for a person."""
        for reason in NEEDS_PERSON:
            is_needed = isinstance(action, Wait) and action.reason == reason
            self._attention.labels(mgors.namespace, mgors.name, reason).set(1 if is_needed else 0)
        place = (mgors.namespace, mgors.name)
        states = [slot.state for slot in situation.slots]
        for state in ALL_STATES:
            self._members.labels(*place, state).set(states.count(state))
        self._primary.labels(*place).set(1 if situation.primary else 0)
        times = [view.optime.seconds for _, view in situation.views if view.state in (State.PRIMARY, State.SECONDARY)]
        self._lag.labels(*place).set(max(times) - min(times) if times else 0)

    def report_failover(self, mgors: Mgors) -> None:
        """Count a failover."""
        self._failovers.labels(mgors.namespace, mgors.name).inc()

    def report_backup(self, mgors: Mgors, completed: datetime) -> None:
        """Record when the last backup completed."""
        self._last_backup.labels(mgors.namespace, mgors.name).set(completed.timestamp())

    def forget(self, mgors: Mgors) -> None:
        """Remove the metrics of a deleted replica set."""
        place = {"namespace": mgors.namespace, "name": mgors.name}
        for metric in (self._primary, self._lag, self._members, self._attention, self._last_backup, self._failovers):
            metric.remove_by_labels(place)
