"""Decisions in a loop with a model of servers and sentinels: every fault at every action of a start and an update.

The model has a truth that decisions do not see: which writes were acknowledged. In each round a client writes to the
master, the operator observes, decides and acts. Faults strike at each action of the undisturbed run: the operator
crashes before or after it, the command is lost, a server restarts right before it, or does not respond in that round.
In the end everything is as asked for, and the master has every write that was acknowledged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import pytest

from redisfailover.actions import (
    Action,
    Failover,
    Follow,
    Monitor,
    Promote,
    ReplacePod,
    Reset,
    SetSentinelOptions,
)
from redisfailover.decision import decide
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode
from redisfailover.plan import Plan

GOAL = Goal()
FaultKind = Literal["crash-before", "crash-after", "lost", "restart", "silent"]
#: Seconds between two rounds, rounds in which each phase must end, and rounds after which sentinels replace a master.
PERIOD, MOST_ROUNDS, SENTINELS_ACT_AFTER = 10.0, 60, 3


@dataclass(frozen=True)
class Fault:
    """One fault at one action."""

    kind: FaultKind
    action: int
    #: The server that it concerns.
    server: int = 0


@dataclass
class Server:
    """The true state of one server. A new one, and one that restarted, follows itself."""

    ordinal: int
    pod: int = 0
    role: Literal["master", "slave"] = "slave"
    follows: Address | None = None
    is_synced: bool = False
    is_current: bool = True
    writes: set[int] = field(default_factory=set)

    @property
    def address(self) -> Address:
        """A new pod has a new address."""
        return Address(f"10.{self.pod}.0.{self.ordinal}", 6379)

    def restart(self) -> None:
        """Come back as a replica of itself, with the data on disk."""
        self.role, self.follows, self.is_synced = "slave", self.address, False


class Model:
    """Three servers, three sentinels, and a client."""

    def __init__(self) -> None:
        """Create servers that have just started."""
        self.servers = [Server(number) for number in range(3)]
        for server in self.servers:
            server.restart()
        self.watches: list[Address | None] = [None, None, None]
        self.quorums = [0, 0, 0]
        self.acknowledged: set[int] = set()
        self._without_master = 0

    def pass_time(self) -> None:
        """Advance one round: replicas catch up, sentinels act, a client writes."""
        for server in self.servers:
            master = self._at(server.follows)
            if server.role == "slave" and master is not None and master.role == "master":
                server.writes, server.is_synced = set(master.writes), True
        self._let_sentinels_act()
        for master in [server for server in self.servers if server.role == "master"]:
            number = len(self.acknowledged) + 1
            for server in (master, *(one for one in self.servers if one.follows == master.address and one.is_synced)):
                server.writes.add(number)
            self.acknowledged.add(number)

    def _let_sentinels_act(self) -> None:
        watched = self._watched()
        master = self._at(watched)
        is_down = watched is not None and (master is None or master.role != "master")
        self._without_master = self._without_master + 1 if is_down else 0
        if self._without_master >= SENTINELS_ACT_AFTER and watched is not None:
            self._fail_over(watched)

    def _watched(self) -> Address | None:
        return next((one for one in self.watches if one is not None and self.watches.count(one) >= GOAL.quorum), None)

    def _fail_over(self, watched: Address) -> bool:
        followers = [one for one in self.servers if one.follows == watched and one.address != watched]
        if not followers:
            return False
        best = max(followers, key=lambda one: len(one.writes))
        best.role, best.follows = "master", None
        for other in self.servers:
            if other is not best and watched in (other.follows, other.address):
                other.role, other.follows, other.is_synced = "slave", best.address, False
        self.watches = [best.address if one == watched else one for one in self.watches]
        return True

    def _at(self, address: Address | None) -> Server | None:
        return next((one for one in self.servers if one.address == address), None)

    def observe(self, silent: int | None, without_master: float) -> Observation:
        """Return what the operator sees."""
        return Observation(
            redis=tuple(self._node(one, is_silent=one.ordinal == silent) for one in self.servers),
            sentinels=tuple(self._sentinel(number) for number in range(3)),
            seconds_without_master=without_master,
        )

    @staticmethod
    def _node(server: Server, *, is_silent: bool) -> RedisNode:
        pod, address = f"rfr-a-{server.ordinal}", server.address
        if is_silent:
            return RedisNode(pod=pod, address=address, is_current=server.is_current, problem="timed out")
        return RedisNode(
            pod=pod,
            address=address,
            is_current=server.is_current,
            role=server.role,
            follows=server.follows,
            is_synced=server.is_synced,
            offset=len(server.writes) + 1,
            keys=len(server.writes),
            history="h",
        )

    def _sentinel(self, number: int) -> SentinelNode:
        watched = self.watches[number]
        followers = [one for one in self.servers if one.follows == watched and one.address != watched]
        master = self._at(watched)
        return SentinelNode(
            pod=f"rfs-a-{number}",
            address=Address(f"10.9.0.{number}", 26379),
            answers=True,
            watches=watched,
            quorum=self.quorums[number],
            replicas=len(followers),
            others=2,
            is_down=watched is not None and (master is None or master.role != "master"),
        )

    def execute(self, action: Action) -> None:
        """Carry out a command."""
        match action:
            case Promote(node):
                self._by(node).role, self._by(node).follows = "master", None
            case Follow(node, master):
                server = self._by(node)
                server.role, server.follows, server.is_synced = "slave", master, False
            case ReplacePod(node):
                server = self._by(node)
                server.pod, server.is_current, server.writes = server.pod + 1, True, set()
                server.restart()
            case _:
                self._execute_at_sentinel(action)

    def _execute_at_sentinel(self, action: Action) -> None:
        match action:
            case Monitor(node, master, quorum) | Reset(node, master, quorum):
                self.watches[self._number(node)], self.quorums[self._number(node)] = master, quorum
            case SetSentinelOptions(node, options):
                self.quorums[self._number(node)] = int(options.get("quorum", GOAL.quorum))
            case Failover(node, otherwise):
                watched = self.watches[self._number(node)]
                if watched is not None and not self._fail_over(watched):
                    self.execute(Promote(otherwise, "no replica"))
            case _:
                raise AssertionError(f"the model does not know {action}")

    def _by(self, node: RedisNode) -> Server:
        return self.servers[node.ordinal]

    @staticmethod
    def _number(node: SentinelNode) -> int:
        return int(node.pod.rpartition("-")[2])


class Loop:
    """The operator, which begins without memory after a crash."""

    def __init__(self, fault: Fault | None) -> None:
        """Create the operator and its model."""
        self.model = Model()
        self._fault = fault
        self._without_master = 0.0
        #: The actions that were begun.
        self.actions: list[Action] = []

    def run_until_settled(self) -> None:
        """Run rounds until two in a row have nothing to do."""
        calm = 0
        for _ in range(MOST_ROUNDS):
            plan = self._round()
            calm = calm + 1 if plan.is_settled else 0
            if calm == 2:
                return
        raise AssertionError(f"not settled after {MOST_ROUNDS} rounds: {plan.conditions['Ready'].message}")

    def _round(self) -> Plan:
        fault = self._fault
        is_silent = fault is not None and fault.kind == "silent" and fault.action == len(self.actions) + 1
        seen = self.model.observe(fault.server if fault is not None and is_silent else None, self._without_master)
        if is_silent:
            self._fault = None
        self._without_master = 0.0 if seen.masters else self._without_master + PERIOD
        plan = decide(GOAL, seen)
        for action in plan.actions:
            if not self._act(action):
                break
        self.model.pass_time()
        return plan

    def _act(self, action: Action) -> bool:
        """Carry out an action; return whether the operator is still there."""
        self.actions.append(action)
        fault = self._fault if self._fault is not None and self._fault.action == len(self.actions) else None
        if fault is not None:
            self._fault = None
        kind = fault.kind if fault is not None else None
        if fault is not None and kind == "restart":
            self.model.servers[fault.server].restart()
        if kind not in {"crash-before", "lost"}:
            self.model.execute(action)
        if kind in {"crash-before", "crash-after"}:
            self._without_master = 0.0
            return False
        return True

    def start_and_update(self) -> None:
        """Start three new servers, then replace all pods by those of another template."""
        self.run_until_settled()
        for server in self.model.servers:
            server.is_current = False
        self.run_until_settled()


def faults(actions: int) -> Iterator[Fault]:
    """Yield every fault at every action."""
    for action in range(1, actions + 1):
        yield from (Fault(kind, action) for kind in ("crash-before", "crash-after", "lost"))
        yield from (Fault(kind, action, server) for kind in ("restart", "silent") for server in range(3))


def test_a_start_and_an_update_need_no_luck() -> None:
    """Without a fault the loop ends, and every pod was replaced once."""
    loop = Loop(None)
    loop.start_and_update()
    replaced = [action.node.pod for action in loop.actions if isinstance(action, ReplacePod)]
    assert sorted(replaced) == ["rfr-a-0", "rfr-a-1", "rfr-a-2"]
    assert len(loop.actions) > 10


def _undisturbed() -> int:
    loop = Loop(None)
    loop.start_and_update()
    return len(loop.actions)


@pytest.mark.parametrize("fault", [*faults(_undisturbed())], ids=str)
def test_no_fault_at_any_action_loses_an_acknowledged_write(fault: Fault) -> None:
    """The loop ends as without the fault: one master, all servers in sync, and nothing is lost."""
    loop = Loop(fault)
    loop.start_and_update()
    [master] = [server for server in loop.model.servers if server.role == "master"]
    assert master.writes >= loop.model.acknowledged
    assert all(server.is_current for server in loop.model.servers)
    assert loop.model.watches == [master.address] * 3
