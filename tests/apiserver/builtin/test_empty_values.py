from steersman.apiserver.builtin.go_structs import struct
from steersman.golang.empty_values import GivenList, GivenMap, ShownList, put_back, same_content, without_empties
from steersman.validation.wire_types import Reading


def test_what_was_given_empty_is_marked_only_when_asked_for() -> None:
    """Whoever does not know of the marks must never meet one."""
    given = {"metadata": {"name": "a"}, "binaryData": {}}
    marking, plain = Reading(keeps_empty=True), Reading()
    assert struct("core/v1.ConfigMap").read(given, "", marking)["binaryData"].__class__ is GivenMap
    assert marking.has_empty
    assert "binaryData" not in struct("core/v1.ConfigMap").read(given, "", plain)


def test_a_document_without_marks_is_the_same_document() -> None:
    """Most objects have none: they are not copied."""
    document = {"spec": {"containers": [{"name": "a"}]}}
    assert without_empties(document) is document


def test_a_list_that_is_always_written_is_null_once_it_is_stored() -> None:
    """A Role answers with null for rules that were given empty, but shows an empty list when it goes at once."""
    role = {"rules": ShownList(), "spec": {"items": GivenList(), "kept": 1}}
    assert without_empties(role) == {"rules": None, "spec": {"kept": 1}}
    assert without_empties(role, keeps_lists=True) == {"rules": [], "spec": {"kept": 1}}


def test_marks_come_back_only_where_nothing_has_come_since() -> None:
    """What a webhook sets meanwhile counts more than what the client left empty."""
    given = {"spec": {"rules": GivenList(), "tls": GivenList(), "gone": {"deep": GivenMap()}}}
    obj = {"spec": {"tls": [{"hosts": ["a.dev"]}]}}
    put_back(obj, given)
    assert obj == {"spec": {"rules": [], "tls": [{"hosts": ["a.dev"]}]}}


def test_empty_and_none_are_one_content() -> None:
    """Most kinds count no generation when a client writes an empty list where there was none."""
    assert same_content({"a": 1, "b": GivenList()}, {"a": 1})
    assert same_content(GivenMap(), None)
    assert not same_content({"a": {}}, {})
