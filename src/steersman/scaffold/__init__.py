"""New projects and what they become in a cluster: templates, and manifests derived from an operator."""
