//go:build tools

// Package tools names the program that the scenario `packaging` uses, so that go.mod pins all it needs.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
