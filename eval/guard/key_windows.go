package guard

import (
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// readPrivate returns the content of a regular file, at most limit bytes. Who can
// read it is settled by the profile's directory, where only its owner can.
func readPrivate(path string, limit int) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, unfit("expected a file, found something else")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

// checkPersonal accepts every directory, see readPrivate.
func checkPersonal(fs.FileInfo) error { return nil }

// random fills b from the system's generator.
func random(b []byte) error {
	var provider windows.Handle
	err := windows.CryptAcquireContext(&provider, nil, nil, windows.PROV_RSA_FULL, windows.CRYPT_VERIFYCONTEXT|windows.CRYPT_SILENT)
	if err != nil {
		return os.NewSyscallError("CryptAcquireContext", err)
	}
	defer windows.CryptReleaseContext(provider, 0)
	return os.NewSyscallError("CryptGenRandom", windows.CryptGenRandom(provider, uint32(len(b)), &b[0]))
}
