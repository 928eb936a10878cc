package tokens

// The weights of approx/1, in thousandths of a token, were fitted to
// o200k_base over 60 Markdown files. The terms are defined at Counter.
const (
	perWord        = 1009
	perLateLetter  = 36
	perHump        = 627
	perDigitTriple = 925
	perSymbolRun   = 356
	perSymbol      = 398
	perNewlineRun  = 861
	perHighByte    = 605
)

// approximate is the counter approx/1. It has no floating point, because that
// would make the last place depend on the processor.
func approximate(text []byte) int {
	sum := 0
	for i := 0; i < len(text); {
		kind := kindOf(text[i])
		start := i
		switch kind {
		case upperLetter, lowerLetter:
			for prev := kind; i < len(text); i++ {
				k := kindOf(text[i])
				if k != upperLetter && k != lowerLetter {
					break
				}
				if k == upperLetter && prev == lowerLetter {
					sum += perHump
				}
				prev = k
			}
			sum += perWord + perLateLetter*max(0, i-start-6)
		case blank, lineEnd:
			weight := 0
			for ; i < len(text); i++ {
				k := kindOf(text[i])
				if k != blank && k != lineEnd {
					break
				}
				if k == lineEnd {
					weight = perNewlineRun
				}
			}
			sum += weight
		default:
			for i < len(text) && kindOf(text[i]) == kind {
				i++
			}
			switch n := i - start; kind {
			case digit:
				sum += perDigitTriple * ((n + 2) / 3)
			case symbol:
				sum += perSymbolRun + perSymbol*n
			case highByte:
				sum += perHighByte * n
			}
		}
	}
	return (sum + 500) / 1000
}

// byteKind tells what approx/1 distinguishes.
type byteKind uint8

const (
	control byteKind = iota
	upperLetter
	lowerLetter
	digit
	symbol
	blank
	lineEnd
	highByte
)

func kindOf(b byte) byteKind {
	switch {
	case b >= 0x80:
		return highByte
	case 'a' <= b && b <= 'z':
		return lowerLetter
	case b == ' ' || b == '\t' || b == '\v' || b == '\f':
		return blank
	case b == '\n' || b == '\r':
		return lineEnd
	case b < ' ' || b == 0x7f:
		return control
	case 'A' <= b && b <= 'Z':
		return upperLetter
	case '0' <= b && b <= '9':
		return digit
	default:
		return symbol
	}
}

// words is the counter whitespace/1.
func words(text []byte) int {
	n, inside := 0, false
	for i := 0; i < len(text); {
		c, size := classAt(text, i)
		if spaces.has(c) {
			inside = false
		} else if !inside {
			inside = true
			n++
		}
		i += size
	}
	return n
}
