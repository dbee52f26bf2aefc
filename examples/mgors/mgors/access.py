"""Credentials of a replica set: its Secrets, its users, and the connection strings of applications.

The operator generates a Secret only once: members and users keep the first one, so a second one would lock the operator
out of a running set.
"""

import secrets
from dataclasses import replace
from urllib.parse import quote

from steersman import Context, SteersmanError, meta
from steersman.kinds.core_v1 import Pod, Secret

from mgors.api.mgors_v1 import Mgors
from mgors.connections import Connector, Member, MemberError
from mgors.history import read_history
from mgors.keyfile import Keyfile
from mgors.members import Answered
from mgors.names import CLUSTER, admin_name, keyfile_name, selector_of
from mgors.replica_set import query_members
from mgors.situation import Situation
from mgors.users import Account, UserKey, commands

_KEY_BYTES = 192


class SecretError(SteersmanError):
    """A Secret is missing or incomplete. ``reason`` is for conditions."""

    def __init__(self, reason: str, message: str) -> None:
        """Create the error; ``message`` names the Secret."""
        super().__init__(message)
        self.reason = reason


async def ensure_keyfile(mgors: Mgors, ctx: Context[Mgors]) -> Keyfile:
    """Return the keys that members and the operator authenticate with. One is generated only for a set without members.

    Running members have the old key, and would reject both the operator and members with a new one.
    """
    name = keyfile_name(mgors)
    secret = await ctx.get(Secret, name)
    if secret is None:
        has_members = bool(await ctx.list(Pod, selector_of(mgors)))
        is_begun = (await read_history(mgors, ctx)).was_initiated and not mgors.spec.pause
        if has_members or is_begun:
            raise SecretError(
                "KeyfileMissing",
                f"the Secret {name} is missing, and running members need its key: restore it. If it is lost for good, "
                "set spec.pause: a new one is generated when no pod is left",
            )
        content = {"keyfile": secrets.token_hex(_KEY_BYTES)}
        if revision := _revision(mgors):
            content["revision"] = revision
        secret = await _generate(name, content, mgors, ctx)
    return read_keyfile(secret)


def read_keyfile(secret: Secret) -> Keyfile:
    """Return the keyfile in a Secret."""
    return Keyfile.parse(_text(secret, "keyfile"), (secret.data or {}).get("revision", b"").decode())


def _revision(mgors: Mgors) -> str:
    return (mgors.spec.auth and mgors.spec.auth.keyfile_revision) or ""


async def rotate_keyfile(mgors: Mgors, ctx: Context[Mgors], situation: Situation, connector: Connector) -> None:
    """Begin the next phase of a rotation, if the spec asks for one; call it while the set is settled."""
    keyfile, wanted = connector.keyfile, _revision(mgors)
    if not keyfile.is_rotating:
        if wanted and wanted != keyfile.revision:
            await _write_keyfile(mgors, ctx, keyfile, keyfile.with_next(secrets.token_hex(_KEY_BYTES), wanted))
            ctx.event("KeyfileRotating", "members get a second key")
        return
    hosts = {slot.number: slot.host for slot in situation.slots}
    reached = await query_members(hosts, replace(connector, keyfile=keyfile.with_last_only()))
    if all(isinstance(reach, Answered) for reach in reached.values()):
        await _write_keyfile(mgors, ctx, keyfile, keyfile.with_last_only())
        ctx.event("KeyfileRotated", "every member accepts the new key: the old one is removed")


async def _write_keyfile(mgors: Mgors, ctx: Context[Mgors], before: Keyfile, after: Keyfile) -> None:
    """Write the keyfile, unless it was changed meanwhile: the keys that members have must never be lost."""
    secret = await ctx.client.get(Secret, keyfile_name(mgors), mgors.namespace)
    if read_keyfile(secret) != before:
        raise SecretError("KeyfileChanged", f"the Secret {secret.name} was changed meanwhile")
    content = {"keyfile": after.text, "revision": after.revision}
    version = {"resourceVersion": secret.metadata.resource_version}
    await ctx.client.patch(secret, {"metadata": version, "stringData": content})


async def ensure_admin(mgors: Mgors, ctx: Context[Mgors]) -> Account:
    """Return the administrator, from the Secret that the object names or from a generated one."""
    name = admin_name(mgors)
    secret = await ctx.get(Secret, name)
    if secret is None and mgors.spec.auth and mgors.spec.auth.secret_name:
        raise SecretError("SecretMissing", f"spec.auth.secretName: the Secret {name} does not exist")
    if secret is None:
        content = {"username": "admin", "password": secrets.token_urlsafe(24)}
        secret = await _generate(name, content, mgors, ctx)
    roles = frozenset({("root", "admin")})
    return Account(name=_text(secret, "username"), db="admin", password=_text(secret, "password"), roles=roles)


