"""Operations on field sets, compared with plain sets of paths."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apiserver.managed_fields import field_set
from steersman.apiserver.managed_fields.field_set import Fields

Path = tuple[str, ...]

ELEMENTS = ["f:a", "f:b", 'k:{"name":"x"}', 'v:"1"']
path_sets = st.sets(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple), max_size=8)


def tree(paths: Iterable[Path]) -> Fields:
    """Return paths as a tree, by the definition."""
    root: Fields = {}
    for path in paths:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return {element: _tidy(node) for element, node in root.items()}


def _tidy(node: Fields) -> Fields:
    below = {element: _tidy(inner) for element, inner in node.items() if element != "."}
    if not below:
        return {}
    return {".": {}, **below} if "." in node else below


def members(fields: Fields, prefix: Path = ()) -> set[Path]:
    """Return the paths of a tree."""
    found = set()
    for element, node in fields.items():
        if element == ".":
            continue
        if not node or "." in node:
            found.add((*prefix, element))
        found |= members(node, (*prefix, element))
    return found


@settings(deadline=None)
@given(path_sets, path_sets)
def test_operations_are_those_of_sets(left: set[Path], right: set[Path]) -> None:
    """A member and its children are independent paths; only the recursive difference includes children."""
    one, other = tree(left), tree(right)
    before = repr((one, other))
    assert field_set.union(one, other) == tree(left | right)
    assert field_set.intersection(one, other) == tree(left & right)
    assert field_set.difference(one, other) == tree(left - right)
    assert field_set.is_subset(one, other) == (left <= right)
    below = {path for path in left if any(path[: len(top)] == top for top in right)}
    assert field_set.recursive_difference(one, other) == tree(left - below)
    assert repr((one, other)) == before


@settings(deadline=None)
@given(path_sets)
def test_a_tree_has_exactly_its_paths(paths: set[Path]) -> None:
    """A set that is read from the wire and written again must be the same."""
    assert members(tree(paths)) == paths
    assert field_set.parse(tree(paths)) == tree(paths)


def test_paths_are_listed_in_a_stable_order() -> None:
    """A conflict lists them: equal conflicts have equal messages, with members before the paths below them."""
    fields = {
        "f:spec": {
            "f:ports": {'k:{"port":80}': {".": {}, "f:name": {}}, 'k:{"port":9}': {}},
            "f:tags": {"v:10": {}, 'v:"a"': {}, "v:2": {}},
            "f:color": {},
            "f:list": {"i:3": {}},
        }
    }
    assert list(field_set.paths(fields)) == [
        ".spec.color",
        ".spec.list[3]",
        ".spec.ports[port=80]",
        ".spec.ports[port=80].name",
        ".spec.ports[port=9]",
        '.spec.tags[="a"]',
        ".spec.tags[=10]",
        ".spec.tags[=2]",
    ]


def test_field_sets_of_clients_are_normalised_without_unknown_elements() -> None:
    """Clients may order keys and format JSON as they like; elements of future versions are ignored."""
    sent = {"f:l": {'k:{"b": 1, "a": "<"}': {".": {}}}, "x:future": {}, "f:gone": {"x:future": {}}}
    assert field_set.parse(sent) == {"f:l": {'k:{"a":"\\u003c","b":1}': {}}}


@pytest.mark.parametrize("sent", ["x", [], {"f:a": 1}, {"k:{": {}}, {"i:x": {}}, {"v:": {}}, {"a": {}}, {"k:1": {}}])
def test_an_invalid_field_set_is_rejected(sent: object) -> None:
    """The server then keeps the owners it knew."""
    with pytest.raises(ValueError, match=r"."):
        field_set.parse(sent)
