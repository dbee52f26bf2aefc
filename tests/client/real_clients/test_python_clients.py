"""Other client libraries, unchanged. The output of each scenario is the same as on a real kube-apiserver v1.36.4."""

from tests.client.real_clients.conftest import RunningServer
from tests.client.real_clients.kubectl_recording import GOLDEN

CRD = str(GOLDEN / "widgets-crd.yaml")


def test_kubernetes_works(running_server: RunningServer) -> None:
    """The official client sends bodies without a media type, its own patches, and uses its dynamic client, too."""
    assert running_server.script("with_kubernetes", CRD) == [
        "version v1.36.4",
        "pages 3 25 True",
        "selected 12 [{'n': '7'}]",
        "patched {'m': 'x'}",
        "stale 409 Conflict",
        "deleted ConfigMapList 12",
        "created {'color': 'red', 'max': 5, 'replicas': 1} 1",
        "status {'phase': 'Ready'} green 3",
        (
            "watched [('MODIFIED', 'blue'), ('MODIFIED', 'green'), ('MODIFIED', 'green'), ('MODIFIED', 'green'), "
            "('DELETED', 'green')]"
        ),
        "refused 422 True",
        "applied test Apply",
    ]


def test_leader_election_of_kubernetes_fails_over(running_server: RunningServer) -> None:
    """Locks need leases with conflicts: one leader at a time, and another when the first stops."""
    assert running_server.script("with_kubernetes_election") == [
        "leading first",
        "leading second",
        "holder second None",
    ]


def test_kubernetes_asyncio_works(running_server: RunningServer) -> None:
    """A watch that is open while objects change receives each change once, in order."""
    assert running_server.script("with_kubernetes_asyncio", CRD) == [
        (
            "watched [('ADDED', 'w0'), ('ADDED', 'w1'), ('ADDED', 'w2'), ('ADDED', 'w3'), ('ADDED', 'w4'), "
            "('ADDED', 'w5'), ('ADDED', 'w6'), ('DELETED', 'w0')]"
        ),
        "pages 4 2 2",
        "selected 3 0",
        "patched blue {'phase': 'Ready'}",
        "pod 7 Pending Always",
    ]


def test_lightkube_works(running_server: RunningServer) -> None:
    """It needs no discovery, reads lists in chunks, and uses server-side apply with conflicts."""
    assert running_server.script("with_lightkube", CRD) == [
        "listed 9 ['m1', 'm4', 'm7'] ['m5']",
        "status {'phase': 'Ready'} {'a': 'b'}",
        "conflict 409 .spec.color",
        "forced green",
        (
            "watched [('MODIFIED', 'blue'), ('MODIFIED', 'blue'), ('MODIFIED', 'blue'), ('MODIFIED', 'green'), "
            "('MODIFIED', 'green')]"
        ),
        "got {'k': 'v'}",
    ]


def test_kr8s_works(running_server: RunningServer) -> None:
    """It requests paths that end with a slash, discovers every group, and reads pages of a hundred."""
    assert running_server.script("with_kr8s", CRD) == [
        "version v1.36.4 True",
        "listed 105 10 ['w003']",
        "patched blue Ready yes",
        "exists True",
        "watched [('ADDED', 'm'), ('DELETED', 'm')]",
    ]


def test_an_operator_written_with_kopf_reconciles(running_server: RunningServer) -> None:
    """An operator of another framework must behave as on a cluster: status, finalizer, events."""
    assert running_server.script("with_kopf", CRD) == [
        "created ['demo.dev/kopf']",
        "updated",
        "deleted w is cleaned up",
        "ended 0",
    ]
