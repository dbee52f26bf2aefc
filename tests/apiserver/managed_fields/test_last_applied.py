from typing import Any

from steersman.apiserver.builtin.types import type_of
from steersman.apiserver.managed_fields.last_applied import ANNOTATION, annotation_of, refreshed, unchanged_since
from steersman.objects.identity import GroupVersionKind

CONFIG_MAP = type_of(GroupVersionKind("", "v1", "ConfigMap"))


def config_map(data: dict[str, str], annotation: str = "") -> dict[str, Any]:
    """Return an object with the annotation."""
    metadata = {"name": "x", "annotations": {ANNOTATION: annotation}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_kubectl_owns_fields_until_they_are_changed() -> None:
    """What it applied on the client side it may take over on the server side without a conflict."""
    applied = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","b":"1","gone":"1"}}'
    live = config_map({"a": "1", "b": "changed", "new": "1"}, applied)
    assert unchanged_since(live, CONFIG_MAP)["f:data"] == {"f:a": {}}


def test_an_invalid_annotation_is_ignored() -> None:
    """Any client can write it."""
    broken = ["", "{", "[]", '{"apiVersion":"v2"}', '{"apiVersion":"v1","data":{"a":1}}', '{"apiVersion":"v1","x":1}']
    for annotation in broken:
        assert unchanged_since(config_map({"a": "1"}, annotation), CONFIG_MAP) == {}


def test_the_annotation_does_not_contain_itself() -> None:
    """Otherwise it would double in length with every apply."""
    config = config_map({"a": "<1>"}, "old")
    result = refreshed(config_map({"a": "0"}, "older"), config)
    assert annotation_of(result) == (
        '{"apiVersion":"v1","data":{"a":"\\u003c1\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"name":"x"}}\n'
    )


def test_an_annotation_that_is_too_long_is_left_out() -> None:
    """An apply must not fail because of an annotation about it."""
    result = refreshed(config_map({}, "old"), config_map({"a": "x" * 300_000}))
    assert annotation_of(result) == ""
    assert result["metadata"]["annotations"] == {}
