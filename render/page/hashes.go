package page

// The hashes of page.css and page.js as a policy spells them: SHA-256 in base64.
// `go test ./render/page -run TestHashes -update` writes them.
const (
	styleHash  = "IjZsgZ+1m5shzW0aUYrU2DRBs06aRD+1mNRyZ9OXUPs="
	scriptHash = "a4HgMVc+Ilr12vAiKrRvlx1RwOxKUNaQPLGq30ZIfkA="
)
