//go:build !unix

package main

import "os/exec"

// limitProcess does nothing where processes have no such limits.
func limitProcess() {}

// ownGroup leaves a command as it is: it is ended alone, and what it started ends
// when its pipes close.
func ownGroup(*exec.Cmd) {}
