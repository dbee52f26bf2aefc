"""Find members of a replica set by their state, for backups and restores."""

from typing import Any

from steersman import Context
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod, Secret

from mgors.api.mgors_v1 import Mgors
from mgors.connections import Connector, Dial, MemberError
from mgors.keyfile import Keyfile
from mgors.members import Answered, OpTime, State
from mgors.names import host_of, keyfile_name, selector_of, tls_name
from mgors.replica_set import query_members
from mgors.tls import Trust, ignores_hostnames, mode_of, uses_tls, wanted_tls


async def find_connector(mgors: Mgors, ctx: Context[Any], dial: Dial) -> Connector:
    """Return the connector of a replica set."""
    name = keyfile_name(mgors)
    secret = await ctx.get(Secret, name)
    text = (secret.data or {}).get("keyfile", b"").decode().strip() if secret else ""
    if not text:
        raise MemberError(f"the Secret {name} has no keyfile")
    return Connector(Keyfile.parse(text), ctx.external_writer("mongodb"), dial, await _trust(mgors, ctx))


async def _trust(mgors: Mgors, ctx: Context[Any]) -> Trust | None:
    """Return how members are verified; ``None`` if they do not use TLS."""
    members = await ctx.get(StatefulSet, mgors.name)
    if members is None or not uses_tls(mode_of(members.spec.template.spec)):
        return None
    secret = await ctx.get(Secret, tls_name(mgors))
    data = (secret.data or {}) if secret else {}
    authority = data.get("ca.crt", b"") + data.get("previous-ca.crt", b"")
    return Trust(authority=authority, any_hostname=ignores_hostnames(wanted_tls(mgors)))


async def find_members(mgors: Mgors, ctx: Context[Any], connector: Connector) -> dict[State, str]:
    """Return the host of the member with the newest data, keyed by state."""
    hosts = await _hosts(mgors, ctx)
    best: dict[State, tuple[OpTime, str]] = {}
    for number, reached in (await query_members(hosts, connector)).items():
        if isinstance(reached, Answered):
            view = reached.view
            best[view.state] = max(best.get(view.state, (OpTime(), "")), (view.optime, hosts[number]))
    return {state: host for state, (_, host) in best.items()}


async def find_readable(mgors: Mgors, ctx: Context[Any], connector: Connector) -> tuple[list[str], list[str]]:
    """Return the hosts of members with data that respond, secondaries first, and those of all others."""
    hosts = await _hosts(mgors, ctx)
    found: dict[State, list[str]] = {State.SECONDARY: [], State.PRIMARY: [], State.ARBITER: []}
    for number, reached in (await query_members(hosts, connector)).items():
        if isinstance(reached, Answered) and reached.view.state in found:
            found[reached.view.state].append(hosts[number])
    responding = {host for state in found.values() for host in state}
    return found[State.SECONDARY] + found[State.PRIMARY], sorted(set(hosts.values()) - responding)


async def _hosts(mgors: Mgors, ctx: Context[Any]) -> dict[int, str]:
    pods = await ctx.list(Pod, selector_of(mgors))
    return dict(enumerate(host for pod in pods if not pod.is_deleting and (host := host_of(pod, mgors))))
