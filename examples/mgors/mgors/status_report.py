"""Report a replica set: status, conditions, events and metrics."""

from steersman import Context

from mgors.actions import Action
from mgors.api.mgors_v1 import MemberStatus, Mgors
from mgors.conditions import conditions_of
from mgors.forcing import QUORUM_LOST
from mgors.members import Slot
from mgors.metrics import Metrics
from mgors.names import selector_of
from mgors.plan import DATA_LOST, DIVERGED_DATA, FOREIGN_DATA, NOT_AUTHORISED, STALE_DATA
from mgors.situation import Situation

#: Conditions that get a Warning event when they appear.
_ALARMS = frozenset(
    {("Ready", reason) for reason in (DATA_LOST, DIVERGED_DATA, FOREIGN_DATA, STALE_DATA, NOT_AUTHORISED)}
    | {("QuorumAvailable", QUORUM_LOST)}
)


def report(mgors: Mgors, ctx: Context[Mgors], situation: Situation, action: Action, metrics: Metrics) -> None:
    """Write the observed state into the status, and record changes as events."""
    _report_primary(mgors, ctx, situation.primary, metrics)
    status, config = mgors.status, situation.config
    status.selector = selector_of(mgors)
    if situation.primary is not None and situation.primary.view is not None:
        status.feature_compatibility_version = situation.primary.view.compatibility
    status.members = sum(1 for member in config.members if not member.is_arbiter) if config else 0
    status.ready_members = sum(1 for slot in situation.slots if slot.is_healthy and not slot.is_arbiter)
    status.replica_set = [MemberStatus(name=slot.pod, host=slot.host, state=slot.state) for slot in situation.slots]
    for wanted in conditions_of(situation, action):
        if ctx.condition(*wanted) and wanted.status is False and (wanted.type, wanted.reason) in _ALARMS:
            ctx.event(wanted.reason, wanted.message, kind="Warning")
    metrics.report(mgors, situation, action)


def report_image(ctx: Context[Mgors], problem: str) -> None:
    """Report whether the data allows the image of the spec."""
    reason = "UnsupportedUpgrade" if problem else "AsAskedFor"
    if ctx.condition("UpgradeAllowed", not problem, reason, problem) and problem:
        ctx.event(reason, problem, kind="Warning")


def report_unreachable(mgors: Mgors, ctx: Context[Mgors], reason: str, message: str) -> None:
    """Report that members cannot be queried, and reset what was observed before."""
    status = mgors.status
    status.primary, status.ready_members = "", 0
    for member in status.replica_set:
        member.state = "NotAsked"
    if ctx.condition("Ready", False, reason, message):
        ctx.event(reason, message, kind="Warning")
    ctx.condition("QuorumAvailable", None, reason, message)


def _report_primary(mgors: Mgors, ctx: Context[Mgors], primary: Slot | None, metrics: Metrics) -> None:
    status = mgors.status
    status.primary = primary.pod if primary else ""
    if primary is None or primary.pod == status.last_primary:
        return
    if status.last_primary:
        ctx.event("PrimaryChanged", f"{primary.pod} is the new primary, after {status.last_primary}")
        metrics.report_failover(mgors)
    status.last_primary = primary.pod
