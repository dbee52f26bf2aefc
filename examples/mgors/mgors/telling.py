"""What people see of a replica set: status, conditions, events and numbers."""

from steersman import Context

from mgors.actions import Action
from mgors.api.mgors_v1 import MemberStatus, Mgors
from mgors.members import Seat
from mgors.numbers import Numbers
from mgors.objects import selector_of
from mgors.plan import DATA_LOST, QUORUM_LOST, Situation
from mgors.verdict import verdicts

#: Conditions that people are told of when they come.
_ALARMS = (("Ready", DATA_LOST), ("QuorumAvailable", QUORUM_LOST))


def tell(mgors: Mgors, ctx: Context[Mgors], situation: Situation, action: Action, numbers: Numbers) -> None:
    """Write down what was seen."""
    _tell_primary(mgors, ctx, situation.primary, numbers)
    status, config = mgors.status, situation.config
    status.selector = selector_of(mgors)
    status.members = sum(1 for member in config.members if not member.is_arbiter) if config else 0
    status.ready_members = sum(1 for seat in situation.seats if seat.is_healthy and not seat.is_arbiter)
    status.replica_set = [
        MemberStatus(name=seat.pod, host=seat.host, state=str(seat.seen.state) if seat.seen else "NoAnswer")
        for seat in situation.seats
    ]
    for verdict in verdicts(situation, action):
        if ctx.condition(*verdict) and verdict.status is False and (verdict.type, verdict.reason) in _ALARMS:
            ctx.event(verdict.reason, verdict.message, kind="Warning")
    numbers.tell(mgors, situation)


def _tell_primary(mgors: Mgors, ctx: Context[Mgors], primary: Seat | None, numbers: Numbers) -> None:
    status = mgors.status
    status.primary = primary.pod if primary else ""
    if primary is None or primary.pod == status.last_primary:
        return
    if status.last_primary:
        ctx.event("PrimaryChanged", f"{primary.pod} is the primary, {status.last_primary} was")
        numbers.tell_failover(mgors)
    status.last_primary = primary.pod
