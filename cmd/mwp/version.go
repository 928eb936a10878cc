package main

import (
	"runtime/debug"
	"strconv"

	"github.com/model-workspace-protocol/mwp"
)

// build is what the program knows of how it was made.
type build struct {
	version, commit string
	modified        bool
}

func buildVersion() build {
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
