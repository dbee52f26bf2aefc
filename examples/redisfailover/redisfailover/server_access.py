"""Read how to access the servers of a RedisFailover: passwords from Secrets, settings from the object."""

from steersman import Context, meta
from steersman.kinds.core_v1 import Secret

from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.names import labels_of, passwords_name, users_name
from redisfailover.passwords import PasswordRecord, digest
from redisfailover.servers import ServerAccess
from redisfailover.settings import parse_settings, sentinel_options, split_write_quorum
from redisfailover.users import Account, UserRecord

_KEY, _LINES = "record", "users.conf"


async def read_server_access(
    failover: RedisFailover, ctx: Context[RedisFailover]
) -> tuple[ServerAccess, PasswordRecord] | None:
    """Return how to access the servers; ``None``, with a condition, if the password is missing.

    A password is recorded before any server gets it, so that the operator can connect after any interruption.
    """
    name = failover.spec.auth.secret_path
    password, previous = "", ""
    if name:
        secret = await ctx.get(Secret, name)
        data = (secret.data or {}) if secret is not None else {}
        if not data.get("password"):
            message = f"there is no Secret {name!r} with a key 'password'"
            if ctx.condition("Ready", False, "SecretMissing", message):
                ctx.event("SecretMissing", message, kind="Warning")
            return None
        password, previous = (bytes(data.get(key, b"")).decode() for key in ("password", "previous"))
    record = await _read(failover, ctx)
    if password or record.passwords:
        record = record.with_password(password)
        await save_password_record(failover, ctx, record)
    users = await _ensure_users(failover, ctx)
    access = ServerAccess(
        users=users,
        password=password,
        previous=previous,
        others=tuple(one for one in reversed(record.passwords) if one != password),
        write=ctx.external_writer("redis"),
        settings=split_write_quorum(parse_settings(failover.spec.redis.custom_config))[0],
        options=sentinel_options(failover.spec.sentinel.custom_config),
    )
    return access, record


async def _ensure_users(failover: RedisFailover, ctx: Context[RedisFailover]) -> UserRecord:
    """Return the ACL users, recorded before any server gets them. No user is dropped because a Secret is missing."""
    wanted: dict[str, Account | None] = {}
    problems: list[str] = []
    for user in failover.spec.auth.users or []:
        ref = user.password_secret_ref
        secret = await ctx.get(Secret, ref.name)
        password = ((secret.data or {}) if secret is not None else {}).get(ref.key)
        wanted[user.name] = Account(digest(password.decode()), tuple(user.permissions)) if password else None
        if not password:
            problems.append(f"{user.name} (no {ref.key!r} in the Secret {ref.name!r})")
    if failover.spec.auth.users or failover.status.condition("UsersReady") is not None:
        message = ", ".join(problems)
        if (
            ctx.condition("UsersReady", not problems, "UsersMissing" if problems else "AsAskedFor", message)
            and problems
        ):
            ctx.event("UsersMissing", message, kind="Warning")
    found = await ctx.get(Secret, users_name(failover.name))
    record = UserRecord.read((found.data or {}).get(_KEY, b"")) if found is not None else UserRecord()
    record = record.with_wanted(wanted)
    await save_users(failover, ctx, record)
    return record


async def save_users(
    failover: RedisFailover, ctx: Context[RedisFailover], record: UserRecord, *, is_accepted: bool = False
) -> None:
    """Save the users if they changed. Servers mount the Secret, so it exists even if there are none.

    A server with permissions that it rejects does not start: only accepted ones are written into its configuration.
    """
    found = await ctx.get(Secret, users_name(failover.name))
    before = (found.data or {}).get(_LINES, b"") if found is not None else b""
    data = {_KEY: record.write(), _LINES: record.lines().encode() if is_accepted else before}
    if found is None or found.data != data:
        await ctx.apply(Secret(meta(users_name(failover.name), labels=labels_of(failover.name, "redis")), data=data))


async def save_password_record(failover: RedisFailover, ctx: Context[RedisFailover], record: PasswordRecord) -> None:
    """Save the record if it changed. Servers that never had a password need none."""
    if not any(record.passwords) and not record.sentinels:
        return
    if await _read(failover, ctx) != record:
        about = meta(passwords_name(failover.name), labels=labels_of(failover.name, "redis"))
        await ctx.apply(Secret(about, data={_KEY: record.write()}))


async def _read(failover: RedisFailover, ctx: Context[RedisFailover]) -> PasswordRecord:
    found = await ctx.get(Secret, passwords_name(failover.name))
    return PasswordRecord.read((found.data or {}).get(_KEY, b"")) if found is not None else PasswordRecord()
