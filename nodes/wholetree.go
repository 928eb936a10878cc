package nodes

// WholeTree returns the Tree that lint and targets walk of a workspace, for whoever has to
// look at the same directories (D-73). above is the value of IgnoreAbove.
func WholeTree(above IgnoreAboveValue, explicit bool) Tree {
	return Tree{Dir: ".", Explicit: explicit, Ignore: joinIgnore(above.Files, above.Dirs), Below: above.Below}
}
