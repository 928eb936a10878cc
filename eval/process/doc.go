// Package process runs one command to its end, and ends with it everything that the
// command started: when Run returns, for whatever reason, what could be found of it
// is gone, and no pipe that something else still holds keeps the caller waiting.
//
// It may start programs and signal what it started. It reads no environment, knows
// nothing of maps or guards, and changes nothing about the process that it runs in:
// the root package is a library, whose users have children of their own.
//
// # What is ended, and what is not
//
// On Unix the command leads a session of its own. So it has no terminal to ask
// questions on, and its process group can be killed at once. On Linux the processes
// that have left the group are looked for in /proc as well: every member of the
// session, which is what timeout(1) and the jobs of a shell remain, and every
// descendant of one, which also covers a program that was given a session of its own
// but still has its parent. They are stopped before the first is killed, since the
// children of a dead process can no longer be told from others.
//
// What left both the session and its parent is not found: the servers that build
// tools keep, such as those of Gradle and Bazel, get away in this way, on purpose and
// for the use of others. Nor can a program be killed that runs as another user, as
// under sudo. Processes could be adopted with PR_SET_CHILD_SUBREAPER, or recognised
// by a variable in their environment; the first would make this process the parent
// of orphans of the library's user, who would have to wait for them, and the second
// would end those servers under the hands of whoever uses them.
//
// Where there is no /proc, what leaves the group is not found. On Windows the command
// belongs to a job, which has everything that it starts after the first moments. On
// other systems only the command itself is ended.
//
// When this process is killed in a way that it cannot notice, Linux kills a command
// that is tied to it, though not what that started, and not a setuid program; Windows
// ends the whole job. Elsewhere a command learns of it from the end of its input.
package process
