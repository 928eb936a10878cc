package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Codes of findings that only the command line has.
const (
	codeUsage    ir.Code = "usage"
	codeInternal ir.Code = "internal_error"
	codeMismatch ir.Code = "cache_mismatch"
	codeDamaged  ir.Code = "cache_damaged"
	codeIO       ir.Code = "io_error"
	codeTooMany  ir.Code = "too_many_warnings"
)

// Outcomes that were reported where they arose.
var (
	// errNegative is a command's own negative answer.
	errNegative = errors.New("the answer is no")
	// errBlocked is errNegative for a harness that lets only one status block.
	errBlocked = errors.New("the answer is no, to a hook")
	// errStrict is a map with errors under --strict.
	errStrict = errors.New("findings under --strict")
	// errEnvironment is trouble around a command that was reported item by item.
	errEnvironment = errors.New("not everything could be done here")
	// errPipe means that nobody reads the output any more.
	errPipe = errors.New("broken pipe")
)

// exitCode is the one place that decides the exit status (appendix A of the
// specification, `mwp help exit-codes`).
func exitCode(err error) int {
	var (
		refusal *mwp.Refusal
		misuse  *mwp.UsageError
		ended   *interrupted
	)
	switch {
	case err == nil, errors.Is(err, errPipe):
		return 0
	case errors.Is(err, errNegative), errors.As(err, &refusal):
		return 1
	case errors.As(err, &misuse), errors.Is(err, errBlocked):
		return 2
	case errors.Is(err, errStrict):
		return 3
	case errors.As(err, &ended):
		return 128 + int(ended.signal)
	}
	return 4
}

// findings returns what there is to say about an error, nil when that was said.
func (a *app) findings(err error) []ir.Diagnostic {
	var (
		refusal     *mwp.Refusal
		environment *mwp.EnvironmentError
		misuse      *mwp.UsageError
		ended       *interrupted
	)
	switch {
	case errors.Is(err, errNegative), errors.Is(err, errBlocked), errors.Is(err, errStrict), errors.Is(err, errEnvironment), errors.Is(err, errPipe), errors.As(err, &ended):
		return nil
	case errors.As(err, &refusal):
		return refusal.Diagnostics
	case errors.As(err, &environment):
		return []ir.Diagnostic{environment.Diagnostic}
	case errors.As(err, &misuse):
		return []ir.Diagnostic{misuse.Diagnostic}
	}
	return []ir.Diagnostic{{Code: codeInternal, Severity: ir.SeverityError, Message: err.Error()}}
}

// cause returns the signal behind a context's error.
func (a *app) cause(err error) error {
	if errors.Is(err, context.Canceled) {
		if c := context.Cause(a.ctx); c != nil {
			return c
		}
	}
	return err
}

// usage returns the error of a command line that makes no sense.
func usage(hint, format string, args ...any) error {
	return &mwp.UsageError{Diagnostic: ir.Diagnostic{
		Code: codeUsage, Severity: ir.SeverityError, Message: fmt.Sprintf(format, args...), Hint: hint,
	}}
}

// failed returns the error of something that the system would not do.
func failed(err error, format string, args ...any) error {
	return &mwp.EnvironmentError{Err: err, Diagnostic: ir.Diagnostic{
		Code: codeIO, Severity: ir.SeverityError, Message: "cannot " + fmt.Sprintf(format, args...) + ": " + mwp.Innermost(err).Error(),
	}}
}
