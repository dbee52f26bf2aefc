"""Finds out how to speak with the servers of a RedisFailover: passwords from Secrets, settings from the object."""

from steersman import Context, meta
from steersman.kinds.core_v1 import Secret

from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.external_writes import fenced
from redisfailover.names import labels_of, passwords_name
from redisfailover.passwords import Record
from redisfailover.servers import Terms
from redisfailover.settings import parse_settings, sentinel_options, split_write_quorum

_KEY = "record"


async def find_terms(failover: RedisFailover, ctx: Context[RedisFailover]) -> tuple[Terms, Record] | None:
    """Return how to speak with the servers; ``None`` if the password is missing, which the status then says.

    A password is recorded before any server is told of it: whatever interrupts the change, the operator gets in.
    """
    name = failover.spec.auth.secret_path
    password, previous = "", ""
    if name:
        secret = await ctx.get(Secret, name)
        data = (secret.data or {}) if secret is not None else {}
        if not data.get("password"):
            told = f"there is no Secret {name!r} with a key 'password'"
            if ctx.condition("Ready", False, "SecretMissing", told):
                ctx.event("SecretMissing", told, kind="Warning")
            return None
        password, previous = (bytes(data.get(key, b"")).decode() for key in ("password", "previous"))
    record = await _read(failover, ctx)
    if password or record.passwords:
        record = record.with_password(password)
        await keep_record(failover, ctx, record)
    terms = Terms(
        password=password,
        previous=previous,
        others=tuple(one for one in reversed(record.passwords) if one != password),
        write=fenced(ctx),
        settings=split_write_quorum(parse_settings(failover.spec.redis.custom_config))[0],
        options=sentinel_options(failover.spec.sentinel.custom_config),
    )
    return terms, record


async def keep_record(failover: RedisFailover, ctx: Context[RedisFailover], record: Record) -> None:
    """Write the record, if it is another one. A set that never had a password needs none."""
    if not any(record.passwords) and not record.sentinels:
        return
    if await _read(failover, ctx) != record:
        about = meta(passwords_name(failover.name), labels=labels_of(failover.name, "redis"))
        await ctx.apply(Secret(about, data={_KEY: record.write()}))


async def _read(failover: RedisFailover, ctx: Context[RedisFailover]) -> Record:
    found = await ctx.get(Secret, passwords_name(failover.name))
    return Record.read((found.data or {}).get(_KEY, b"")) if found is not None else Record()
