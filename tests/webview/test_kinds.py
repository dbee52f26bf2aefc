"""Kinds as lines of text, from the CRDs of real classes."""

from steersman.schema.crd import crd_of
from steersman.testing.fake_clock import FakeClock
from steersman.webview.kinds import MOST_FIELDS, RuleLine, kind_lines
from tests.webview.asking import document, view_of
from tests.webview.sample import SampleOperator
from tests.webview.sample_kinds import Website


def test_every_field_is_a_line_with_its_type_default_and_limits() -> None:
    """A reader finds what an author declared, members of lists and maps included."""
    (website,) = kind_lines(crd_of(Website))
    fields = {line.path: line for line in website.fields}
    assert (website.kind, website.api_version, website.plural) == ("Website", "shop.example.com/v1", "websites")
    assert website.is_namespaced
    assert website.description == "A website of the shop."
    assert [path for path in fields if path.startswith("spec")] == [
        "spec",
        "spec.image",
        "spec.replicas",
        "spec.tier",
        "spec.pages",
        "spec.pages[].path",
        "spec.pages[].weight",
        "spec.labels",
    ]
    assert fields["spec.image"].is_required
    assert fields["spec.image"].description == "The container image, with its tag."
    assert fields["spec.replicas"].default == 1
    assert fields["spec.replicas"].constraints["maximum"] == 50
    assert fields["spec.tier"].constraints == {"enum": ["basic", "premium"]}
    assert (fields["spec.pages"].type, fields["spec.pages"].of) == ("array", "object")
    assert (fields["spec.labels"].type, fields["spec.labels"].of) == ("map", "string")
    assert fields["spec"].rules == (
        RuleLine("a premium website needs at least 2 replicas", "self.tier != 'premium' || self.replicas >= 2"),
    )


def test_a_kind_has_a_template() -> None:
    """The form starts with what is required, not with an empty page."""
    (website,) = kind_lines(crd_of(Website))
    assert website.example.startswith(
        "apiVersion: shop.example.com/v1\nkind: Website\nmetadata:\n  name: example\nspec:\n"
    )
    assert "  image: " in website.example
    assert "  replicas: 1\n" in website.example


def test_a_crd_of_any_author_is_parsed() -> None:
    """Versions without a schema, versions that are not served, and very many fields."""
    many = {f"field{number}": {"type": "string"} for number in range(MOST_FIELDS + 7)}
    definition = {
        "spec": {
            "group": "g.example.com",
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {"name": "v1", "served": True},
                {"name": "v0", "served": False},
                {
                    "name": "v2",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "required": ["port", "any"],
                                    "properties": {
                                        "port": {"x-kubernetes-int-or-string": True},
                                        "any": {"x-kubernetes-preserve-unknown-fields": True},
                                        **many,
                                    },
                                }
                            }
                        }
                    },
                },
            ],
        }
    }
    second, first = kind_lines(definition)
    assert (second.api_version, second.is_stored, second.is_namespaced) == ("g.example.com/v2", True, False)
    assert [line.type for line in second.fields[:3]] == ["object", "int-or-string", "any"]
    assert (len(second.fields), second.more_fields) == (MOST_FIELDS, 10)
    assert (first.api_version, first.fields) == ("g.example.com/v1", ())


def test_the_page_lists_the_kinds_that_the_caller_passes() -> None:
    """The view itself knows no classes."""
    assert document(view_of(SampleOperator(FakeClock())), "/api/kinds") == []
    page = document(view_of(SampleOperator(FakeClock()), definitions=(crd_of(Website),)), "/api/kinds")
    assert page[0]["kind"] == "Website"
