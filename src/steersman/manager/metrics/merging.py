"""The metrics of several processes, or of several clusters, on one page."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


class _Merged(Collector):
    """The metrics of several pages, each sample with the page that it comes from."""

    def __init__(self, pages: Mapping[str, bytes], label: str) -> None:
        self._pages = pages
        self._label = label

    def collect(self) -> list[Metric]:
        """Return the metrics of all pages, those of one name together."""
        found: dict[str, Metric] = {}
        for name, page in self._pages.items():
            for family in text_string_to_metric_families(page.decode()):
                merged = found.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    labels = {**sample.labels, self._label: name}
                    merged.add_sample(sample.name, labels, sample.value, sample.timestamp, sample.exemplar)
        return list(found.values())


def merged_metrics(pages: Mapping[str, bytes], *, label: str) -> bytes:
    """Return one page of metrics from several; each sample has the name of its page as a label."""
    registry = CollectorRegistry()
    registry.register(_Merged(pages, label))
    return generate_latest(registry)
