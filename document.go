package mwp

import _ "embed"

// nodesDocument is docs/nodes.md, which a test keeps equal to the kinds' doc
// comments.
//
//go:embed docs/nodes.md
var nodesDocument string

// NodesDocument returns the description of every node kind as Markdown, what
// `mwp help nodes` prints.
func NodesDocument() string { return nodesDocument }
