"""Modes of TLS: what members and clients can talk to each other."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steersman import meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec

from mgors.api.mgors_v1 import TlsMode
from mgors.tls import MODES, OPTION, mode_of, next_mode, uses_tls

#: Whether a member of this mode accepts plain and TLS connections, and which kind it opens.
ACCEPTS = {
    "disabled": {"plain"},
    "allowTLS": {"plain", "tls"},
    "preferTLS": {"plain", "tls"},
    "requireTLS": {"tls"},
}
OPENS = {"disabled": "plain", "allowTLS": "plain", "preferTLS": "tls", "requireTLS": "tls"}


def pod(mode: TlsMode) -> Pod:
    """Return a pod of a mode."""
    args = [] if mode == "disabled" else [OPTION, mode]
    return Pod(meta("shop-0"), spec=PodSpec(containers=[Container(name="mongod", args=args)]))


@given(st.sampled_from(MODES), st.lists(st.sampled_from(MODES), min_size=1, max_size=12))
def test_members_and_the_operator_can_always_talk_to_each_other(begin: TlsMode, wishes: list[TlsMode]) -> None:
    """Pods are replaced one by one, and the spec may change its mind at any moment."""
    template, pods = begin, [pod(begin)] * 3
    for number, wanted in enumerate(wishes):
        template = next_mode(template, wanted, pods)
        modes = [mode_of(one.spec) for one in pods]
        for one, other in product([*modes, template], repeat=2):
            assert OPENS[one] in ACCEPTS[other], (modes, template)
        kind = "tls" if uses_tls(template) else "plain"
        assert all(kind in ACCEPTS[mode] for mode in modes)
        pods = [*pods]
        pods[number % 3] = pod(template)


@pytest.mark.parametrize(("begin", "end"), [("disabled", "requireTLS"), ("requireTLS", "disabled")])
def test_every_mode_between_is_taken(begin: TlsMode, end: TlsMode) -> None:
    """Three rolling updates, in either direction."""
    steps = [begin]
    while steps[-1] != end:
        steps.append(next_mode(steps[-1], end, [pod(steps[-1])]))
    assert all(abs(MODES.index(one) - MODES.index(other)) == 1 for one, other in pairwise(steps))
    assert len(steps) == 4
