"""Authorization and admission, compared with the recorded decisions of a real server."""

from collections.abc import Iterable

from tests.contract.admission_replay import AdmissionReplay, admission_sequences
from tests.contract.not_covered import NOT_COVERED
from tests.contract.recordings import Sequence, builtin_sequences
from tests.contract.replay import Replay


async def _check(file: str, sequences: Iterable[Sequence], replay: type[Replay]) -> None:
    """Replay sequences; exactly the steps that are listed as not covered must differ."""
    listed = {(sequence, step) for sequence, steps in NOT_COVERED.get(file, {}).items() for step in steps}
    different = {
        (sequence.name, step): differences[:3]
        for sequence in sequences
        for step, differences in (await replay(sequence).run()).items()
    }
    assert {place: texts for place, texts in different.items() if place not in listed} == {}
    assert listed <= set(different), "some of these are covered now: take them off the list"


async def test_access_is_decided_as_recorded() -> None:
    """Roles, bindings, reviews, tokens and impersonation protect users from each other: every answer counts."""
    await _check("authz", builtin_sequences("authz"), Replay)


async def test_admission_and_conversion_happen_as_recorded() -> None:
    """Webhooks are called, obeyed and rejected as by a real server, and policies decide alike."""
    await _check("admission", admission_sequences(), AdmissionReplay)
