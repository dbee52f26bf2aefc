"""What must be remembered of a replica set, in a ConfigMap: a status can be erased by anybody.

That it was initiated, so that members that lost everything are not taken for new ones; and which consent to a forced
reconfiguration was used on which configuration, so that it is used once.
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
        """Whether the set was initiated at some time."""
        return bool(self.set_id)

    def spent_at(self, digest: str) -> tuple[int, int] | None:
        """Return the configuration that a consent was used on, as (version, term); ``None`` if it was not used."""
        return self.forced if digest == self.consent else None


def history_name(mgors: Mgors) -> str:
    """Return the name of the ConfigMap."""
    return f"{mgors.name}-history"


async def read_history(mgors: Mgors, ctx: Context[Mgors]) -> History:
    """Read what is remembered."""
    found = await ctx.get(ConfigMap, history_name(mgors))
    data = (found.data or {}) if found is not None else {}
    version, _, term = data.get("forcedConfig", "").partition("/")
    return History(
        set_id=data.get("replicaSetId", "unknown" if found is not None else ""),
        consent=data.get("forceConsent", ""),
        forced=(int(version), int(term)) if term else None,
    )


async def remember_initiated(mgors: Mgors, ctx: Context[Mgors], config: Config) -> None:
    """Remember that the set was initiated."""
    await _write(mgors, ctx, replace(await read_history(mgors, ctx), set_id=config.set_id))


async def remember_consent(mgors: Mgors, ctx: Context[Mgors], digest: str, config: Config) -> None:
    """Remember that a consent is used on this configuration, before that is done."""
    before = replace(await read_history(mgors, ctx), set_id=config.set_id)
    await _write(mgors, ctx, replace(before, consent=digest, forced=(config.version, config.term)))


async def _write(mgors: Mgors, ctx: Context[Mgors], history: History) -> None:
    data = {"replicaSetId": history.set_id}
    if history.forced is not None:
        version, term = history.forced
        data |= {"forceConsent": history.consent, "forcedConfig": f"{version}/{term}"}
    await ctx.apply(ConfigMap(meta(history_name(mgors)), data=data))
