"""What a look at a RedisFailover leads to: who is master, what to do next, and what to say about it. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from redisfailover.actions import Action
from redisfailover.observation import RedisNode, Role


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a condition says."""

    status: bool | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The next steps, in order, and what is true now."""

    #: ``None``: there is none, or it is not known which.
    master: RedisNode | None = None
    actions: tuple[Action, ...] = ()
    #: Which role each pod's label says; pods that are not named keep the label that they have.
    roles: Mapping[str, Role] = field(default_factory=dict)
    conditions: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether everything is as it should be."""
        return not self.actions and all(
            verdict.status is (name in {"Ready", "MasterAvailable", "SentinelQuorum"})
            for name, verdict in self.conditions.items()
        )

    @property
    def is_refused(self) -> bool:
        """Whether a person has to change something first."""
        return self.conditions["Ready"].reason == "ConfigRejected"

    def but(self, **conditions: Verdict) -> Self:
        """Give the same plan with something else to say."""
        return replace(self, conditions={**self.conditions, **conditions})
