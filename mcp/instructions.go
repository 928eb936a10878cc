package mcp

import _ "embed"

//go:embed instructions.md
var instructions string

// Instructions returns what clients put before their model: what the server is for, and
// when to call which tool. It is under 2 KB, where some clients cut.
func Instructions() string { return instructions }
