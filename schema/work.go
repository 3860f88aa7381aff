package schema

import (
	"encoding/json"
	"maps"
	"regexp/syntax"
	"slices"
	"sort"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/starhost/starhost/internal/errtext"
)

// Nothing can interrupt a validation by the library. So Validate first computes an upper bound of
// its work from the schema and the arguments, and refuses arguments that would take too long. The
// unit of work is about a nanosecond. The bound assumes that each keyword of the schema is
// evaluated for each value that it can apply to, and that each check fails with a message that
// shows the whole value.
const (
	maxWork = 100_000_000 // bound for one validation, about 100 ms

	visitWork    = 500    // one schema with one value
	memberWork   = 150    // finding one property in an object
	numberWork   = 600    // checking one number, as a fraction of big integers
	byteWork     = 10     // one byte in a message or a comparison
	elementWork  = 250    // one element of a value in a message
	threadWork   = 15     // one instruction of a pattern with one byte of text
	compareWork  = 500    // comparing two items of a list
	decodeWork   = 300    // decoding one value of the arguments, beside 4 for each byte
	compileWork  = 40_000 // compiling one schema
	stepWork     = 200    // work that a plugin pays with one step
	maxSaturated = 1 << 50
)

// maxPlainRanges is the most bounds of ranges that the regexp package searches one after another.
const maxPlainRanges = 8

// maxPatterns is the most instructions and ranges of characters in all patterns of a schema.
const maxPatterns = 20_000

// A workNode has the keywords of one schema that take time.
type workNode struct {
	fixed       int // work of the node itself
	text        int // instructions of its pattern, which each byte of a text passes
	choices     int // number of values of enum and const
	choiceWork  int // work of showing them
	asserts     bool
	unique      bool
	members     map[string]*workNode
	patterns    []patternNode
	names       *workNode   // for each property's name
	here        []*workNode // for the same value
	prefix      []*workNode // for the items at the start of a list
	items       []*workNode // for each item
	otherMember []*workNode // for each property
}

// A patternNode is a schema for the properties whose names match a pattern.
type patternNode struct {
	threads int
	node    *workNode
}

// A workPlan bounds the work of validations with one schema.
type workPlan struct {
	root     *workNode
	refs     map[string]*workNode
	find     func(ref string) (any, error)
	patterns int // instructions and ranges of all patterns
	pathWork int // finding one value again from the root
	threads  int // instructions of all patterns for names
	compile  int // work of compiling the schema once more, for the details of problems
}

// planWork returns the plan of a schema without recursion. It refuses a schema whose patterns are
// too large.
func planWork(root *jsonschema.Schema) (*workPlan, error) {
	canonical, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	var all any
	if err := json.Unmarshal(canonical, &all); err != nil {
		return nil, err
	}
	m := measure{root: all}
	p := &workPlan{refs: map[string]*workNode{}, find: m.find}
	if p.root, err = p.node(all); err != nil {
		return nil, err
	}
	return p, nil
}

// node returns the node of a schema, which is an object or a boolean.
func (p *workPlan) node(part any) (*workNode, error) {
	n := &workNode{fixed: visitWork}
	p.pathWork += visitWork
	p.compile += compileWork
	object, _ := part.(map[string]any)
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		if err := p.keyword(n, keyword, object[keyword]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// keyword adds one keyword of a schema to its node.
func (p *workPlan) keyword(n *workNode, keyword string, value any) (err error) {
	switch keyword {
	case "$ref":
		err = p.reference(n, value)
	case "type", "minLength", "maxLength", "contentEncoding":
		n.asserts = true
	case "pattern":
		n.asserts = true
		n.text, err = p.pattern(value)
	case "enum":
		list, _ := value.([]any)
		p.compile += showWork(value)
		n.asserts, n.choices, n.choiceWork = true, n.choices+len(list), n.choiceWork+showWork(value)
	case "const":
		n.asserts, n.choices, n.choiceWork = true, n.choices+1, n.choiceWork+showWork(value)
	case "required", "dependentRequired", "dependencies":
		n.fixed += countValues(value) * memberWork
		p.compile += countValues(value) * compileWork / 10
		if keyword == "dependencies" {
			n.here, err = p.appendMembers(n.here, value)
		}
	case "properties":
		err = p.properties(n, value)
	case "patternProperties":
		err = p.patternProperties(n, value)
	case "propertyNames":
		n.names, err = p.node(value)
	case "uniqueItems":
		n.unique = value == true
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		n.asserts = true
		n.here, err = p.appendNodes(n.here, value)
	case "dependentSchemas":
		n.here, err = p.appendMembers(n.here, value)
	case "prefixItems":
		n.prefix, err = p.appendNodes(n.prefix, value)
	case "items":
		if _, isList := value.([]any); isList {
			n.prefix, err = p.appendNodes(n.prefix, value)
			break
		}
		n.items, err = p.appendNodes(n.items, value)
	case "contains", "additionalItems", "unevaluatedItems":
		n.asserts = true
		n.items, err = p.appendNodes(n.items, value)
	case "additionalProperties", "unevaluatedProperties":
		n.otherMember, err = p.appendNodes(n.otherMember, value)
	}
	return err
}

// reference adds the target of a reference. Each target has one node, because checkSize refuses
// recursion.
func (p *workPlan) reference(n *workNode, value any) error {
	ref, _ := value.(string)
	target := p.refs[ref]
	if target == nil {
		part, err := p.find(ref)
		if err != nil {
			return err
		}
		if target, err = p.node(part); err != nil {
			return err
		}
		p.refs[ref] = target
	}
	n.here = append(n.here, target)
	return nil
}

func (p *workPlan) properties(n *workNode, value any) (err error) {
	object, _ := value.(map[string]any)
	n.members = make(map[string]*workNode, len(object))
	n.fixed += len(object) * memberWork
	p.pathWork += len(object) * memberWork
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if n.members[name], err = p.node(object[name]); err != nil {
			return err
		}
	}
	return nil
}

func (p *workPlan) patternProperties(n *workNode, value any) error {
	object, _ := value.(map[string]any)
	for _, expr := range slices.Sorted(maps.Keys(object)) {
		threads, err := p.pattern(expr)
		if err != nil {
			return err
		}
		node, err := p.node(object[expr])
		if err != nil {
			return err
		}
		p.threads += threads
		n.patterns = append(n.patterns, patternNode{threads, node})
	}
	return nil
}

// appendNodes appends the nodes of one schema or a list of schemas.
func (p *workPlan) appendNodes(dst []*workNode, value any) ([]*workNode, error) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, part := range list {
		n, err := p.node(part)
		if err != nil {
			return nil, err
		}
		dst = append(dst, n)
	}
	return dst, nil
}

