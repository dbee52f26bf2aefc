"""What happens to an operator in its life: its replicas share the work, its objects are paused, its token expires."""

import base64
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from steersman.json_types import JsonObject
from tools.real_cluster.scenarios.user import ScenarioError, User, kill_processes

_NAME: Final = "fleet"
_NAMESPACE: Final = "fleet-system"
_WEBSITES: Final = "websites.shop.example.com"
_SHARDS: Final = 6
_REPLICAS: Final = 3
_OBJECTS: Final = 60
#: Seconds within which an operator has read a file with a token again, and that the claims of a short token are for.
_READ_WITHIN: Final = 65
_LIFETIME: Final = 15
#: Seconds for which the API server still accepts an expired token: a minute of tolerance for clocks that differ, ten
#: seconds for which it remembers that the token was good, and one more.
_ACCEPTED: Final = 71


def _project(user: User, *, shards: int = 0, replicas: int = 2) -> None:
    """Create and deploy an operator that copies a message to the status."""
    user.steer("init", _NAME, "--domain", "example.com")
    user.steer("create", "api", "--group", "shop", "--version", "v1", "--kind", "Website")
    settings = user.folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace("[tool.steersman]", f"[tool.steersman]\nreplicas = {replicas}"))
    if shards:
        operator = user.folder / _NAME / "operator.py"
        operator.write_text(operator.read_text().replace(f'("{_NAME}")', f'("{_NAME}", shards={shards})'))
    user.deploy(user.publish(_NAME))


def _remove(user: User) -> None:
    """Leave nothing for the scenarios that come after."""
    user.kubectl("delete", _WEBSITES, "--all")
    user.undeploy(_NAMESPACE)
    user.steer("uninstall", "--yes")


def sharded(user: User) -> None:
    """Check that all replicas of a sharded operator work, and that the others take over from one that is killed."""
    _project(user, shards=_SHARDS, replicas=_REPLICAS)
    with user.step(f"{_REPLICAS} replicas share {_SHARDS} shards") as notes:
        held = user.until("each has its part", lambda: _fair(user))
        notes.append(", ".join(f"{len(shards)} shards" for shards in held.values()))
    with user.step(f"{_OBJECTS} objects, until all are reconciled") as notes:
        _apply(user, "first")
        _wait_all(user, "first")
        notes.append(f"by {len(_reconciled_by(user))} replicas")
        if len(_reconciled_by(user)) != _REPLICAS:
            raise ScenarioError(f"not all replicas work: {_reconciled_by(user)}")
    victim, *others = held
    begun = time.monotonic()
    kill_processes(_pod(user, victim), signal.SIGKILL)
    _apply(user, "second")
    _wait_all(user, "second")
    user.done("one replica SIGKILLed, until all objects are reconciled again", time.monotonic() - begun)
    with user.step("until the restarted replica has its part again"):
        user.until("each has its part", lambda: _fair(user, other_than=victim))
    with user.step("one pod deleted and all objects changed, until all are reconciled"):
        user.kubectl("delete", "pod", _pod(user, others[0])["metadata"]["name"], "-n", _NAMESPACE, "--wait=false")
        _apply(user, "third")
        _wait_all(user, "third")
    _remove(user)


def _held(user: User) -> dict[str, list[int]]:
    """Return the shards of each replica."""
    lease = user.get("lease", f"{_NAME}-shards", "-n", _NAMESPACE)
    table = json.loads((lease or {"metadata": {}})["metadata"].get("annotations", {}).get("steersman.dev/shards", "{}"))
    return {one["identity"]: one["shards"] for one in table.get("held", ())}


