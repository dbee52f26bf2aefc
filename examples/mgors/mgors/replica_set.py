"""Asks the members of a replica set, each by itself, and tells them what to do. It decides nothing."""

import asyncio
from typing import Any

from pymongo.errors import OperationFailure

from mgors import configuration
from mgors.actions import Force, Initiate, MembershipChange, RaiseCompatibility, StepDown
from mgors.connections import FIND_MS, Door, MemberError, Mongo
from mgors.members import Config, OpTime, Seat, Seen, State

_NOT_YET_INITIALIZED, _NOT_IN_CONFIG, _ALREADY_INITIALIZED = 94, 93, 23
_STATES = {
    0: State.STARTUP,
    1: State.PRIMARY,
    2: State.SECONDARY,
    3: State.RECOVERING,
    5: State.STARTUP2,
    7: State.ARBITER,
    8: State.DOWN,
    9: State.ROLLBACK,
    10: State.REMOVED,
}
#: From this version on, mongod wants to be told that there is no way back.
_CONFIRMS = 7


async def look(hosts: dict[int, str], door: Door) -> dict[int, Seen]:
    """Ask members by their numbers, all at once; those who do not answer are left out."""
    found: dict[int, Seen] = {}

    async def ask(number: int, host: str) -> None:
        if not await _listens(host):
            return
        try:
            async with door.member(host) as member:
                found[number] = await _seen(member.mongo)
        except MemberError:
            return  # no answer is what there is to know

    async with asyncio.TaskGroup() as tasks:
        for number, host in hosts.items():
            tasks.create_task(ask(number, host), name=f"look/{host}")
    return found


async def _listens(host: str) -> bool:
    """Tell whether anybody is there. A driver would try for all its time, also where it is refused at once."""
    name, _, port = host.rpartition(":")
    try:
        async with asyncio.timeout(FIND_MS / 1000):
            _, writer = await asyncio.open_connection(name, int(port))
    except OSError:
        return False
    writer.close()
    return True


async def _seen(client: Mongo) -> Seen:
    version = str((await client.admin.command("buildInfo"))["version"])
    try:
        status = await client.admin.command("replSetGetStatus")
    except OperationFailure as failure:
        if failure.code == _NOT_YET_INITIALIZED:
            return Seen(state=State.UNINITIALIZED, version=version)
        if failure.code != _NOT_IN_CONFIG:
            raise
        status = {}
    state = _STATES.get(int(status.get("myState", 10)), State.UNKNOWN)
    is_primary = state is State.PRIMARY
    asked = {"replSetGetConfig": 1} | ({"commitmentStatus": True} if is_primary else {})
    told = await client.admin.command(asked)
    compatibility = ""
    if is_primary:
        parameter = await client.admin.command({"getParameter": 1, "featureCompatibilityVersion": 1})
        compatibility = str(parameter["featureCompatibilityVersion"]["version"])
    return Seen(
        state=state,
        config=Config.read(told["config"]),
        is_committed=bool(told.get("commitmentStatus", True)),
        optime=await _optime(client, status),
        voting=int(status.get("votingMembersCount", 0)),
        version=version,
        compatibility=compatibility,
    )


async def _optime(client: Mongo, status: dict[str, Any]) -> OpTime:
    applied = status.get("optimes", {}).get("appliedOpTime")
    if applied is None:  # one that is not in its own configuration has no status, but still its data
        applied = (await client.admin.command("hello")).get("lastWrite", {}).get("opTime")
    if applied is None:
        return OpTime()
    return OpTime(int(applied["t"]), applied["ts"].time, applied["ts"].inc)


async def initiate(action: Initiate, name: str, door: Door, settings: dict[str, int]) -> None:
    """Begin a set; one that was begun already is fine."""
    async with door.member(action.seat.host) as member:
        try:
            await member.order({"replSetInitiate": configuration.first(action, name, settings)})
        except OperationFailure as failure:
            if failure.code != _ALREADY_INITIALIZED:
                raise


async def change(primary: Seat, action: MembershipChange, door: Door) -> None:
    """Change who belongs to the set, by its primary. What was decided on must still hold."""
    async with door.member(primary.host) as member:
        document = (await member.mongo.admin.command("replSetGetConfig"))["config"]
        if primary.config != Config.read(document):
            raise MemberError(f"{primary.host}: the configuration has changed meanwhile")
        await member.order({"replSetReconfig": configuration.changed(document, action)})


async def force(action: Force, door: Door) -> None:
    """Let one member go on, with those who are left."""
    async with door.member(action.seat.host) as member:
        document = (await member.mongo.admin.command("replSetGetConfig"))["config"]
        await member.order({"replSetReconfig": configuration.forced(document, action), "force": True})


async def step_down(action: StepDown, door: Door) -> None:
    """Let the primary hand over to one that has all its data, and not come back for a minute."""
    async with door.member(action.seat.host) as member:
        await member.order({"replSetStepDown": 60, "secondaryCatchUpPeriodSecs": 10})


async def raise_compatibility(action: RaiseCompatibility, door: Door) -> None:
    """Let the features of a version be used. There is no way back to an older server afterwards."""
    command: dict[str, Any] = {"setFeatureCompatibilityVersion": action.version}
    if int(action.version.split(".")[0]) >= _CONFIRMS:
        command["confirm"] = True
    async with door.member(action.seat.host) as member:
        await member.order(command)
