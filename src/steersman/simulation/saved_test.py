"""A pytest that runs one plan again, so that a bug that was found stays found. Pure."""

import json
import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from steersman.simulation.operations.sequences import OperationSequence

_TEMPLATE = '''"""Found by `steer simulate`: {summary}"""

{path}from steersman.simulation import simulate

{imports}


def test_{name}_survives_{slug}() -> None:
    """{why}"""
    simulate({arguments}).raise_if_failed()
'''
_OPERATIONS = '''"""Found by `steer simulate --generate`: {template}."""

{path}from steersman.simulation import simulate_operations

{imports}


def test_{kind}_{slug}_ends_as_created_at_once() -> None:
    """{why}"""
    simulate_operations({operator}, sequences=[{text!r}]).raise_if_failed()
'''
_PATH = """import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "{folder}"))

"""


class SavedTest(Struct, frozen=True, kw_only=True):
    """One plan that fails; the operator and the scenario are given as ``module:name``."""

    operator: str
    scenario: str
    plan: str
    seed: int
    findings: tuple[str, ...]
    #: Names of invariants in the module of the scenario.
    invariants: tuple[str, ...] = ()

    def source(self, folder: str = "") -> str:
        """Return the source of the test; ``folder`` is where its modules are, if they would not be found."""
        module, _, name = self.scenario.partition(":")
        operator_module, _, operator = self.operator.partition(":")
        names: dict[str, set[str]] = {module: {name, *self.invariants}}
        names.setdefault(operator_module, set()).add(operator)
        imported = (f"from {source} import {', '.join(sorted(found))}" for source, found in names.items())
        late = "  # noqa: E402" if folder else ""
        arguments = [operator, name, f"plans=[{json.dumps(self.plan)}]", f"seed={self.seed}"]
        arguments += [f"invariants=[{', '.join(self.invariants)}]"] if self.invariants else []
        return _TEMPLATE.format(
            summary=self.plan,
            path=_PATH.format(folder=folder) if folder else "",
            imports="\n".join(f"{line}{late}" for line in sorted(imported)),
            name=name,
            slug=re.sub(r"\W+", "_", self.plan.partition(",")[0]).strip("_"),
            why=self._why(),
            arguments=", ".join(arguments),
        )

    def _why(self) -> str:
        return _sentence(self.findings, self.plan)


def saved_operations(operator: str, sequence: OperationSequence, findings: Sequence[str]) -> Callable[[str], str]:
    """Return a function that returns the source of a test of one sequence, for the folder of the operator's module."""
    module, _, name = operator.partition(":")

    def source(folder: str = "") -> str:
        late = "  # noqa: E402" if folder else ""
        return _OPERATIONS.format(
            path=_PATH.format(folder=folder) if folder else "",
            imports=f"from {module} import {name}{late}",
            operator=name,
            template=sequence.template,
            slug=sequence.template.replace(" ", "_"),
            kind=sequence.kind.lower(),
            why=_sentence(findings, str(sequence)),
            text=str(sequence),
        )

    return source


def _sentence(findings: Sequence[str], otherwise: str) -> str:
    """Return the first line of what was found, for a docstring."""
    told = "".join(findings[:1]).splitlines() or [otherwise]
    why = told[0].replace("\\", "").replace('"', "'").strip(" :.")
    return f"{why[:1].upper()}{why[1:]}."
