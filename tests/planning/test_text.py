"""A plan as people and programs read it."""

from steersman.history.differences import field_changes
from steersman.history.records import FieldChange, ObjectName, Result
from steersman.objects.codec import encode_json
from steersman.planning.comparison import compare, comparison_text
from steersman.planning.document import plan_document, read_objects
from steersman.planning.plan import Action, Change, Plan, PlannedObject, SkippedCall, of_definitions
from steersman.planning.text import plan_text


def change(action: Action, kind: str, name: str, before: object = None, after: object = None) -> Change:
    """Return a change, with the fields that differ."""
    documents = [one if isinstance(one, dict) else {} for one in (before, after)]
    return Change(
        action=action,
        object=ObjectName(kind, "default", name),
        api_version="v1",
        fields=field_changes(*documents, limit=100)[0],
        before=b"" if before is None else encode_json(before),
        after=b"" if after is None else encode_json(after),
    )


def image(name: str) -> dict[str, object]:
    """Return a Deployment with one image."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def planned(name: str, *changes: Change, **fields: object) -> PlannedObject:
    """Return what is planned for a CustomPod."""
    known = {"controller": "custompod", "object": ObjectName("CustomPod", "default", name), "changes": changes}
    return PlannedObject(**{**known, **fields})  # type: ignore[arg-type]


PLAN = Plan(
    operators=("custompod",),
    objects=(
        planned(
            "a",
            change(Action.CHANGE, "Deployment", "web", image("app:1"), image("app:2")),
            change(Action.CREATE, "ConfigMap", "web-config", None, {"data": {"a": "", "b": "", "c": ""}}),
        ),
        planned("b"),
    ),
    calls=(SkippedCall("https://dns.example.com", "POST", 2),),
    seconds=1.42,
)


def plan_of(*objects: PlannedObject) -> Plan:
    """Return a plan of objects."""
    return Plan(operators=("o",), objects=objects)


def test_the_text_is_that_of_the_guide() -> None:
    """Names in a column, a field with what it was and is, a summary that counts."""
    assert plan_text(PLAN).splitlines() == [
        "CustomPod default/a",
        "  ~ Deployment web        spec.template.spec.containers[main].image  app:1 → app:2",
        "  + ConfigMap web-config  3 keys",
        "CustomPod default/b  no changes",
        "2 objects planned in 1.4 s: 1 create, 1 change, 0 deletes. Nothing was written.",
        "Not called: 2 requests to https://dns.example.com (POST).",
    ]


def test_colours_mark_the_signs_only() -> None:
    """A plan that is piped into a file has none."""
    text = plan_text(PLAN, lambda sign, colour: f"<{colour} {sign}>")
    assert "  <yellow ~> Deployment web  " in text
    assert "  <green +> ConfigMap web-config" in text


def test_a_condition_is_one_line_and_times_are_left_out() -> None:
    """Its reason and message change with it, and so does the time, which says nothing."""
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "Waiting",
        "message": "0 of 1",
        "lastTransitionTime": "1",
    }
    ready = {**condition, "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2"}
    one = change(
        Action.CHANGE, "CustomPod", "a", {"status": {"conditions": [condition]}}, {"status": {"conditions": [ready]}}
    )
    text = plan_text(Plan(operators=("o",), objects=(planned("a", one),)))
    assert text.splitlines()[1] == "  ~ CustomPod a  status.conditions[Ready]  False (Waiting): 0 of 1 → True (Done)"


def test_long_plans_are_short() -> None:
    """Objects without changes are counted, and so are fields beyond a dozen."""
    after = {"data": {f"key-{number}": "x" for number in range(40)}}
    fields = tuple(FieldChange(f"data.{key}", "", "x") for key in after["data"])
    many = Change(action=Action.CHANGE, object=ObjectName("ConfigMap", "default", "a"), api_version="v1", fields=fields)
    objects = (planned("a", many), *(planned(f"b{number}") for number in range(30)))
    lines = plan_text(Plan(operators=("o",), objects=objects)).splitlines()
    assert len(lines) == 15
    assert lines[-2].endswith("and 28 more fields")
    assert lines[-1].startswith("31 objects planned in 0.0 s: 0 creates, 1 change, 0 deletes, 30 without changes.")


def test_failures_are_counted_and_explained() -> None:
    """They make the plan incomplete."""
    failed = planned("a", result=Result.FAILED, message="KeyError: 'x'")
    restless = planned("b", is_at_rest=False, runs=25)
    plan = Plan(operators=("o",), objects=(failed, restless))
    text = plan_text(plan)
    assert "  ! fails: KeyError: 'x'" in text
    assert "  ! does not come to rest: still changes something after 25 runs" in text
    assert "2 failures" in text
    assert (plan.is_empty, plan.exit_code) == (False, 1)


def test_a_document_can_be_read_again() -> None:
    """Another version of the operator prints it, and this one compares."""
    document = plan_document(PLAN)
    assert document["summary"]["creates"] == 1
    assert compare(PLAN.objects, read_objects(document)) == ()


def test_a_comparison_names_what_only_one_version_does() -> None:
    """Uids and times are different in any two plans, and no difference between versions."""
    old = planned("a", change(Action.CREATE, "ConfigMap", "a", None, {"data": {"v": "1"}, "metadata": {"uid": "1"}}))
    new = planned("a", change(Action.CREATE, "ConfigMap", "a", None, {"data": {"v": "2"}, "metadata": {"uid": "2"}}))
    found = compare([new, planned("b")], [old, planned("b")])
    assert comparison_text(found, "../old").splitlines() == [
        "CustomPod default/a",
        "  only in ../old:",
        "    + ConfigMap a  data.v 1",
        "  only here:",
        "    + ConfigMap a  data.v 2",
        "1 object is planned differently. Nothing was written.",
    ]
    assert compare([old], [old]) == ()


def test_an_object_that_only_one_version_creates_is_one_line() -> None:
    """A reader wants to know that it is new, not each of its fields; one that both create shows what differs."""
    maps = {f"key-{number}": "x" for number in range(40)}
    both = [change(Action.CREATE, "ConfigMap", "b", None, {"data": {**maps, "v": version}}) for version in "12"]
    only = change(Action.CREATE, "ConfigMap", "a", None, {"data": maps})
    [found] = compare([planned("a", only, both[1])], read_objects(plan_document(plan_of(planned("a", both[0])))))
    assert found.only_here == ("+ ConfigMap a  40 keys", "+ ConfigMap b  data.v 2")
    assert found.only_there == ("+ ConfigMap b  data.v 1",)
    [mirrored] = compare([planned("a", both[0])], read_objects(plan_document(plan_of(planned("a", only, both[1])))))
    assert (mirrored.only_here, mirrored.only_there) == (found.only_there, found.only_here)


def test_a_comparison_keeps_reconcilers_of_one_name_apart() -> None:
    """Two operators in one plan may call them alike: the second must not hide the first."""
    one, two = (planned("a", change(Action.CREATE, "ConfigMap", name)) for name in "12")
    assert compare([one, two], [one, two]) == ()
    [found] = compare([one, two], [two])
    assert found.only_here == ("+ ConfigMap 1",)


def test_a_comparison_names_a_crd_that_only_one_version_changes() -> None:
    """A stricter CRD is the first thing that an upgrade must show."""
    name = "CustomResourceDefinition"
    stricter = change(Action.CHANGE, name, "pods", {"maxLength": 200}, {"maxLength": 3})
    plan = Plan(operators=("o",), changes=(stricter,))
    found = compare(of_definitions(plan.changes), read_objects(plan_document(Plan(operators=("o",)))))
    assert [line for one in found for line in one.only_here] == ["~ CustomResourceDefinition pods  maxLength 200 → 3"]
    assert compare(of_definitions(plan.changes), read_objects(plan_document(plan))) == ()
