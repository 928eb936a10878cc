//go:build !unix

package main

import "os"

// hungUp is false: a write or a read will tell.
func hungUp(out, in *os.File, ended func()) bool { return false }
