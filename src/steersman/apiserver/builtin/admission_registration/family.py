"""Registration of webhook configurations and admission policies."""

from steersman.apiserver.builtin.admission_registration.policies import default_policy, default_policy_binding
from steersman.apiserver.builtin.admission_registration.webhook_configurations import (
    WebhookConfigurationStrategy,
    default_mutating_webhooks,
    default_webhooks,
)
from steersman.apiserver.builtin.common.strategies import StatusKeepsMetadata
from steersman.apiserver.builtin.kind import BuiltinKind

_GROUP = "admissionregistration.k8s.io"
KINDS = (
    BuiltinKind(
        _GROUP,
        "ValidatingWebhookConfiguration",
        defaults=default_webhooks,
        strategy=WebhookConfigurationStrategy,
        validation="admission_registration.webhook_validation:webhook_configuration_errors",
        columns="admission_registration.columns:WEBHOOK_CONFIGURATION",
        counts_generations=True,
    ),
    BuiltinKind(
        _GROUP,
        "MutatingWebhookConfiguration",
        defaults=default_mutating_webhooks,
        strategy=WebhookConfigurationStrategy,
        validation="admission_registration.webhook_validation:webhook_configuration_errors",
        columns="admission_registration.columns:WEBHOOK_CONFIGURATION",
        counts_generations=True,
    ),
    BuiltinKind(
        _GROUP,
        "ValidatingAdmissionPolicy",
        strategy=StatusKeepsMetadata,
        defaults=default_policy,
        validation="admission_registration.policy_validation:policy_errors",
        columns="admission_registration.columns:VALIDATING_ADMISSION_POLICY",
        counts_generations=True,
    ),
    BuiltinKind(
        _GROUP,
        "ValidatingAdmissionPolicyBinding",
        defaults=default_policy_binding,
        validation="admission_registration.policy_validation:policy_binding_errors",
        columns="admission_registration.columns:POLICY_BINDING",
        counts_generations=True,
    ),
    BuiltinKind(
        _GROUP,
        "MutatingAdmissionPolicy",
        defaults=default_policy,
        validation="admission_registration.policy_validation:mutating_policy_errors",
        counts_generations=True,
    ),
    BuiltinKind(
        _GROUP,
        "MutatingAdmissionPolicyBinding",
        defaults=default_policy_binding,
        validation="admission_registration.policy_validation:mutating_policy_binding_errors",
        columns="admission_registration.columns:POLICY_BINDING",
        counts_generations=True,
    ),
)
