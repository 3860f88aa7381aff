package starlark

import (
	"math/big"

	"go.starlark.net/syntax"
)

// checkTree refuses a tree that would cost the resolver, the compiler or the interpreter more than
// its size suggests. It runs before all other recursive code, which has no limit of depth.
func checkTree(f *syntax.File) error {
	c := treeCheck{}
	syntax.Walk(f, c.visit)
	return c.err
}

// A treeCheck counts the things that static limits bound.
type treeCheck struct {
	depth, functions, loads int
	err                     error // the first error
}

// visit implements the callback of syntax.Walk, which passes nil after the children of a node.
func (c *treeCheck) visit(n syntax.Node) bool {
	if n == nil {
		c.depth--
		return false
	}
	c.checkNode(n)
	if c.depth++; c.depth > maxTreeDepth {
		c.refuse(nodePos(n), "nesting of the source", c.depth, maxTreeDepth)
	}
	if c.err != nil {
		c.depth--
		return false
	}
	return true
}

func (c *treeCheck) checkNode(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.DefStmt:
		c.checkFunction(n.Def, n.Params)
	case *syntax.LambdaExpr:
		c.checkFunction(n.Lambda, n.Params)
	case *syntax.LoadStmt:
		if c.loads++; c.loads > maxLoads {
			c.refuse(n.Load, "number of load statements", c.loads, maxLoads)
		}
		for _, ids := range [][]*syntax.Ident{n.From, n.To} {
			for _, id := range ids {
				c.checkLoadedName(id)
			}
		}
	case *syntax.Literal:
		if v, ok := n.Value.(*big.Int); ok && v.BitLen() > maxBits && c.err == nil {
			c.err = &LimitError{Limit: "integer size", Op: "literal", Need: uint64(v.BitLen()), Max: maxBits, Pos: posOf(n.TokenPos)}
		}
	case *syntax.Ident:
		if len(n.Name) > maxIdentifier {
			c.refuse(n.NamePos, "length of a name", len(n.Name), maxIdentifier)
		}
	}
}

func (c *treeCheck) checkFunction(pos syntax.Position, params []syntax.Expr) {
	if c.functions++; c.functions > maxFunctions {
		c.refuse(pos, "number of functions in a file", c.functions, maxFunctions)
	}
	if len(params) > maxParams {
		c.refuse(pos, "number of parameters", len(params), maxParams)
	}
}

// checkLoadedName checks a name in a load statement. The parser accepts any string there, but a
// load must not bind a name that no script can spell, such as the name of a helper.
func (c *treeCheck) checkLoadedName(id *syntax.Ident) {
	if !isIdentifier(id.Name) && c.err == nil {
		c.err = &Error{Pos: posOf(id.NamePos), Msg: "load: " + quoteShort(id.Name) + " is not a name", Code: "E0103"}
	}
}

func (c *treeCheck) refuse(pos syntax.Position, what string, need, max int) {
	if c.err == nil {
		c.err = &LimitError{Limit: "syntax", Op: what, Need: uint64(need), Max: uint64(max), Pos: posOf(pos)}
	}
}

// nodePos returns a position in n, without a walk down its left operands.
func nodePos(n syntax.Node) syntax.Position {
	switch n := n.(type) {
	case *syntax.BinaryExpr:
		return n.OpPos
	case *syntax.CallExpr:
		return n.Lparen
	case *syntax.DotExpr:
		return n.Dot
	case *syntax.IndexExpr:
		return n.Lbrack
	case *syntax.SliceExpr:
		return n.Lbrack
	case *syntax.CondExpr:
		return n.If
	case *syntax.IfStmt:
		return n.If
	case *syntax.ExprStmt:
		return nodePos(n.X)
	case *syntax.AssignStmt:
		return n.OpPos
	case *syntax.DictEntry:
		return n.Colon
	}
	return syntax.Start(n)
}
