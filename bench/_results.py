"""Results side by side: medians and ratios as a table, and as a chart in ``bench/results/``."""

import json
import os
import statistics
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parent / "results"
_BAR, _GAP, _LEFT, _WIDTH = 22, 10, 250, 420


@dataclass(slots=True)
class Results:
    """Measurements of several contenders for the same work, one value for each round."""

    name: str
    title: str
    #: Values of all rounds, keyed by contender and measure.
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, contender: str, **measures: float) -> None:
        """Record one round of a contender."""
        known = self.values.setdefault(contender, {})
        for measure, value in measures.items():
            known.setdefault(measure, []).append(value)

    def medians(self, contender: str) -> dict[str, float]:
        """Return the median of every measure."""
        return {measure: statistics.median(values) for measure, values in self.values[contender].items()}

    def show(self) -> None:
        """Print the table, ours first, and write it and its charts to ``bench/results``."""
        medians = {contender: self.medians(contender) for contender in self.values}
        lines = ["| | " + " | ".join(medians) + " |", "|---" * (len(medians) + 1) + "|"]
        for measure, mine in next(iter(medians.values())).items():
            cells = [f"{mine:,.2f}"]
            for theirs in list(medians.values())[1:]:
                other = theirs.get(measure)
                cells.append(f"{other:,.2f} ({mine / other:.2f} : 1)" if other else "-")
            lines.append(f"| {measure} | " + " | ".join(cells) + " |")
        print("\n".join(lines))
        self._write("\n".join(lines))

    def _write(self, table: str) -> None:
        FOLDER.mkdir(exist_ok=True)
        when = datetime.now(UTC).strftime("%Y-%m-%d")
        load = os.getloadavg()[0]
        head = (
            f"{self.title}\n\n{when}; load of the machine at the end {load:.1f}; medians; in brackets ours to theirs.\n"
        )
        (FOLDER / f"{self.name}.md").write_text(f"{head}\n{table}\n")
        (FOLDER / f"{self.name}.json").write_text(json.dumps(self.values, indent=1) + "\n")
        (FOLDER / f"{self.name}.svg").write_text(self._chart())

    def _chart(self) -> str:
        parts, y = [_text(10, 22, self.title, size=15)], 40
        for measure in self.medians(next(iter(self.values))):
            parts.append(_text(10, y + 14, measure, size=13))
            y += 22
            shown = {name: self.medians(name).get(measure) for name in self.values}
            most = max(value for value in shown.values() if value is not None) or 1.0
            for index, (name, value) in enumerate(shown.items()):
                if value is None:
                    continue
                length = value / most * _WIDTH
                colour = "#2a6f97" if index == 0 else "#a9b4bd"
                parts.append(_text(_LEFT - 8, y + 15, name, anchor="end"))
                parts.append(f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR - 4}" fill="{colour}"/>')
                parts.append(_text(_LEFT + length + 6, y + 15, f"{value:,.2f}"))
                y += _BAR
            y += _GAP
        size = f'width="{_LEFT + _WIDTH + 90}" height="{y + 6}"'
        body = "\n".join(parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n{body}\n</svg>\n'


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


#: Points of each chart: lines by contender, each of pairs.
Curves = dict[str, dict[str, list[tuple[int, float]]]]
_COLOURS = ("#2a6f97", "#c1666b", "#d4b483", "#7d8491", "#48a9a6")
_PLOT_WIDTH, _PLOT_HEIGHT, _MARGIN = 420, 240, 70


def line_chart(name: str, title: str, axis: str, charts: Curves) -> None:
    """Write line charts, one below the other, to ``bench/results``; both axes begin at zero."""
    parts, y = [_text(10, 22, title, size=15)], 40
    for measure, lines in charts.items():
        parts += _plot(y, measure, axis, lines)
        y += _PLOT_HEIGHT + 2 * _MARGIN
    FOLDER.mkdir(exist_ok=True)
    size = f'width="{_PLOT_WIDTH + 4 * _MARGIN}" height="{y}"'
    body = "\n".join(parts)
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n{body}\n</svg>\n'
    (FOLDER / f"{name}.svg").write_text(drawn)
    (FOLDER / f"{name}.json").write_text(json.dumps(charts, indent=1) + "\n")


def _plot(top: int, measure: str, axis: str, lines: dict[str, list[tuple[int, float]]]) -> list[str]:
    widest = max(x for points in lines.values() for x, _ in points)
    highest = max(value for points in lines.values() for _, value in points)
    left, bottom = _MARGIN, top + 24 + _PLOT_HEIGHT
    parts = [_text(10, top + 14, measure, size=13)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = left + share * _PLOT_WIDTH, bottom - share * _PLOT_HEIGHT
        parts.append(f'<path d="M{left} {y:.1f}H{left + _PLOT_WIDTH}" stroke="#dddddd"/>')
        parts.append(_text(left - 6, y + 4, f"{share * highest:,.1f}", anchor="end", size=11))
        parts.append(_text(x, bottom + 16, f"{share * widest:,.0f}", anchor="middle", size=11))
    parts.append(_text(left + _PLOT_WIDTH / 2, bottom + 34, axis, anchor="middle"))
    for colour, (name, points) in zip(_COLOURS, lines.items(), strict=False):
        places = [
            (left + x / widest * _PLOT_WIDTH, bottom - value / highest * _PLOT_HEIGHT) for x, value in sorted(points)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_text(places[-1][0] + 8, places[-1][1] + 4, name))
    return parts
