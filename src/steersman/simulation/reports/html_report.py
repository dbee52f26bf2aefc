"""A report as one HTML page: the table of what was tried, and every failure with its explanation. Pure."""

from html import escape

from steersman.simulation.faults.kinds import KINDS, SKIPPED
from steersman.simulation.reports.explanation import explain
from steersman.simulation.reports.report import Report

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.failed { color: #c22; font-weight: 600; }
.steps { line-height: 1; word-break: break-all; cursor: default; }
.steps a { color: inherit; text-decoration: none; }
.missed { opacity: .4; }
pre { overflow-x: auto; padding: .75rem; background: #8881; }
"""


def html_report(report: Report) -> str:
    """Return the page; it needs nothing from outside."""
    rows = "\n".join(
        f"<tr><td>{escape(one.fault)}</td><td>{one.number}</td><td>{escape(KINDS[one.fault].text)}</td>"
        f'<td class="number">{one.tried}</td><td class="number{" failed" if one.failed else ""}">{one.failed}</td>'
        f'<td class="number">{one.missed}</td><td class="steps">{_steps(report, one.fault)}</td></tr>'
        for one in report.coverage()
    )
    failures = "\n".join(
        f'<h3 id="{escape(str(one.plan))}">{escape(str(one.plan))}</h3>\n'
        f"<pre>{escape(explain(report.reference, one.plan, one.findings, one.outcome))}</pre>"
        for one in report.failures
    )
    skipped = "\n".join(f"<li>{number}: {escape(why)}</li>" for number, why in SKIPPED.items())
    title = escape(report.summary())
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{_STYLE}</style></head>
<body>
<h1>{title}</h1>
<table>
<tr><th>fault</th><th></th><th>what happens</th>
<th>tried</th><th>failed</th><th>not reached</th><th>at each step</th></tr>
{rows}
</table>
<h2>Failures</h2>
{failures or "<p>None.</p>"}
<h2>Skipped</h2>
<ul>
{skipped}
</ul>
</body>
</html>
"""


def _steps(report: Report, kind: str) -> str:
    """Return one sign for each plan of a single fault: what became of it, and which step it was as its title."""
    failed = {failure.plan for failure in report.failures}
    missed = set(report.missed)
    plans = (plan for plan in report.tried if len(plan.faults) == 1 and plan.faults[0].kind == kind)
    return "".join(_step(escape(str(plan)), is_failed=plan in failed, is_missed=plan in missed) for plan in plans)


def _step(name: str, *, is_failed: bool, is_missed: bool) -> str:
    if is_failed:
        return f'<a class="failed" href="#{name}" title="{name} failed">✗</a>'
    if is_missed:
        return f'<span class="missed" title="{name} was not reached">○</span>'
    return f'<span title="{name} passed">●</span>'
