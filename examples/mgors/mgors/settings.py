"""Settings of the operator, from environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Time limits, and the folder of backups."""

    #: Folder of backups: a volume of the operator.
    backups: Path = Path("/backups")
    #: Seconds between two reconciles of a replica set that is settled, and of one that is not.
    look_every: float = 10.0
    look_again: float = 1.0
    #: Seconds that a lost majority has to return before a configuration may be forced.
    quorum_patience: float = 60.0
    #: Seconds that a member may be behind the primary while pods are replaced.
    max_lag: float = 10.0
    #: Hours for which a new certificate authority is trusted before it signs: clients must load it meanwhile.
    ca_overlap: float = 24.0
    #: Milliseconds without a primary after which members elect another one, and between heartbeats.
    election_timeout: int = 10_000
    heartbeat: int = 2_000

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read ``MGORS_BACKUPS``, ``MGORS_LOOK_EVERY`` and so on."""
        found = cls()
        return cls(
            backups=Path(environment.get("MGORS_BACKUPS", found.backups)),
            look_every=float(environment.get("MGORS_LOOK_EVERY", found.look_every)),
            look_again=float(environment.get("MGORS_LOOK_AGAIN", found.look_again)),
            quorum_patience=float(environment.get("MGORS_QUORUM_PATIENCE", found.quorum_patience)),
            max_lag=float(environment.get("MGORS_MAX_LAG", found.max_lag)),
            ca_overlap=float(environment.get("MGORS_CA_OVERLAP", found.ca_overlap)),
            election_timeout=int(environment.get("MGORS_ELECTION_TIMEOUT", found.election_timeout)),
            heartbeat=int(environment.get("MGORS_HEARTBEAT", found.heartbeat)),
        )

    @property
    def of_set(self) -> dict[str, int]:
        """Settings of a new replica set in MongoDB."""
        return {"electionTimeoutMillis": self.election_timeout, "heartbeatIntervalMillis": self.heartbeat}
