"""What is registered with the API server: webhook configurations, policies, trusted CA bundles and RBAC rules."""
