"""A pytest of one recorded reconcile: it rebuilds what was read, runs the reconcile, and asserts what it sent. Pure."""

import re
from datetime import UTC
from typing import Final

from steersman.errors import ConfigError
from steersman.history.printable import printable, printable_json
from steersman.history.recordings import Recording, export, export_yaml

_TEMPLATE: Final = '''"""Reconcile {number} of {object}, as it ran on {time}.

Saved by `steer why`. The contents of Secrets are placeholders.{note}
"""
# ruff: noqa: E501 - the recording

from {module} import {operator}

from steersman.testing import replay_reconcile

#: What the reconcile read, and what it sent: edit it to say what it should have sent.
RECORDING = r"""
{recording}"""


async def test_{name}() -> None:
    """{why}"""
    replay = await replay_reconcile({operator}, RECORDING)
    assert replay.differences == ()
'''
_TARGET: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*")
_NOT_CALLED: Final = "\nIt wrote to {systems}, which a replay does not call: pass carry_out= to replay_reconcile."


def recorded_test(recording: Recording, operator: str) -> str:
    """Return the source of a test of one recording; raises ``ConfigError`` unless the operator is ``module:name``."""
    if _TARGET.fullmatch(operator) is None:
        raise ConfigError(f"{operator!r} is not MODULE:OPERATOR, such as my_operator.main:operator")
    module, _, variable = operator.partition(":")
    systems = ", ".join(recording.external_systems)
    note = _NOT_CALLED.format(systems=systems) if systems else ""
    failed = f": it ended as {recording.result}" if recording.message else ""
    return _TEMPLATE.format(
        number=recording.number,
        object=_quoted(str(recording.object)),
        time=f"{recording.started.astimezone(UTC):%Y-%m-%d at %H:%M:%S} UTC",
        note=_quoted(note),
        module=module,
        operator=variable,
        recording=_in_raw_string(recording),
        name=name_of_test(recording),
        why=_quoted(f"Run on what it read, the reconcile sends what it sent{failed}."),
    )


def _in_raw_string(recording: Recording) -> str:
    """Return a recording as YAML, or as JSON if it has characters that cannot stand in a raw string as they are."""
    text = export_yaml(recording)
    if '"""' not in text and text.replace("\n", "").isprintable():
        return text
    return printable_json(export([recording]).decode())


def name_of_test(recording: Recording) -> str:
    """Return a name for the test: ``shop_default_a_reconcile_7``."""
    kind, namespace, name, _ = recording.object
    words = f"{kind} {namespace} {name} reconcile {recording.number}".lower()
    return re.sub(r"\W+", "_", words).strip("_")


def _quoted(text: str) -> str:
    """Return a text that can stand in a docstring."""
    return "\n".join(printable(line) for line in text.replace("\\", "").replace('"', "'").split("\n"))
