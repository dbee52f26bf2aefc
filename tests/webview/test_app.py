"""The content of each page."""

from typing import Any

import pytest
from msgspec import json

from steersman.errors import ConfigError
from steersman.history.recordings import Recording, Recordings
from steersman.history.records import ObjectName
from steersman.history.state import TreeNode
from steersman.protocol.http import Response
from steersman.testing.fake_clock import FakeClock
from steersman.webview.actions import ACTION_NAMES, Action, Fault, Pause
from tests.support.drafts import drafted
from tests.webview.asking import ask, document, error, view_of
from tests.webview.sample import READY, SampleOperator, showcase
from tests.webview.sample_plan import SamplePlans

WEB = ObjectName("Website", "shop", "web")
STARTED = FakeClock().now()


class RecordingActions:
    """Performs nothing, and records the requested actions."""

    offered = ACTION_NAMES - {"clock"}
    faults = (Fault("conflict", "The next write fails with a conflict."),)

    def __init__(self) -> None:
        self.performed: list[Action] = []

    async def perform(self, action: Action) -> str:
        """Record an action; one on an object without a name fails."""
        if isinstance(action, Pause) and action.seconds is not None and action.seconds < 0:
            raise ConfigError("seconds: -1.0 is negative")
        self.performed.append(action)
        return "Done."

    async def check(self, text: str) -> tuple[str, ...]:
        """Reject an empty text."""
        return () if text else ("the text is empty",)

    async def document(self, name: ObjectName) -> str | None:
        """Return a document for one object."""
        return "kind: Website\n" if name == WEB else None


def test_the_overview_lists_each_problem_by_its_most_serious_reason() -> None:
    """An object that fails and is slowed down is in one list only, and lists are oldest first."""
    page = document(view_of(showcase(FakeClock())), "/api/overview")
    assert {one["name"]: [summary["object"][2] for summary in one["objects"]] for one in page["concerns"]} == {
        "stuck": ["legacy"],
        "failing": ["checkout"],
        "hot": ["landing"],
        "deleting": ["archive"],
        "held": ["cart"],
        "paused": ["winter-sale"],
    }
    assert page["kinds"]["Website"] == {"total": 20, "ready": 15, "not_ready": 3, "failing": 2}
    assert page["overview"]["leadership"]["is_leader"] is True
    assert len(page["activity"]) == 60
    assert page["recent"][0]["object"] == ["Website", "shop", "cart", ""]


def test_the_chart_counts_runs_before_and_after_the_view_started() -> None:
    """A view that is opened because of a problem must show when it began."""
    operator = SampleOperator(FakeClock())
    operator.put(WEB)
    operator.run(WEB, ago=100)
    app = view_of(operator)
    operator.run(WEB)
    runs = [one["runs"] for one in document(app, "/api/overview")["activity"]]
    assert (sum(runs), runs[-1]) == (2, 1)
    app.close()
    operator.run(WEB)
    assert sum(one["runs"] for one in document(app, "/api/overview")["activity"]) == 2


def test_a_view_without_browsers_has_no_records_made() -> None:
    """Making a record costs more than the rest of recording; the chart needs only the number of runs."""
    operator = SampleOperator(FakeClock())
    app, draft = view_of(operator), drafted(operator.run(WEB))
    operator.history.add_draft(draft)
    assert draft.made == 0
    assert sum(one["runs"] for one in document(app, "/api/overview")["activity"]) == 2


def test_an_object_that_exists_in_its_reviews_only_has_a_page() -> None:
    """Its creation was denied, and the page says why."""
    operator = SampleOperator(FakeClock())
    operator.review(WEB, operation="CREATE", is_allowed=False, message="no such tier")
    page = document(view_of(operator), "/api/objects/Website/shop/web")
    assert page["view"]["reviews"][0]["message"] == "no such tier"


def test_an_object_has_the_explanation_of_steer_why() -> None:
    """The command line and the page must never disagree."""
    page = document(view_of(showcase(FakeClock())), "/api/objects/Website/shop/web")
    assert page["sentence"] == (
        "Website shop/web is not ready: 2 of 3 pods are ready, waiting for Pod web-7c9f-x7k2p (Pending: no node fits)."
    )
    assert page["next_run"].startswith("Next run: when Pod web-7c9f-x7k2p changes, or at ")
    assert [run["number"] for run in page["view"]["reconciles"]] == [5, 6, 7, 8]
    assert page["tree"]["children"][0]["children"][0]["children"][2]["detail"] == "Pending: no node fits"


