"""Validation, defaults and rules as users of the cluster see them; in process, without TLS."""

import asyncio
from typing import Annotated, Any

import pytest

from steersman import (
    Admission,
    Deny,
    Forbidden,
    Invalid,
    Model,
    Operator,
    Resource,
    Status,
    Unstructured,
    custom_resource,
    meta,
)
from steersman.client.client import Client
from steersman.errors import ApiError, DeclarationError, InternalError
from steersman.kinds.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingWebhookConfiguration,
)
from steersman.kinds.core_v1 import ConfigMap, Namespace
from steersman.schema import Rule
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock


class QuotaSpec(Model):
    """The desired state."""

    limit: Annotated[int, Rule("self <= 100", "at most 100")] = 0
    tags: list[str] = []
    tier: Annotated[
        str,
        Rule("self == oldSelf || 'admins' in request.userInfo.groups", "only admins change the tier"),
    ] = "small"


@custom_resource("quota.example.com/v1")
class Quota(Resource[QuotaSpec, Status]):
    """The limit of a user."""


async def _rejected(client: Client, obj: Quota | ConfigMap) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await client.create(obj)
    return refused.value


async def test_a_function_denies_and_says_which_field(cluster: Cluster) -> None:
    """The main purpose of a validating webhook."""
    operator = Operator("quota")

    @operator.validate(Quota)
    def positive(quota: Quota, _: Admission[Quota]) -> None:
        if quota.spec.limit < 0:
            raise Deny("must not be negative", field="spec.limit")

    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("good"), QuotaSpec(limit=1)))
        error = await _rejected(cluster.client, Quota(meta("bad"), QuotaSpec(limit=-1)))
    assert isinstance(error, Invalid)
    assert "spec.limit: must not be negative" in error.message
    assert [cause.field for cause in error.causes] == ["spec.limit"]
    assert [quota.name for quota in cluster.list(Quota)] == ["good"]


async def test_a_denial_without_a_field_is_forbidden(cluster: Cluster) -> None:
    """Missing permission differs from an invalid value."""
    operator = Operator("quota")

    @operator.validate(ConfigMap)
    async def never(_: ConfigMap, admission: Admission[ConfigMap]) -> None:
        raise Deny(f"{admission.user.name} may not {admission.operation}")

    async with cluster.running(operator):
        error = await _rejected(cluster.client, ConfigMap(meta("a")))
    assert isinstance(error, Forbidden)
    assert error.message.endswith("denied the request: admin may not CREATE")


async def test_an_update_has_the_old_object_and_a_delete_the_deleted_one(cluster: Cluster) -> None:
    """Both are typed, and both are the function's own copies."""
    operator = Operator("quota")
    seen: list[tuple[str, int, int | None]] = []

    @operator.validate(Quota, on=["CREATE", "UPDATE", "DELETE"])
    def look(quota: Quota, admission: Admission[Quota]) -> None:
        old = admission.old.spec.limit if admission.old is not None else None
        seen.append((admission.operation, quota.spec.limit, old))
        quota.spec.limit = 99

    async with cluster.running(operator):
        quota = await cluster.client.create(Quota(meta("a"), QuotaSpec(limit=1)))
        quota.spec.limit = 2
        quota = await cluster.client.update(quota)
        assert quota.spec.limit == 2
        await cluster.client.delete(quota)
    assert seen == [("CREATE", 1, None), ("UPDATE", 2, 1), ("DELETE", 2, 2)]


async def test_a_default_is_a_patch_of_what_the_function_changed(cluster: Cluster) -> None:
    """Fields that the class does not know survive, as they do in an update."""
    operator = Operator("quota")

    @operator.default(Quota)
    def fill(quota: Quota, _: Admission[Quota]) -> None:
        quota.spec.limit = quota.spec.limit or 10
        quota.spec.tags.append("seen")
        quota.labels["quota"] = "yes"

    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("a"), QuotaSpec(tags=["mine"])))
        [made] = cluster.list(Quota)
    assert (made.spec.limit, made.spec.tags, made.labels) == (10, ["mine", "seen"], {"quota": "yes"})


