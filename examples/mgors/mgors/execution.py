"""Execute actions, and record them as events."""

from dataclasses import dataclass
from typing import assert_never

from steersman import Context
from steersman.kinds.core_v1 import Pod

from mgors import replica_set
from mgors.actions import (
    Action,
    Add,
    Force,
    Initiate,
    MembershipChange,
    NoAction,
    RaiseCompatibility,
    Remove,
    Restart,
    SetHost,
    SetVotes,
    StepDown,
    Wait,
)
from mgors.api.mgors_v1 import Mgors
from mgors.connections import Connector, MemberError
from mgors.consent import Consent
from mgors.history import record_consent
from mgors.members import Slot
from mgors.observation import observe
from mgors.plan import decide
from mgors.settings import Settings
from mgors.situation import Situation


@dataclass(frozen=True, slots=True)
class Executor:
    """Executes actions for one object."""

    mgors: Mgors
    ctx: Context[Mgors]
    settings: Settings
    connector: Connector

    async def execute(self, action: Action, situation: Situation) -> None:
        """Execute one action."""
        match action:
            case NoAction() | Wait():
                return
            case Restart(slot):
                await self._restart(slot)
            case SetHost() | Add() | Remove() | SetVotes():
                if situation.primary is not None:
                    await self._change(action, situation.primary)
            case Force():
                await self._force(action)
            case Initiate() | StepDown() | RaiseCompatibility():
                await self._run_command(action)
            case _:
                assert_never(action)

    async def _run_command(self, action: Initiate | StepDown | RaiseCompatibility) -> None:
        name, ctx = self.mgors.set_name, self.ctx
        match action:
            case Initiate(slot):
                await replica_set.initiate(action, name, self.connector, self.settings.of_set)
                ctx.event("ReplicaSetInitiated", f"{name} starts with {slot.pod}")
            case StepDown(slot, why):
                await replica_set.step_down(action, self.connector)
                ctx.event("SteppingDown", f"{slot.pod} hands over: {why}")
            case RaiseCompatibility(_, version):
                await replica_set.raise_compatibility(action, self.connector)
                ctx.event("CompatibilityRaised", f"features of MongoDB {version} can be used")
            case _:
                assert_never(action)

    async def _force(self, action: Force) -> None:
        """Observe again without caches, and force only if the decision is the same. The consent is used up before."""
        fresh = await observe(self.mgors, self.ctx, self.connector, self.settings, uncached=True)
        again = decide(fresh)
        if not isinstance(again, Force) or _identity(again) != _identity(action) or again.slot.config is None:
            raise MemberError("the members have changed since the force was decided: nothing is forced")
        if not isinstance(fresh.consent, Consent):
            raise MemberError("the consent to the force was removed")
        await record_consent(self.mgors, self.ctx, fresh.consent.digest, again.slot.config)
        await replica_set.force(again, self.connector)
        left = ", ".join(slot.pod for slot in again.keep)
        given_up = ", ".join(sorted(fresh.consent.without))
        message = f"continuing with {left} and the data of {again.slot.pod}; {given_up} given up by consent"
        self.ctx.event("ForcedReconfig", message, kind="Warning")

    async def _restart(self, slot: Slot) -> None:
        pod = await self.ctx.get(Pod, slot.pod)
        if pod is not None and pod.uid == slot.pod_uid:
            await self.ctx.delete(pod)
            self.ctx.event("PodReplaced", f"{slot.pod} is replaced by a pod of the current template")

    async def _change(self, action: MembershipChange, primary: Slot) -> None:
        ctx = self.ctx
        await replica_set.change(primary, action, self.connector)
        match action:
            case Add(slot):
                ctx.event("MemberAdded", f"{slot.pod} joins as {slot.host}")
            case Remove(number, host):
                ctx.event("MemberRemoved", f"member {number} at {host} leaves")
            case SetHost(slot):
                ctx.event("MemberMoved", f"{slot.pod} is at {slot.host} now")
            case SetVotes(number, votes):
                ctx.event("VotesChanged", f"member {number} has {votes} vote" + ("" if votes == 1 else "s"))
            case _:
                assert_never(action)


def _identity(action: Force) -> tuple[list[int], tuple[int, int] | None]:
    """Return what makes two forces the same: the members, in order, and the configuration that is replaced."""
    config = action.slot.config
    return [slot.number for slot in action.keep], (config.version, config.term) if config else None
