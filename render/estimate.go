package render

import (
	"strconv"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Factors from an o200k_base count to a model's own, in thousandths. Claude's
// last public tokenizer (that of version 2; later ones are not published) counts
// about 12 % above o200k_base, Llama 3's is within 1 %, and gpt-4 is the counter
// itself. Integers, because floating point differs between processors.
var factors = []struct {
	model       string
	thousandths int64
}{
	{"claude", 1120},
	{"gpt-4", 1000},
	{"llama", 1010},
}

// Estimate returns about how many tokens of model a count of o200k_base tokens
// is, rounded to the nearest; for an unknown model the count itself (D-39).
func Estimate(model string, tokens int) int {
	for _, f := range factors {
		if f.model == model {
			return int((int64(tokens)*f.thousandths + 500) / 1000)
		}
	}
	return tokens
}

// scalable reports whether the factors apply to a counter. White-space words
// stand in no fixed ratio to tokens.
func scalable(counter string) bool { return counter != "" && counter != "whitespace/1" }

// Disagreements returns a warning for each layer that the map's counter leaves
// within its cap and the model's estimate does not (D-39).
func Disagreements(m *ir.Map, model string) []ir.Diagnostic {
	if !scalable(m.TokenCounter) {
		return nil
	}
	var ds []ir.Diagnostic
	for i := range ir.LayerCount {
		limit, total := *m.Budgets.At(i), *m.Totals.At(i)
		if limit == nil || total > *limit {
			continue
		}
		if n := Estimate(model, total); n > *limit {
			ds = append(ds, ir.Diagnostic{
				Code:     ir.TokenizerDisagrees,
				Severity: ir.SeverityWarning,
				Message: ir.LayerName(i) + " has " + strconv.Itoa(total) + " tokens by " + m.TokenCounter +
					", within its cap of " + strconv.Itoa(*limit) + ", but about " + strconv.Itoa(n) + " for " + model,
				Hint: "shorten the layer or raise [budgets] l" + strconv.Itoa(i) + " in the anchor",
			})
		}
	}
	return ds
}
