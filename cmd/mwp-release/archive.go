package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"time"
)

// file is one of an archive's.
type file struct {
	name       string
	data       []byte
	executable bool
}

func (f file) mode() int64 {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// stamped is the time of every file in an archive: the first that zip can hold.
var stamped = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack returns an archive, of the form that its platform expects, and its name. The
// files stand in it in the order of their names, in a directory that is called as the
// archive, and belong to nobody.
func pack(name string, asZip bool, files []file) (string, []byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var b bytes.Buffer
	if asZip {
		err := packZip(&b, name, files)
		return name + ".zip", b.Bytes(), err
	}
	err := packTar(&b, name, files)
	return name + ".tar.gz", b.Bytes(), err
}

func packTar(b *bytes.Buffer, dir string, files []file) error {
	// Neither name nor time in the header: gzip's own are left empty.
	z, err := gzip.NewWriterLevel(b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.name), Mode: f.mode(), Size: int64(len(f.data)), ModTime: stamped, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return z.Close()
}

func packZip(b *bytes.Buffer, dir string, files []file) error {
	w := zip.NewWriter(b)
	for _, f := range files {
		h := &zip.FileHeader{Name: path.Join(dir, f.name), Method: zip.Deflate, Modified: stamped}
		h.SetMode(fs.FileMode(f.mode()))
		e, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := e.Write(f.data); err != nil {
			return err
		}
	}
	return w.Close()
}
