from typing import Any

from tests.apiserver.api import Api

Document = dict[str, Any]
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def _volume(name: str, **spec: Any) -> Document:
    source = {} if {"csi", "local"} & spec.keys() else {"hostPath": {"path": "/data"}}
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **source, **spec},
    }


async def _causes(api: Api, path: str, document: Document) -> list[tuple[str, str]]:
    answer = await api.ask("POST", path, document)
    return [(cause["field"], cause["message"][:60]) for cause in answer["details"]["causes"]]


async def test_a_local_volume_needs_an_affinity_and_a_driver_a_valid_name() -> None:
    """A volume that is not local needs no affinity, even if it has a second source that is."""
    api = Api()
    assert await _causes(api, VOLUMES, _volume("a", local={"path": "/mnt"})) == [
        ("spec.nodeAffinity", "Required value: Local volume requires node affinity")
    ]
    assert await _causes(api, VOLUMES, _volume("a", local={"path": "/mnt"}, nodeAffinity={})) == [
        ("spec.nodeAffinity.required", "Required value: must specify required node constraints")
    ]
    both = _volume("b", local={"path": "/mnt"}, hostPath={"path": "/data"})
    assert [field for field, _ in await _causes(api, VOLUMES, both)] == ["spec.local"]
    assert [field for field, _ in await _causes(api, VOLUMES, _volume("c", csi={"driver": "X_"}))] == [
        "spec.csi.driver",
        "spec.csi.volumeHandle",
    ]


async def test_the_affinity_of_a_volume_changes_only_to_the_successor_of_a_label() -> None:
    """Administrators replace beta labels; any other change would move the volume."""
    api = Api()

    def affinity(key: str) -> Document:
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": ["a"]}]}
        return {"required": {"nodeSelectorTerms": [term]}}

    old, new = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
    assert (await api.send("POST", VOLUMES, _volume("a", nodeAffinity=affinity(old)))).status == 201
    rejected = await api.ask("PUT", f"{VOLUMES}/a", _volume("a", nodeAffinity=affinity("other")))
    assert [cause["field"] for cause in rejected["details"]["causes"]] == ["nodeAffinity"]
    assert (await api.send("PUT", f"{VOLUMES}/a", _volume("a", nodeAffinity=affinity(new)))).status == 200


async def test_a_status_without_a_phase_is_pending_and_a_new_phase_has_a_time() -> None:
    """Controllers measure how long a volume has been in its phase."""
    api = Api()
    made = await api.ask("POST", VOLUMES, _volume("a"))
    patch = {"metadata": {"name": "a"}, "status": {"phase": "Available"}}
    answer = await api.ask("PUT", f"{VOLUMES}/a/status", {**made, "status": patch["status"]})
    assert answer["status"]["lastPhaseTransitionTime"]
    answer = await api.ask("PUT", f"{VOLUMES}/a/status", {**answer, "status": {"message": "m"}})
    assert answer["status"]["phase"] == "Pending"


async def test_the_topologies_of_a_class_are_validated() -> None:
    """Each term has keys that are labels, values, and differs from the others."""
    term = {"matchLabelExpressions": [{"key": "bad key", "values": []}]}
    causes = await _causes(
        Api(), CLASSES, {"metadata": {"name": "c"}, "provisioner": "x.dev", "allowedTopologies": [term, term]}
    )
    assert {field for field, _ in causes} == {
        "allowedTopologies[0].matchLabelExpressions[0].values",
        "allowedTopologies[0].matchLabelExpressions[0].key",
        "allowedTopologies[1].matchLabelExpressions[0].values",
        "allowedTopologies[1].matchLabelExpressions[0].key",
        "allowedTopologies[1].matchLabelExpressions",
    }


async def test_a_class_of_attributes_has_parameters_that_do_not_change() -> None:
    """Volumes that were made with them would differ from their class."""
    api, path = Api(), "/apis/storage.k8s.io/v1/volumeattributesclasses"
    rejected = await api.ask("POST", path, {"metadata": {"name": "v"}, "driverName": "x.dev"})
    assert rejected["message"].endswith("parameters: Required value: must contain at least one key/value pair")
    made = {"metadata": {"name": "v"}, "driverName": "x.dev", "parameters": {"a": "1"}}
    assert (await api.send("POST", path, made)).status == 201
    rejected = await api.ask("PUT", f"{path}/v", {**made, "parameters": {"a": "2"}})
    assert rejected["message"].endswith("parameters: Forbidden: updates to parameters are forbidden.")
