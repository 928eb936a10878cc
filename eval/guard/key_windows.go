package guard

import (
	"os"

	"golang.org/x/sys/windows"
)

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