// appendMembers appends the nodes of the schemas in an object.
func (p *workPlan) appendMembers(dst []*workNode, value any) ([]*workNode, error) {
	object, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, isList := object[name].([]any); isList { // a list of required properties
			continue
		}
		n, err := p.node(object[name])
		if err != nil {
			return nil, err
		}
		dst = append(dst, n)
	}
	return dst, nil
}

// pattern returns the instructions that each byte of a text can pass. It adds the pattern to the
// size of all patterns, and refuses it before it is compiled if they are too large.
func (p *workPlan) pattern(value any) (threads int, err error) {
	expr, _ := value.(string)
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, errtext.Errorf("pattern %q: %v", expr, err)
	}
	threads, ranges := programSize(re)
	p.patterns = min(p.patterns+threads+ranges, maxSaturated)
	if p.patterns > maxPatterns {
		return 0, errtext.Errorf("pattern %q: all patterns have more than %d instructions and ranges of characters, repetitions written out",
			expr, maxPatterns)
	}
	program, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, errtext.Errorf("pattern %q: %v", expr, err)
	}
	threads = 0
	for _, i := range program.Inst {
		threads++
		if len(i.Rune) > maxPlainRanges { // finding one of many ranges takes longer
			threads++
		}
	}
	return threads, nil
}

// programSize returns an upper bound of the instructions of a pattern's program and of the ranges
// of characters in them.
func programSize(re *syntax.Regexp) (instructions, ranges int) {
	for _, sub := range re.Sub {
		i, r := programSize(sub)
		instructions, ranges = instructions+i+1, ranges+r
	}
	times := 1
	switch re.Op {
	case syntax.OpLiteral:
		instructions += len(re.Rune)
	case syntax.OpCharClass:
		instructions++
		ranges += len(re.Rune) / 2
	case syntax.OpRepeat:
		times = max(re.Max, re.Min+1)
	default:
		instructions++
	}
	return min((instructions+1)*times, maxSaturated), min(ranges*times, maxSaturated)
}

// A sizedValue is a value of arguments with the work of showing it, so that the bound adds each
// value once.
type sizedValue struct {
	show    int // work of showing the value
	values  int // number of values in it, itself included
	text    int // bytes of a text, else -1
	number  bool
	items   []sizedValue
	members []sizedMember
}

type sizedMember struct {
	name  string
	value sizedValue
}

func sizeOf(value any) sizedValue {
	v := sizedValue{show: elementWork, values: 1, text: -1}
	switch value := value.(type) {
	case string:
		v.text, v.show = len(value), v.show+len(value)*byteWork
	case float64:
		v.number = true
	case []any:
		v.items = make([]sizedValue, len(value))
		for i, item := range value {
			v.items[i] = sizeOf(item)
			v.show, v.values = v.show+v.items[i].show, v.values+v.items[i].values
		}
	case map[string]any:
		for name, member := range value {
			m := sizedMember{name, sizeOf(member)}
			v.members = append(v.members, m)
			v.show, v.values = v.show+m.value.show+len(name)*byteWork, v.values+m.value.values
		}
		sort.Slice(v.members, func(i, j int) bool { return v.members[i].name < v.members[j].name })
	}
	return v
}

