package process

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// wires are the pipes between this process and a command. The pipes of os/exec will
// not do: it waits for as long as any process holds one, and a deadline of its own
// begins with the context's end.
type wires struct {
	// theirs are the command's ends, which this process closes when it has them.
	theirs  []*os.File
	input   *os.File // nil without input
	text    []byte
	outputs []output
	reading sync.WaitGroup
	// refused has room for one error of each output.
	refused chan error
}

// output is a pipe that is copied to a writer.
type output struct {
	from *os.File
	to   io.Writer
}

// connect makes the pipes of a command.
func connect(cmd *exec.Cmd, o Options) (*wires, error) {
	w := &wires{text: o.Input, refused: make(chan error, 2)}
	err := w.connect(cmd, o)
	if err != nil {
		w.close()
	}
	return w, err
}

func (w *wires) connect(cmd *exec.Cmd, o Options) error {
	if o.Input != nil {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return err
		}
		cmd.Stdin, w.input = theirs, ours
		w.theirs = append(w.theirs, theirs)
	}
	if o.Stdout != nil {
		f, err := w.output(o.Stdout)
		if err != nil {
			return err
		}
		cmd.Stdout = f
		if o.Stderr == nil {
			cmd.Stderr = f
		}
	}
	if o.Stderr != nil {
		f, err := w.output(o.Stderr)
		if err != nil {
			return err
		}
		cmd.Stderr = f
	}
	return nil
}

func (w *wires) output(to io.Writer) (*os.File, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w.theirs = append(w.theirs, theirs)
	w.outputs = append(w.outputs, output{ours, to})
	return theirs, nil
}

// begin writes and reads, once the command has its ends.
func (w *wires) begin() {
	w.closeTheirs()
	if w.input != nil {
		// A command that does not read its input is its own matter.
		go w.input.Write(w.text)
	}
	for _, o := range w.outputs {
		w.reading.Go(func() {
			// A failing Read is the pipe's end, or its closing after too long a wait.
			io.Copy(refusing{o.to, w.refused}, o.from)
		})
	}
}

// refusing passes on what is written, and the error of that.
type refusing struct {
	to      io.Writer
	refused chan<- error
}

func (w refusing) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		w.refused <- err
	}
	return n, err
}

// drain waits until everything that was written has been read.
func (w *wires) drain(patience time.Duration) {
	// Pipes have no read deadline on Windows; closing ends a Read everywhere.
	stop := time.AfterFunc(patience, w.closeOurs)
	defer stop.Stop()
	w.reading.Wait()
}

// refusal returns the error of a writer, if there was one that nobody has taken.
func (w *wires) refusal() error {
	select {
	case err := <-w.refused:
		return err
	default:
		return nil
	}
}

func (w *wires) closeTheirs() {
	for _, f := range w.theirs {
		f.Close()
	}
	w.theirs = nil
}

func (w *wires) closeOurs() {
	for _, o := range w.outputs {
		o.from.Close()
	}
}

func (w *wires) close() {
	w.closeTheirs()
	w.closeOurs()
	if w.input != nil {
		w.input.Close()
	}
}
