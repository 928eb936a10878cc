package ir

// AppendVerifyJSON appends r as JSON in a fixed order, in the manner of AppendJSON
// and with a final newline: what `mwp verify --json` prints. Its schema is
// docs/schema/verify.schema.json.
//
//	{schema_version, targets: […], guards: […], counts: {passed, failed, not_run}, ok, problems: […], notes: […]}
//
// A guard has the fields that it has in a map's verifications, then those that only a
// run knows. Arrays are never null (U-39).
func AppendVerifyJSON(dst []byte, r *VerifyReport) []byte {
	w := jsonWriter{buf: dst}
	w.open('{')
	w.field("schema_version").str(SchemaVersion)
	w.field("targets").strings(r.Targets)
	list(w.field("guards"), r.Guards, (*jsonWriter).verifiedGuard)
	passed, failed, notRun := r.Count()
	w.field("counts").open('{')
	w.field("passed").int(int64(passed))
	w.field("failed").int(int64(failed))
	w.field("not_run").int(int64(notRun))
	w.close('}')
	w.field("ok").bool(r.OK())
	list(w.field("problems"), r.Problems, (*jsonWriter).diagnostic)
	w.field("notes").strings(r.Notes)
	w.close('}')
	return append(w.buf, '\n')
}

func (w *jsonWriter) verifiedGuard(g *VerifiedGuard) {
	w.open('{')
	w.verification(&g.Verification, FullForm)
	w.field("ran").bool(g.Ran)
	w.field("trust").str(g.Trust)
	w.field("trust_reason").str(g.Why)
	w.field("sources").strings(g.Sources)
	w.field("owners").strings(g.Owners)
	w.field("log").str(g.Log)
	w.field("detail").str(g.Detail)
	w.field("hint").str(g.Hint)
	w.close('}')
}
