// Package command reads the commands of guards: which words they have, whether
// they need a shell, how far they are trusted before anybody is asked (D-41), what
// they are called in text (D-97) and which script they name (D-42).
//
// It is text in and text out. It may not look at files, the environment or the
// platform: the level of a command has to be the same for everybody who reads the
// workspace. It trusts nothing it reads, for commands come from repositories of
// strangers, and takes time and memory in proportion to the text.
//
// # Doubt
//
// A command without shell syntax is started as a list of words, and those are the
// words that a POSIX shell would have passed. Where two shells could differ, the
// text counts as shell syntax. That costs convenience only: such a command has to be
// listed word for word.
//
// # Windows
//
// Words are split in the same way there: a backslash quotes, so paths are written
// with /. Percent signs and carets are ordinary characters, since nothing expands
// them in a command that is started without a shell. That does not hold for batch
// files, npm.cmd and pnpm.cmd among them: cmd.exe reads their arguments again, so
// whoever starts one there has to refuse words that hold any of & | < > ^ % " or a
// newline.
package command
