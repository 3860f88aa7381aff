package starlark

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

// Steps of calls that are charged beside what they do.
const (
	hostSteps   = 8     // that a method of a host's value costs
	nestedSteps = 1_000 // that a nested call costs its caller
)

// Prices of the json module.
var (
	jsonNode  = &price{"json.encode", "values", 1, 0, 0}
	jsonText  = &price{"json.encode", "bytes of the text", 32, 2, 16}
	jsonRead  = &price{"json.decode", "bytes read", 16, 1, 0}
	jsonList  = &price{"json.decode", "arrays", 1, 0, 80}
	jsonItem  = &price{"json.decode", "elements", 0.5, 32, 0}
	jsonEntry = &price{"json.encode", "entries", 1, 48, 0}
	jsonLines = &price{"json.indent", "bytes of the text", 16, 2, 64}
)

// Prices of the work inside of one method or function, beside its row in the tables below.
var (
	joinedTexts   = &price{"join", "strings", 0.5, 32, 0}
	replacedPlace = &price{"replace", "places", 8, 0, 0}
	formatField   = &price{"format", "fields times keyword arguments", 2, 0, 0}
	removedShift  = &price{"remove", "elements moved", 16, 0, 0}
	clearedEntry  = &price{"clear", "entries that the table ever had", 2, 0, 0}

	bytesOfList    = &price{"bytes", "elements", 1, 2, 16}
	bytesOfText    = &price{"bytes", "bytes", 64, 3, 16}
	dirName        = &price{"dir", "names", 1, 64, 48}
	enumeratedItem = &price{"enumerate", "elements", 0.5, 88, 48}
	floatOfText    = &price{"float", "bytes", 4, 2, 0}
	hashText       = &price{"hash", "bytes", 8, 0, 0}
	intOfFloat     = &price{"int", "floats", 1.0 / 16, 256, 0}
	intOfText      = &price{"int", "digits", 1, 2, 64}
	ordError       = &price{"ord", "bytes", 32, 0, 0}
	sortedItem     = &price{"sorted", "elements", 1, 64, 48}
	structField    = &price{"getattr", "fields of a large struct", 4, 16, 0}
	zipItem        = &price{"zip", "elements of all rows", 1, 16, 48}
	zipRow         = &price{"zip", "rows", 1, 40, 48}
)

// methods has a row for every method of the core types, by type and name.
var methods = map[string]map[string]*method{
	"string": {
		"capitalize":     {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: receiverLen},
		"codepoint_ords": {note: "a view of the string; whoever iterates pays"},
		"codepoints":     {note: "a view of the string; whoever iterates pays"},
		"count":          {price: price{unit: "bytes looked at", per: 16}, units: scan},
		"elem_ords":      {note: "a view of the string; whoever iterates pays"},
		"elems":          {note: "a view of the string; whoever iterates pays"},
		"endswith":       {price: price{unit: "bytes compared, and 128 for each suffix", per: 128}, units: affixes, do: hasAffix},
		"find":           {price: price{unit: "bytes looked at", per: 64}, units: scan},
		"format":         {price: price{unit: "bytes of the result", per: 64, bytes: 1, fixed: 16}, units: formatted},
		"index":          {price: price{unit: "bytes looked at", per: 64}, units: scan},
		"isalnum":        {price: price{unit: "bytes", per: 8}, units: receiverLen},
		"isalpha":        {price: price{unit: "bytes", per: 8}, units: receiverLen},
		"isdigit":        {price: price{unit: "bytes", per: 8}, units: receiverLen},
		"islower":        {price: price{unit: "bytes", per: 4, bytes: 2}, units: receiverLen},
		"isspace":        {price: price{unit: "bytes", per: 8}, units: receiverLen},
		"istitle":        {price: price{unit: "bytes", per: 4}, units: receiverLen},
		"isupper":        {price: price{unit: "bytes", per: 4, bytes: 2}, units: receiverLen},
		"join":           {do: join, note: "2 steps and 32 bytes for each string, then as +"},
		"lower":          {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: receiverLen, do: lower},
		"lstrip":         {price: price{unit: "bytes times an eighth of the cut set", per: 32}, units: stripped},
		"partition":      {price: price{unit: "bytes looked at", per: 64, fixed: 80}, units: scan},
		"removeprefix":   {price: price{unit: "bytes compared", per: 128}, units: affixes},
		"removesuffix":   {price: price{unit: "bytes compared", per: 128}, units: affixes},
		"replace":        {price: price{unit: "bytes of the result", per: 64, bytes: 1, fixed: 16}, units: replaced},
		"rfind":          {price: price{unit: "bytes looked at", per: 64}, units: scanBack},
		"rindex":         {price: price{unit: "bytes looked at", per: 64}, units: scanBack},
		"rpartition":     {price: price{unit: "bytes looked at", per: 64, fixed: 80}, units: scanBack},
		"rsplit":         {price: price{unit: "pieces", per: 0.5, bytes: 48, fixed: 80}, units: pieces},
		"rstrip":         {price: price{unit: "bytes times an eighth of the cut set", per: 32}, units: stripped},
		"split":          {price: price{unit: "pieces", per: 0.5, bytes: 48, fixed: 80}, units: pieces},
		"splitlines":     {price: price{unit: "lines", per: 0.5, bytes: 48, fixed: 80}, units: lines},
		"startswith":     {price: price{unit: "bytes compared, and 128 for each prefix", per: 128}, units: affixes, do: hasAffix},
		"strip":          {price: price{unit: "bytes times an eighth of the cut set", per: 32}, units: stripped, do: strip},
		"title":          {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: receiverLen},
		"upper":          {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: receiverLen},
	},
	"bytes": {
		"elems": {note: "a view of the bytes; whoever iterates pays"},
	},
	"list": {
		"append": {note: "one element, and growth is paid by the steps that lead to it", do: appendOne},
		"clear":  {price: price{unit: "elements", per: 32}, units: receiverLen},
		"extend": {price: price{unit: "elements", per: 1, bytes: 32}, units: elements},
		"index":  {do: listIndex, note: "half a step for each element, and the comparisons"},
		"insert": {price: price{unit: "elements moved", per: 16, fixed: 32}, units: receiverLen},
		"pop":    {price: price{unit: "elements moved", per: 16}, units: moved},
		"remove": {do: listRemove, note: "as index, and a step for 16 elements moved"},
	},
	"dict": {
		"clear":      {do: cleared, note: "half a step for each entry that the dict ever had"},
		"get":        {do: dictGet, note: "the key"},
		"items":      {price: price{unit: "entries", per: 1, bytes: 72, fixed: 48}, units: receiverLen},
		"keys":       {price: price{unit: "entries", per: 2, bytes: 16, fixed: 48}, units: receiverLen},
		"pop":        {do: keyed, note: "the key"},
		"popitem":    {do: popFirst, note: "the first key"},
		"setdefault": {do: inserted, note: "the key, and its collisions"},
		"update":     {do: dictUpdate, note: "4 steps and 160 bytes for each entry, its key and its collisions"},
		"values":     {price: price{unit: "entries", per: 1, bytes: 88, fixed: 48}, units: receiverLen},
	},
	"set": {
		"add":                  {do: inserted, note: "the key, and its collisions"},
		"clear":                {do: cleared, note: "half a step for each element that the set ever had"},
		"difference":           {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: receiverLen, do: setCombine},
		"discard":              {do: keyed, note: "the key"},
		"intersection":         {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: receiverLen, do: setCombine},
		"issubset":             {do: isSubset, note: "5 steps and 160 bytes for each element of the argument, and its key"},
		"issuperset":           {price: price{unit: "elements of the set", per: 1}, units: receiverLen, do: setCombine},
		"pop":                  {do: popFirst, note: "the first key"},
		"remove":               {do: keyed, note: "the key"},
		"symmetric_difference": {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: receiverLen, do: setCombine},
		"union":                {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: receiverLen, do: setCombine},
		"update":               {do: setCombine, note: "4 steps and 160 bytes for each element of the arguments, its key and its collisions"},
	},
}

