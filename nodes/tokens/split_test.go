package tokens

import (
	"slices"
	"strings"
	"testing"
)

func pieces(text string, next func([]byte, int) int) []string {
	var list []string
	b := []byte(text)
	for i := 0; i < len(b); {
		j := next(b, i)
		list = append(list, text[i:j])
		i = j
	}
	return list
}

func TestSplit(t *testing.T) {
	// Pieces are separated by ¦.
	tests := []struct{ text, o200k, cl100k string }{
		{"Hello, big  world!", "Hello¦,¦ big¦ ¦ world¦!", "Hello¦,¦ big¦ ¦ world¦!"},
		{"don't DON'T", "don't¦ DON'T", "don¦'t¦ DON¦'T"},
		{"we'Ve I'lL he'd're", "we'Ve¦ I'lL¦ he'd¦'re", "we¦'Ve¦ I¦'lL¦ he¦'d¦'re"},
		{"it'ſ it'x it'", "it'ſ¦ it¦'x¦ it¦'", "it¦'ſ¦ it¦'x¦ it¦'"},
		{"'sofa", "'sofa", "'s¦ofa"},
		{"camelCaseHTTPServer", "camel¦Case¦HTTPServer", "camelCaseHTTPServer"},
		{"ABC", "ABC", "ABC"},
		{"ABCあABC", "ABCあ¦ABC", "ABCあABC"},
		{"漢字Abc漢A", "漢字Abc漢¦A", "漢字Abc漢A"},
		{"ǅǅa", "ǅǅa", "ǅǅa"},
		{"a\u0301b", "a\u0301b", "a¦\u0301b"},
		{"\u0301AB", "\u0301¦AB", "\u0301AB"},
		{"\u0301\u0301", "\u0301\u0301", "\u0301\u0301"},
		{"\u0301 \u0301", "\u0301¦ \u0301", "\u0301¦ \u0301"},
		{"!!\u0301a", "!!\u0301¦a", "!!\u0301¦a"},
		{"_x (y) [z]", "_x¦ (¦y¦)¦ [¦z¦]", "_x¦ (¦y¦)¦ [¦z¦]"},
		{"12345 Ⅷ½٣4", "123¦45¦ ¦Ⅷ½٣¦4", "123¦45¦ ¦Ⅷ½٣¦4"},
		{"!\n/\n//x", "!\n/\n//¦x", "!\n¦/\n¦//¦x"},
		{"a  ", "a¦  ", "a¦  "},
		{"a   b", "a¦  ¦ b", "a¦  ¦ b"},
		{"a\t\tb", "a¦\t¦\tb", "a¦\t¦\tb"},
		{"a\t1", "a¦\t¦1", "a¦\t¦1"},
		{"a   1", "a¦  ¦ ¦1", "a¦  ¦ ¦1"},
		{" \n  \n  x", " \n  \n¦ ¦ x", " \n  \n¦ ¦ x"},
		{"x\r\n \n ", "x¦\r\n \n¦ ", "x¦\r\n \n¦ "},
		{"a\u00a0b\u2028\u2028c", "a¦\u00a0b¦\u2028¦\u2028c", "a¦\u00a0b¦\u2028¦\u2028c"},
		{"a\u00a0,", "a¦\u00a0¦,", "a¦\u00a0¦,"},
		{"\u200b\ufeffx", "\u200b\ufeff¦x", "\u200b\ufeff¦x"},
		{"a\x7fb\x7f#", "a¦\x7fb¦\x7f#", "a¦\x7fb¦\x7f#"},
		{"\u180e\x7fé", "\u180e\x7f¦é", "\u180e\x7f¦é"},
		{"a\xffb\xff\xfe", "a¦\xffb¦\xff\xfe", "a¦\xffb¦\xff\xfe"},
		{"<|endoftext|>", "<|¦endoftext¦|>", "<|¦endoftext¦|>"},
	}
	for _, test := range tests {
		if got, want := pieces(test.text, nextO200k), strings.Split(test.o200k, "¦"); !slices.Equal(got, want) {
			t.Errorf("o200k_base splits %q into %q, want %q", test.text, got, want)
		}
		if got, want := pieces(test.text, nextCl100k), strings.Split(test.cl100k, "¦"); !slices.Equal(got, want) {
			t.Errorf("cl100k_base splits %q into %q, want %q", test.text, got, want)
		}
	}
}
