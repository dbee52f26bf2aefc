"""An expression, compiled once and evaluated often."""

from collections.abc import Mapping
from typing import Any

from steersman.cel.checking.checker import Checker
from steersman.cel.checking.declarations import Declaration
from steersman.cel.checking.validators import validate
from steersman.cel.checking.well_known import WELL_KNOWN, patch_types
from steersman.cel.cost.estimator import estimate_cost
from steersman.cel.cost.metering import Meter
from steersman.cel.errors import ExpressionError, Issue, Source
from steersman.cel.evaluation.interpreter import InstantiationError, Interpreter
from steersman.cel.library import FUNCTIONS, PATCH_FUNCTIONS
from steersman.cel.syntax.parser import MAX_DEPTH, parse
from steersman.cel.syntax.tree import Ident, Node, walk
from steersman.cel.types import CelType


class CheckedExpression:
    """A parsed and typed expression, or its issues."""

    def __init__(
        self,
        text: str,
        variables: Mapping[str, CelType],
        objects: Mapping[str, Declaration] | None = None,
        *,
        makes_patches: bool = False,
    ) -> None:
        #: Whether it can build ``Object`` and ``JSONPatch`` values.
        self._makes_patches = makes_patches
        self.source = Source(text)
        self.variables = tuple(variables)
        self.root: Node | None = None
        self.issues: list[Issue]
        root, self.issues = parse(self.source)
        if root is None:
            return
        try:
            self._check(root, variables, objects or {})
        except RecursionError:
            self.issues = [Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")]

    def _check(self, root: Node, variables: Mapping[str, CelType], objects: Mapping[str, Declaration]) -> None:
        functions, structs = (PATCH_FUNCTIONS, patch_types) if self._makes_patches else (FUNCTIONS, WELL_KNOWN.get)
        checker = Checker(functions, variables, objects, structs)
        root = checker.check(root)
        self.issues = checker.issues or validate(root)
        if not self.issues:
            self.root = root

    @property
    def problem(self) -> str:
        """All issues as Kubernetes prints them; empty when there are none."""
        return self.source.render(self.issues)

    @property
    def tree(self) -> Node:
        """The typed tree; raises ``ExpressionError`` when there are issues."""
        if self.root is None:
            raise ExpressionError(self.problem)
        return self.root

    def mentions(self, name: str) -> bool:
        """Return whether the expression uses a variable; one with issues uses none."""
        return self.root is not None and any(isinstance(node, Ident) and node.name == name for node in walk(self.root))


class Program:
    """An expression that can be evaluated.

    ``evaluate`` returns the value or raises ``EvaluationError``; ``CostExceeded`` if it costs too much.
    """

    def __init__(self, checked: CheckedExpression, declared: Declaration | None = None) -> None:
        root = checked.tree
        self.text = checked.source.text
        self.type = root.type
        self.variables = checked.variables
        interpreter = Interpreter(checked.variables)
        try:
            self._run = interpreter.compile(root).run
        except RecursionError:
            raise InstantiationError(f"expression recursion limit exceeded: {MAX_DEPTH}") from None
        self._frame_size = interpreter.frame_size
        #: The most that one evaluation can cost.
        self.estimated_cost = estimate_cost(root, declared)

    def evaluate(self, *values: object, meter: Meter | None = None) -> object:
        """Evaluate with the values of the variables, in the order in which they were declared."""
        frame: list[Any] = [meter or Meter(), *values]
        frame.extend([None] * (self._frame_size - len(frame)))
        return self._run(frame)


def compile_expression(source: str, variables: Mapping[str, CelType], *, makes_patches: bool = False) -> Program:
    """Compile an expression over variables of these types; raises ``ExpressionError`` with every issue."""
    checked = CheckedExpression(source, variables, makes_patches=makes_patches)
    try:
        return Program(checked)
    except InstantiationError as error:
        raise ExpressionError(f"program instantiation failed: {error}") from None
