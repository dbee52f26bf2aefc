from collections.abc import Iterable

import pytest

from tests.contract.not_covered import NOT_COVERED
from tests.contract.recordings import (
    Sequence,
    builtin_sequences,
    kubectl_requests,
    patch_sequences,
    single_requests,
)
from tests.contract.replay import Replay

PATCHES = ("update", "merge_patch", "json_patch", "apply_custom", "apply_builtin", "strategic_patch")


async def check(file: str, sequences: Iterable[Sequence]) -> None:
    """Replay sequences; exactly the steps that are listed as not covered must differ."""
    listed = {
        (sequence, step): reason
        for sequence, steps in NOT_COVERED.get(file, {}).items()
        for step, reason in steps.items()
    }
    different: dict[tuple[str, str], list[str]] = {}
    for sequence in sequences:
        if sequence.needs_controllers:
            continue
        for step, differences in (await Replay(sequence).run()).items():
            different[sequence.name, step] = differences
    unexpected = {place: texts[:3] for place, texts in different.items() if place not in listed}
    assert not unexpected
    assert not [place for place in listed if place not in different], "these are covered now: take them off the list"


@pytest.mark.parametrize("file", PATCHES)
async def test_applies_patches_and_updates_are_answered_as_recorded(file: str) -> None:
    """Objects, managedFields, conflicts and errors are compared field by field with a real server's."""
    await check(file, patch_sequences(file))


async def test_lifecycles_are_answered_as_recorded() -> None:
    """Operators depend on deletes, finalizers, generations, selectors, paging and watches."""
    await check("lifecycle", builtin_sequences("lifecycle"))


async def test_defaults_and_initial_statuses_are_those_recorded() -> None:
    """The fields that an author leaves out, and the status of a new object."""
    await check("defaults", builtin_sequences("defaults"))


async def test_tables_are_those_recorded() -> None:
    """`kubectl get` prints the rows of the server: for 30 kinds, and pods in every state."""
    await check("tables", builtin_sequences("tables"))


async def test_errors_are_those_recorded() -> None:
    """Messages and causes of more than 500 errors: authors read them, and tools parse their fields."""
    await check("validation", builtin_sequences("validation"))


async def test_http_is_answered_as_recorded() -> None:
    """Clients of every language depend on paths, media types and the errors of broken bodies."""
    await check("http", builtin_sequences("http"))


async def test_single_requests_are_answered_as_recorded() -> None:
    """The requests from which we learned how the endpoint of a custom resource behaves."""
    await check("requests", [single_requests()])


async def test_requests_of_kubectl_are_answered_as_recorded() -> None:
    """Every exchange of 78 kubectl commands, protobuf bodies included."""
    await check("kubectl", [kubectl_requests()])