async def test_defaults_come_before_validation(cluster: Cluster) -> None:
    """The validated object is the one that will be stored."""
    operator = Operator("quota")

    @operator.default(Quota)
    def fill(quota: Quota, _: Admission[Quota]) -> None:
        quota.spec.limit = 7

    @operator.validate(Quota)
    def check(quota: Quota, _: Admission[Quota]) -> None:
        if quota.spec.limit != 7:
            raise Deny(f"saw {quota.spec.limit}")

    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("a")))


async def test_a_default_runs_again_when_another_webhook_changed_the_object(cluster: Cluster) -> None:
    """Two operators complete each other's work, in any order."""
    first, second = Operator("a-labels"), Operator("b-limits")
    calls: list[str] = []

    @first.default(Quota)
    def label(quota: Quota, _: Admission[Quota]) -> None:
        calls.append("label")
        quota.labels["size"] = "big" if quota.spec.limit > 5 else "small"

    @second.default(Quota)
    def limit(quota: Quota, _: Admission[Quota]) -> None:
        calls.append("limit")
        quota.spec.limit = 10

    async with cluster.running(first, second):
        quota = await cluster.client.create(Quota(meta("a")))
    assert calls == ["label", "limit", "label", "limit"]  # each sees the change of the other
    assert quota.labels == {"size": "big"}


async def test_a_dry_run_is_visible_and_stores_nothing(cluster: Cluster) -> None:
    """A function with effects elsewhere must know."""
    operator = Operator("quota")
    seen: list[bool] = []

    @operator.validate(Quota)
    def look(_: Quota, admission: Admission[Quota]) -> None:
        seen.append(admission.dry_run)

    async with cluster.running(operator):
        await cluster.client.dry_run().create(Quota(meta("a")))
        await cluster.client.create(Quota(meta("b")))
    assert seen == [True, False]
    assert [quota.name for quota in cluster.list(Quota)] == ["b"]


async def test_warnings_reach_the_user_who_writes(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Users see what kubectl prints, programs what our client logs; one line each, whatever the function wrote."""
    operator = Operator("quota")

    @operator.validate(Quota)
    def complain(_: Quota, admission: Admission[Quota]) -> None:
        admission.warn("limits are\n  going away")
        admission.warn("x" * 300)
        if admission.operation == "UPDATE":
            raise Deny("no")

    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("a")))
    warnings = [
        record.getMessage() for record in caplog.records if "warning from the API server" in record.getMessage()
    ]
    assert warnings[0].endswith("limits are going away")
    assert warnings[1].endswith(f"{'x' * 255}…")


async def test_a_function_that_fails_rejects_the_write_and_is_logged_with_the_uid(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The user sees where to look; the secret stays in the operator's log."""
    operator = Operator("quota")

    @operator.validate(Quota)
    def broken(quota: Quota, _: Admission[Quota]) -> None:
        raise KeyError(f"password of {quota.name}")

    async with cluster.running(operator):
        error = await _rejected(cluster.client, Quota(meta("a")))
    assert isinstance(error, InternalError)
    [logged] = [record for record in caplog.records if record.name == "steersman.webhook" and record.exc_info]
    uid = vars(logged)["uid"]
    assert f"broken failed with KeyError: the operator's log has it under uid {uid}" in error.message
    assert "password" not in error.message
    assert cluster.list(Quota) == []


async def test_with_failure_policy_ignore_a_failing_function_allows_writes(cluster: Cluster) -> None:
    """Optional checks are not worth an outage; a denial still counts."""
    operator = Operator("quota")

    @operator.validate(Quota, failure="Ignore")
    def advise(quota: Quota, _: Admission[Quota]) -> None:
        if quota.spec.limit == 1:
            raise Deny("one is refused")
        raise RuntimeError("a bug")

    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("a")))
        await _rejected(cluster.client, Quota(meta("b"), QuotaSpec(limit=1)))
    assert [quota.name for quota in cluster.list(Quota)] == ["a"]


