// Package harness knows the files and messages by which other programs, the harnesses
// around language models, are told of mwp: their configurations, and the hooks that they
// run at events of a conversation (D-114).
//
// It is text in and text out. It may not open a file, read the environment, or compute a
// map; the commands that use it do.
package harness
