//go:build unix

package main

import "syscall"

// The modes of what is fetched are looked at, and those are the process's to cut.
func init() { syscall.Umask(0o022) }
