package cas

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// compressFrom is the size in bytes from which a payload is worth compressing.
// Below it a frame's own overhead eats most of the gain.
const compressFrom = 1024

// compressor holds the zstd encoder and decoder, each built when it is first
// needed: the first encode of a process costs 0.8 to 2.3 ms and the first decode
// 0.3 ms, and most runs need neither.
type compressor struct {
	mu  sync.Mutex // guards enc and dec
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// pack returns b as a payload, compressed if that makes it smaller.
func (c *compressor) pack(b []byte) payload {
	if len(b) >= compressFrom {
		if small := c.encoder().EncodeAll(b, nil); len(small) < len(b) {
			return payload{codec: zstdCodec, raw: len(b), b: small}
		}
	}
	return rawPayload(b)
}

func rawPayload(b []byte) payload {
	return payload{codec: rawCodec, raw: len(b), b: b}
}

// unpack returns the bytes of a payload. It allocates no more than MaxSize, and
// little for a payload that claims much and has little.
func (c *compressor) unpack(p payload) ([]byte, error) {
	if p.codec == rawCodec {
		return p.b, nil
	}
	b, err := c.decoder().DecodeAll(p.b, make([]byte, 0, min(p.raw, 1<<20)))
	if err != nil {
		return nil, damaged("zstd: %w", err)
	}
	if len(b) != p.raw {
		return nil, damaged("%d bytes unpacked, the record says %d", len(b), p.raw)
	}
	return b, nil
}

func (c *compressor) encoder() *zstd.Encoder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.enc == nil {
		// The fastest level and a small window: better levels cost 9 to 38 ms in a
		// fresh process. The record has a tag, so zstd's own checksum would only
		// add four bytes.
		enc, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(64<<10), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			panic("cas: zstd encoder options: " + err.Error())
		}
		c.enc = enc
	}
	return c.enc
}

func (c *compressor) decoder() *zstd.Decoder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dec == nil {
		dec, err := zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxSize))
		if err != nil {
			panic("cas: zstd decoder options: " + err.Error())
		}
		c.dec = dec
	}
	return c.dec
}

// close frees what was built.
func (c *compressor) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dec != nil {
		c.dec.Close()
	}
	c.enc, c.dec = nil, nil
}
