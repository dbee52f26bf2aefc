"""Modes of TLS: what members and clients can talk to each other."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet, StatefulSetSpec
from steersman.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector

from mgors.api.mgors_v1 import TlsMode
from mgors.tls import MODES, OPTION, mode_of, next_mode, template_mode, uses_tls

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


class _Set:
    """A StatefulSet whose controller reads the template later than the operator writes it."""

    def __init__(self, mode: TlsMode) -> None:
        """Create it with three pods."""
        self.template = self.read = mode
        self.pods: list[TlsMode] = [mode] * 3
        self.replicas = 3

    def reconcile(self, wanted: TlsMode) -> None:
        """Write the template as the operator does."""
        template = PodTemplateSpec(spec=pod(self.template).spec)
        spec = StatefulSetSpec(replicas=self.replicas, selector=LabelSelector(), template=template)
        existing = StatefulSet(meta("shop"), spec=spec)
        pods = [pod(mode) for mode in self.pods]
        self.template = next_mode(template_mode([existing], wanted, pods), wanted, pods)

    def act(self, what: str) -> None:
        """Do one thing that is not up to the operator."""
        match what:
            case "controller reads":
                self.read = self.template
            case "controller creates" if len(self.pods) < self.replicas:
                self.pods.append(self.read)
            case "pod deleted":
                self.pods = self.pods[1:]
            case "all pods deleted":
                self.pods = []


_ACTS = st.sampled_from(["controller reads", "controller creates", "pod deleted", "all pods deleted"])


@given(st.sampled_from(MODES), st.lists(st.tuples(st.sampled_from(MODES), _ACTS), max_size=30))
def test_no_mode_is_skipped_while_pods_are_deleted_and_created(
    begin: TlsMode, events: list[tuple[TlsMode, str]]
) -> None:
    """A drained node or a person deletes all pods at once; the controller creates them from a template of before."""
    found = _Set(begin)
    for wanted, what in events:
        found.reconcile(wanted)
        found.act(what)
        for one, other in product(found.pods, repeat=2):
            assert OPENS[one] in ACCEPTS[other], (found.pods, found.template)


def test_a_stopped_set_starts_with_the_wanted_mode() -> None:
    """No pod of another mode can appear, so nothing has to be replaced."""
    found = _Set("disabled")
    found.replicas = 0
    found.act("all pods deleted")
    found.reconcile("requireTLS")
    assert found.template == "requireTLS"


@pytest.mark.parametrize(("begin", "end"), [("disabled", "requireTLS"), ("requireTLS", "disabled")])
def test_every_mode_between_is_taken(begin: TlsMode, end: TlsMode) -> None:
    """Three rolling updates, in either direction."""
    steps = [begin]
    while steps[-1] != end:
        steps.append(next_mode(steps[-1], end, [pod(steps[-1])]))
    assert all(abs(MODES.index(one) - MODES.index(other)) == 1 for one, other in pairwise(steps))
    assert len(steps) == 4
