//go:build !linux

package eval

import (
	"io/fs"
	"os"

	"github.com/model-workspace-protocol/mwp/graph"
)

// listDir hands the name and type of each entry of a directory to keep, in no order,
// and returns what the directory looked like before. Of what could not be opened as a
// directory, read is false and before is what is there. A name is valid during the
// call.
func (w *World) listDir(path string, keep func(name []byte, t graph.FileType)) (before stat, read bool, err error) {
	before, err = w.lstat(path)
	if err != nil || before.Type != graph.Directory {
		return before, false, err
	}
	f, err := os.Open(path)
	if absentError(err) {
		before, err = w.lstat(path)
		return before, false, err
	}
	if err != nil {
		return stat{}, false, err
	}
	defer f.Close()
	w.Count.DirsRead.Add(1)
	entries, err := f.ReadDir(-1)
	if err != nil {
		return stat{}, false, err
	}
	for _, e := range entries {
		keep([]byte(e.Name()), typeOf(e.Type()))
	}
	return before, true, nil
}

func typeOf(m fs.FileMode) graph.FileType {
	switch {
	case m.IsRegular():
		return graph.Regular
	case m.IsDir():
		return graph.Directory
	case m&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return graph.Link
	}
	return graph.Other
}
