"""Operators with webhooks and several versions crash as well."""

import pytest

from steersman import Context, Operator, meta
from steersman.errors import ApiError, Deny
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.crash_switch import Crash
from steersman.testing.crashes.scenarios import run_until_crash, survive_crashes
from steersman.webhook.admission import Admission
from tests.support.websites import AlphaWebsite, BetaSpec, BetaWebsite, Website

operator = Operator("web")
operator.declare(BetaWebsite, AlphaWebsite)


@operator.validate(Website)
def _has_few_copies(website: Website, _: Admission[Website]) -> None:
    if website.spec.copies > 5:
        raise Deny("at most 5", field="spec.copies")


@operator.default(Website)
def _has_a_color(website: Website, _: Admission[Website]) -> None:
    website.spec.color = website.spec.color or "blue"


@operator.reconciler(Website, owns=[ConfigMap])
async def _reconcile(website: Website, ctx: Context[Website]) -> None:
    await ctx.apply(ConfigMap(meta(website.name), data={"color": website.spec.color}))
    website.status.copies = website.spec.copies


async def _a_site_is_made_and_changed(cluster: Cluster) -> None:
    made = await cluster.client.create(BetaWebsite(meta("blog"), BetaSpec(replicas=3)))
    await cluster.eventually(lambda: [one.data for one in cluster.list(ConfigMap) if one.name == "blog"])
    assert [one.data for one in cluster.list(ConfigMap) if one.name == "blog"] == [{"color": "blue"}]
    with pytest.raises(ApiError, match="at most 5"):
        await cluster.client.patch(made, {"spec": {"replicas": 6}})
    await cluster.client.patch(made, {"spec": {"replicas": 4}})
    await cluster.eventually(lambda: cluster.list(Website)[0].status.copies == 4)


async def test_webhooks_and_conversions_are_served_by_every_instance() -> None:
    """As in ``cluster.running``: defaults are set, invalid values denied, versions converted, after any crash."""
    writes = await survive_crashes(operator, _a_site_is_made_and_changed)
    assert len(writes) >= 3


@pytest.mark.usefixtures("fake_clock")
async def test_when_no_instance_follows_webhook_calls_fail(cluster: Cluster) -> None:
    """A crashed process does not answer."""
    await cluster.client.create(ConfigMap(meta("a")))
    await run_until_crash(cluster, _making_one_config_map, Crash(1))
    with pytest.raises(ApiError, match="failed calling webhook"):
        await cluster.client.create(Website(meta("late")))


def _making_one_config_map() -> Operator:
    made = Operator("making")
    made.declare(Website, BetaWebsite, AlphaWebsite)

    @made.validate(Website)
    def _anything(_: Website, __: Admission[Website]) -> None:
        """Accept every object."""

    @made.reconciler(ConfigMap)
    async def _mark(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if not config_map.labels:
            await ctx.patch(config_map, {"metadata": {"labels": {"seen": "yes"}}})

    return made
