//go:build !linux

package state

// read returns the content of a file in a subdirectory.
func (d Dir) read(sub, name string, limit int64) ([]byte, error) {
	f, err := d.openSub(sub)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	return f.readAtMost(name, limit)
}
