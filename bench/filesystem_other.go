//go:build !linux

package main

// fileSystem names the file system of a directory, where there is a way to tell.
func fileSystem(string) string { return "unknown file system" }

// free is what a directory's file system has left, where there is a way to tell.
func free(string) (bytes, inodes int64) { return -1, -1 }
