//go:build !unix

package vcs

import "os/exec"

// separate leaves a command as it is: cancelling ends git, and what it started
// ends when it finds its pipes closed.
func separate(*exec.Cmd, bool) {}

func kill(*exec.Cmd) {}
