package tokens

// longPiece is the length in bytes from which pieces are merged with a heap.
// Below it, looking through all pairs for each merge is about as fast, faster
// below 64, and allocates nothing.
const longPiece = 129

// count returns the number of tokens in text, cut into pieces by next.
func (t *table) count(text []byte, next func([]byte, int) int) int {
	n := 0
	for i := 0; i < len(text); {
		j := next(text, i)
		n += t.pieceTokens(text[i:j])
		i = j
	}
	return n
}

func (t *table) pieceTokens(piece []byte) int {
	switch {
	case len(piece) == 1 || t.rank(piece) != noRank:
		// Every single byte is a token.
		return 1
	case len(piece) == 2:
		return 2
	case len(piece) < longPiece:
		return t.mergeShort(piece)
	default:
		n, _ := t.mergeLong(piece)
		return n
	}
}

// mergeShort returns how many tokens are left of piece when, as long as two
// neighbours together are a token, the pair of least rank becomes one; of
// equal pairs the leftmost. It takes less than longPiece bytes.
func (t *table) mergeShort(piece []byte) int {
	var (
		start [longPiece]uint8  // of each token; then the end of the last
		pair  [longPiece]uint32 // rank of each token joined with the next
	)
	n := len(piece)
	for i := range n {
		start[i] = uint8(i)
		pair[i] = noRank
		if i+1 < n {
			pair[i] = t.rank(piece[i : i+2])
		}
	}
	start[n] = uint8(n)
	for {
		least, at := uint32(noRank), 0
		for i, r := range pair[:n] {
			if r < least {
				least, at = r, i
			}
		}
		if least == noRank {
			return n
		}
		copy(start[at+1:n], start[at+2:n+1])
		copy(pair[at+1:n-1], pair[at+2:n])
		n--
		pair[at] = noRank
		if at+1 < n {
			pair[at] = t.rank(piece[start[at]:start[at+2]])
		}
		if at > 0 {
			pair[at-1] = t.rank(piece[start[at-1]:start[at+1]])
		}
	}
}

// link is a token in a list of all tokens of a piece, at the index where its
// bytes begin.
type link struct {
	prev, next int32
	pair       uint32 // rank of this token joined with the next
}

// mergeLong returns what mergeShort would, and how many look-ups and moves in
// the heap it took: at most a multiple of n log n.
func (t *table) mergeLong(piece []byte) (tokens, steps int) {
	n := len(piece)
	list := make([]link, n)
	h := heap{items: make([]uint64, 0, n)}

	// consider looks up the pair that begins at i. An earlier item for the same
	// place stays in the heap. It is recognised by its rank when its turn
	// comes: the pair was shorter, and no two tokens have the same rank.
	consider := func(i int32) {
		list[i].pair = noRank
		if j := int(list[i].next); j < n {
			steps++
			list[i].pair = t.rank(piece[i:list[j].next])
		}
		if r := list[i].pair; r != noRank {
			// The place in the low half makes the leftmost of equal pairs
			// the least.
			h.push(uint64(r)<<32 | uint64(i))
		}
	}
	for i := range list {
		list[i] = link{prev: int32(i) - 1, next: int32(i) + 1}
	}
	for i := range list {
		consider(int32(i))
	}
	tokens = n
	for len(h.items) > 0 {
		item := h.pop()
		i := int32(uint32(item))
		if list[i].pair != uint32(item>>32) {
			continue
		}
		gone := list[i].next
		list[gone].pair = noRank
		after := list[gone].next
		list[i].next = after
		if int(after) < n {
			list[after].prev = i
		}
		tokens--
		consider(i)
		if p := list[i].prev; p >= 0 {
			consider(p)
		}
	}
	return tokens, steps + h.moves
}

// heap has its least item first. It is not container/heap, whose interface
// would allocate for each item.
type heap struct {
	items []uint64
	moves int
}

func (h *heap) push(x uint64) {
	h.items = append(h.items, x)
	s, i := h.items, len(h.items)-1
	for i > 0 {
		parent := (i - 1) / 2
		if s[parent] <= x {
			break
		}
		s[i] = s[parent]
		i = parent
		h.moves++
	}
	s[i] = x
}

func (h *heap) pop() uint64 {
	s := h.items
	least, x := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	h.items = s
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1] < s[child] {
			child++
		}
		if x <= s[child] {
			break
		}
		s[i] = s[child]
		i = child
		h.moves++
	}
	if len(s) > 0 {
		s[i] = x
	}
	return least
}
