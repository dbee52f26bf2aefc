from typing import Any

from steersman.apiserver.builtin.validation.warnings import validation_warnings
from steersman.objects.identity import GroupVersionKind

SERVICE = GroupVersionKind("", "v1", "Service")
CRON_JOB = GroupVersionKind("batch", "v1", "CronJob")


def _cron_job(generation: int, **pod: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": {"containers": [], **pod}}}}
    return {
        "metadata": {"name": "c", "generation": generation},
        "spec": {"schedule": "@daily", "jobTemplate": template},
    }


def test_a_headless_service_is_told_what_it_ignores() -> None:
    """A setting without effect looks like one with effect."""
    spec = {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP"}
    found = validation_warnings(SERVICE, {"metadata": {"name": "s"}, "spec": spec}, None)
    assert found == ["spec.SessionAffinity is ignored for headless services"]


def test_templates_inside_templates_are_looked_at() -> None:
    """A CronJob's pods are two templates deep."""
    secrets = [{"name": "p"}, {"name": "p"}]
    (found,) = validation_warnings(CRON_JOB, _cron_job(1, imagePullSecrets=secrets), None)
    assert found == 'spec.jobTemplate.spec.template.spec.imagePullSecrets[1].name: duplicate name "p"'


def test_an_update_that_changes_no_spec_says_nothing() -> None:
    """Who labels an object did not write its template."""
    obj = _cron_job(1, terminationGracePeriodSeconds=-1)
    assert validation_warnings(CRON_JOB, obj, obj) == []
    assert len(validation_warnings(CRON_JOB, obj, _cron_job(0))) == 1
