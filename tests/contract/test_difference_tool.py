"""The tool behind `make difference`: what it reports is a difference between servers, not of the machine's mood."""

from collections.abc import Callable

from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.protocol.http import Request, Response
from steersman.transport.in_memory import InMemoryTransport
from tests.contract.difference.operation import NAMESPACE, Operation
from tests.contract.difference.peers import AGENT
from tests.contract.difference.run import Theatre
from tests.contract.difference.story import Story, story

CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
LIST = Story(
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
    theatre = Theatre(OtherServer(_is_list), "x")
    played = await theatre.play(LIST)
    assert len(played.differences) == 1
    assert len(await theatre.repeat([played])) == 1


async def test_a_difference_that_does_not_show_again_is_not_reported() -> None:
    """A server on a busy machine takes in a definition late, or delivers an event late."""
    late = [True]
    theatre = Theatre(OtherServer(lambda request: _is_list(request) and bool(late) and late.pop()), "x")
    played = await theatre.play(LIST)
    assert len(played.differences) == 1
    assert await theatre.repeat([played]) == []


def test_equal_seeds_tell_equal_stories_whatever_was_told_before() -> None:
    """`--story 368` plays what a long run played under that number: stories once changed the values they share."""
    alone = repr(story("20261116", 368, 50))
    for number in range(150, 170):
        story("20261116", number, 50)
    assert repr(story("20261116", 368, 50)) == alone