def test_a_large_tree_is_truncated() -> None:
    """An object that owns 5,000 pods must not make a page of 5,000 lines; those that are not ready are seen first."""
    operator = SampleOperator(FakeClock())
    operator.put(WEB)
    pods = [
        TreeNode(object=ObjectName("Pod", "shop", f"pod-{number}"), ready="False" if number > 4990 else "True")
        for number in range(5000)
    ]
    operator.trees[WEB] = TreeNode(object=WEB, children=tuple(pods))
    tree = document(view_of(operator), "/api/objects/Website/shop/web")["tree"]
    assert (len(tree["children"]), tree["more_children"]) == (50, 4950)
    assert [child["ready"] for child in tree["children"]] == ["False"] * 9 + ["True"] * 41
    operator.trees[WEB] = TreeNode(object=WEB, children=tuple(pods[4985:]))
    tree = document(view_of(operator), "/api/objects/Website/shop/web")["tree"]
    assert [child["object"][2] for child in tree["children"]] == [f"pod-{number}" for number in range(4985, 5000)]


def test_a_cluster_scoped_object_is_found() -> None:
    """An empty part of a path would be lost."""
    operator = SampleOperator(FakeClock())
    operator.put(ObjectName("Tenant", "", "a b/c"), conditions=(READY,))
    page = document(view_of(operator), "/api/objects/Tenant/-/a%20b%2Fc")
    assert page["sentence"] == "Tenant a b/c is ready: 3 of 3 pods are ready."


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("/api/objects/Website/shop/none", "Website shop/none does not exist, or the operator does not watch it."),
        ("/api/objects/Website/shop", "The web view has no data named /api/objects/Website/shop."),
        ("/api/objects/Website//web", "The web view has no data named /api/objects/Website//web."),
        ("/api/nothing", "The web view has no data named /api/nothing."),
        ("/api/", "The web view has no data named /api/."),
        ("/nothing", "There is no page /nothing: the web view begins at /."),
        ("/static/../app.py", "There is no page /static/../app.py: the web view begins at /."),
        ("/static//etc/passwd", "There is no page /static//etc/passwd: the web view begins at /."),
        ("//[", "There is no page //[: the web view begins at /."),
        ("/index.html", "There is no page /index.html: the web view begins at /."),
        ("/static/vendor/LICENSE.preact", "There is no page /static/vendor/LICENSE.preact: the web view begins at /."),
    ],
)
def test_a_missing_page_is_one_sentence(target: str, sentence: str) -> None:
    """Nothing but the files of the page is served, and a typo is explained."""
    response = ask(view_of(showcase(FakeClock())), target)
    assert (response.status, error(response)) == (404, sentence)


def test_queues_list_what_comes_next_first() -> None:
    """Running keys, then queued ones, then by time."""
    page = document(view_of(showcase(FakeClock())), "/api/queues")
    assert [one["object"][2] for one in page["keys"]] == [
        "beta",
        "fresh",
        "cart",
        "landing",
        "archive",
        "checkout",
        "web",
        "winter-sale",
        "legacy",
    ]
    assert page["caches"][-1]["reason"].startswith("the server does not serve")


def test_settings_are_those_of_the_caller() -> None:
    """The view does not know options; the command line passes them in."""
    page = document(view_of(SampleOperator(FakeClock()), settings={"workers": "8"}), "/api/settings")
    assert page["settings"] == {"workers": "8"}
    assert page["history_limits"]["per_object"] == 20
    assert page["actions"] == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("target", ["/api/actions", "/api/check", "/api/objects/Website/shop/web", "/"])
@pytest.mark.parametrize("content_type", ["application/json", None])
def test_a_view_without_actions_changes_nothing(method: str, target: str, content_type: str | None) -> None:
    """In production the view must be safe to open; a user who tries learns where actions are possible."""
    body = b'{"action": "clock", "seconds": 1}'
    response = ask(view_of(showcase(FakeClock())), target, method=method, body=body, content_type=content_type)
    assert (response.status, response.header("allow")) == (405, "GET, HEAD")
    if target in ("/api/actions", "/api/check"):
        assert error(response) == "This web view is read-only: objects are changed from the page in `steer dev` only."
    else:
        assert error(response) == f"{target} cannot be changed: {method} is not allowed, only GET and HEAD are."


