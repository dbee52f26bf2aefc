"""Carries out what was decided, and says so."""

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
from mgors.connections import Door
from mgors.members import Seat
from mgors.plan import Situation
from mgors.settings import Settings


@dataclass(frozen=True, slots=True)
class Hands:
    """What is needed to do anything."""

    mgors: Mgors
    ctx: Context[Mgors]
    settings: Settings
    door: Door


async def act(action: Action, situation: Situation, hands: Hands) -> None:
    """Do the one thing."""
    match action:
        case Rest() | Wait():
            return
        case Restart(seat):
            await _restart(seat, hands.ctx)
        case SetHost() | Add() | Remove() | SetVotes():
            if situation.primary is not None:
                await _change(action, situation.primary, hands)
        case Initiate() | StepDown() | RaiseCompatibility() | Force():
            await _order(action, hands)
        case _:
            assert_never(action)


async def _order(action: Initiate | StepDown | RaiseCompatibility | Force, hands: Hands) -> None:
    """Tell one member what to do."""
    name, ctx, door = hands.mgors.set_name, hands.ctx, hands.door
    match action:
        case Initiate(seat):
            await replica_set.initiate(action, name, door, hands.settings.of_set)
            ctx.event("ReplicaSetInitiated", f"{name} begins with {seat.pod}")
        case StepDown(seat, why):
            await replica_set.step_down(action, door)
            ctx.event("SteppingDown", f"{seat.pod} hands over: {why}")
        case RaiseCompatibility(_, version):
            await replica_set.raise_compatibility(action, door)
            ctx.event("CompatibilityRaised", f"features of MongoDB {version} can be used")
        case Force(seat, keep):
            await replica_set.force(action, door)
            left = ", ".join(one.pod for one in keep)
            told = f"going on with {left}: no majority came back, and {seat.pod} has the newest data"
            ctx.event("ForcedReconfig", told, kind="Warning")
        case _:
            assert_never(action)


async def _restart(seat: Seat, ctx: Context[Mgors]) -> None:
    pod = await ctx.get(Pod, seat.pod)
    if pod is not None and pod.uid == seat.pod_uid:
        await ctx.delete(pod)
        ctx.event("PodReplaced", f"{seat.pod} is replaced by one that is as this object says")


async def _change(action: MembershipChange, primary: Seat, hands: Hands) -> None:
    ctx = hands.ctx
    await replica_set.change(primary, action, hands.door)
    match action:
        case Add(seat):
            ctx.event("MemberAdded", f"{seat.pod} joins as {seat.host}")
        case Remove(number, host):
            ctx.event("MemberRemoved", f"member {number} at {host} leaves")
        case SetHost(seat):
            ctx.event("MemberMoved", f"{seat.pod} is at {seat.host} now")
        case SetVotes(number, votes):
            ctx.event("VotesChanged", f"member {number} has {votes} vote" + ("" if votes == 1 else "s"))
        case _:
            assert_never(action)
