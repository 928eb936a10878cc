//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
)

var errNoTerminal = errors.New("these tests make a terminal on Linux only")

func openTerminal() (master, terminal *os.File, err error) { return nil, nil, errNoTerminal }

func atTerminal(*exec.Cmd, string, []string) (screen string, err error) { return "", errNoTerminal }
