// Package state keeps files in a state directory: the one of a workspace, which may
// have come with a repository, and the one of a user. Files are read, replaced as a
// whole, added to and locked there, by any number of processes at the same time, and
// never through a link.
//
// It knows no file by its name or format, beside the .gitignore that every workspace's
// directory gets, and the cache, in which the locks lie. It runs nothing, logs nothing
// and reads no environment. What goes wrong is a *FileError, whose message is one
// sentence for a person.
package state
