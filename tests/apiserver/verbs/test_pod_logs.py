import pytest

from steersman.apiserver.messages.info import split_target
from steersman.apiserver.status import Refusal
from steersman.apiserver.verbs.pod_logs import check_log_options


@pytest.mark.parametrize("query", ["", "tailLines=0", "sinceSeconds=5&limitBytes=1", "sinceTime=2030-01-01T00:00:00Z"])
def test_supported_options_are_accepted(query: str) -> None:
    """Clients send any of these."""
    check_log_options(split_target(f"/log?{query}")[1], "p")


@pytest.mark.parametrize(
    ("query", "code", "why"),
    [
        (
            "tailLines=-1",
            422,
            'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
        ),
        ("tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("sinceTime=soon", 400, 'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"'),
    ],
)
def test_invalid_options_are_rejected_before_a_node_is_called(query: str, code: int, why: str) -> None:
    """A node would have to guess; the server reports what is wrong."""
    with pytest.raises(Refusal) as refused:
        check_log_options(split_target(f"/log?{query}")[1], "p")
    assert (refused.value.code, refused.value.message) == (code, why)
