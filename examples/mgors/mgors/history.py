"""Facts about a replica set that must not be lost, in a ConfigMap: users can erase a status.

These are that it was initiated, so that members that lost all data are not mistaken for new ones, and which consent to
a forced reconfiguration was used on which configuration, so that it is used once.
"""

from dataclasses import dataclass, replace

from steersman import Context, meta
from steersman.kinds.core_v1 import ConfigMap

from mgors.api.mgors_v1 import Mgors
from mgors.members import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The content of the ConfigMap; empty if there is none."""

    set_id: str = ""
    #: The digest of the last consent that was used, and the configuration it was used on.
    consent: str = ""
    forced: tuple[int, int] | None = None

    @property
    def was_initiated(self) -> bool:
        """Whether the set was ever initiated."""
        return bool(self.set_id)

    def spent_at(self, digest: str) -> tuple[int, int] | None:
        """Return the configuration that a consent was used on, as (version, term); ``None`` if it was not used."""
        return self.forced if digest == self.consent else None


def history_name(mgors: Mgors) -> str:
    """Return the name of the ConfigMap."""
    return f"{mgors.name}-history"


async def read_history(mgors: Mgors, ctx: Context[Mgors]) -> History:
    """Read the history of a replica set."""
    found = await ctx.get(ConfigMap, history_name(mgors))
    data = (found.data or {}) if found is not None else {}
    version, _, term = data.get("forcedConfig", "").partition("/")
    return History(
        set_id=data.get("replicaSetId", "unknown" if found is not None else ""),
        consent=data.get("forceConsent", ""),
        forced=(int(version), int(term)) if term else None,
    )


async def record_initiation(mgors: Mgors, ctx: Context[Mgors], config: Config) -> None:
    """Record that the set was initiated."""
    await _write(mgors, ctx, replace(await read_history(mgors, ctx), set_id=config.set_id))


async def record_consent(mgors: Mgors, ctx: Context[Mgors], digest: str, config: Config) -> None:
    """Record that a consent is used on a configuration; call it before the force."""
    before = replace(await read_history(mgors, ctx), set_id=config.set_id)
    await _write(mgors, ctx, replace(before, consent=digest, forced=(config.version, config.term)))


async def _write(mgors: Mgors, ctx: Context[Mgors], history: History) -> None:
    data = {"replicaSetId": history.set_id}
    if history.forced is not None:
        version, term = history.forced
        data |= {"forceConsent": history.consent, "forcedConfig": f"{version}/{term}"}
    await ctx.apply(ConfigMap(meta(history_name(mgors)), data=data))
