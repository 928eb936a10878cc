package cas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The layout of a record in a segment, in bytes; numbers are little-endian.
//
//	0   4   length of the whole record
//	4   1   kind: 1 value, 2 action
//	5   1   codec: 0 raw, 1 DEFLATE
//	6   4   length of the payload before compression
//	10  32  digest of the value or key of the action
//	42  n   payload
//	42+n 16 first 16 bytes of the BLAKE3 hash of everything before it in the record
//
// The tag is what makes an action trustworthy and what ends a scan. 128 bits cost
// 8 bytes a record more than enough would, and save the argument.
const (
	recordHead     = 42
	tagSize        = 16
	recordOverhead = recordHead + tagSize
)

type recordKind uint8

const (
	valueRecord  recordKind = 1
	actionRecord recordKind = 2
)

type codec uint8

const (
	rawCodec     codec = 0
	deflateCodec codec = 1
)

// errDamaged is what bytes that no writer produced are reported as.
var errDamaged = errors.New("damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errDamaged, fmt.Errorf(format, args...))
}

// head is the fixed part of a record.
type head struct {
	length int
	kind   recordKind
	codec  codec
	raw    int
	key    [32]byte
}

// payload is a record's payload as it is stored.
type payload struct {
	codec codec
	raw   int
	b     []byte
}

// appendRecord writes a record.
func appendRecord(b []byte, kind recordKind, key *[32]byte, p payload) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(recordOverhead+len(p.b)))
	b = append(b, byte(kind), byte(p.codec))
	b = binary.LittleEndian.AppendUint32(b, uint32(p.raw))
	b = append(b, key[:]...)
	b = append(b, p.b...)
	sum := Sum(b[start:])
	return append(b, sum[:tagSize]...)
}

// parseHead reads the fixed part and rejects what no writer produces, so that a
// length in it may be believed as far as MaxSize.
func parseHead(b []byte) (h head, err error) {
	if len(b) < recordHead {
		return h, damaged("%d bytes are no record", len(b))
	}
	length, raw := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[6:])
	h = head{kind: recordKind(b[4]), codec: codec(b[5]), key: [32]byte(b[10:])}
	if length < recordOverhead || length > recordOverhead+MaxSize || raw > MaxSize {
		return h, damaged("record of %d bytes, %d unpacked", length, raw)
	}
	h.length, h.raw = int(length), int(raw)
	stored := h.length - recordOverhead
	switch {
	case h.kind != valueRecord && h.kind != actionRecord:
		return h, damaged("record of kind %d", h.kind)
	case h.codec == rawCodec && stored == h.raw:
	case h.codec == deflateCodec && stored < h.raw:
	default:
		return h, damaged("codec %d for %d bytes that were %d", h.codec, stored, h.raw)
	}
	return h, nil
}

// parseRecord reads a whole record and checks its tag.
func parseRecord(b []byte) (head, payload, error) {
	h, p, err := splitRecord(b)
	if err != nil {
		return h, p, err
	}
	body := b[:h.length-tagSize]
	if sum := Sum(body); !bytes.Equal(sum[:tagSize], b[len(body):]) {
		return h, p, damaged("record does not match its tag")
	}
	return h, p, nil
}

// splitRecord reads a whole record and leaves its tag to the caller, who may have
// a stronger check.
func splitRecord(b []byte) (h head, p payload, err error) {
	h, err = parseHead(b)
	if err == nil && h.length != len(b) {
		err = damaged("record of %d bytes in a place for %d", h.length, len(b))
	}
	if err != nil {
		return h, p, err
	}
	return h, payload{codec: h.codec, raw: h.raw, b: b[recordHead : h.length-tagSize]}, nil
}
