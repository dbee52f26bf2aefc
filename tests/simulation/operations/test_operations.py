"""Sequences of operations from a schema: whichever way leads to a spec, the cluster ends the same."""

from typing import Annotated

import pytest

from steersman import Context, Model, Operator, Permanent, Resource, Status, custom_resource, meta
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import ConfigMap
from steersman.schema import Maximum, Minimum
from steersman.simulation import simulate_operations
from steersman.simulation.operations.sequences import Delete, OperationSequence, Reject, Set, parse_sequence


class CacheSpec(Model):
    """The desired state."""

    shards: Annotated[int, Minimum(0), Maximum(3)] = 1
    backup: bool = False
    label: str | None = None


class CacheStatus(Status):
    """The observed state."""

    shards: int = 0


@custom_resource("operations.example.com/v1")
class Cache(Resource[CacheSpec, CacheStatus]):
    """Wants ConfigMaps."""


def careful() -> Operator:
    """Return an operator that follows the spec, whatever existed before."""
    operator = Operator("careful")

    @operator.reconciler(Cache, owns=[ConfigMap])
    async def reconcile(cache: Cache, ctx: Context[Cache]) -> None:
        for number in range(cache.spec.shards):
            data = {"label": cache.spec.label} if cache.spec.label else {}
            await ctx.apply(ConfigMap(meta(f"{cache.name}-{number}"), data=data))
        if cache.spec.backup:
            await ctx.apply(ConfigMap(meta(f"{cache.name}-backup")))
        await ctx.prune(ConfigMap)
        cache.status.shards = cache.spec.shards

    return operator


def growing() -> Operator:
    """Return an operator that never deletes anything."""
    operator = Operator("growing")

    @operator.reconciler(Cache, owns=[ConfigMap])
    async def reconcile(cache: Cache, ctx: Context[Cache]) -> None:
        for number in range(cache.spec.shards):
            await ctx.apply(ConfigMap(meta(f"{cache.name}-{number}")))

    return operator


def test_every_template_and_property_is_tried() -> None:
    """An operator that follows its spec passes all of them; the report says what was tried."""
    report = simulate_operations(careful, count=40)
    report.raise_if_failed()
    assert len(report.tried) == 40
    assert {sequence.template for sequence in report.tried} == {
        "changed",
        "rolled back",
        "rejected",
        "recreated",
        "off and on",
        "wandering",
    }
    text = " ".join(map(str, report.tried))
    assert all(f'"{name}":' in text for name in ("shards", "backup", "label"))
    assert report.summary().startswith("careful: 40 sequences of operations passed in ")
    assert "rolled back" in report.table()


def test_an_operator_that_only_grows_is_found_by_a_short_sequence() -> None:
    """Scaled down, it keeps objects that a new one would not have; only the steps that matter are reported."""
    report = simulate_operations(growing, count=20)
    assert report.failures
    assert all(len(failure.sequence.steps) == 2 for failure in report.failures)
    with pytest.raises(
        AssertionError, match="O9: the cluster ends differently than if the object is created"
    ) as failed:
        report.raise_if_failed()
    assert "+++ after these steps" in str(failed.value)
    text = str(report.failures[0].sequence)
    assert simulate_operations(growing, sequences=[text]).failures
    assert not simulate_operations(careful, sequences=[text]).failures


def test_an_object_that_the_schema_allows_must_not_make_a_reconcile_fail() -> None:
    """Users rely on the schema."""

    def dividing() -> Operator:
        operator = Operator("dividing")

        @operator.reconciler(Cache, owns=[ConfigMap])
        async def reconcile(cache: Cache, ctx: Context[Cache]) -> None:
            await ctx.apply(ConfigMap(meta(cache.name), data={"share": str(100 // cache.spec.shards)}))

        return operator

    report = simulate_operations(dividing, count=30)
    assert any("ZeroDivisionError" in finding.text for failure in report.failures for finding in failure.findings)


def test_a_change_that_a_rule_forbids_is_not_a_failure() -> None:
    """The server rejects a change of an immutable field: the sequence says nothing about the operator."""
    report = simulate_operations(careful, sequences=['Cache {"shards":1} -> {"shards":9}'])
    assert report.rejected
    with pytest.raises(AssertionError, match="1 not allowed"):
        report.raise_if_failed()


def test_what_an_operator_leaves_behind_when_it_gives_up_is_its_choice() -> None:
    """A running system is better left alone than taken down because of a mistake in its spec."""

    def cautious() -> Operator:
        operator = Operator("cautious")

        @operator.reconciler(Cache, owns=[ConfigMap])
        async def reconcile(cache: Cache, ctx: Context[Cache]) -> None:
            if not cache.spec.label:
                raise Permanent("LabelMissing", "spec.label is required")
            await ctx.apply(ConfigMap(meta(cache.name), data={"label": cache.spec.label}))

        return operator

    report = simulate_operations(cautious, sequences=['Cache {"label":"a"} -> {}', 'Cache {} -> {"label":"a"}'])
    assert report.failures == []
    assert list(report.rejected.values()) == ["the operator gives up on this spec: LabelMissing"]
    made = simulate_operations(cautious, count=10)
    assert all("{} ->" not in str(sequence) for sequence in made.tried), "they begin with a spec that it takes"


def test_a_sequence_is_read_back_from_its_text() -> None:
    """The text in a report is all that is needed to run it again."""
    sequence = OperationSequence("Cache", (Set({"shards": 1}), Reject({"shards": "x"}), Delete(), Set({})), "given")
    assert str(sequence) == 'Cache {"shards":1} -> !{"shards":"x"} -> delete -> {}'
    assert parse_sequence(str(sequence)) == sequence
    assert sequence.last == {}
    assert str(sequence.direct) == "Cache {}"
    assert [str(one) for one in sequence.shorter()] == [
        'Cache {"shards":1} -> delete -> {}',
        'Cache {"shards":1} -> !{"shards":"x"} -> {}',
    ]


@pytest.mark.parametrize("text", ["", "Cache", "Cache delete", "Cache {} -> delete", 'Cache {"a"', "Cache [1]"])
def test_an_invalid_sequence_is_rejected_with_an_example(text: str) -> None:
    """A typo gets a sentence."""
    with pytest.raises(ConfigError, match="write it as Kind"):
        parse_sequence(text)


def test_an_operator_without_a_schema_is_named() -> None:
    """A built-in kind has no definition to generate from."""

    def of_config_maps() -> Operator:
        operator = Operator("plain")

        @operator.reconciler(ConfigMap)
        async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
            """Do nothing."""

        return operator

    with pytest.raises(ConfigError, match="'plain' reconciles no custom kind"):
        simulate_operations(of_config_maps)
