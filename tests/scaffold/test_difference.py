"""Diffs of the changes that a write would make."""

from typing import Any

from steersman.scaffold.difference import difference


def config(**data: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def secret(**data: str) -> dict[str, Any]:
    """Return a Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": data}


def test_only_changes_are_marked() -> None:
    """A diff is read by people."""
    text = difference("a", config(a="1", b="2"), config(a="1", b="3"))
    assert [line for line in text.splitlines() if line[:2] in ("+ ", "- ")] == ['-  b: "2"', '+  b: "3"']


def test_order_and_fields_of_the_server_are_not_changes() -> None:
    """Otherwise every dry run would be full of noise."""
    now = config(x="1", y="2")
    now["metadata"] |= {"resourceVersion": "7", "uid": "u", "managedFields": []}
    assert difference("a", now, config(y="2", x="1")) == ""


def test_a_new_object_is_completely_new() -> None:
    """And a deleted one is completely old."""
    assert "+kind: ConfigMap" in difference("a", None, config())
    assert "-kind: ConfigMap" in difference("a", config(), None)


def test_values_of_secrets_are_never_shown() -> None:
    """A diff ends up in the logs of a CI: it may show that they differ, but not the values."""
    old, new = secret(same="canary1", other="canary2"), secret(same="canary1", other="canary3")
    old["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "canary4"}
    text = difference("a", old, new)
    assert "canary" not in text
    assert "-  other: '*** (now)'" in text
    assert "+  other: '*** (then)'" in text
    assert "same: '***'" in text
    assert old["data"]["other"] == "canary2"
