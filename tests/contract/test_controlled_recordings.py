import pytest

from tests.contract.recordings import Sequence, builtin_sequences
from tests.contract.replay import Replay

_WORKLOADS = "pods, ReplicaSets and Jobs are created by workload controllers, not by the API server"
#: Sequences that need more than the controllers of the server, with the reason.
ELSEWHERE = {
    "gc-deployment-orphan": _WORKLOADS,
    "job-complete": _WORKLOADS,
    "job-failed": _WORKLOADS,
    "replicaset-adopt-release": _WORKLOADS,
    "pdb-eviction": _WORKLOADS,
}
#: Steps that differ on purpose.
ORDER = {
    ("gc-foreground", 0): "dependents are deleted in the order of their creation; a real collector has no order",
    ("namespace-content", 3): "recorded without the admission plugin that mounts tokens of service accounts",
}
CONTROLLED = [sequence for sequence in builtin_sequences("lifecycle") if sequence.needs_controllers]
KEPT = [sequence for sequence in CONTROLLED if sequence.name not in ELSEWHERE]


@pytest.mark.parametrize("sequence", KEPT, ids=lambda sequence: sequence.name)
async def test_controllers_act_on_objects_as_recorded(sequence: Sequence) -> None:
    """Garbage collection and the deletion of namespaces are compared with those of a kube-controller-manager."""
    found = await Replay(sequence).run()
    on_purpose = {place for place in found if (sequence.name, int(place.split(maxsplit=1)[0])) in ORDER}
    assert not {place: texts for place, texts in found.items() if place not in on_purpose}


async def test_all_events_of_a_foreground_delete_arrive_in_any_order() -> None:
    """The one step that may differ must differ only in the order of two dependents."""
    (sequence,) = [sequence for sequence in KEPT if sequence.name == "gc-foreground"]
    replay = Replay(sequence)
    await replay.run()
    events = replay._results["0"].response
    told = [(event["type"], event["object"]["metadata"]["name"]) for event in events]
    assert told == [("MODIFIED", "o"), ("DELETED", "d1"), ("DELETED", "d2"), ("DELETED", "o")]
    recorded = [(event["type"], event["object"]["metadata"]["name"]) for event in sequence.steps[0].response]
    assert sorted(recorded) == sorted(told)
