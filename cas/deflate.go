package cas

import (
	"bytes"
	"compress/flate"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// compressFrom is the size in bytes from which a payload is worth compressing. A
	// kilobyte takes 0.05 ms, most of it for the code tables. In the examples' stores
	// that saves 1200 bytes a payload from here on, and 220 between 512 and here.
	compressFrom = 1024
	// maxRatio is how many times its size DEFLATE can unpack to: two bits are the
	// shortest way to say the longest match, 258 bytes.
	maxRatio = 1032
)

// compressor holds the DEFLATE writer and reader, each built when it is first
// needed, because most runs need neither. It is the standard library's because
// linking that costs nothing measurable: the two codecs tried in its place added
// 7 and 25 % to every start of a program that only says hello, for the tables they
// fill before main.
type compressor struct {
	encoding sync.Mutex // guards w, and is held while it writes
	w        *flate.Writer

	decoding sync.Mutex // guards in and r, and is held while they read
	in       bytes.Reader
	r        io.ReadCloser
}

// pack returns b as a payload, compressed if that makes it smaller.
func (c *compressor) pack(b []byte) payload {
	if len(b) >= compressFrom {
		if small := c.deflate(b); len(small) < len(b) {
			return payload{codec: deflateCodec, raw: len(b), b: small}
		}
	}
	return rawPayload(b)
}

// packBatch is how many payloads are compressed at a time: what they take in memory is
// bounded, and a processor that waits for the others does so once in a while only.
const packBatch = 1024

// packer compresses on all processors: after a walk of a tree that takes longer than
// everything else that is written.
type packer struct{ workers []compressor }

// all returns the payloads of some entries, in their order, compressed when that is
// asked for.
func (p *packer) all(entries []entry, compress bool) []payload {
	out := make([]payload, len(entries))
	if !compress {
		for i, e := range entries {
			out[i] = rawPayload(e.b)
		}
		return out
	}
	if p.workers == nil {
		p.workers = make([]compressor, runtime.GOMAXPROCS(0))
	}
	var next atomic.Int64
	work := func(c *compressor) {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(entries) {
				return
			}
			out[i] = c.pack(entries[i].b)
		}
	}
	var wg sync.WaitGroup
	for i := range p.workers[1:] {
		wg.Go(func() { work(&p.workers[1+i]) })
	}
	work(&p.workers[0])
	wg.Wait()
	return out
}

func rawPayload(b []byte) payload {
	return payload{codec: rawCodec, raw: len(b), b: b}
}

// unpack returns the bytes of a payload. It allocates no more than the record
// says, and little for a payload that claims much and has little.
func (c *compressor) unpack(p payload) ([]byte, error) {
	if p.codec == rawCodec {
		return p.b, nil
	}
	if p.raw/maxRatio > len(p.b) {
		return nil, damaged("%d bytes cannot be %d unpacked", len(p.b), p.raw)
	}
	return c.inflate(p.b, p.raw)
}

func (c *compressor) deflate(b []byte) []byte {
	c.encoding.Lock()
	defer c.encoding.Unlock()
	var out bytes.Buffer
	var err error
	if c.w == nil {
		c.w, err = flate.NewWriter(&out, flate.BestSpeed)
	} else {
		c.w.Reset(&out)
	}
	if err == nil {
		_, err = c.w.Write(b)
	}
	if err == nil {
		err = c.w.Close()
	}
	if err != nil {
		panic("cas: deflate into memory: " + err.Error())
	}
	return out.Bytes()
}

// inflate returns what b unpacks to if that is n bytes and b holds nothing else.
func (c *compressor) inflate(b []byte, n int) ([]byte, error) {
	c.decoding.Lock()
	defer c.decoding.Unlock()
	// A source with ReadByte is not read beyond the end of the stream, so that what
	// is left in it was behind the end.
	c.in.Reset(b)
	if c.r == nil {
		c.r = flate.NewReader(&c.in)
	} else if err := c.r.(flate.Resetter).Reset(&c.in, nil); err != nil {
		return nil, damaged("deflate: %w", err)
	}
	out := make([]byte, n)
	if got, err := io.ReadFull(c.r, out); err != nil {
		return nil, damaged("deflate: %d bytes unpacked, the record says %d: %w", got, n, err)
	}
	switch more, err := c.r.Read(make([]byte, 1)); {
	case more > 0:
		return nil, damaged("deflate: more than the %d bytes that the record says", n)
	case err != io.EOF:
		return nil, damaged("deflate: %w", err)
	case c.in.Len() > 0:
		return nil, damaged("deflate: %d bytes behind the end", c.in.Len())
	}
	return out, nil
}

// close frees what was built.
func (c *compressor) close() {
	c.encoding.Lock()
	c.w = nil
	c.encoding.Unlock()
	c.decoding.Lock()
	c.in.Reset(nil)
	c.r = nil
	c.decoding.Unlock()
}
