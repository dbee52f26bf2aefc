"""A pytest that runs one plan again, so that a bug that was found stays found. Pure."""

import re
from collections.abc import Iterable

_TEMPLATE = '''"""Found by `steer simulate`: {summary}"""

from steersman.simulation import simulate

{imports}


def test_{name}_survives_{slug}() -> None:
    """{why}"""
    simulate({operator}, {name}, plans=[{plan!r}], seed={seed}).raise_if_failed()
'''


def saved_test(*, operator: str, scenario: str, plan: str, seed: int, findings: Iterable[str]) -> str:
    """Return the source of a test of one plan; the operator and the scenario are given as ``module:name``."""
    told = next(iter(findings), "").splitlines()
    why = told[0].replace("\\", "").replace('"', "'").strip(" :.") if told else plan
    module, _, name = scenario.partition(":")
    operator_module, _, operator_name = operator.partition(":")
    imports = sorted({f"from {operator_module} import {operator_name}", f"from {module} import {name}"})
    return _TEMPLATE.format(
        summary=plan,
        imports="\n".join(imports),
        name=name,
        slug=re.sub(r"\W+", "_", plan.partition(",")[0]).strip("_"),
        why=f"{why[:1].upper()}{why[1:]}.",
        operator=operator_name,
        plan=plan,
        seed=seed,
    )
