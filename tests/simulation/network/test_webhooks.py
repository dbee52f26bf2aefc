"""Webhooks that fail at any call: an operator tries again, and a user does, too."""

from contextlib import suppress

from steersman import Admission, Context, Deny, Model, Operator, Resource, Status, custom_resource, meta
from steersman.errors import ApiError
from steersman.kinds.core_v1 import ConfigMap
from steersman.simulation import simulate
from steersman.testing import Cluster
from tests.support.websites import AlphaWebsite, BetaSpec, BetaWebsite, Website


class JarSpec(Model):
    """What is wanted."""

    size: int = 0


class JarStatus(Status):
    """What is there."""

    size: int = 0


@custom_resource("webhooks.example.com/v1")
class Jar(Resource[JarSpec, JarStatus]):
    """Wants a ConfigMap."""


def guarded() -> Operator:
    """Create an operator whose webhooks see the writes of users and its own."""
    operator = Operator("guarded")

    @operator.reconciler(Jar, owns=[ConfigMap])
    async def reconcile(jar: Jar, ctx: Context[Jar]) -> None:
        await ctx.apply(ConfigMap(meta(jar.name), data={"size": str(jar.spec.size)}))
        jar.status.size = jar.spec.size

    @operator.default(Jar)
    def choose_size(jar: Jar, _: Admission[Jar]) -> None:
        jar.spec.size = jar.spec.size or 3

    @operator.validate(ConfigMap)
    def no_negative_size(config: ConfigMap, _: Admission[ConfigMap]) -> None:
        if (config.data or {}).get("size", "").startswith("-"):
            raise Deny("a jar has a size")

    return operator


def converting() -> Operator:
    """Create an operator of a kind with three versions."""
    operator = Operator("converting")
    operator.declare(BetaWebsite, AlphaWebsite)

    @operator.reconciler(Website, owns=[ConfigMap])
    async def reconcile(website: Website, ctx: Context[Website]) -> None:
        await ctx.apply(ConfigMap(meta(website.name), data={"copies": str(website.spec.copies)}))
        website.status.copies = website.spec.copies

    return operator


async def stored(cluster: Cluster) -> None:
    """Create a jar."""
    await cluster.client.create(Jar(meta("a")))
    await cluster.settle()


async def published(cluster: Cluster) -> None:
    """Create a website in an old version."""
    await cluster.client.create(BetaWebsite(meta("blog"), BetaSpec(replicas=3, host="a.dev")))
    await cluster.settle()


def test_an_operator_survives_its_own_webhooks() -> None:
    """Calls of defaults and validations fail in every way, caused by the user and by the operator itself."""
    report = simulate(guarded, stored, faults="F12", twice=True)
    report.raise_if_failed()
    targets = {step.target for step in report.reference.outcome.recording.calls}
    assert len(targets) == 2
    assert len(report.tried) == 5 * len(report.reference.outcome.recording.calls)
    assert report.missed == []
    assert "webhook-garbage" in report.table()


def test_an_operator_survives_failing_conversions() -> None:
    """Lists, watches and writes need conversions; none of them may end the operator or lose an object."""
    report = simulate(converting, published, faults="F12")
    report.raise_if_failed()
    assert report.missed == []
    assert report.reference.outcome.recording.calls


def test_an_operator_that_ignores_a_failed_write_is_found() -> None:
    """The webhook of another kind is down for a moment, and the child is never created."""

    def swallowing() -> Operator:
        operator = Operator("swallowing")

        @operator.reconciler(Jar, owns=[ConfigMap])
        async def reconcile(jar: Jar, ctx: Context[Jar]) -> None:
            with suppress(ApiError):
                await ctx.apply(ConfigMap(meta(jar.name)))

        @operator.validate(ConfigMap)
        def anything_goes(_: ConfigMap, __: Admission[ConfigMap]) -> None:
            """Accept every ConfigMap."""

        return operator

    report = simulate(swallowing, stored, faults="webhook-down")
    assert [str(failure.plan) for failure in report.failures] == ["webhook-down@call:1"]
    assert "call 1 of 1, /swallowing/validate" in report.text()
