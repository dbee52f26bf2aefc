"""Configurations of replica sets, as documents: a new one from the one that holds. Pure."""

from typing import Any, assert_never

from mgors.actions import Add, Force, Initiate, MembershipChange, Remove, SetHost, SetVotes
from mgors.members import MOST_VOTERS, Seat


def first(action: Initiate, name: str, settings: dict[str, int]) -> dict[str, Any]:
    """Give the configuration that a set begins with: one member; the others are added, one by one."""
    return {"_id": name, "version": 1, "members": [_member(action.seat, 1)], "settings": dict(settings)}


def changed(document: dict[str, Any], action: MembershipChange) -> dict[str, Any]:
    """Give the next configuration. The version goes on from the one that holds, which may be any number."""
    members: list[dict[str, Any]] = [dict(member) for member in document["members"]]
    match action:
        case SetHost(seat):
            members = [member | {"host": seat.host} if member["_id"] == seat.number else member for member in members]
        case Add(seat, votes):
            members.append(_member(seat, votes))
        case Remove(number):
            members = [member for member in members if member["_id"] != number]
        case SetVotes(number, votes):
            share = {"votes": votes, "priority": votes}
            members = [member | share if member["_id"] == number else member for member in members]
        case _:
            assert_never(action)
    return document | {"version": document["version"] + 1, "members": members}


def forced(document: dict[str, Any], action: Force) -> dict[str, Any]:
    """Give the configuration of those who are left, where they are now. mongod chooses its version."""
    members = [_member(seat, 1 if place < MOST_VOTERS else 0) for place, seat in enumerate(action.keep)]
    return document | {"version": document["version"] + 1, "members": members}


def _member(seat: Seat, votes: int) -> dict[str, Any]:
    member: dict[str, Any] = {"_id": seat.number, "host": seat.host, "votes": votes, "priority": votes}
    return member | {"arbiterOnly": True, "priority": 0} if seat.is_arbiter else member