async def _generate(name: str, content: dict[str, str], mgors: Mgors, ctx: Context[Mgors]) -> Secret:
    data = {key: value.encode() for key, value in content.items()}
    return await ctx.create(Secret(meta(name, labels={CLUSTER: mgors.name}), data=data))


def _text(secret: Secret, key: str) -> str:
    value = (secret.data or {}).get(key)
    if not value:
        raise SecretError("SecretIncomplete", f"the Secret {secret.name} has no {key}")
    return value.decode().strip()


async def ensure_access(mgors: Mgors, ctx: Context[Mgors], situation: Situation, connector: Connector) -> None:
    """Create and change the users of the object, and the Secret with connection strings.

    A problem with one user, or with the administrator, does not affect the others, and no user is dropped for it.
    """
    primary = situation.primary
    if primary is None or primary.config is None:
        return
    users, absent = await _accounts(mgors, ctx)
    problems = list(absent.values())
    try:
        async with connector.member(primary.host) as member:
            await _ensure_write_concern(member)
            await _ensure_users(member, users, frozenset(absent), connector.keyfile.key)
    except MemberError as error:
        problems.append(str(error))
    message = ", ".join(problems)
    if ctx.condition("UsersReady", not problems, "UsersMissing" if problems else "AsAskedFor", message) and problems:
        ctx.event("UsersMissing", message, kind="Warning")
    # Hosts of the configuration change only with the membership, unlike pods.
    hosts = [member.host for member in primary.config.members if not member.is_arbiter]
    options = "&tls=true" if connector.trust is not None else ""
    uris = {
        f"{user.db}.{user.name}": (connection_string(mgors, sorted(hosts), user) + options).encode() for user in users
    }
    await _ensure_connection_strings(mgors, ctx, uris, frozenset(absent))


async def _accounts(mgors: Mgors, ctx: Context[Mgors]) -> tuple[list[Account], dict[UserKey, str]]:
    """Return the users whose passwords are known, and the problem of each other user."""
    found: list[Account] = []
    absent: dict[UserKey, str] = {}
    try:
        found.append(await ensure_admin(mgors, ctx))
    except SecretError as error:
        absent[("admin", "")] = str(error)
    for user in mgors.spec.users or []:
        ref = user.password_secret_ref
        secret = await ctx.get(Secret, ref.name)
        password = (secret.data or {}).get(ref.key) if secret else None
        if not password:
            absent[(user.db, user.name)] = f"{user.db}.{user.name} (no {ref.key} in the Secret {ref.name})"
            continue
        roles = frozenset((role.name, role.db) for role in user.roles)
        found.append(Account(name=user.name, db=user.db, password=password.decode(), roles=roles))
    return found, absent


async def _ensure_users(primary: Member, wanted: list[Account], absent: frozenset[UserKey], keyfile: str) -> None:
    reply = await primary.mongo.admin.command({"usersInfo": {"forAllDBs": True}})
    for command in commands(wanted, reply["users"], keyfile, keep=absent):
        await primary.run_command({**command.body, "writeConcern": {"w": "majority", "wtimeout": 10_000}}, command.db)


async def _ensure_write_concern(primary: Member) -> None:
    """Set the default write concern to majority, unless an administrator has set one: an arbiter would lower it."""
    reply = await primary.mongo.admin.command("getDefaultRWConcern")
    if reply.get("defaultWriteConcernSource") != "global":
        await primary.run_command({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "majority", "wtimeout": 0}})


async def _ensure_connection_strings(
    mgors: Mgors, ctx: Context[Mgors], uris: dict[str, bytes], absent: frozenset[UserKey]
) -> None:
    """Apply the Secret with one URI for each user, keyed by ``DB.NAME``.

    The URI of a user whose password is missing for now stays unchanged.
    """
    name = f"{mgors.name}-connection"
    secret = await ctx.get(Secret, name)
    before = (secret.data or {}) if secret else {}
    kept = {key: uri for key, uri in before.items() if _is_kept(key, absent)}
    data = kept | uris
    if secret is None or before != data:
        await ctx.apply(Secret(meta(name, labels={CLUSTER: mgors.name}), data=data))


def _is_kept(key: str, absent: frozenset[UserKey]) -> bool:
    return any(key == f"{db}.{name}" if name else key.startswith(f"{db}.") for db, name in absent)


def connection_string(mgors: Mgors, hosts: list[str], user: Account) -> str:
    """Return the URI of a user. It lists all members, so that a driver finds the primary."""
    credentials = f"{quote(user.name, safe='')}:{quote(user.password, safe='')}"
    return (
        f"mongodb://{credentials}@{','.join(hosts)}/?replicaSet={mgors.set_name}&authSource={quote(user.db, safe='')}"
    )
