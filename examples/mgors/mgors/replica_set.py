"""Talks to the members of a replica set, each by itself. It decides nothing.

The operator shows the keyfile, as members do among themselves: it may do everything, at any member, also before there
is any user and after all of them were lost.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from pymongo import AsyncMongoClient
from pymongo.errors import OperationFailure, PyMongoError
from steersman import SteersmanError

from mgors import configuration
from mgors.actions import Force, Initiate, MembershipChange, RaiseCompatibility, StepDown
from mgors.members import Config, OpTime, Seat, Seen, State

Mongo: TypeAlias = AsyncMongoClient[dict[str, Any]]

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
#: Milliseconds to find a member, and for one answer of it.
_FIND_MS, _ANSWER_MS = 2_000, 15_000
#: From this version on, mongod wants to be told that there is no way back.
_CONFIRMS = 7


class MemberError(SteersmanError):
    """A member did not do what it was asked for, this time."""


@asynccontextmanager
async def member(host: str, keyfile: str) -> AsyncIterator[Mongo]:
    """Connect to one member, whatever it says of itself."""
    client: Mongo = AsyncMongoClient(
        host,
        directConnection=True,
        username="__system",
        password=keyfile,
        authSource="local",
        authMechanism="SCRAM-SHA-256",
        appname="mgors",
        serverSelectionTimeoutMS=_FIND_MS,
        connectTimeoutMS=_FIND_MS,
        socketTimeoutMS=_ANSWER_MS,
    )
    try:
        yield client
    except PyMongoError as error:
        # What a server answers is repeated there as a whole document: its message is what there is to say.
        raise MemberError(f"{host}: {str(error).partition(', full error')[0]}") from error
    finally:
        await client.close()


async def look(hosts: dict[int, str], keyfile: str) -> dict[int, Seen]:
    """Ask members by their numbers, all at once; those who do not answer are left out."""
    found: dict[int, Seen] = {}

    async def ask(number: int, host: str) -> None:
        if not await _listens(host):
            return
        try:
            async with member(host, keyfile) as client:
                found[number] = await _seen(client)
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
        async with asyncio.timeout(_FIND_MS / 1000):
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


async def initiate(action: Initiate, name: str, keyfile: str, settings: dict[str, int]) -> None:
    """Begin a set; one that was begun already is fine."""
    async with member(action.seat.host, keyfile) as client:
        try:
            await client.admin.command({"replSetInitiate": configuration.first(action, name, settings)})
        except OperationFailure as failure:
            if failure.code != _ALREADY_INITIALIZED:
                raise


async def change(primary: Seat, action: MembershipChange, keyfile: str) -> None:
    """Change who belongs to the set, by its primary. What was decided on must still hold."""
    async with member(primary.host, keyfile) as client:
        document = (await client.admin.command("replSetGetConfig"))["config"]
        if primary.config != Config.read(document):
            raise MemberError(f"{primary.host}: the configuration has changed meanwhile")
        await client.admin.command({"replSetReconfig": configuration.changed(document, action)})


async def force(action: Force, keyfile: str) -> None:
    """Let one member go on, with those who are left."""
    async with member(action.seat.host, keyfile) as client:
        document = (await client.admin.command("replSetGetConfig"))["config"]
        await client.admin.command({"replSetReconfig": configuration.forced(document, action), "force": True})


async def step_down(action: StepDown, keyfile: str) -> None:
    """Let the primary hand over to one that has all its data, and not come back for a minute."""
    async with member(action.seat.host, keyfile) as client:
        await client.admin.command({"replSetStepDown": 60, "secondaryCatchUpPeriodSecs": 10})


async def raise_compatibility(action: RaiseCompatibility, keyfile: str) -> None:
    """Let the features of a version be used. There is no way back to an older server afterwards."""
    command: dict[str, Any] = {"setFeatureCompatibilityVersion": action.version}
    if int(action.version.split(".")[0]) >= _CONFIRMS:
        command["confirm"] = True
    async with member(action.seat.host, keyfile) as client:
        await client.admin.command(command)