// showWork returns the work of showing a value.
func showWork(value any) int { return sizeOf(value).show }

// countValues returns the number of values in a value.
func countValues(value any) int { return sizeOf(value).values }

// decodingWork returns a bound of the work of decoding arguments. It counts commas, colons and
// opening brackets, because each value except the first follows one.
func decodingWork(args []byte) int {
	values, quoted := 1, false
	for i := 0; i < len(args); i++ {
		switch c := args[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':' || c == '[' || c == '{'):
			values++
		}
	}
	return 4*len(args) + values*decodeWork
}

// A workMeter adds up the work of one validation, and stops at its limit.
type workMeter struct{ work, limit int }

func (m *workMeter) exceeded() bool { return m.work > m.limit }

// add adds n pieces of work.
func (m *workMeter) add(n, each int) {
	m.work = min(m.work+min(n, maxSaturated>>20)*each, maxSaturated)
}

// visit adds the work of validating a value by a node's schema.
func (m *workMeter) visit(n *workNode, v *sizedValue) {
	m.add(1, n.fixed)
	if m.exceeded() {
		return
	}
	if n.asserts {
		m.add(1, v.show)
	}
	if n.choices > 0 {
		m.add(1, n.choiceWork+n.choices*compareWork)
		m.add(n.choices, min(v.show, n.choiceWork))
	}
	if v.number {
		m.add(1, numberWork)
	}
	if v.text >= 0 {
		m.add(v.text+1, n.text*threadWork)
	}
	for _, same := range n.here {
		m.visit(same, v)
		m.add(len(v.members), memberWork) // merging what the two validated
	}
	m.visitItems(n, v)
	m.visitMembers(n, v)
}

func (m *workMeter) visitItems(n *workNode, v *sizedValue) {
	if n.unique {
		m.add(1, v.show)
		m.add(len(v.items), numberWork)
		if v.hasComposite() { // the library's hashes of lists and objects can be made to collide
			m.add(len(v.items), len(v.items)*compareWork)
		}
	}
	for i := range v.items {
		if m.exceeded() {
			return
		}
		if i < len(n.prefix) {
			m.visit(n.prefix[i], &v.items[i])
		}
		for _, each := range n.items {
			m.visit(each, &v.items[i])
		}
	}
}

// hasComposite reports whether an item is a list or an object.
func (v *sizedValue) hasComposite() bool {
	for i := range v.items {
		if v.items[i].values > 1 {
			return true
		}
	}
	return false
}

func (m *workMeter) visitMembers(n *workNode, v *sizedValue) {
	m.add(len(v.members), memberWork)
	for i := range v.members {
		if m.exceeded() {
			return
		}
		name, value := v.members[i].name, &v.members[i].value
		if named := n.members[name]; named != nil {
			m.visit(named, value)
		}
		for _, p := range n.patterns {
			m.add(len(name)+1, p.threads*threadWork)
			m.visit(p.node, value)
		}
		if n.names != nil {
			m.visit(n.names, &sizedValue{show: elementWork + len(name)*byteWork, values: 1, text: len(name)})
		}
		for _, other := range n.otherMember {
			m.visit(other, value)
		}
	}
}

// validationWork returns a bound of the work of validating arguments, at most a little over
// maxWork, and the name of the argument that takes most of it.
func (p *workPlan) validationWork(arguments *sizedValue) (work int, largest string) {
	whole := workMeter{limit: maxWork}
	whole.visit(p.root, arguments)
	if !whole.exceeded() {
		return whole.work, ""
	}
	most := -1
	for _, member := range arguments.members {
		single := workMeter{limit: maxWork}
		single.visit(p.root, &sizedValue{text: -1, values: member.value.values, members: []sizedMember{member}})
		if single.work > most {
			most, largest = single.work, member.name
		}
		if whole.work += single.work; whole.work > 4*maxWork || single.exceeded() {
			break
		}
	}
	return whole.work, largest
}

// detailsWork returns a bound of the work of finding all problems of invalid arguments, whose
// validation takes a given work. Each value is validated once more by itself, from the root on.
func (p *workPlan) detailsWork(validation int, arguments *sizedValue) int {
	longest := 0
	for _, m := range arguments.members {
		longest = max(longest, longestName(&m))
	}
	m := workMeter{work: 2*validation + 2*p.compile}
	m.add(arguments.values, min(p.pathWork+longest*p.threads*threadWork, maxSaturated>>20))
	return m.work
}

// longestName returns the length of the longest name of a property in a member.
func longestName(m *sizedMember) int {
	longest := len(m.name)
	for i := range m.value.members {
		longest = max(longest, longestName(&m.value.members[i]))
	}
	for i := range m.value.items {
		for j := range m.value.items[i].members {
			longest = max(longest, longestName(&m.value.items[i].members[j]))
		}
	}
	return longest
}