def _fair(user: User, other_than: str = "") -> dict[str, list[int]]:
    """Return the shards of each replica once they are divided equally, and not among them a replica that was killed."""
    held = _held(user)
    everything = sorted(shard for shards in held.values() for shard in shards)
    is_fair = all(len(shards) == _SHARDS // _REPLICAS for shards in held.values())
    is_complete = len(held) == _REPLICAS and everything == list(range(_SHARDS))
    return held if is_fair and is_complete and other_than not in held else {}


def _pod(user: User, identity: str) -> JsonObject:
    return next(pod for pod in user.items("pods", "-n", _NAMESPACE) if pod["metadata"]["name"] in identity)


def _apply(user: User, message: str) -> None:
    items = [
        {
            "apiVersion": "shop.example.com/v1",
            "kind": "Website",
            "metadata": {"name": f"site-{number}"},
            "spec": {"message": message},
        }
        for number in range(_OBJECTS)
    ]
    path = user.folder / "sites.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    user.kubectl("apply", "-f", str(path))


def _wait_all(user: User, message: str) -> None:
    def is_done() -> bool:
        found = user.items(_WEBSITES)
        return len(found) == _OBJECTS and all(one.get("status", {}).get("message") == message for one in found)

    user.until(f"all objects say {message!r}", is_done)


def _reconciled_by(user: User) -> set[str]:
    """Return the pods whose shards have at least one object: those that wrote a status."""
    pods = [pod["metadata"]["name"] for pod in user.items("pods", "-n", _NAMESPACE)]
    return {name for name in pods if _writes(user, name)}


def _writes(user: User, pod: str) -> int:
    """Return how many reconciles of a pod succeeded, by its metrics."""
    text = user.kubectl("get", "--raw", f"/api/v1/namespaces/{_NAMESPACE}/pods/{pod}:8080/proxy/metrics")
    prefix = "controller_runtime_reconcile_total"
    lines = [line for line in text.splitlines() if line.startswith(prefix) and 'result="success"' in line]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)


def paused(user: User) -> None:
    """Check that a paused object is left alone, also by another leader, and that a pause ends at its time."""
    _project(user)
    user.steer("samples", "apply", "--yes")
    user.until("it is reconciled", lambda: _message(user) == "hello")
    with user.step("pause, change it, another pod leads: it is left alone"):
        _pause(user)
        user.until("it shows Paused", lambda: _condition(user, "Paused") == "True")
        _change(user, "while paused")
        holder = user.leader(_NAME, _NAMESPACE)
        user.kubectl("delete", "pod", _pod(user, holder)["metadata"]["name"], "-n", _NAMESPACE)
        user.until("another replica leads", lambda: user.leader(_NAME, _NAMESPACE) not in {"", holder})
        user.until("it reconciles others", lambda: _reconciles_others(user))
        if _message(user) != "hello":
            raise ScenarioError(f"a paused object was reconciled: {_message(user)}")
    with user.step("steer why names the pause"):
        text = user.steer("why", "website/website-sample", "--kubeconfig", os.environ["KUBECONFIG"])
        if "paused" not in text:
            raise ScenarioError(f"`steer why` does not say that it is paused:\n{text}")
    with user.step("resume, until it is reconciled"):
        user.steer("resume", "website/website-sample", "--yes")
        user.until("it is reconciled", lambda: _message(user) == "while paused")
        user.until("Paused is gone or false", lambda: _condition(user, "Paused") != "True")
    with user.step("pause for 5 s and change it, until it is reconciled by itself") as notes:
        begun = time.monotonic()
        _pause(user, "--for", "5s")
        _change(user, "after a while")
        user.until("it is reconciled", lambda: _message(user) == "after a while")
        if (seconds := time.monotonic() - begun) < 5:  # noqa: PLR2004 - the five above
            raise ScenarioError(f"the pause ended after {seconds:.1f} s")
        notes.append(f"after {seconds:.1f} s")
    _remove(user)


def _pause(user: User, *options: str) -> None:
    user.steer("pause", "website/website-sample", "--yes", *options)


def _change(user: User, message: str, name: str = "website-sample") -> None:
    patch = json.dumps({"spec": {"message": message}})
    user.kubectl("patch", _WEBSITES, name, "--type=merge", "-p", patch)


def _message(user: User, name: str = "website-sample") -> Any:
    return (user.get(_WEBSITES, name) or {}).get("status", {}).get("message")


