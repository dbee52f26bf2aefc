"""The tool behind `make difference`: it reports differences between servers, not delays of a busy machine."""

from collections.abc import Callable

from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.protocol.http import Request, Response
from steersman.transport.in_memory import InMemoryTransport
from tests.contract.difference.operation import NAMESPACE, Operation
from tests.contract.difference.peers import AGENT
from tests.contract.difference.run import ScenarioRunner
from tests.contract.difference.scenario import Scenario, scenario

CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
LIST = Scenario(
    "a list",
    [Operation(0, "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}), Operation(1, "GET", CONFIG_MAPS)],
)


class OtherServer(InMemoryTransport):
    """A server that answers some requests differently."""

    def __init__(self, is_different: Callable[[Request], bool]) -> None:
        clock = RealClock()
        super().__init__(ApiServer(clock=clock), clock=clock, headers={"user-agent": AGENT})
        self._is_different = is_different

    async def request(self, request: Request, *, timeout: float | None = 10.0) -> Response:  # noqa: ASYNC109 - as declared
        """Reject what is to be different."""
        if self._is_different(request):
            return Response(503, {}, b"{}")
        return await super().request(request, timeout=timeout)


def _is_list(request: Request) -> bool:
    return request.method == "GET" and request.target.endswith("/configmaps")


async def test_a_difference_that_shows_again_is_reported() -> None:
    """This is what the tool is for."""
    runner = ScenarioRunner(OtherServer(_is_list), "x")
    played = await runner.play(LIST)
    assert len(played.differences) == 1
    assert len(await runner.repeat([played])) == 1


async def test_a_difference_that_does_not_show_again_is_not_reported() -> None:
    """A server on a busy machine takes in a definition late, or delivers an event late."""
    late = [True]
    runner = ScenarioRunner(OtherServer(lambda request: _is_list(request) and bool(late) and late.pop()), "x")
    played = await runner.play(LIST)
    assert len(played.differences) == 1
    assert await runner.repeat([played]) == []


def test_equal_seeds_make_equal_scenarios_in_any_run() -> None:
    """`--scenario 368` runs what a long run ran under that number: scenarios once changed the values they share."""
    alone = repr(scenario("20261116", 368, 50))
    for number in range(150, 170):
        scenario("20261116", number, 50)
    assert repr(scenario("20261116", 368, 50)) == alone