@pytest.mark.parametrize(("failure", "stored"), [("Fail", []), ("Ignore", ["a"])])
async def test_a_function_that_takes_too_long_follows_the_policy(
    cluster: Cluster, fake_clock: FakeClock, failure: Any, stored: list[str]
) -> None:
    """A write waits as long as was declared, and no longer."""
    operator = Operator("quota")

    @operator.validate(Quota, timeout=2, failure=failure)
    async def sleepy(_: Quota, __: Admission[Quota]) -> None:
        await fake_clock.sleep(60)

    async with cluster.running(operator), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_outcome(cluster.client, Quota(meta("a"))))
        await fake_clock.advance(1.7)
        assert not task.done()
        await fake_clock.advance(0.2)
        assert task.done()
    assert ("no response within 1.8 s" in task.result()) is not bool(stored)
    assert [quota.name for quota in cluster.list(Quota)] == stored


async def _outcome(client: Client, obj: Quota) -> str:
    try:
        await client.create(obj)
    except ApiError as error:
        return error.message
    return ""


async def test_an_object_that_is_being_deleted_is_not_validated(cluster: Cluster) -> None:
    """A client must always be able to remove a finalizer, even if the object violates a newer rule."""
    operator = Operator("quota")
    strict = False

    @operator.validate(Quota)
    def check(_: Quota, __: Admission[Quota]) -> None:
        if strict:
            raise Deny("no more quotas")

    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("a", finalizers=["example.com/hold"])))
        strict = True
        await cluster.client.delete(Quota(meta("a")))
        await cluster.client.patch(Quota(meta("a")), {"metadata": {"finalizers": None}})
        await cluster.eventually(lambda: not cluster.list(Quota))


async def test_a_function_can_read_other_objects(cluster: Cluster) -> None:
    """Neither a schema nor a policy can do that."""
    operator = Operator("quota")
    operator.permit(Namespace, "get")

    @operator.validate(Quota)
    async def check(quota: Quota, admission: Admission[Quota]) -> None:
        namespace = await admission.client.get(Namespace, quota.namespace)
        if "team" not in namespace.labels:
            raise Deny(f"namespace {quota.namespace} belongs to no team")

    async with cluster.running(operator):
        error = await _rejected(cluster.client, Quota(meta("a")))
        assert "namespace default belongs to no team" in error.message
        await cluster.client.patch(Namespace(meta("default")), {"metadata": {"labels": {"team": "red"}}})
        await cluster.client.create(Quota(meta("a")))


async def test_a_rule_becomes_part_of_the_crd_or_of_a_policy(cluster: Cluster) -> None:
    """A CRD validates values, a policy the user who changes them; the author declared both in the class."""
    operator = Operator("quota")
    operator.declare(Quota)
    async with cluster.running(operator):
        too_many = await _rejected(cluster.client, Quota(meta("b"), QuotaSpec(limit=101)))
        quota = await cluster.client.create(Quota(meta("a"), QuotaSpec(tier="big")))
        quota.spec.tier = "huge"
        with pytest.raises(Invalid, match=r"spec\.tier: only admins change the tier"):
            await cluster.client.update(quota)
        [policy] = cluster.list(ValidatingAdmissionPolicy)
        assert cluster.list(ValidatingWebhookConfiguration) == []
    assert "at most 100" in too_many.message
    assert policy.name == "quota.quotas.v1.quota.example.com"
    assert [validation.message for validation in policy.spec.validations or ()] == [
        "spec.tier: only admins change the tier"
    ]


async def test_a_user_whom_a_rule_allows_may_write(cluster: Cluster) -> None:
    """A rule that rejected every user would pass the test above, too."""
    operator = Operator("quota")
    operator.declare(Quota)
    async with cluster.running(operator):
        await cluster.client.create(Quota(meta("a")))
        admin = cluster.client_as("ann", "system:masters", "admins")
        changed = await admin.patch(Quota(meta("a")), {"spec": {"tier": "big"}})
    assert changed.spec.tier == "big"


