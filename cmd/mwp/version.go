package main

import (
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
)

// build is what the program knows of how it was made.
type build struct {
	version, commit string
	modified        bool
}

// stamp is set by the linker in the programs of a release (cmd/mwp-release), whose build
// information has no version: VERSION, then with commas COMMIT, if it is known, and
// "modified".
var stamp string

func buildVersion() build {
	if stamp != "" {
		return stamped(stamp)
	}
	b := build{version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" {
		b.version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

func stamped(s string) build {
	parts := append(strings.Split(s, ","), "", "")
	return build{version: parts[0], commit: parts[1], modified: parts[2] != ""}
}

func (a *app) runVersion() error {
	b := buildVersion()
	version, commit, modified := b.version, b.commit, b.modified
	if a.json {
		var o jsonObject
		o.str("version", version)
		if commit == "" {
			o.raw("commit", "null")
		} else {
			o.str("commit", commit)
		}
		o.raw("modified", strconv.FormatBool(modified))
		o.str("map_schema", mwp.SchemaVersion)
		o.str("cache_format", mwp.CacheFormat)
		return a.print([]byte(o.lines()))
	}
	text := "mwp " + version
	if commit == "" {
		commit = "unknown"
	} else if modified {
		commit += ", modified"
	}
	return a.print([]byte(text + "\ncommit        " + commit + "\nmap schema    " + mwp.SchemaVersion + "\ncache format  " + mwp.CacheFormat + "\n"))
}
