"""A plan as people and programs read it."""

from steersman.history.differences import field_changes
from steersman.history.records import FieldChange, ObjectName, Result
from steersman.objects.codec import encode_json
from steersman.planning.comparison import compare, compare_plans, comparison_document, comparison_text
from steersman.planning.document import ReadPlan, plan_document, read_objects, read_plan
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
    found = compare_plans(plan_of(new, planned("b")), ReadPlan((old, planned("b"))))
    assert comparison_text(found, "../old").splitlines() == [
        "CustomPod default/a",
        "  only in ../old:",
        "    + ConfigMap a  data.v 1",
        "  only here:",
        "    + ConfigMap a  data.v 2",
        "1 object is planned differently. Nothing was written.",
    ]
    assert compare([old], [old]) == ()


def test_a_comparison_compares_what_the_lines_cut() -> None:
    """A second container of a new Deployment, and the end of a long text: lines show 60 characters, but all counts."""

    def version(*containers: str, end: str) -> PlannedObject:
        spec = {"containers": [{"name": f"c{number}", "image": one} for number, one in enumerate(containers)]}
        after = {"spec": {"template": {"spec": spec}}, "data": {"conf": "a" * 70 + end}}
        return planned("a", change(Action.CREATE, "Deployment", "a", None, after))

    long = "registry.example.com/a/very/long/name/of/an/image:1"
    one, two = version(long, "second:1", end="x"), version(long, "second:2", end="y")
    (found,) = compare([one], [two])
    assert found.only_here == (
        "+ Deployment a  spec.template.spec.containers[1].image second:1",
        "+ Deployment a  data.conf …aaaaaaaaaax",
    )
    assert compare([one], [one]) == ()


def test_a_comparison_names_calls_that_only_one_version_makes() -> None:
    """A version that announces to another system does more than one that does not, also without any change."""
    calls = (SkippedCall("https://dns.example.com", "POST"), SkippedCall("redis", "set the master", 2))
    one, two = planned("a", calls=calls), planned("a", calls=calls[:1])
    found = compare_plans(plan_of(one), read_plan(plan_document(plan_of(two))))
    assert [line.only_here for line in found.differences] == [("not called: redis, set the master (2 times)",)]
    assert found.exit_code == 2
    assert compare_plans(plan_of(one), read_plan(plan_document(plan_of(one)))).differences == ()


def test_a_comparison_says_what_it_does_not_know() -> None:
    """Notes of both plans, what was left out, and why both fail: all this is no difference, but must be read."""
    failed = planned("a", result=Result.FAILED, message="KeyError: 'x'")
    here = Plan(operators=("o",), objects=(failed,), notes=("not here",), left_out=3, has_side_effects=True)
    there = Plan(operators=("o",), objects=(failed,), notes=("not there",))
    found = compare_plans(here, read_plan(plan_document(there)))
    written = "Nothing was written by the plan, see the notes."
    assert comparison_text(found, "../old").splitlines() == [
        "CustomPod default/a",
        "  in both: ! KeyError: 'x'",
        f"The operator here and the one in ../old fail in the same way (3 left out). {written}",
        "Note: not here.",
        "Note, in ../old: not there.",
    ]
    assert found.exit_code == 1
    document = comparison_document(found, "../old")
    name = {"kind": "CustomPod", "namespace": "default", "name": "a"}
    assert document["failures"] == [{"object": name, "message": "KeyError: 'x'"}]
    assert (document["notesHere"], document["notesThere"]) == (["not here"], ["not there"])
    assert document["summary"]["leftOut"] == 3


def test_the_images_of_a_new_object_are_shown() -> None:
    """Those of its containers, however deep they are."""
    spec = {
        "template": {"spec": {"containers": [{"name": "a", "image": "app:1"}], "initContainers": [{"image": "i:2"}]}}
    }
    made = change(Action.CREATE, "Deployment", "a", None, {"spec": spec})
    assert "  + Deployment a  app:1, i:2" in plan_text(plan_of(planned("a", made)))


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


def pod(name: str, role: str) -> Change:
    """Return the creation of a pod with a generated name."""
    metadata = {"name": f"a-{name}", "generateName": "a-", "labels": {"role": role}}
    return change(Action.CREATE, "Pod", f"a-{name}", None, {"metadata": metadata, "spec": {"host": f"a-{name}.pods"}})


def names(*ends: str) -> Change:
    """Return a change of a list of names, which is cut within the last one."""
    text = ",".join(f"a-{end}" for end in ends)
    fields = (FieldChange("status.pods", "", text), FieldChange("status.cut", "", f"{text[:-2]}…"))
    return Change(action=Action.CHANGE, object=ObjectName("Site", "default", "a"), api_version="v1", fields=fields)


def test_names_that_a_server_draws_are_no_difference() -> None:
    """Two plans of the same version do the same, whatever the pods are called; one pod more is a difference."""
    one = planned("a", pod("x7k2p", "old"), pod("b1c2d", "new"), names("b1c2d", "x7k2p"))
    two = planned("a", pod("zzzzz", "new"), pod("yyyyy", "old"), names("zzzzz", "yyyyy"))
    assert compare([one], read_objects(plan_document(plan_of(two)))) == ()
    [found] = compare([planned("a", *one.changes, pod("qqqqq", "third"))], [two])
    assert (found.only_here, found.only_there) == (("+ Pod a-<3>",), ())


def test_addresses_that_a_server_draws_are_no_difference() -> None:
    """A dry run of a Service gets another address each time; a headless one is another Service."""
    one, two, none = (
        planned("a", change(Action.CREATE, "Service", "web", None, {"spec": {"clusterIP": ip, "clusterIPs": [ip]}}))
        for ip in ("10.0.0.1", "10.0.0.2", "None")
    )
    assert compare([one], [two]) == ()
    [found] = compare([one], [none])
    assert found.only_there[0] == "+ Service web  spec.clusterIP None"


def test_the_time_of_a_plan_is_no_difference() -> None:
    """Also where its field is called otherwise, and inside of a list."""
    one, two, other = (
        planned("a", change(Action.CREATE, "Task", "a", None, {"status": {"done": at, "log": [{"at": at, "no": no}]}}))
        for at, no in (("2026-11-16T20:33:20Z", 1), ("2026-11-16T20:33:21.5Z", 1), ("2026-11-16T20:33:21Z", 2))
    )
    assert compare([one], [two]) == ()
    [found] = compare([one], [other])
    assert found.only_here == ('+ Task a  status.log [{"at":"<time>","no":1}]',)


def test_passwords_that_are_drawn_are_no_difference() -> None:
    """A Secret that is created has another content in each plan; another key is a difference, and so is a change."""

    def secret(action: Action, **data: str) -> Change:
        fields = tuple(FieldChange(f"data.{key}", "", f"<hash {value}>") for key, value in data.items())
        name = ObjectName("Secret", "default", "login")
        return Change(action=action, object=name, api_version="v1", fields=fields)

    def copied(value: str) -> Change:
        return change(Action.CHANGE, "ConfigMap", "url", {"data": {}}, {"data": {"url": f"db://<hash {value}>@host"}})

    one, two = (planned("a", secret(Action.CREATE, password=value), copied(value)) for value in ("1", "2"))
    assert compare([one], [two]) == ()
    [found] = compare([planned("a", secret(Action.CREATE, password="1", token="3"), copied("1"))], [two])
    assert found.only_here == ("+ Secret login  data.token <data.token>",)
    changed = [planned("a", secret(Action.CHANGE, password=value)) for value in ("1", "2")]
    assert len(compare(changed[:1], changed[1:])) == 1


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