def _condition(user: User, kind: str) -> str:
    conditions = user.get(_WEBSITES, "website-sample").get("status", {}).get("conditions", ())
    return next((one["status"] for one in conditions if one["type"] == kind), "")


def _reconciles_others(user: User) -> bool:
    website = {"apiVersion": "shop.example.com/v1", "kind": "Website", "metadata": {"name": "other"}}
    path = user.folder / "other.json"
    path.write_text(json.dumps({**website, "spec": {"message": "other"}}))
    user.kubectl("apply", "-f", str(path))
    return bool(_message(user, "other") == "other")


def token_expiry(user: User) -> None:
    """Check that an operator outlives the token that it uses.

    A kubelet renews a token after 80 % of at least ten minutes. To see one expire sooner, the scenario writes tokens of
    the same account, signed with the cluster's own key, into the pod's volume until the operator must have read them.
    """
    _project(user, replicas=1)
    user.steer("samples", "apply", "--yes")
    user.until("it is reconciled", lambda: _message(user) == "hello")
    (pod,) = user.items("pods", "-n", _NAMESPACE)
    good = _token_file(pod).read_text()
    with user.step(f"a token of {_LIFETIME} s, renewed in time: work goes on after its end") as notes:
        short, until = _signed(_LIFETIME, good), time.monotonic() + _LIFETIME + _ACCEPTED
        _keep_token(pod, short, _READ_WITHIN)
        _keep_token(pod, good, until - time.monotonic())
        begun = time.monotonic()
        _reconciles(user, "renewed in time")
        notes.append(f"a change is reconciled after {time.monotonic() - begun:.1f} s")
    with user.step(f"a token of {_LIFETIME} s, renewed late: the server rejects it, then work goes on") as notes:
        short, until = _signed(_LIFETIME, good), time.monotonic() + _LIFETIME + _ACCEPTED
        _keep_token(pod, short, until - time.monotonic())
        _change(user, "renewed late")
        _keep_token(pod, short, 5)
        if _message(user) == "renewed late":
            raise ScenarioError("it was reconciled with an expired token: the scenario does not test what it should")
        _token_file(pod).write_text(good)
        begun = time.monotonic()
        user.until("it is reconciled", lambda: _message(user) == "renewed late")
        notes.append(f"the change is reconciled {time.monotonic() - begun:.1f} s after the renewal")
    _remove(user)


def _token_file(pod: JsonObject) -> Path:
    """Return the file in the pod's volume, as the node sees it; the kubelet replaces the folder that it is in."""
    volumes = Path(os.environ["KUBECONFIG"]).parent / "kubelet" / "pods" / pod["metadata"]["uid"] / "volumes"
    return next(volumes.glob("kubernetes.io~projected/*/token"))


def _keep_token(pod: JsonObject, token: str, seconds: float) -> None:
    """Keep a token in the pod's volume for some seconds, whatever the kubelet writes there."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(FileNotFoundError):  # It is being replaced.
            if (file := _token_file(pod)).read_text() != token:
                file.write_text(token)
        time.sleep(0.2)  # noqa: TID251 - a tool for people, outside the library


def _signed(lifetime: int, like: str) -> str:
    """Return a token with the claims of another one that expires after so many seconds."""
    header, claims, _ = like.split(".")
    now = int(time.time())  # noqa: TID251 - the server compares it with the time of day
    changed = {**json.loads(_decoded(claims)), "iat": now, "nbf": now, "exp": now + lifetime}
    content = f"{header}.{_encoded(json.dumps(changed).encode())}"
    key_file = Path(os.environ["KUBECONFIG"]).parent / "pki" / "service-accounts.key"
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ScenarioError(f"{key_file} is not an EC key")
    numbers = decode_dss_signature(key.sign(content.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{content}.{_encoded(b''.join(number.to_bytes(32, 'big') for number in numbers))}"


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _reconciles(user: User, message: str) -> None:
    _change(user, message)
    user.until("it is reconciled", lambda: _message(user) == message)
