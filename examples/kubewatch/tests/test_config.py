"""Configuration files of the original kubewatch."""

from pathlib import Path

import pytest
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Secret
from steersman.protocol import load_objects
from steersman.testing import Cluster

from kubewatch.api.watcher_v1 import Watcher
from kubewatch.config import objects_of
from kubewatch.config_file import NAME
from kubewatch.main import operator

SEES_EVERYTHING = Path(__file__).parent / "sees_everything.yaml"
FILE = """
namespace: red
handler:
  slack: {token: xoxb-1, channel: "#ops"}
  webhook: {url: "http://hooks.example.com/in"}
  msteams: {webhookurl: ""}
  smtp:
    smarthost: "mail.example.com:587"
    from: k8s@example.com
    to: ops@example.com, more@example.com
    auth: {username: robot, password: hunter2}
resource:
  deployment: true
  po: true
  secret: false
  node: true
customresources:
  - {group: gadgets.example.com, version: v1, resource: gadgets}
labelselectors: {pod: "app=web"}
"""


def test_a_file_becomes_a_watcher_and_a_secret() -> None:
    """Existing files keep working; passwords move to a Secret."""
    secret, watcher = objects_of(FILE, "w", "blue")
    assert isinstance(secret, Secret)
    assert isinstance(watcher, Watcher)
    assert secret.string_data == {"slack": "xoxb-1", "smtp": "hunter2"}
    resources = [(str(one.gvr), one.namespace, one.label_selector) for one in watcher.spec.resources]
    assert resources == [
        ("deployments.v1.apps", "red", ""),
        ("pods.v1", "red", "app=web"),
        ("nodes.v1", "", ""),
        ("gadgets.v1.gadgets.example.com", "red", ""),
    ]
    assert [one.type for one in watcher.spec.handlers] == ["slack", "webhook", "smtp"]
    mail = watcher.spec.handlers[2]
    assert mail.url == "smtp://robot@mail.example.com:587"
    assert mail.recipients == ["ops@example.com", "more@example.com"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resource: {po: true}", "no handler"),
        ("handler: {webhook: {url: http://a}}", "no resource"),
        ("handler: {flock: {url: http://a}}\nresource: {po: true}", "flock"),
        ("resource: {gadget: true}", "gadget"),
        ("handler: {slack: {token: a}}\nresource: {po: true}", "channel"),
        ("- a\n- b", "invalid configuration"),
        ("a: [", "invalid configuration"),
    ],
)
def test_an_invalid_file_is_rejected_with_a_reason(text: str, message: str) -> None:
    """An unknown name is more likely a mistake than intended."""
    with pytest.raises(ConfigError, match=message):
        objects_of(text, "w", "default")


async def test_a_file_is_applied_whenever_it_changes(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the operator starts; an invalid file changes nothing."""
    monkeypatch.setattr("kubewatch.config_file.CHECK_EVERY", 0.01)
    file = tmp_path / "kubewatch.yaml"
    file.write_text("handler: {webhook: {url: http://a}}\nresource: {ns: true}")
    monkeypatch.setenv("KUBEWATCH_CONFIG", str(file))

    def watched() -> list[str]:
        return [str(resource.gvr) for one in cluster.list(Watcher) for resource in one.spec.resources]

    for obj in load_objects(SEES_EVERYTHING.read_bytes(), source=SEES_EVERYTHING.name):
        await cluster.client.apply(obj)
    async with cluster.running(operator):
        await cluster.eventually(lambda: watched() == ["namespaces.v1"])
        assert [one.name for one in cluster.list(Watcher)] == [NAME]
        file.write_text("resource: [")
        file.write_text("handler: {webhook: {url: http://a}}\nresource: {ns: true, node: true}")
        await cluster.eventually(lambda: watched() == ["namespaces.v1", "nodes.v1"])
