package starlark

// A price says how much an operation costs in addition to the step of its instruction. The cost
// grows with the units of its work. One step stands for 10 to 100 ns.
type price struct {
	op    string  // the operation's name in errors
	unit  string  // the thing that is counted
	per   float64 // units for one step; 0: units cost no steps
	bytes uint64  // memory for each unit
	fixed uint64  // memory for the operation itself
}

// These are the prices of operators and of the parts of other operations. The tables below have the
// prices of methods and functions.
var (
	textConcat     = &price{"+", "bytes of the result", 128, 1, 16}
	listConcat     = &price{"+", "elements of the result", 8, 16, 48}
	textRepeat     = &price{"*", "bytes of the result", 128, 1, 48}
	listRepeat     = &price{"*", "elements of the result", 8, 16, 48}
	intProduct     = &price{"*", "products of words", 16, 0, 0}
	intDivision    = &price{"//", "products of words", 16, 0, 0}
	floatShift     = &price{"%", "bits between the operands, of which one is a float", 4, 0, 0}
	intWords       = &price{"integer", "words of the result", 8, 12, 24}
	intText        = &price{"integer", "squares of words", 128, 0, 0}
	quotedByteScan = &price{"text", "bytes between quotes", 32, 0, 0}
	intRatio       = &price{"compare", "words of the integer", 1, 16, 64}
	wordPair       = &price{"compare", "words of an integer", 8, 0, 0}

	textNode      = &price{"text", "values in the expanded tree", 1, 0, 0}
	textBytes     = &price{"text", "bytes of the text", 32, 1, 16}
	valuePair     = &price{"compare", "pairs of values", 1, 0, 0}
	sameBytes     = &price{"compare", "bytes of the shorter string", 128, 0, 0}
	keyNode       = &price{"key", "values in a key", 1, 0, 0}
	keyBytes      = &price{"key", "bytes of the strings in a key", 128, 0, 0}
	floatKey      = &price{"key", "bits of the exponent of a float beyond 64", 16, 1, 0}
	newEntry      = &price{"key", "entries", 0.25, 160, 0}
	newTable      = &price{"dict", "tables", 0, 512, 0}
	keyCollision  = &price{"key", "comparisons with keys of one hash", 1, 0, 0}
	sketchCounter = &price{"key", "pairs of counters", 0, 4, 96}

	scannedByte  = &price{"find", "bytes searched", 64, 0, 0}
	elementVisit = &price{"iteration", "elements", 1, 0, 0}
	elementCopy  = &price{"iteration", "elements", 1, 24, 48}
	starArg      = &price{"*args", "elements", 1, 48, 24}
	keywordArg   = &price{"**kwargs", "entries", 1, 200, 512}
	listGrowth   = &price{"+=", "elements", 1, 32, 0}
	sliceText    = &price{"[:]", "bytes copied one by one", 16, 1, 16}
	sliceList    = &price{"[:]", "elements", 8, 16, 48}
	structSum    = &price{"+", "fields of both", 0.5, 64, 64}
	boundMethod  = &price{"attribute", "methods", 0, 192, 0}
	nameBytes    = &price{"attribute", "bytes of the name", 16, 4, 0}
	sortStep     = &price{"sorted", "elements times the logarithm of their number", 1, 0, 0}
)

// noCharge is the price of elements for which the caller charges in another way.
var noCharge = new(price)

// priceTable lists the prices that docs/sandbox.md shows in its first table.
var priceTable = []*price{
	textConcat, listConcat, textRepeat, listRepeat, intProduct, intDivision, floatShift,
	intWords, intText, intRatio, wordPair,
	textNode, textBytes, quotedByteScan, valuePair, sameBytes,
	keyNode, keyBytes, floatKey, newEntry, newTable, keyCollision, sketchCounter,
	scannedByte, elementVisit, elementCopy, starArg, keywordArg, listGrowth, sliceText, sliceList, structSum,
	boundMethod, nameBytes, sortStep,
	jsonNode, jsonText, jsonRead, jsonList, jsonItem, jsonLines,
}

// Work below these bounds is so small that its instruction pays for it.
const (
	smallText  = 128 // bytes that a search may read without a charge
	smallEqual = 256 // bytes that a comparison or a hash may read without a charge
)

// A call costs these steps in addition to the work of the called function.
const (
	hostSteps   = 8     // for a method of a host's value
	nestedSteps = 1_000 // for a call from plugin to plugin
)

// These are the prices of the module json.
var (
	jsonNode  = &price{"json.encode", "values", 1, 0, 0}
	jsonText  = &price{"json.encode", "bytes of the text", 32, 2, 16}
	jsonRead  = &price{"json.decode", "bytes read", 16, 1, 0}
	jsonList  = &price{"json.decode", "arrays", 1, 0, 80}
	jsonItem  = &price{"json.decode", "elements", 0.5, 32, 0}
	jsonEntry = &price{"json.encode", "entries", 1, 48, 0}
	jsonLines = &price{"json.indent", "bytes of the text", 16, 2, 64}
)

