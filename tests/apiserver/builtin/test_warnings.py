from typing import Any

from steersman.apiserver.builtin.registry import builtin_kind

SERVICE = builtin_kind("", "Service")
CRON_JOB = builtin_kind("batch", "CronJob")


def _cron_job(generation: int, **pod: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": {"containers": [], **pod}}}}
    return {
        "metadata": {"name": "c", "generation": generation},
        "spec": {"schedule": "@daily", "jobTemplate": template},
    }


def test_a_headless_service_returns_a_warning_for_an_ignored_field() -> None:
    """A setting without effect looks like one with effect."""
    spec = {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP"}
    found = SERVICE.validation_warnings({"metadata": {"name": "s"}, "spec": spec}, None)
    assert found == ["spec.SessionAffinity is ignored for headless services"]


def test_a_template_inside_a_template_returns_warnings() -> None:
    """A CronJob's pods are two templates deep."""
    secrets = [{"name": "p"}, {"name": "p"}]
    (found,) = CRON_JOB.validation_warnings(_cron_job(1, imagePullSecrets=secrets), None)
    assert found == 'spec.jobTemplate.spec.template.spec.imagePullSecrets[1].name: duplicate name "p"'


def test_an_update_that_does_not_change_the_spec_returns_no_warnings() -> None:
    """A client that labels an object did not write its template."""
    obj = _cron_job(1, terminationGracePeriodSeconds=-1)
    assert CRON_JOB.validation_warnings(obj, obj) == []
    assert len(CRON_JOB.validation_warnings(obj, _cron_job(0))) == 1
