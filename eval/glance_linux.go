package eval

import (
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/model-workspace-protocol/mwp/graph"
	"golang.org/x/sys/unix"
)

// Glance checks a slot that is asked for again and again. It looks at each path that
// vouches for leaves once, and from the open directory that the path lies in: in a tree
// ten levels deep, walking from the root is most of what an lstat costs. That an open
// directory is still the one that has its name is seen from the directory above, in the
// same way and in the same call that looks at its times. It belongs to one goroutine.
type Glance struct {
	slot *Slot
	dirs []glanceDir
	// records are leaves that stand only before a key, rest are those that no lstat vouches
	// for, by their places in the slot.
	records, rest []int
}

// glanceDir is an open directory. The root stands first, every other one behind the one
// above it.
type glanceDir struct {
	above int
	name  string
	fd    int
	// device and inode say which directory is open; print is what vouches for leaves, when
	// vouches is set.
	device, inode uint64
	print         Fingerprint
	vouches       bool
	files         []glanceFile
}

type glanceFile struct {
	name  string
	print Fingerprint
}

// maxGlanceDirs bounds the directories that one Glance holds open.
const maxGlanceDirs = 32

// Glance opens the directories of a slot whose leaves have just been found unchanged, nil
// when it cannot: a leaf that is not trusted, a path through a link, too many directories.
// Close ends it.
func (w *World) Glance(s *Slot) *Glance {
	g := &Glance{slot: s}
	at := map[string]int{}
	if !g.open(w, -1, ".", ".", at) {
		return nil
	}
	for i := range s.Leaves {
		l := &s.Leaves[i]
		rel := string(l.statPath())
		switch {
		case rel == "" && l.Kind != graph.RecordKind.Name:
			g.rest = append(g.rest, i)
			continue
		case rel == "" || !l.Trusted || !g.add(w, rel, l.Print, at):
			g.Close()
			return nil
		}
		if l.Kind == graph.RecordKind.Name {
			g.records = append(g.records, i)
		}
	}
	return g
}

// add sees that a path is looked at.
func (g *Glance) add(w *World, rel string, print Fingerprint, at map[string]int) bool {
	if !filepath.IsLocal(rel) || path.Clean(rel) != rel {
		return false
	}
	if print.Type == graph.Directory {
		i, ok := g.dir(w, rel, at)
		if !ok || g.dirs[i].vouches && g.dirs[i].print != print {
			return false
		}
		g.dirs[i].print, g.dirs[i].vouches = print, true
		return true
	}
	i, ok := g.dir(w, path.Dir(rel), at)
	if !ok {
		return false
	}
	d := &g.dirs[i]
	name := path.Base(rel)
	if k := slices.IndexFunc(d.files, func(f glanceFile) bool { return f.name == name }); k >= 0 {
		return d.files[k].print == print
	}
	d.files = append(d.files, glanceFile{name, print})
	return true
}

// dir opens a directory and those above it.
func (g *Glance) dir(w *World, rel string, at map[string]int) (int, bool) {
	if i, ok := at[rel]; ok {
		return i, true
	}
	above, ok := g.dir(w, path.Dir(rel), at)
	if !ok || !g.open(w, above, path.Base(rel), rel, at) {
		return 0, false
	}
	return at[rel], true
}

func (g *Glance) open(w *World, above int, name, rel string, at map[string]int) bool {
	if len(g.dirs) == maxGlanceDirs {
		return false
	}
	from := unix.AT_FDCWD
	if above >= 0 {
		from = g.dirs[above].fd
	} else {
		name = w.abs(".")
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(from, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return false
	}
	s, err := fstat(fd)
	if err != nil || s.Type != graph.Directory {
		unix.Close(fd)
		return false
	}
	at[rel] = len(g.dirs)
	g.dirs = append(g.dirs, glanceDir{above: above, name: name, fd: fd, device: s.device, inode: s.Inode})
	return true
}

// Close closes the directories.
func (g *Glance) Close() {
	for i := range g.dirs {
		unix.Close(g.dirs[i].fd)
	}
	g.dirs = nil
}

// Dirs returns how many directories are open.
func (g *Glance) Dirs() int { return len(g.dirs) }

// CheckAt reports whether everything that a slot rests on is as it was, by its Glance. A
// false answer says only that Check has to tell.
func (w *World) CheckAt(g *Glance, kinds func(name string) *graph.Kind) bool {
	if !(window{g.slot.ValidFrom, g.slot.Expires}).holds(w.age()) {
		return false
	}
	believer := believer{ledger: w.Ledger}
	for _, i := range g.records {
		if !believer.believes(&g.slot.Leaves[i]) {
			return false
		}
	}
	for i := range g.dirs {
		d := &g.dirs[i]
		from := unix.AT_FDCWD
		if d.above >= 0 {
			from = g.dirs[d.above].fd
		}
		s, ok := w.lookFrom(from, d.name)
		if !ok || s.device != d.device || s.Inode != d.inode || s.Type != graph.Directory || d.vouches && s.Fingerprint != d.print {
			return false
		}
		for k := range d.files {
			f := &d.files[k]
			if s, ok := w.lookFrom(d.fd, f.name); !ok || s.Fingerprint != f.print {
				return false
			}
		}
	}
	for _, i := range g.rest {
		if same, renewed := w.again(&g.slot.Leaves[i], kinds); !same || renewed {
			return false
		}
	}
	w.Count.Glances.Add(1)
	return true
}

// lookFrom is lstat for a name in an open directory.
func (w *World) lookFrom(dir int, name string) (stat, bool) {
	w.Count.Lstats.Add(1)
	var st unix.Stat_t
	for {
		err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == syscall.EINTR {
			continue
		}
		if absentError(err) {
			return stat{reliable: true}, true
		}
		if err != nil {
			return stat{}, false
		}
		same := syscall.Stat_t{Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, Size: st.Size, Mtim: syscall.Timespec(st.Mtim), Ctim: syscall.Timespec(st.Ctim)}
		return fromStat(&same), true
	}
}
