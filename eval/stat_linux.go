package eval

import "syscall"

func statTimes(st *syscall.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

// localMagic lists the file systems whose time stamps and inode numbers are kept
// by this kernel. On any other, a network share or something unknown, stamps may
// come from another clock or lag behind, and every file is hashed instead.
var localMagic = [...]int64{
	0xef53,     // ext2, ext3, ext4
	0x58465342, // xfs
	0x9123683e, // btrfs
	0x01021994, // tmpfs
	0x794c7630, // overlayfs
	0x2fc12fc1, // zfs
	0xf2f52010, // f2fs
	0xca451a4e, // bcachefs
	0x858458f6, // ramfs
}

func localFileSystem(path string) bool {
	var st syscall.Statfs_t
	if syscall.Statfs(path, &st) != nil {
		return false
	}
	for _, m := range localMagic {
		if int64(st.Type) == m {
			return true
		}
	}
	return false
}
