"""Go operators of other projects, built from their modules; only on request, because that takes minutes."""

import os

import pytest

from tools.simulate_binaries.__main__ import CASES, Case, simulate

pytestmark = pytest.mark.skipif(
    not os.environ.get("STEERSMAN_GO_OPERATORS"), reason="STEERSMAN_GO_OPERATORS=1 builds Go operators and runs them"
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_known_bug_is_found_again_and_nothing_else_where_none_is_known(case: Case) -> None:
    """What Sieve found with an instrumented client-go in a cluster is found from outside the program."""
    report = simulate(case, parallel=2)
    assert case.is_as_expected(report), report.text()
