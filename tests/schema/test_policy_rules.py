"""Which rules a CRD can contain, and how the others are written for a policy."""

from typing import Annotated

import pytest

from steersman import Model, Operator, Resource, Status, custom_resource
from steersman.errors import DeclarationError
from steersman.objects.registry import Registry
from steersman.schema import Rule
from steersman.schema.crd import crd_of, policy_rules_of
from steersman.schema.policy_rules import PlacedRule, is_for_policy, message_expression, names_in, policy_expression
from steersman.webhook.registration.policies import policy_objects


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("self.a < self.b", {"self"}),
        ("self == oldSelf || 'admins' in request.userInfo.groups", {"self", "oldSelf", "request"}),
        ("self.items.all(request, request > 0)", {"self"}),
        ("self.request.object", {"self"}),
        ("'request' == self", {"self"}),
        ("has(object.spec) && self.x.exists(i, i == oldObject.y)", {"object", "self", "oldObject"}),
        ("self ==", set()),
    ],
)
def test_free_names_of_an_expression_are_found(expression: str, names: set[str]) -> None:
    """A field, a text or a variable of the same name is not the request."""
    assert names_in(expression) == names


@pytest.mark.parametrize(
    ("expression", "for_policy"),
    [
        ("self.spec.min <= self.spec.max", False),
        ("self.spec.size >= oldSelf.spec.size", False),
        ("self.metadata.name.startsWith('a')", False),
        ("has(self.metadata.labels) && 'team' in self.metadata.labels", True),
        ("authorizer.group('').resource('pods').check('list').allowed()", True),
        ("namespaceObject.metadata.name != 'kube-system'", True),
        ("request.operation == 'CREATE'", True),
    ],
)
def test_a_rule_is_put_into_the_crd_if_possible(expression: str, *, for_policy: bool) -> None:
    """Closer to the value the message is better, and fewer objects are needed."""
    assert is_for_policy(Rule(expression)) is for_policy


def test_a_field_called_metadata_is_not_the_metadata() -> None:
    """Only a whole object has one."""
    assert not is_for_policy(Rule("self.metadata.labels == 'x'"), is_root=False)


def test_a_rule_about_a_field_is_rewritten_for_the_whole_object() -> None:
    """As in a CRD it does not apply without a value, now or before."""
    rule = Rule("self == oldSelf || request.userInfo.username == self", "no", message_expression="'no, ' + self")
    placed = PlacedRule(rule, ("spec", "in-charge"))
    assert policy_expression(placed) == (
        "!(has(object.spec) && has(object.spec.in__dash__charge) && oldObject != null && has(oldObject.spec) && "
        "has(oldObject.spec.in__dash__charge)) || (object.spec.in__dash__charge == oldObject.spec.in__dash__charge || "
        "request.userInfo.username == object.spec.in__dash__charge)"
    )
    assert message_expression(placed) == "'no, ' + object.spec.in__dash__charge"


def test_a_rule_about_a_whole_object_needs_no_guard() -> None:
    """It stays as it was written."""
    assert policy_expression(PlacedRule(Rule("self.spec.a == request.name"))) == "object.spec.a == request.name"


def test_an_optional_old_value_is_an_optional_in_a_policy_too() -> None:
    """A rule that also applies to new objects keeps its meaning."""
    rule = Rule("oldSelf.orValue(self) == self || request.dryRun", optional_old_self=True)
    assert policy_expression(PlacedRule(rule, ("spec",))) == (
        "!(has(object.spec)) || ((oldObject != null && has(oldObject.spec) ? optional.of(oldObject.spec) : "
        "optional.none()).orValue(object.spec) == object.spec || request.dryRun)"
    )


class DockSpec(Model):
    """The desired state."""

    size: Annotated[int, Rule("self > 0", "must be positive")] = 1
    owner: Annotated[str, Rule("self == oldSelf || request.userInfo.username == oldSelf", "it is not yours")] = ""


@custom_resource(
    "docks.example.com/v1",
    rules=[Rule("has(self.metadata.labels)", "needs labels"), Rule("self.metadata.name != 'x'", "not x")],
    into=Registry(),
)
class Dock(Resource[DockSpec, Status]):
    """A dock."""


def test_each_rule_of_a_class_is_used_once() -> None:
    """In the CRD or in a policy, never in both or none."""
    schema = crd_of(Dock)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]["properties"]
    assert [rule["message"] for rule in schema["x-kubernetes-validations"]] == ["not x"]
    assert [rule["message"] for rule in spec["size"]["x-kubernetes-validations"]] == ["must be positive"]
    assert "x-kubernetes-validations" not in spec["owner"]
    assert [(placed.rule.message, placed.path) for placed in policy_rules_of(Dock)] == [
        ("needs labels", ()),
        ("it is not yours", ("spec", "owner")),
    ]


def test_a_rule_about_the_request_inside_a_list_is_rejected_with_advice() -> None:
    """A policy sees the whole object and could not name the item."""

    class Spec(Model):
        items: list[Annotated[str, Rule("self == request.userInfo.username", "not you")]] = []

    @custom_resource("lists.example.com/v1", into=Registry())
    class Listed(Resource[Spec, Status]):
        """A list."""

    with pytest.raises(DeclarationError, match=r"Listed.*spec\.items\.\*.*@custom_resource\(rules="):
        crd_of(Listed)


def test_a_rule_that_no_server_would_accept_is_rejected_by_name() -> None:
    """The error comes before the operator is deployed."""
    operator = Operator("docks")
    operator.rule(Dock, Rule("request.userInfo.username =="))
    with pytest.raises(DeclarationError, match=r"the rule 'request\.userInfo\.username ==' about"):
        policy_objects("docks", [], operator)
