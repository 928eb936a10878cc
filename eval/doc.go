// Package eval turns tasks into values: it schedules nodes, joins duplicate work
// in a table of promises, verifies recorded traces and cuts off early where a
// recomputed value did not change, reads leaves from the file system, and serves
// whole results from slots without evaluating anything.
//
// It knows no kind but the leaves: what a map is, it does not know, and it may
// not import the packages that do (nodes, render). Everything the world says
// enters through World, is recorded, and is looked at again before a result that
// rests on it is served.
package eval
