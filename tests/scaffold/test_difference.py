"""Diffs of what a write would change."""

from typing import Any

from steersman.scaffold.difference import difference


def config(**data: str) -> dict[str, Any]:
    """Make a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def secret(**data: str) -> dict[str, Any]:
    """Make a Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": data}


def test_only_what_changes_is_marked() -> None:
    """A diff is read by people."""
    text = difference("a", config(a="1", b="2"), config(a="1", b="3"))
    assert [line for line in text.splitlines() if line[:2] in ("+ ", "- ")] == ['-  b: "2"', '+  b: "3"']


def test_order_and_what_the_server_keeps_for_itself_are_no_change() -> None:
    """Otherwise every dry run would be full of noise."""
    now = config(x="1", y="2")
    now["metadata"] |= {"resourceVersion": "7", "uid": "u", "managedFields": []}
    assert difference("a", now, config(y="2", x="1")) == ""


def test_what_is_not_there_yet_is_all_new() -> None:
    """And what goes is all old."""
    assert "+kind: ConfigMap" in difference("a", None, config())
    assert "-kind: ConfigMap" in difference("a", config(), None)


def test_values_of_secrets_are_never_shown() -> None:
    """A diff ends up in the logs of a CI; that they differ may be known, what they are not."""
    old, new = secret(same="canary1", other="canary2"), secret(same="canary1", other="canary3")
    old["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "canary4"}
    text = difference("a", old, new)
    assert "canary" not in text
    assert "-  other: '*** (now)'" in text
    assert "+  other: '*** (then)'" in text
    assert "same: '***'" in text
    assert old["data"]["other"] == "canary2"