def test_a_view_with_actions_accepts_them_at_one_path_only() -> None:
    """Any other request is rejected with the path for actions."""
    app = view_of(showcase(FakeClock()), RecordingActions())
    response = ask(app, "/api/overview", method="POST", body=b"{}")
    assert error(response) == "/api/overview cannot be changed: POST is not allowed, only GET and HEAD are."
    response = ask(app, "/api/actions", method="DELETE")
    assert (response.status, response.header("allow")) == (405, "POST")
    assert error(response) == "Actions are sent to /api/actions with POST, not with DELETE."
    assert ask(app, "/api/actions").status == 405


@pytest.mark.parametrize("kind", ["website", "WEBSITE", "websites"])
def test_an_object_is_found_by_any_spelling_of_its_kind(kind: str) -> None:
    """A script writes the kind as for kubectl and `steer why`."""
    app = view_of(showcase(FakeClock()), RecordingActions())
    page = document(app, f"/api/objects/{kind}/shop/web")
    assert page["view"]["object"] == list(WEB)
    assert document(app, f"/api/objects/{kind}/shop/web/yaml") == {"yaml": "kind: Website\n"}
    assert error(ask(app, f"/api/objects/{kind}/shop/none")).startswith("Website shop/none does not exist")


def test_a_head_request_opens_no_stream() -> None:
    """A stream without a body would stay open for nothing."""
    response = ask(view_of(SampleOperator(FakeClock())), "/api/stream", method="HEAD")
    assert (response.status, response.header("content-type")) == (200, "text/event-stream")


def _act(app: Any, **action: Any) -> Any:
    return ask(app, "/api/actions", method="POST", body=json.encode(action))


def test_an_action_is_performed_and_answered_with_a_sentence() -> None:
    """It arrives as a typed value."""
    actions = RecordingActions()
    app = view_of(showcase(FakeClock()), actions)
    response = _act(app, action="pause", object=list(WEB), seconds=60)
    assert (response.status, json.decode(response.body)) == (200, {"done": "Done."})
    assert actions.performed == [Pause(WEB, 60.0)]
    assert document(app, "/api/settings")["faults"][0]["name"] == "conflict"


@pytest.mark.parametrize(
    ("action", "status", "sentence"),
    [
        ({"action": "explode"}, 400, "This is not an action: Invalid value 'explode' - at `$.action`."),
        ({}, 400, "This is not an action: Object missing required field `action`."),
        ({"action": "clock", "seconds": 5}, 403, "This operator does not offer the action clock."),
        ({"action": "pause", "object": list(WEB), "seconds": -1}, 422, "seconds: -1.0 is negative"),
    ],
)
def test_an_action_that_fails_is_one_sentence(action: dict[str, Any], status: int, sentence: str) -> None:
    """The page shows the sentence unchanged."""
    actions = RecordingActions()
    response = _act(view_of(showcase(FakeClock()), actions), **action)
    assert (response.status, error(response)) == (status, sentence)
    assert actions.performed == []


def test_a_text_is_validated_without_writing() -> None:
    """The form shows the server's own errors while the user types."""
    actions = RecordingActions()
    app = view_of(showcase(FakeClock()), actions)

    def check(body: bytes) -> Any:
        return json.decode(ask(app, "/api/check", method="POST", body=body).body)

    assert check(b'{"text": ""}') == {"problems": ["the text is empty"]}
    assert check(b'{"text": "kind: Website"}') == {"problems": []}
    assert check(b"[]")["error"].startswith("This is not a text to check: ")
    assert ask(view_of(showcase(FakeClock())), "/api/check", method="POST", body=b'{"text": ""}').status == 405
    assert actions.performed == []


