package starlark

import "math/bits"

// A price is what an operation costs beside the step of its instruction, as a
// function of the units of work it is about to do. One step stands for 10 to
// 20 ns; bytes are what the operation allocates.
type price struct {
	op    string  // as errors name the operation
	unit  string  // what is counted
	per   float64 // units that one step pays for; 0: units cost no steps
	bytes uint64  // of each unit
	fixed uint64  // bytes of the operation itself
}

// The prices of operators and of the parts that operations are made of. Those of
// methods and functions stand in the tables of methods.go and universe.go.
var (
	concatText  = &price{"+", "bytes of the result", 128, 1, 16}
	concatList  = &price{"+", "elements of the result", 8, 16, 48}
	repeatText  = &price{"*", "bytes of the result", 128, 1, 48}
	repeatList  = &price{"*", "elements of the result", 8, 16, 48}
	intProduct  = &price{"*", "products of words", 16, 0, 0}
	intDivision = &price{"//", "products of words", 16, 0, 0}
	intWords    = &price{"integer", "words of the result", 8, 8, 24}
	intText     = &price{"integer", "squares of words", 128, 0, 0}
	quoting     = &price{"text", "bytes between quotes", 32, 0, 0}
	intRatio    = &price{"compare", "words of the integer", 1, 16, 64}
	wordPair    = &price{"compare", "words of an integer", 8, 0, 0}

	textNode  = &price{"text", "values in the expanded tree", 1, 0, 0}
	textBytes = &price{"text", "bytes of the text", 32, 1, 16}
	pair      = &price{"compare", "pairs of values", 1, 0, 0}
	sameBytes = &price{"compare", "bytes of the shorter string", 128, 0, 0}
	keyNode   = &price{"key", "values in a key", 1, 0, 0}
	keyBytes  = &price{"key", "bytes of the strings in a key", 128, 0, 0}
	newEntry  = &price{"key", "entries", 0.25, 160, 0}
	newTable  = &price{"dict", "tables", 0, 512, 0}
	collision = &price{"key", "comparisons with keys of one hash", 1, 0, 0}
	sketchMem = &price{"key", "pairs of counters", 0, 4, 96}

	scanned   = &price{"find", "bytes looked at", 64, 0, 0}
	visited   = &price{"iteration", "elements", 1, 0, 0}
	collected = &price{"iteration", "elements", 1, 24, 48}
	starArgs  = &price{"*args", "elements", 1, 48, 24}
	kwArgs    = &price{"**kwargs", "entries", 1, 200, 512}
	extended  = &price{"+=", "elements", 1, 32, 0}
	sliceText = &price{"[:]", "bytes copied one by one", 16, 1, 16}
	sliceList = &price{"[:]", "elements", 8, 16, 48}
	structSum = &price{"+", "fields of both", 0.5, 64, 64}
	boundCopy = &price{"attribute", "methods", 0, 192, 0}
	nameBytes = &price{"attribute", "bytes of the name", 16, 4, 0}
	sorting   = &price{"sorted", "elements times the logarithm of their number", 1, 0, 0}
)

// unpaid is the price of what is paid otherwise.
var unpaid = new(price)

// priceTable is the table of docs/sandbox.md.
var priceTable = []*price{
	concatText, concatList, repeatText, repeatList, intProduct, intDivision, intWords, intText, intRatio, wordPair,
	textNode, textBytes, quoting, pair, sameBytes, keyNode, keyBytes, newEntry, newTable, collision, sketchMem,
	scanned, visited, collected, starArgs, kwArgs, extended, sliceText, sliceList, structSum, boundCopy, nameBytes, sorting,
	jsonNode, jsonText, jsonRead, jsonList, jsonItem, jsonLines,
}

// Bounds below which work is so small that its instruction pays for it.
const (
	smallText  = 128 // bytes that a scan may look at for nothing
	smallEqual = 256 // bytes that a comparison or a hash may look at for nothing
)

// pay charges n units of p before the work is done.
func (w *worker) pay(p *price, n uint64) error { return w.payAs(p.op, p, n) }

// steps returns what n units cost in steps.
func (p *price) steps(n uint64) uint64 {
	units := float64(n)
	if p.per == 0 || units < p.per { // as most work: to divide would take longer
		return 0
	}
	steps := units / p.per
	if steps >= 1<<63 {
		return 1 << 63
	}
	return uint64(steps)
}

// payAs is pay in the name of another operation.
func (w *worker) payAs(op string, p *price, n uint64) error {
	return w.charge(op, p.steps(n), saturate(times(n, p.bytes), p.fixed))
}

// as returns p in the name of another operation.
func (p price) as(op string) *price {
	p.op = op
	return &p
}

// times multiplies without wrapping round.
func times(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	if hi != 0 {
		return ^uint64(0)
	}
	return lo
}
