"""Who is asking and what they may do: authentication, impersonation, RBAC, service-account tokens."""