// functions has a row for every name of the universe.
var functions = map[string]function{
	"None":      {note: "a constant"},
	"True":      {note: "a constant"},
	"False":     {note: "a constant"},
	"abs":       {pay: payInt, note: "a step and 64 bytes for 8 words"},
	"all":       {do: quantify, note: "a step for each element visited"},
	"any":       {do: quantify, note: "a step for each element visited"},
	"bool":      {note: "looks at a length or a flag"},
	"bytes":     {pay: payBytesOf, note: "a step for 64 bytes, and 3 bytes for each; a step for each element of an iterable"},
	"chr":       {note: "one code point"},
	"dict":      {do: makeDict, note: "512 bytes; 4 steps and 160 bytes for each entry, its key and its collisions"},
	"dir":       {pay: payDir, note: "a step and 64 bytes for each name"},
	"enumerate": {pay: payEnumerate, note: "2 steps and 88 bytes for each element"},
	"fail":      {pay: payText, note: "as str"},
	"float":     {pay: payFloat, note: "a step for 4 bytes of text, or 8 words"},
	"getattr":   {do: getattr, note: "a step and 64 bytes for 16 bytes of the name; a step for 4 fields of a large struct"},
	"hasattr":   {pay: payName, note: "as getattr"},
	"hash":      {pay: payHash, note: "a step for 8 bytes"},
	"int":       {pay: payParseInt, note: "a step for each digit beyond 64"},
	"len":       {note: "a length that is stored"},
	"list":      {pay: payCollect, note: "a step and 24 bytes for each element"},
	"max":       {do: extreme, note: "a step for each element, and the comparisons"},
	"min":       {do: extreme, note: "a step for each element, and the comparisons"},
	"ord":       {pay: payOrd, note: "a step for 32 bytes of a string that is too long"},
	"print":     {pay: payText, note: "as str, and the output limit"},
	"range":     {do: makeRange, note: "nothing: three integers"},
	"repr":      {pay: payQuoted, note: "as str"},
	"reversed":  {pay: payCollect, note: "a step and 24 bytes for each element"},
	"set":       {do: makeSet, note: "512 bytes; 5 steps and 160 bytes for each element, its key and its collisions"},
	"sorted":    {do: sorted, note: "a step and 64 bytes for each element; n times the logarithm of n steps, and the comparisons"},
	"str":       {pay: payText, note: "a step for each value in the expanded tree, 32 bytes of text and 32 bytes between quotes"},
	"tuple":     {pay: payCollect, note: "a step and 24 bytes for each element"},
	"type":      {do: typeOf, note: "nothing: a name"},
	"zip":       {pay: payZip, note: "a step and 40 bytes for each row and two elements"},
}
