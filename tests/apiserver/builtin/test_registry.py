import subprocess
import sys
from collections import Counter

from steersman.apiserver.builtin.discovery import builtin_resources
from steersman.apiserver.builtin.kind import load
from steersman.apiserver.builtin.registry import KINDS, builtin_kind


def test_every_reference_of_a_kind_can_be_loaded() -> None:
    """Validation, warnings and columns are imported on first use; a wrong name would show only then."""
    references = {ref for kind in KINDS for ref in (kind.validation, kind.warnings, kind.columns) if ref}
    assert len(references) > 80
    assert all(load(reference) is not None for reference in references)


def test_every_served_kind_is_registered_once() -> None:
    """A kind without a family could not be served, and one with two would have the rules of either."""
    served = {(resource.gvk.group, resource.gvk.kind) for resource, _, _ in builtin_resources()}
    registered = Counter((kind.group, kind.kind) for kind in KINDS)
    assert set(registered) == served
    assert max(registered.values()) == 1


def test_a_kind_without_rules_accepts_any_object() -> None:
    """Many kinds have no rules beyond those for metadata."""
    assert builtin_kind("", "ServiceAccount").validation_errors({}, None, "") == []


def test_a_server_starts_without_loading_rules_and_columns() -> None:
    """They would make every start slower, and most tests of operators touch a few kinds only."""
    script = (
        "import sys\n"
        "from steersman.apiserver.server import ApiServer\n"
        "ApiServer()\n"
        "endings = ('validation', 'columns', 'warnings')\n"
        "print([n for n in sys.modules if n.startswith('steersman.apiserver.builtin.') and n.endswith(endings)])\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    assert answer.stdout.strip() == "[]"
