package page

// The hashes of page.css and page.js as a policy spells them: SHA-256 in base64.
// `go test ./render/page -run TestHashes -update` writes them.
const (
	styleHash  = "j6k7Z4dN22Mz4XGCSkKlAGoKXWwd4sNIZ4HM5BCnfm8="
	scriptHash = "Te7WqeuEg73/P5+1ss4vgBtG/Nx4/7MqV/xPLU2n0lg="
)