def test_a_plan_is_made_on_request() -> None:
    """Also in production, where it shows what the operator does by itself; a text is planned in development only."""
    plans = SamplePlans()

    def plan(body: bytes, actions: RecordingActions | None = None) -> Response:
        return ask(view_of(showcase(FakeClock()), actions, plans=plans), "/api/plan", method="POST", body=body)

    for actions in (None, RecordingActions()):
        assert json.decode(plan(b"{}", actions).body)["summary"]["replaces"] == 1
        assert json.decode(plan(b'{"resume": true}', actions).body)["proposed"][0]["name"] == "winter-sale"
        assert error(plan(b"[]", actions)).startswith("This is not a request for a plan: ")
    refused = plan(b'{"text": "kind: Website"}')
    assert (refused.status, len(plans.asked)) == (403, 4)
    assert plan(b'{"text": "kind: Website"}', RecordingActions()).status == 200
    rejected = plan(b'{"text": "nothing"}', RecordingActions())
    assert (rejected.status, error(rejected)) == (422, "line 1: the object has no kind")


def test_a_plan_is_not_made_by_a_link_or_a_form() -> None:
    """It costs CPU and dry runs: another page of the same browser must not be able to begin one."""
    plans = SamplePlans()
    app = view_of(showcase(FakeClock()), plans=plans)
    assert ask(app, "/api/plan").status == 405
    for headers, status in (
        ({"authorization": None}, 401),
        ({"origin": "http://evil.example"}, 403),
        ({"content_type": "text/plain"}, 415),
    ):
        assert ask(app, "/api/plan", method="POST", body=b"{}", **headers).status == status
    assert plans.asked == []
    assert ask(view_of(showcase(FakeClock())), "/api/plan", method="POST", body=b"{}").status == 404
    assert document(app, "/api/settings")["plans"] is True
    assert document(view_of(showcase(FakeClock())), "/api/settings")["plans"] is False


def test_the_text_of_an_object_is_shown_where_it_can_be_edited() -> None:
    """A record contains no object; only `steer dev` returns whole documents."""
    app = view_of(showcase(FakeClock()), RecordingActions())
    assert document(app, "/api/objects/Website/shop/web/yaml") == {"yaml": "kind: Website\n"}
    assert ask(app, "/api/objects/Website/shop/none/yaml").status == 404
    assert ask(view_of(showcase(FakeClock())), "/api/objects/Website/shop/web/yaml").status == 404


def test_lines_of_all_objects_are_computed_once_a_second() -> None:
    """Ten open pages must not cost an operator of 10,000 objects ten times as much."""
    operator = SampleOperator(FakeClock())
    app = view_of(operator)
    operator.put(WEB)
    assert len(document(app, "/api/objects")) == 1
    operator.put(ObjectName("Website", "shop", "other"))
    assert len(document(app, "/api/objects")) == 1
    assert isinstance(app._clock, FakeClock)
    app._clock._elapsed += 1.0
    assert len(document(app, "/api/objects")) == 2


def test_a_recorded_reconcile_is_offered_as_a_test() -> None:
    """Also in a view without actions: it only reads."""
    operator = showcase(FakeClock())
    operator.recorded = Recordings()
    app = view_of(operator)
    assert document(app, "/api/objects/Website/shop/web")["recorded"] == []
    assert error(ask(app, "/api/objects/Website/shop/web/test?number=7")) == (
        "Reconcile 7 of Website shop/web is not recorded: "
        "`steer dev` records, and `steer run --record`, the newest ones."
    )
    recording = Recording(object=WEB, controller="website", operator="web.main:operator", number=7, started=STARTED)
    operator.recorded.add(recording)
    assert document(app, "/api/objects/Website/shop/web")["recorded"] == [7]
    test = document(app, "/api/objects/website/shop/web/test?number=7")
    assert test["file"] == "test_website_shop_web_reconcile_7.py"
    assert "from web.main import operator" in test["source"]
    assert document(app, "/api/objects/Website/shop/web/test") == test
    assert ask(app, "/api/objects/Website/shop/web/test?number=8").status == 404
    assert ask(app, "/api/objects/Website/test").status == 404


@pytest.mark.parametrize("name", ["yaml", "test"])
def test_an_object_may_be_called_like_a_part_of_its_page(name: str) -> None:
    """The path of an object ends with its name."""
    operator = SampleOperator(FakeClock())
    operator.put(ObjectName("Website", "shop", name), conditions=(READY,))
    app = view_of(operator, RecordingActions())
    assert document(app, f"/api/objects/Website/shop/{name}")["sentence"].startswith(f"Website shop/{name} is ready")
