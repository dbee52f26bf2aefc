import pytest

from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.options import delete_options, list_options, write_options
from steersman.apiserver.status import Refusal


def query(**values: str) -> Query:
    """Return query parameters."""
    return Query({name: [value] for name, value in values.items()})


def rejected(**values: str) -> str:
    """Return the message with which a list is rejected."""
    with pytest.raises(Refusal) as caught:
        list_options(query(**values))
    return caught.value.message


def test_a_match_needs_a_version() -> None:
    """The rules for lists, with the messages of the server."""
    assert "forbidden unless resourceVersion is provided" in rejected(resourceVersionMatch="Exact")
    assert 'forbidden for resourceVersion "0"' in rejected(resourceVersionMatch="Exact", resourceVersion="0")
    assert "sendInitialEvents is forbidden for list" in rejected(sendInitialEvents="true")


def test_initial_events_need_a_match() -> None:
    """The rules for watches: ignoring one would hang informers."""
    assert "requires setting resourceVersionMatch to NotOlderThan" in rejected(watch="1", sendInitialEvents="true")
    assert "forbidden for watch unless sendInitialEvents" in rejected(watch="1", resourceVersionMatch="NotOlderThan")


def test_an_apply_needs_a_manager_and_only_an_apply_may_be_forced() -> None:
    """An owner needs a name."""
    with pytest.raises(Refusal, match="is required for apply patch"):
        write_options(query(), "PatchOptions", applying=True)
    with pytest.raises(Refusal, match="may not be specified for non-apply patch"):
        write_options(query(force="true"), "PatchOptions", applying=False)
    assert write_options(query(fieldManager="m", force="true"), "PatchOptions", applying=True).force


def test_a_bad_option_names_its_kind() -> None:
    """The same error, under three names."""
    for kind in ("CreateOptions", "UpdateOptions", "PatchOptions"):
        with pytest.raises(Refusal) as caught:
            write_options(query(dryRun="Some"), kind)
        assert caught.value.message.startswith(f'{kind}.meta.k8s.io "" is invalid: dryRun')


def test_the_body_of_a_delete_overrides_its_parameters() -> None:
    """Recorded: of the two, the body counts."""
    options = delete_options(query(propagationPolicy="Background"), {"propagationPolicy": "Foreground"})
    assert options.policy == "Foreground"
    assert delete_options(query(propagationPolicy="Orphan"), None).policy == "Orphan"


def test_a_policy_and_its_old_spelling_exclude_each_other() -> None:
    """They could contradict each other."""
    with pytest.raises(Refusal, match="cannot be both set"):
        delete_options(query(), {"propagationPolicy": "Background", "orphanDependents": True})
