// Package zk stands in for a ZooKeeper client, because the pods of a simulated node run no ZooKeeper: every operation
// succeeds, and nothing is stored. It has only the names that zookeeper-operator uses.
package zk

import "time"

// PermAll are all permissions.
const PermAll = 0x1f

// ACL is one entry of an access control list.
type ACL struct{ Perms int32 }

// Stat describes a node of the tree.
type Stat struct{ Version int32 }

// Event is something that happens to a connection.
type Event struct{}

// Conn is a connection that needs no server.
type Conn struct{}

// WorldACL returns permissions for everybody.
func WorldACL(perms int32) []ACL { return []ACL{{perms}} }

// Connect returns a connection at once.
func Connect(servers []string, timeout time.Duration) (*Conn, <-chan Event, error) {
	return &Conn{}, nil, nil
}

// Create does nothing, successfully.
func (c *Conn) Create(path string, data []byte, flags int32, acl []ACL) (string, error) { return path, nil }

// Set does nothing, successfully.
func (c *Conn) Set(path string, data []byte, version int32) (*Stat, error) { return &Stat{}, nil }

// Exists returns that a node exists.
func (c *Conn) Exists(path string) (bool, *Stat, error) { return true, &Stat{}, nil }

// Close does nothing.
func (c *Conn) Close() {}
