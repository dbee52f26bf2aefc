"""Find members of a replica set by their state, for backups and restores."""

from steersman import Context
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod, Secret

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors
from mgors.connections import Connector, Dial, MemberError
from mgors.keyfile import Keyfile
from mgors.members import Answered, OpTime, State
from mgors.names import host_of, keyfile_name, selector_of, tls_name
from mgors.replica_set import query_members
from mgors.tls import Trust, ignores_hostnames, mode_of, uses_tls, wanted_tls


async def find_connector(mgors: Mgors, ctx: Context[MgorsBackup] | Context[MgorsRestore], dial: Dial) -> Connector:
    """Return the connector of a replica set."""
    name = keyfile_name(mgors)
    secret = await ctx.get(Secret, name)
    text = (secret.data or {}).get("keyfile", b"").decode().strip() if secret else ""
    if not text:
        raise MemberError(f"the Secret {name} has no keyfile")
    return Connector(Keyfile.parse(text), ctx.external_writer("mongodb"), dial, await _trust(mgors, ctx))


async def _trust(mgors: Mgors, ctx: Context[MgorsBackup] | Context[MgorsRestore]) -> Trust | None:
    """Return how members are verified; ``None`` if they do not use TLS."""
    members = await ctx.get(StatefulSet, mgors.name)
    if members is None or not uses_tls(mode_of(members.spec.template.spec)):
        return None
    secret = await ctx.get(Secret, tls_name(mgors))
    data = (secret.data or {}) if secret else {}
    authority = data.get("ca.crt", b"") + data.get("previous-ca.crt", b"")
    return Trust(authority=authority, any_hostname=ignores_hostnames(wanted_tls(mgors)))


async def find_members(
    mgors: Mgors, ctx: Context[MgorsBackup] | Context[MgorsRestore], connector: Connector
) -> dict[State, str]:
    """Return the host of the member with the newest data, keyed by state."""
    pods = await ctx.list(Pod, selector_of(mgors))
    hosts = dict(enumerate(host for pod in pods if not pod.is_deleting and (host := host_of(pod, mgors))))
    best: dict[State, tuple[OpTime, str]] = {}
    for number, reached in (await query_members(hosts, connector)).items():
        if isinstance(reached, Answered):
            view = reached.view
            best[view.state] = max(best.get(view.state, (OpTime(), "")), (view.optime, hosts[number]))
    return {state: host for state, (_, host) in best.items()}
