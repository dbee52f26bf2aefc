"""Create the next configuration document of a replica set from the current one: pure functions."""

from typing import Any, assert_never

from mgors.actions import Add, Force, Initiate, MembershipChange, Remove, SetHost, SetVotes
from mgors.members import Slot


def first(action: Initiate, name: str, settings: dict[str, int]) -> dict[str, Any]:
    """Return the first configuration of a set: one member; the others are added one by one."""
    return {"_id": name, "version": 1, "members": [_member(action.slot, 1)], "settings": dict(settings)}


def changed(document: dict[str, Any], action: MembershipChange) -> dict[str, Any]:
    """Return the next configuration. Its version follows the one in effect, which may be any number."""
    members: list[dict[str, Any]] = [dict(member) for member in document["members"]]
    match action:
        case SetHost(slot):
            members = [member | {"host": slot.host} if member["_id"] == slot.number else member for member in members]
        case Add(slot, votes):
            members.append(_member(slot, votes))
        case Remove(number):
            members = [member for member in members if member["_id"] != number]
        case SetVotes(number, votes):
            share = {"votes": votes, "priority": votes}
            members = [member | share if member["_id"] == number else member for member in members]
        case _:
            assert_never(action)
    return document | {"version": document["version"] + 1, "members": members}


def forced(document: dict[str, Any], action: Force) -> dict[str, Any]:
    """Return the configuration of the remaining members, with their current hosts. mongod chooses its version.

    Only the member whose data is kept and arbiters vote: the others get their votes when they have caught up.
    """
    members = [_member(slot, 1 if slot.number == action.slot.number or slot.is_arbiter else 0) for slot in action.keep]
    return document | {"version": document["version"] + 1, "members": members}


def _member(slot: Slot, votes: int) -> dict[str, Any]:
    member: dict[str, Any] = {"_id": slot.number, "host": slot.host, "votes": votes, "priority": votes}
    return member | {"arbiterOnly": True, "priority": 0} if slot.is_arbiter else member
