"""The operator of examples/network, written with kopf: to compare lines, and to run.

``NEUTRON_URL=http://127.0.0.1:9696 kopf run -A bench/kopf/network.py``, on a cluster with the definition of Network.
"""

import os
from datetime import UTC, datetime
from typing import Any

import aiohttp
import kopf

NETWORK = ("samplecrd.k8s.io", "v1", "networks")
#: Address of the provider.
URL = os.environ.get("NEUTRON_URL", "http://neutron:9696") + "/v2.0/networks"
#: Seconds to wait for a response.
TIMEOUT = aiohttp.ClientTimeout(total=10)
#: Status codes of rejections that are temporary.
NOT_NOW = (408, 425, 429)
#: Seconds between two checks for drift at the provider.
DRIFT_CHECK = 300.0


class RejectedError(Exception):
    """The provider rejected a request; a retry cannot help."""


class UnavailableError(Exception):
    """A request failed; a retry may help."""


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """Open connections to the provider, and keep kopf's progress in annotations, not in the status."""
    settings.persistence.finalizer = "samplecrd.k8s.io/network"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage()
    memo.session = aiohttp.ClientSession(timeout=TIMEOUT)


@kopf.on.cleanup()
async def close(memo: kopf.Memo, **_: Any) -> None:
    """Close the connections."""
    await memo.session.close()


# The finalizer exists before any of these is called, because there is a deletion handler.
@kopf.on.create(*NETWORK)
@kopf.on.update(*NETWORK, field="spec")
@kopf.on.resume(*NETWORK)
async def reconcile(body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, retry: int, **_: Any) -> None:
    """Create or update the provider's network; a rejection is final until the object changes."""
    try:
        provided = await ensure(memo.session, body)
    except RejectedError as refusal:
        patch.status.update(status_of(body, Ready=(False, "Rejected", str(refusal))))
        kopf.warn(body, reason="Rejected", message=str(refusal))
        raise kopf.PermanentError(str(refusal)) from None
    except UnavailableError as failure:
        patch.status.update(status_of(body, Synced=(False, "ProviderError", str(failure))))
        tell_failure(body, retry, str(failure))
        raise kopf.TemporaryError(str(failure), delay=pause(retry)) from None
    synced, ready = (True, "UpToDate", ""), (True, "Provisioned", "")
    patch.status.update(status_of(body, Synced=synced, Ready=ready) | {"providerID": provided["id"]})


def is_provisioned(status: kopf.Status, **_: Any) -> bool:
    """Return whether the network was provisioned once."""
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))


@kopf.timer(*NETWORK, interval=DRIFT_CHECK, initial_delay=DRIFT_CHECK, when=is_provisioned)
async def look_for_drift(body: kopf.Body, memo: kopf.Memo, retry: int = 0, **_: Any) -> None:
    """Repair drift at the provider."""
    try:
        await ensure(memo.session, body)
    except UnavailableError as failure:
        tell_failure(body, retry, str(failure))
        raise kopf.TemporaryError(str(failure), delay=pause(retry)) from None


@kopf.on.delete(*NETWORK)
async def delete(body: kopf.Body, memo: kopf.Memo, retry: int, **_: Any) -> None:
    """Delete the provider's network, found by uid because the status may never have been written."""
    try:
        if (provided := await find(memo.session, body["metadata"]["uid"])) is not None:
            await call(memo.session, "DELETE", f"/{provided['id']}", missing_ok=True)
            kopf.info(body, reason="Deleted", message=f"network {provided['id']} is gone")
    except UnavailableError as failure:
        tell_failure(body, retry, str(failure))
        raise kopf.TemporaryError(str(failure), delay=pause(retry)) from None


def pause(retry: int) -> float:
    """Return the seconds before the next attempt."""
    return min(2.0**retry, 300.0)


def tell_failure(body: kopf.Body, retry: int, failure: str) -> None:
    """Record an event that the provider fails, once: kopf does not merge events."""
    if retry == 0:
        kopf.warn(body, reason="ProviderError", message=failure)


async def ensure(session: aiohttp.ClientSession, body: kopf.Body) -> dict[str, Any]:
    """Create or update the provider's network, and return it."""
    wanted = {"uid": body["metadata"]["uid"], "cidr": body["spec"]["cidr"], "gateway": body["spec"]["gateway"]}
    provided = await find(session, wanted["uid"])
    if provided is None:
        provided = await call(session, "POST", "", json=wanted, headers={"Idempotency-Key": wanted["uid"]})
        kopf.info(body, reason="Provisioned", message=f"network {provided['id']} has {provided['cidr']}")
    elif (provided["cidr"], provided["gateway"]) != (wanted["cidr"], wanted["gateway"]):
        provided = await call(session, "PUT", f"/{provided['id']}", json=wanted)
        told = f"network {provided['id']} has {provided['cidr']}, gateway {provided['gateway']}"
        kopf.info(body, reason="Updated", message=told)
    return provided


async def find(session: aiohttp.ClientSession, uid: str) -> dict[str, Any] | None:
    """Return the network of an object, if it exists."""
    answer = await call(session, "GET", f"?uid={uid}")
    return next(iter(answer["networks"]), None)


async def call(
    session: aiohttp.ClientSession, method: str, path: str, *, missing_ok: bool = False, **request: Any
) -> dict[str, Any]:
    """Send a request to the provider, and return its response."""
    try:
        async with session.request(method, URL + path, **request) as answer:
            if answer.ok:
                return await answer.json() if answer.status != 204 else {}
            said = (await answer.text()).strip()[:200]
    except (aiohttp.ClientError, TimeoutError) as error:
        raise UnavailableError(f"the provider does not answer: {error}") from error
    if missing_ok and answer.status == 404:
        return {}
    if 400 <= answer.status < 500 and answer.status not in NOT_NOW:
        raise RejectedError(said)
    raise UnavailableError(f"the provider answered {answer.status}: {said}")


def status_of(body: kopf.Body, **said: tuple[bool, str, str]) -> dict[str, Any]:
    """Return a status with some conditions changed; transition times change only with their status."""
    generation, now = body["metadata"]["generation"], datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = {one["type"]: dict(one) for one in body.get("status", {}).get("conditions", [])}
    for kind, (holds, reason, message) in said.items():
        before, status = conditions.get(kind, {}), "True" if holds else "False"
        conditions[kind] = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == status else now,
        }
    return {"observedGeneration": generation, "conditions": list(conditions.values())}
