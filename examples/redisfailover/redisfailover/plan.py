"""The result of a decision: the master, the next actions and the conditions. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from redisfailover.actions import Action
from redisfailover.observation import RedisNode, Role


@dataclass(frozen=True, slots=True)
class ConditionState:
    """Status, reason and message of a condition; a status of ``None`` is Unknown."""

    status: bool | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The next actions, in order, and the conditions."""

    #: ``None`` if there is no master, or it is not known which server is.
    master: RedisNode | None = None
    actions: tuple[Action, ...] = ()
    #: Wanted role label, keyed by pod; other pods keep theirs.
    roles: Mapping[str, Role] = field(default_factory=dict)
    conditions: Mapping[str, ConditionState] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to do and all conditions are good."""
        return not self.actions and all(
            verdict.status is (name in {"Ready", "MasterAvailable", "SentinelQuorum"})
            for name, verdict in self.conditions.items()
        )

    @property
    def is_rejected(self) -> bool:
        """Whether a user has to change a setting first."""
        return self.conditions["Ready"].reason == "ConfigRejected"

    def with_conditions(self, **conditions: ConditionState) -> Self:
        """Return the plan with other conditions."""
        return replace(self, conditions={**self.conditions, **conditions})
