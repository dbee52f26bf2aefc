"""The golden tree of the scaffold: a project with one kind of each sort, and webhooks of each sort.

Renew it with ``python -m tests.scaffold.golden_tree``.
"""

from pathlib import Path

from steersman.scaffold.api import Api
from steersman.scaffold.files import Addition, project_files
from steersman.scaffold.project import Project
from steersman.scaffold.webhooks import WebhookAddition

GOLDEN = Path("tests/golden/scaffold/custompod.txt")
PROJECT = Project(name="custompod", domain="mock.com")
ADDITIONS = (
    Addition(api=Api(group="zhhnzw.mock.com", version="v1", kind="CustomPod")),
    Addition(api=Api(group="mock.com", version="v1alpha1", kind="Oak", namespaced=False)),
    Addition(api=Api(group="zhhnzw.mock.com", version="v1", kind="Box"), controller=False),
    Addition(api=Api(group="apps", version="v1", kind="Deployment"), resource=False),
    Addition(api=Api(group="zhhnzw.mock.com", version="v1alpha1", kind="CustomPod"), controller=False),
    Addition(api=Api(group="zhhnzw.mock.com", version="v10", kind="CustomPod"), controller=False),
    Addition(api=Api(group="zhhnzw.mock.com", version="v2", kind="CustomPod"), controller=False),
    WebhookAddition(
        api=Api(group="", version="v1", kind="CustomPod"),
        is_custom=True,
        sample="samples/zhhnzw_custom_pod_v1.yaml",
        validate=True,
        default=True,
        versions=("v1alpha1", "v1", "v2", "v10"),
    ),
    WebhookAddition(
        api=Api(group="", version="v1alpha1", kind="Oak"),
        is_custom=True,
        sample="samples/mock_oak_v1alpha1.yaml",
        default=True,
    ),
    WebhookAddition(api=Api(group="apps", version="v1", kind="Deployment"), is_custom=False, validate=True),
)


def files() -> dict[str, str]:
    """Return every file of the project."""
    found = project_files(PROJECT)
    for addition in ADDITIONS:
        found |= addition.files(PROJECT)
        found["custompod/main.py"] = addition.registered(found["custompod/main.py"], PROJECT)
    # What users do after adding a version.
    stored = found["custompod/api/custom_pod_v1.py"].replace('mock.com/v1",\n', 'mock.com/v1",\n    storage=True,\n')
    return {**found, "custompod/api/custom_pod_v1.py": stored}


def text() -> str:
    """Return the whole project as one text that can be read and compared."""
    return "".join(f"==== {name}\n{content}" for name, content in sorted(files().items()))


if __name__ == "__main__":
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(text(), encoding="utf-8")
