"""Query the members of a replica set, and change their configuration. Decisions are made elsewhere."""

import asyncio
from typing import Any

from bson import Timestamp
from pymongo.errors import OperationFailure

from mgors import configuration
from mgors.actions import Force, Initiate, MembershipChange, RaiseCompatibility, StepDown
from mgors.connections import CONNECT_MS, Connector, Limit, MemberError, Mongo
from mgors.members import (
    Answered,
    Config,
    Lineage,
    OpTime,
    Peer,
    Reachability,
    Refused,
    Slot,
    State,
    TimedOut,
    View,
)

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
#: From this version on, mongod requires a confirmation that there is no downgrade.
_CONFIRMS = 7


async def query_members(hosts: dict[int, str], connector: Connector) -> dict[int, Reachability]:
    """Query members concurrently; return how each was reached, keyed by number."""
    found: dict[int, Reachability] = {}

    async def query(number: int, host: str) -> None:
        found[number] = await query_member(host, connector)

    async with asyncio.TaskGroup() as tasks:
        for number, host in hosts.items():
            tasks.create_task(query(number, host), name=f"query/{host}")
    return found


async def query_member(host: str, connector: Connector) -> Reachability:
    """Query one member for its view, and return how it was reached."""
    if (failure := await _connect(connector.dial(host))) is not None:
        return failure
    try:
        async with connector.member(host, Limit.ASK) as member:
            return Answered(await _view(member.mongo))
    except MemberError as error:
        return error.how or TimedOut(str(error))


async def _connect(host: str) -> Refused | TimedOut | None:
    """Return why a connection fails. The driver would retry a refused connection until its time limit."""
    name, _, port = host.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_MS / 1000):
            _, writer = await asyncio.open_connection(name, int(port))
    except ConnectionRefusedError as error:
        return Refused(str(error))
    except OSError as error:  # includes TimeoutError; an unknown name or a missing route is no fact about the member
        return TimedOut(str(error) or "no connection")
    writer.close()
    return None


async def _view(client: Mongo) -> View:
    version = str((await client.admin.command("buildInfo"))["version"])
    try:
        status = await client.admin.command("replSetGetStatus")
    except OperationFailure as failure:
        if failure.code == _NOT_YET_INITIALIZED:
            return View(state=State.UNINITIALIZED, version=version)
        if failure.code != _NOT_IN_CONFIG:
            raise
        status = {}
    state = _STATES.get(int(status.get("myState", 10)), State.UNKNOWN)
    is_primary = state is State.PRIMARY
    command = {"replSetGetConfig": 1} | ({"commitmentStatus": True} if is_primary else {})
    reply = await client.admin.command(command)
    compatibility = ""
    if is_primary:
        parameter = await client.admin.command({"getParameter": 1, "featureCompatibilityVersion": 1})
        compatibility = str(parameter["featureCompatibilityVersion"]["version"])
    return View(
        state=state,
        config=Config.read(reply["config"]),
        is_committed=bool(reply.get("commitmentStatus", True)),
        optime=await _optime(client, status),
        term=int(status.get("term", -1)),
        peers=tuple(_peer(member) for member in status.get("members", []) if not member.get("self")),
        voting=int(status.get("votingMembersCount", 0)),
        version=version,
        compatibility=compatibility,
    )


def _peer(member: dict[str, Any]) -> Peer:
    return Peer(
        number=int(member["_id"]),
        state=_STATES.get(int(member.get("state", 6)), State.UNKNOWN),
        is_up=bool(member.get("health")),
        term=int(member.get("optime", {}).get("t", -1)),
    )


async def _optime(client: Mongo, status: dict[str, Any]) -> OpTime:
    applied = status.get("optimes", {}).get("appliedOpTime")
    if applied is None:  # a member that is not in its own configuration has no status, but has data
        applied = await client.local["oplog.rs"].find_one(sort=[("$natural", -1)], projection={"ts": 1, "t": 1})
    if applied is None:
        return OpTime()
    return OpTime(int(applied["t"]), applied["ts"].time, applied["ts"].inc)


async def lineage(primary: Slot, returning: OpTime, connector: Connector) -> Lineage | None:
    """Return how data that ends at this entry relates to the primary's oplog; ``None`` if it cannot be read."""
    at = Timestamp(returning.seconds, returning.counter)
    try:
        async with connector.member(primary.host, Limit.ASK) as member:
            oplog = member.mongo.local["oplog.rs"]
            fields = {"ts": 1, "t": 1}
            oldest = await oplog.find_one(sort=[("$natural", 1)], projection=fields)
            found = await oplog.find_one({"ts": {"$gte": at}}, sort=[("$natural", 1)], projection=fields)
    except MemberError:
        return None
    if oldest is None or oldest["ts"] > at:
        return Lineage.TOO_OLD
    is_there = found is not None and found["ts"] == at and int(found["t"]) == returning.term
    return Lineage.CONTAINED if is_there else Lineage.DIVERGED


async def initiate(action: Initiate, name: str, connector: Connector, settings: dict[str, int]) -> None:
    """Initiate a set; do nothing if it was initiated already."""
    async with connector.member(action.slot.host) as member:
        try:
            await member.run_command({"replSetInitiate": configuration.first(action, name, settings)})
        except OperationFailure as failure:
            if failure.code != _ALREADY_INITIALIZED:
                raise


async def change(primary: Slot, action: MembershipChange, connector: Connector) -> None:
    """Reconfigure the set at its primary. The configuration that was decided on must still be in effect."""
    async with connector.member(primary.host) as member:
        document = (await member.mongo.admin.command("replSetGetConfig"))["config"]
        if primary.config != Config.read(document):
            raise MemberError(f"{primary.host}: the configuration has changed meanwhile")
        await member.run_command({"replSetReconfig": configuration.changed(document, action)})


async def force(action: Force, connector: Connector) -> None:
    """Force a configuration at one member. The configuration that was decided on must still be in effect."""
    async with connector.member(action.slot.host) as member:
        document = (await member.mongo.admin.command("replSetGetConfig"))["config"]
        if action.slot.config != Config.read(document):
            raise MemberError(f"{action.slot.host}: the configuration has changed meanwhile")
        await member.run_command({"replSetReconfig": configuration.forced(document, action), "force": True})


async def step_down(action: StepDown, connector: Connector) -> None:
    """Make the primary hand over to a member with all its data, and not become primary again for a minute."""
    async with connector.member(action.slot.host) as member:
        await member.run_command({"replSetStepDown": 60, "secondaryCatchUpPeriodSecs": 10})


async def raise_compatibility(action: RaiseCompatibility, connector: Connector) -> None:
    """Enable the features of a version. A downgrade is impossible afterwards."""
    command: dict[str, Any] = {"setFeatureCompatibilityVersion": action.version}
    if int(action.version.split(".")[0]) >= _CONFIRMS:
        command["confirm"] = True
    async with connector.member(action.slot.host) as member:
        await member.run_command(command)
