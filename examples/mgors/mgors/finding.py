"""Finds members of a replica set by what they are now, for those who read or load data."""

from steersman import Context
from steersman.kinds.core_v1 import Pod, Secret

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors
from mgors.connections import CarryOut, Door
from mgors.members import OpTime, State
from mgors.objects import host_of, keyfile_name, selector_of
from mgors.replica_set import look


async def find_door(mgors: Mgors, ctx: Context[MgorsBackup] | Context[MgorsRestore], carry_out: CarryOut) -> Door:
    """Give what opens the members of a replica set."""
    secret = await ctx.get(Secret, keyfile_name(mgors))
    return Door((secret.data or {}).get("keyfile", b"").decode() if secret else "", carry_out)


async def find_members(mgors: Mgors, ctx: Context[MgorsBackup] | Context[MgorsRestore], door: Door) -> dict[State, str]:
    """Give for each state where the member with the newest data is."""
    pods = await ctx.list(Pod, selector_of(mgors))
    hosts = dict(enumerate(host for pod in pods if not pod.is_deleting and (host := host_of(pod, mgors))))
    best: dict[State, tuple[OpTime, str]] = {}
    for number, seen in (await look(hosts, door)).items():
        best[seen.state] = max(best.get(seen.state, (OpTime(), "")), (seen.optime, hosts[number]))
    return {state: host for state, (_, host) in best.items()}
