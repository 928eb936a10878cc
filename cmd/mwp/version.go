package main

import (
	"runtime/debug"
	"strconv"

	"github.com/model-workspace-protocol/mwp"
)

func (a *app) runVersion() error {
	version, commit, modified := "(devel)", "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" {
			version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.modified":
				modified = s.Value == "true"
			}
		}
	}
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