// These are the prices of work inside one method or function. The tables below have the other prices of
// methods and functions.
var (
	joinString    = &price{"join", "strings", 0.5, 32, 0}
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

// methods has a row for each method of Starlark's core types, by type and name. To make string.replace
// dearer, change its row alone.
var methods = map[string]map[string]*method{
	"string": {
		"capitalize":     {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: countReceiver},
		"codepoint_ords": {note: "a view of the string; the loop over it pays"},
		"codepoints":     {note: "a view of the string; the loop over it pays"},
		"count":          {price: price{unit: "bytes searched", per: 16}, units: countScan},
		"elem_ords":      {note: "a view of the string; the loop over it pays"},
		"elems":          {note: "a view of the string; the loop over it pays"},
		"endswith":       {price: price{unit: "bytes compared, and 128 for each suffix", per: 128}, units: countAffixes, run: matchAffix},
		"find":           {price: price{unit: "bytes searched", per: 64}, units: countScan},
		"format":         {price: price{unit: "bytes of the result", per: 24, bytes: 2, fixed: 16}, units: countFormatted},
		"index":          {price: price{unit: "bytes searched", per: 64}, units: countScan},
		"isalnum":        {price: price{unit: "bytes", per: 8}, units: countReceiver},
		"isalpha":        {price: price{unit: "bytes", per: 8}, units: countReceiver},
		"isdigit":        {price: price{unit: "bytes", per: 8}, units: countReceiver},
		"islower":        {price: price{unit: "bytes", per: 4, bytes: 2}, units: countReceiver},
		"isspace":        {price: price{unit: "bytes", per: 8}, units: countReceiver},
		"istitle":        {price: price{unit: "bytes", per: 4}, units: countReceiver},
		"isupper":        {price: price{unit: "bytes", per: 4, bytes: 2}, units: countReceiver},
		"join":           {run: joinTexts, note: "2 steps and 32 bytes for each string, then as +"},
		"lower":          {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: countReceiver},
		"lstrip":         {price: price{unit: "bytes times an eighth of the cutset", per: 32}, units: countStripped},
		"partition":      {price: price{unit: "bytes searched", per: 64, fixed: 80}, units: countScan},
		"removeprefix":   {price: price{unit: "bytes compared", per: 128}, units: countAffixes},
		"removesuffix":   {price: price{unit: "bytes compared", per: 128}, units: countAffixes},
		"replace":        {price: price{unit: "bytes of the result", per: 64, bytes: 1, fixed: 16}, units: countReplaced},
		"rfind":          {price: price{unit: "bytes searched", per: 64}, units: countBackwardScan},
		"rindex":         {price: price{unit: "bytes searched", per: 64}, units: countBackwardScan},
		"rpartition":     {price: price{unit: "bytes searched", per: 64, fixed: 80}, units: countBackwardScan},
		"rsplit":         {price: price{unit: "pieces", per: 0.5, bytes: 48, fixed: 80}, units: countPieces},
		"rstrip":         {price: price{unit: "bytes times an eighth of the cutset", per: 32}, units: countStripped},
		"split":          {price: price{unit: "pieces", per: 0.5, bytes: 48, fixed: 80}, units: countPieces},
		"splitlines":     {price: price{unit: "lines", per: 0.5, bytes: 48, fixed: 80}, units: countLines},
		"startswith":     {price: price{unit: "bytes compared, and 128 for each prefix", per: 128}, units: countAffixes, run: matchAffix},
		"strip":          {price: price{unit: "bytes times an eighth of the cutset", per: 32}, units: countStripped},
		"title":          {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: countReceiver},
		"upper":          {price: price{unit: "bytes", per: 4, bytes: 2, fixed: 16}, units: countReceiver},
	},
	"bytes": {
		"elems": {note: "a view of the bytes; the loop over it pays"},
	},
	"list": {
		"append": {note: "one element: the steps of the loop around it pay for growth"},
		"clear":  {price: price{unit: "elements", per: 32}, units: countReceiver},
		"extend": {price: price{unit: "elements", per: 1, bytes: 32}, units: payArgElements},
		"index":  {run: findInList, note: "half a step for each element, and the comparisons"},
		"insert": {price: price{unit: "elements moved", per: 16, fixed: 32}, units: countReceiver},
		"pop":    {price: price{unit: "elements moved", per: 16}, units: countMoved},
		"remove": {run: removeFromList, note: "as list.index, and a step for 16 elements moved"},
	},
	"dict": {
		"clear":      {run: clearTable, note: "half a step for each entry that the dict ever had"},
		"get":        {run: getFromDict, note: "the hash of the key"},
		"items":      {price: price{unit: "entries", per: 1, bytes: 72, fixed: 48}, units: countReceiver},
		"keys":       {price: price{unit: "entries", per: 2, bytes: 16, fixed: 48}, units: countReceiver},
		"pop":        {run: lookUpKey, note: "the hash of the key"},
		"popitem":    {run: popFirstKey, note: "the hash of the first key"},
		"setdefault": {run: insertKey, note: "the hash of the key and its collisions"},
		"update":     {run: updateDictMethod, note: "4 steps and 160 bytes for each entry, its key and its collisions"},
		"values":     {price: price{unit: "entries", per: 1, bytes: 88, fixed: 48}, units: countReceiver},
	},
	"set": {
		"add":                  {run: insertKey, note: "the hash of the key and its collisions"},
		"clear":                {run: clearTable, note: "half a step for each element that the set ever had"},
		"difference":           {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: countReceiver, run: combineSets},
		"discard":              {run: lookUpKey, note: "the hash of the key"},
		"intersection":         {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: countReceiver, run: combineSets},
		"issubset":             {run: applySubset, note: "5 steps and 160 bytes for each element of the argument, and its key"},
		"issuperset":           {price: price{unit: "elements of the set", per: 1}, units: countReceiver, run: combineSets},
		"pop":                  {run: popFirstKey, note: "the hash of the first key"},
		"remove":               {run: lookUpKey, note: "the hash of the key"},
		"symmetric_difference": {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: countReceiver, run: combineSets},
		"union":                {price: price{unit: "elements of the set", per: 0.25, bytes: 160, fixed: 512}, units: countReceiver, run: combineSets},
		"update":               {run: combineSets, note: "4 steps and 160 bytes for each element of the arguments, its key and its collisions"},
	},
}

// functions has a row for each predeclared function of Starlark. The note of a row says in words which of the
// prices above the function charges.
var functions = map[string]function{
	"None":      {note: "nothing: a constant"},
	"True":      {note: "nothing: a constant"},
	"False":     {note: "nothing: a constant"},
	"abs":       {pay: payInt, note: "a step and 64 bytes for 8 words"},
	"all":       {run: anyOrAll, note: "a step for each element visited"},
	"any":       {run: anyOrAll, note: "a step for each element visited"},
	"bool":      {note: "nothing: a length or a flag"},
	"bytes":     {pay: payBytesFunc, note: "a step for 64 bytes, and 3 bytes for each; a step for each element of an iterable"},
	"chr":       {note: "nothing: one code point"},
	"dict":      {run: makeDict, note: "512 bytes; 4 steps and 160 bytes for each entry, its key and its collisions"},
	"dir":       {pay: payDir, note: "a step and 64 bytes for each name"},
	"enumerate": {pay: payEnumerate, note: "2 steps and 88 bytes for each element"},
	"fail":      {pay: payText, note: "as str"},
	"float":     {pay: payFloat, note: "a step for 4 bytes of text, or 8 words"},
	"getattr":   {run: getAttrFunc, note: "a step and 64 bytes for 16 bytes of the name; a step for 4 fields of a large struct"},
	"hasattr":   {pay: payAttrName, note: "as getattr"},
	"hash":      {pay: payHash, note: "a step for 8 bytes"},
	"int":       {pay: payParseInt, note: "a step for each digit beyond 64"},
	"len":       {note: "nothing: a stored length"},
	"list":      {pay: payCopy, note: "a step and 24 bytes for each element"},
	"max":       {run: minOrMax, note: "a step for each element, and the comparisons"},
	"min":       {run: minOrMax, note: "a step for each element, and the comparisons"},
	"ord":       {pay: payOrd, note: "a step for 32 bytes of a string that is too long"},
	"print":     {pay: payText, note: "as str, and the output limit"},
	"range":     {run: makeRange, note: "nothing: three integers"},
	"repr":      {pay: payRepr, note: "as str"},
	"reversed":  {pay: payCopy, note: "a step and 24 bytes for each element"},
	"set":       {run: makeSet, note: "512 bytes; 5 steps and 160 bytes for each element, its key and its collisions"},
	"sorted":    {run: sortValues, note: "a step and 64 bytes for each element; n times the logarithm of n steps, and the comparisons"},
	"str":       {pay: payText, note: "a step for each value in the expanded tree, 32 bytes of text and 32 bytes between quotes"},
	"tuple":     {pay: payCopy, note: "a step and 24 bytes for each element"},
	"type":      {run: typeOf, note: "nothing: a name"},
	"zip":       {pay: payZip, note: "a step and 40 bytes for each row and two elements"},
}