async def test_a_rule_about_a_foreign_kind_becomes_a_policy(cluster: Cluster) -> None:
    """There is no CRD of ConfigMap to add it to."""
    operator = Operator("quota")
    operator.rule(ConfigMap, Rule("!has(self.data) || size(self.data) < 2", "one entry at most"))
    operator.rule(ConfigMap, Rule("self.metadata.name != 'keep'", "is kept"), on=["DELETE"])
    async with cluster.running(operator):
        await cluster.client.create(ConfigMap(meta("keep"), data={"a": "1"}))
        error = await _rejected(cluster.client, ConfigMap(meta("b"), data={"a": "1", "b": "2"}))
    assert "one entry at most" in error.message


async def test_configurations_are_deleted_with_the_process_that_they_refer_to(cluster: Cluster) -> None:
    """A closed laptop must not leave a cluster behind in which no object can be written."""
    operator = Operator("quota")

    @operator.default(Quota)
    @operator.validate(Quota)
    def both(_: Quota, __: Admission[Quota]) -> None: ...

    async with cluster.running(operator):
        assert [found.name for found in cluster.list(ValidatingWebhookConfiguration)] == ["quota"]
        assert [found.name for found in cluster.list(MutatingWebhookConfiguration)] == ["quota"]
    assert cluster.list(ValidatingWebhookConfiguration) == []
    assert cluster.list(MutatingWebhookConfiguration) == []


async def test_a_successor_keeps_the_configuration_that_refers_to_it(cluster: Cluster) -> None:
    """The predecessor ends after the successor has started; it must not delete what is no longer its own."""
    operator = Operator("quota")

    @operator.validate(Quota)
    def never(_: Quota, __: Admission[Quota]) -> None:
        raise Deny("never")

    first = cluster.running(operator)
    await first.__aenter__()
    async with cluster.running(operator):
        await first.__aexit__(None, None, None)
        await _rejected(cluster.client, Quota(meta("a")))


async def test_an_object_that_does_not_fit_its_class_is_denied_with_the_field(cluster: Cluster) -> None:
    """A function is never called with an incomplete object."""
    operator = Operator("quota")

    @operator.default(Quota)
    def fill(quota: Quota, _: Admission[Quota]) -> None:
        quota.spec.limit += 1

    async with cluster.running(operator):
        body = {"apiVersion": "quota.example.com/v1", "kind": "Quota", "metadata": {"name": "a"}}
        with pytest.raises(Forbidden, match=r"not a Quota: .*\$\.spec\.limit"):
            await cluster.client.create(Unstructured({**body, "spec": {"limit": "ten"}}))


def test_invalid_declarations_are_rejected_at_once() -> None:
    """At the import of the module, not when the first object is written."""
    operator = Operator("quota")

    def check(_: Quota, __: Admission[Quota]) -> None: ...

    operator.validate(Quota)(check)
    with pytest.raises(DeclarationError, match="two validate webhooks named 'check'"):
        operator.validate(Quota)(check)
    operator.validate(Quota, name="other")(check)
    with pytest.raises(DeclarationError, match="cannot be named 'No_Name'"):
        operator.validate(Quota, name="No_Name")(check)
    with pytest.raises(DeclarationError, match="on= takes some of CREATE, UPDATE, DELETE"):
        operator.validate(Quota, on=[])
    with pytest.raises(DeclarationError, match="between 1 and 30 seconds"):
        operator.validate(Quota, timeout=31)
    with pytest.raises(DeclarationError, match="a deleted object cannot be defaulted"):
        operator.default(Quota, on=["DELETE"])(check)
    with pytest.raises(DeclarationError, match="'Fail' or 'Ignore'"):
        operator.validate(Quota, failure="ignore")  # type: ignore[arg-type] # what is refused


def test_a_declared_function_is_still_a_function() -> None:
    """Its rules can be tested without a server."""
    operator = Operator("quota")

    @operator.default(Quota)
    def fill(quota: Quota, _: Admission[Quota]) -> None:
        quota.spec.limit = 3

    quota = Quota(meta("a"))
    fill(quota, None)  # type: ignore[arg-type] # this one does not look at it
    assert quota.spec.limit == 3
