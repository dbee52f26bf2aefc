"""Registration of the kinds that create pods."""

from steersman.apiserver.builtin.kind import BuiltinKind
from steersman.apiserver.builtin.workloads.daemon_sets import DaemonSetStrategy, default_daemon_set
from steersman.apiserver.builtin.workloads.deployments import (
    DeploymentStrategy,
    ReplicationControllerStrategy,
    default_deployment,
    default_replica_set,
    default_replication_controller,
)
from steersman.apiserver.builtin.workloads.jobs import JobStrategy, default_cron_job, default_job
from steersman.apiserver.builtin.workloads.stateful_sets import StatefulSetStrategy, default_stateful_set

KINDS = (
    BuiltinKind(
        "",
        "ReplicationController",
        strategy=ReplicationControllerStrategy,
        defaults=default_replication_controller,
        validation="workloads.deployment_validation:replication_controller_errors",
        warnings="workloads.warnings:workload_warnings",
        columns="workloads.columns:REPLICATION_CONTROLLER",
        counts_generations=True,
    ),
    BuiltinKind(
        "apps",
        "Deployment",
        strategy=DeploymentStrategy,
        defaults=default_deployment,
        validation="workloads.deployment_validation:deployment_errors",
        warnings="workloads.warnings:workload_warnings",
        columns="workloads.columns:DEPLOYMENT",
        counts_generations=True,
    ),
    BuiltinKind(
        "apps",
        "ReplicaSet",
        defaults=default_replica_set,
        validation="workloads.deployment_validation:replica_set_errors",
        warnings="workloads.warnings:workload_warnings",
        columns="workloads.columns:REPLICA_SET",
        counts_generations=True,
    ),
    BuiltinKind(
        "apps",
        "StatefulSet",
        strategy=StatefulSetStrategy,
        defaults=default_stateful_set,
        validation="workloads.stateful_set_validation:stateful_set_errors",
        warnings="workloads.warnings:stateful_set_warnings",
        columns="workloads.columns:STATEFUL_SET",
        counts_generations=True,
    ),
    BuiltinKind(
        "apps",
        "DaemonSet",
        strategy=DaemonSetStrategy,
        defaults=default_daemon_set,
        validation="workloads.daemon_set_validation:daemon_set_errors",
        warnings="workloads.warnings:daemon_set_warnings",
        columns="workloads.columns:DAEMON_SET",
        counts_generations=True,
    ),
    BuiltinKind(
        "apps",
        "ControllerRevision",
        validation="workloads.controller_revision_validation:controller_revision_errors",
        columns="workloads.columns:CONTROLLER_REVISION",
    ),
    BuiltinKind(
        "batch",
        "Job",
        strategy=JobStrategy,
        defaults=default_job,
        validation="workloads.job_validation:job_errors",
        warnings="workloads.warnings:workload_warnings",
        columns="workloads.columns:JOB",
        counts_generations=True,
    ),
    BuiltinKind(
        "batch",
        "CronJob",
        defaults=default_cron_job,
        validation="workloads.job_validation:cron_job_errors",
        warnings="workloads.warnings:cron_job_warnings",
        columns="workloads.columns:CRON_JOB",
        counts_generations=True,
    ),
)
