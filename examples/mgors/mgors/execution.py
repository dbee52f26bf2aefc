"""Carries out what was decided, and records it as events."""

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
    RaiseCompatibility,
    Remove,
    Rest,
    Restart,
    SetHost,
    SetVotes,
    StepDown,
    Wait,
)
from mgors.api.mgors_v1 import Mgors
from mgors.connections import Connector, MemberError
from mgors.consent import Consent
from mgors.history import remember_consent
from mgors.members import Slot
from mgors.observation import observe
from mgors.plan import decide
from mgors.settings import Settings
from mgors.situation import Situation


@dataclass(frozen=True, slots=True)
class Executor:
    """Carries out actions for one object."""

    mgors: Mgors
    ctx: Context[Mgors]
    settings: Settings
    connector: Connector

    async def execute(self, action: Action, situation: Situation) -> None:
        """Carry out one action."""
        match action:
            case Rest() | Wait():
                return
            case Restart(slot):
                await self._restart(slot)
            case SetHost() | Add() | Remove() | SetVotes():
                if situation.primary is not None:
                    await self._change(action, situation.primary)
            case Force():
                await self._force(action)
            case Initiate() | StepDown() | RaiseCompatibility():
                await self._order(action)
            case _:
                assert_never(action)

    async def _order(self, action: Initiate | StepDown | RaiseCompatibility) -> None:
        name, ctx = self.mgors.set_name, self.ctx
        match action:
            case Initiate(slot):
                await replica_set.initiate(action, name, self.connector, self.settings.of_set)
                ctx.event("ReplicaSetInitiated", f"{name} begins with {slot.pod}")
            case StepDown(slot, why):
                await replica_set.step_down(action, self.connector)
                ctx.event("SteppingDown", f"{slot.pod} hands over: {why}")
            case RaiseCompatibility(_, version):
                await replica_set.raise_compatibility(action, self.connector)
                ctx.event("CompatibilityRaised", f"features of MongoDB {version} can be used")
            case _:
                assert_never(action)

    async def _force(self, action: Force) -> None:
        """Observe again, without caches; force only if the same follows from it. The consent is spent before."""
        fresh = await observe(self.mgors, self.ctx, self.connector, self.settings, uncached=True)
        again = decide(fresh)
        if not isinstance(again, Force) or _essence(again) != _essence(action) or again.slot.config is None:
            raise MemberError("the members have changed since a force was decided: nothing is forced")
        if not isinstance(fresh.consent, Consent):
            raise MemberError("the consent to the force is gone")
        await remember_consent(self.mgors, self.ctx, fresh.consent.digest, again.slot.config)
        await replica_set.force(again, self.connector)
        left = ", ".join(slot.pod for slot in again.keep)
        given_up = ", ".join(sorted(fresh.consent.without))
        told = f"going on with {left}, from the data of {again.slot.pod}; {given_up} given up by consent"
        self.ctx.event("ForcedReconfig", told, kind="Warning")

    async def _restart(self, slot: Slot) -> None:
        pod = await self.ctx.get(Pod, slot.pod)
        if pod is not None and pod.uid == slot.pod_uid:
            await self.ctx.delete(pod)
            self.ctx.event("PodReplaced", f"{slot.pod} is replaced by one that is as this object says")

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


def _essence(action: Force) -> tuple[list[int], tuple[int, int] | None]:
    """Return what makes two forces the same: the members, in order, and the configuration that is replaced."""
    config = action.slot.config
    return [slot.number for slot in action.keep], (config.version, config.term) if config else None
