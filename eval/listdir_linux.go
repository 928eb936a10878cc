package eval

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"syscall"

	"github.com/model-workspace-protocol/mwp/graph"
)

// Where the fields of a directory entry lie, as the kernel writes it: inode (8),
// offset (8), length of the entry (2), type (1), name with a NUL byte.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// dirBuffers hold what the kernel says of a directory: a few hundred names at a time.
var dirBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// listDir hands the name and type of each entry of a directory to keep, in no order,
// and returns what the directory looked like before. Of what could not be opened as a
// directory, read is false and before is what is there. A name is valid during the
// call.
//
// These are plain system calls, because os.File makes an object of every entry,
// tries to hand the descriptor to the poller, and needs an lstat before it opens what
// may be a pipe: together half the time of a walk.
func (w *World) listDir(path string, keep func(name []byte, t graph.FileType)) (before stat, read bool, err error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	})
	if absentError(err) || linkError(err) {
		before, err = w.lstat(path)
		return before, false, err
	}
	if err != nil {
		return stat{}, false, err
	}
	defer syscall.Close(fd)
	w.Count.DirsRead.Add(1)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return stat{}, false, err
	}
	buf := dirBuffers.Get().(*[16 << 10]byte)
	defer dirBuffers.Put(buf)
	for {
		n, err := retry(func() (int, error) { return syscall.ReadDirent(fd, buf[:]) })
		if err != nil {
			return stat{}, false, err
		}
		if n == 0 {
			return fromStat(&st), true, nil
		}
		if err := w.entries(path, buf[:n], keep); err != nil {
			return stat{}, false, err
		}
	}
}

var errEntry = errors.New("the system describes a directory entry that does not fit its own length")

// entries reads what the kernel wrote.
func (w *World) entries(dir string, b []byte, keep func(name []byte, t graph.FileType)) error {
	for len(b) > 0 {
		if len(b) < direntName {
			return errEntry
		}
		length := int(binary.NativeEndian.Uint16(b[direntLength:]))
		if length < direntName || length > len(b) {
			return errEntry
		}
		name, t := b[direntName:length], b[direntType]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		gone := binary.NativeEndian.Uint64(b) == 0
		b = b[length:]
		if gone || string(name) == "." || string(name) == ".." {
			continue
		}
		typ, err := w.entryType(dir, name, t)
		if err != nil {
			return err
		}
		if typ != graph.Absent {
			keep(name, typ)
		}
	}
	return nil
}

// entryType returns the type of an entry. Some file systems do not say it.
func (w *World) entryType(dir string, name []byte, t byte) (graph.FileType, error) {
	switch t {
	case syscall.DT_REG:
		return graph.Regular, nil
	case syscall.DT_DIR:
		return graph.Directory, nil
	case syscall.DT_LNK:
		return graph.Link, nil
	case syscall.DT_UNKNOWN:
		s, err := w.lstat(dir + "/" + string(name))
		return s.Type, err
	}
	return graph.Other, nil
}
