package main

import (
	"fmt"
	"syscall"
)

// fileSystem names the file system of a directory.
func fileSystem(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "unknown file system"
	}
	names := map[int64]string{
		0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlayfs", 0x2fc12fc1: "zfs",
	}
	if n := names[int64(st.Type)]; n != "" {
		return n
	}
	return fmt.Sprintf("file system %#x", st.Type)
}

// free is what a directory's file system has left: bytes and inodes, each -1 when it
// does not say.
func free(dir string) (bytes, inodes int64) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return -1, -1
	}
	bytes, inodes = int64(st.Bavail)*int64(st.Bsize), -1
	if st.Files > 0 {
		inodes = int64(st.Ffree)
	}
	return bytes, inodes
}
