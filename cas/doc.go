// Package cas keeps bytes by content and by key: digests and derived keys, the
// canonical encoding they are made of, a store of values and actions in pack
// segments, one-file slots, the locks around them and their upkeep.
//
// Everything kept here can be computed again. So whatever is missing, truncated,
// damaged, evicted or written by another version of the format is a miss with a
// reason (ErrAbsent), never an error and never a wrong answer, and nothing is
// flushed to the device. docs/format.md describes every byte on disk.
//
// The package knows nothing of nodes, maps or workspaces and imports nothing of
// this module. It starts no goroutine of its own, reads no environment, and does
// no work before it is called: a command that finds its slot pays for one hash.
package cas
