//go:build tools

// Package tools names the program that `make control-plane` builds, so that go.mod pins all it needs.
package tools

import _ "go.etcd.io/etcd/server/v3"
