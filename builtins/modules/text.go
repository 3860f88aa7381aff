package modules

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// Limits of the module text.
const (
	textMaxWidth  = 1 << 20 // the greatest width for text.pad
	textMaxDigits = 100     // the most digits after the point
)

// textMembers are the members of the module text. Widths count characters
// (code points); sizes count bytes, as len does.
var textMembers = []call.Member{
	{
		Name: "dedent", Params: "text", Type: "str -> str",
		Doc: `Removes the white space that all lines begin with.
Lines with only white space do not count and become empty. Tabs and spaces are
different.`,
		Example: `assert_eq(text.dedent("  a\n    b\n\n  c"), "a\n  b\n\nc")`,
		Func:    textDedent,
	},
	{
		Name: "indent", Params: "text, prefix", Type: "str, str -> str",
		Doc: `Puts prefix in front of each line.
Lines with only white space stay as they are.`,
		Example: `assert_eq(text.indent("a\n\nb", "> "), "> a\n\n> b")`,
		Func:    textIndent,
	},
	{
		Name: "wrap", Params: "text, width=80", Type: "str, int -> list[str]",
		Doc: `Breaks text into a list of lines of at most width characters.
Lines break at white space, which becomes one space; a word that is too long is cut.
One empty line separates paragraphs, which begin after blank lines. Wrap the items of a
Markdown list one by one, because they would run together.`,
		Example: `assert_eq(text.wrap("check the  queue, then page", width = 12), ["check the", "queue, then", "page"])
assert_eq("\n".join(text.wrap("one\n\n\ntwo", 10)), "one\n\ntwo")`,
		Func: textWrap,
	},
	{
		Name: "truncate", Params: `text, max_bytes, suffix="…"`, Type: "str, int, str -> str",
		Doc: `Cuts text to at most max_bytes bytes, the suffix included.
Text that fits is returned as it is. No character is cut in two, so the result may
be a little shorter. A cut inside a fenced Markdown code block closes the block in front of the
suffix, or omits the block if only its fences would fit. len(text) counts bytes as well.`,
		Example: `assert_eq(text.truncate("abcdefgh", 6), "abc…")
assert_eq(text.truncate("abcdefgh", 6, suffix = "..."), "abc...")
assert_eq(text.truncate("abc", 6), "abc")
` + "assert_eq(text.truncate(\"```\\nlong code\\n```\\n\", 17), \"```\\nlong \\n```\\n…\")",
		Func: textTruncate,
	},
	{
		Name: "fence", Params: `text, lang=""`, Type: "str, str -> str",
		Doc: `Returns text as a fenced Markdown code block.
The fence has three backticks, or one more than the longest run of backticks in the
text, so that no text can end its block. lang stands behind the opening fence.`,
		Example: "assert_eq(text.fence(\"x = 1\", lang = \"python\"), \"```python\\nx = 1\\n```\")\n" +
			"assert_eq(text.fence(\"```\\n\"), \"````\\n```\\n````\")",
		Func: textFence,
	},
	{
		Name: "pad", Params: `text, width, align="left"`, Type: "str, int, str -> str",
		Doc: `Adds spaces until text has width characters.
align is the text's place: left, right or center. Longer text stays as it is. Together with
text.format_number it does the work of "%8.2f" in other languages.`,
		Example: `assert_eq(text.pad("ab", 4) + "|", "ab  |")
assert_eq(text.pad(text.format_number(3.14159, 2), 8, align = "right"), "    3.14")
assert_eq(text.pad("ab", 5, align = "center"), " ab  ")`,
		Func: textPad,
	},
	{
		Name: "format_number", Params: `x, digits=None, sep=""`, Type: "float, int | None, str -> str",
		Doc: `Writes an int or float in decimal digits, never with an exponent.
digits is the number of digits after the point (0 to 100). Without it, an int has none and a
float as many as reading the same float needs. The result is the number nearest to the float's
exact value, and for a half the even digit: 2.5 is "2", and 2.675, a little less in binary, is
"2.67". sep groups the digits before the point by three. Infinities and nan are +inf, -inf and nan.`,
		Example: `assert_eq(text.format_number(1234567.891, 2, sep = ","), "1,234,567.89")
assert_eq(text.format_number(1234567, sep = "_"), "1_234_567")
assert_eq(text.format_number(0.1), "0.1")
assert_eq(text.format_number(5, 2), "5.00")`,
		Func: textFormatNumber,
	},
	{
		Name: "markdown_table", Params: "rows, header=None", Type: "Sequence[Any], Sequence[str] | None -> str",
		Doc: `Returns rows as a Markdown table.
A row is a list or tuple of cells, or a dict. Without header, the first row is the header; for
dicts it has their keys, in the order in which they first appear. For dicts, header selects the
columns. Cells are strings, numbers, bools or None (empty);
"|" is escaped and a line break becomes <br>. Short rows are filled up, a row with more
cells than the header is an error. Without rows and header the table is "".`,
		Example: `assert_eq(text.markdown_table([["web", 3], ["db", None]], header = ["service", "errors"]),
    "| service | errors |\n| --- | --- |\n| web | 3 |\n| db |  |")
assert_eq(text.markdown_table([{"id": 1, "up": True}]), "| id | up |\n| --- | --- |\n| 1 | True |")`,
		Func: textMarkdownTable,
	},
	{
		Name: "split_sections", Params: "text", Type: "str -> list[Any]",
		Doc: `Splits Markdown at its headings and returns a list of sections.
A section s has s.level (1 to 6), s.title and s.body: the text between this heading and the
next of any level, without blank lines around it. Text in front of the first heading is a
section of level 0 without title. A heading begins with "#" and is not in a fenced code
block.`,
		Example: `doc = "intro\n# Fix\nRestart it.\n## Verify\nLook."
assert_eq([(s.level, s.title, s.body) for s in text.split_sections(doc)],
    [(0, "", "intro"), (1, "Fix", "Restart it."), (2, "Verify", "Look.")])`,
		Func: textSplitSections,
	},
}

// isBlank reports whether a line is empty or contains only white space.
func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// textDedent implements text.dedent.
func textDedent(c call.Call) (starlark.Value, error) {
	var text string
	if err := c.Bind("text", &text); err != nil {
		return nil, err
	}
	if err := c.Pay(1+len(text)/8, 16+len(text)+16*strings.Count(text, "\n")); err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	margin := len(commonMargin(lines))
	for i, line := range lines {
		if isBlank(line) {
			lines[i] = ""
		} else {
			lines[i] = line[margin:]
		}
	}
	return starlark.String(strings.Join(lines, "\n")), nil
}

// commonMargin returns the spaces and tabs that all lines begin with, except blank lines.
func commonMargin(lines []string) string {
	margin, found := "", false
	for _, line := range lines {
		if isBlank(line) {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if !found {
			margin, found = own, true
		}
		margin = commonPrefix(margin, own)
	}
	return margin
}

// commonPrefix returns the longest text that both a and b begin with.
func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// textIndent implements text.indent.
func textIndent(c call.Call) (starlark.Value, error) {
	var text, prefix string
	if err := c.Bind("text", &text, "prefix", &prefix); err != nil {
		return nil, err
	}
	size := len(text) + len(prefix)*(1+strings.Count(text, "\n"))
	if err := c.Pay(1+len(text)/8+size/64, 16+2*size); err != nil {
		return nil, err
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !isBlank(line) {
			out.WriteString(prefix)
		}
		out.WriteString(line)
	}
	return starlark.String(out.String()), nil
}

// textWrap implements text.wrap.
func textWrap(c call.Call) (starlark.Value, error) {
	var (
		text string
		w    = 80
	)
	if err := c.Bind("text", &text, "width?", &w); err != nil {
		return nil, err
	}
	if w < 1 {
		return nil, c.Fail("E0202", "width: got %d, want 1 or more", w)
	}
	// Two successive lines together are longer than one width, unless one of them is blank.
	lines := min(len(text), 2*(len(text)/w+strings.Count(text, "\n"))) + 2
	if err := c.Pay(1+len(text)/4+lines, 2*len(text)+64*lines); err != nil {
		return nil, err
	}
	var values []starlark.Value
	for _, line := range wrapText(text, w) {
		values = append(values, starlark.String(line))
	}
	return starlark.NewList(values), nil
}

// wrapText breaks each paragraph of text into lines of at most width runes.
func wrapText(text string, width int) []string {
	var lines []string
	for paragraph := range paragraphs(text) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = wrapParagraph(lines, paragraph, width)
	}
	return lines
}

// paragraphs yields the runs of lines between blank lines.
func paragraphs(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, end := 0, 0
		for line := range strings.Lines(text) {
			end += len(line)
			if !isBlank(line) {
				continue
			}
			if p := text[start : end-len(line)]; p != "" && !yield(p) {
				return
			}
			start = end
		}
		if p := text[start:]; p != "" {
			yield(p)
		}
	}
}

// wrapParagraph appends the words of text to lines.
func wrapParagraph(lines []string, text string, width int) []string {
	var line strings.Builder
	used := 0 // the length of the line in runes
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		for n > width { // possible only at the start of a line
			cut := runeOffset(word, width)
			lines = append(lines, word[:cut])
			word, n = word[cut:], n-width
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += n
	}
	return append(lines, line.String())
}

// runeOffset returns the byte offset of rune n in s. s has more than n runes.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// textTruncate implements text.truncate.
func textTruncate(c call.Call) (starlark.Value, error) {
	var (
		text   string
		most   int
		suffix = "…"
	)
	if err := c.Bind("text", &text, "max_bytes", &most, "suffix?", &suffix); err != nil {
		return nil, err
	}
	if most < len(suffix) {
		return nil, c.Fail("E0202", "max_bytes: got %d, want %d (what the suffix takes) or more", most, len(suffix))
	}
	if len(text) <= most {
		return starlark.String(text), nil
	}
	if err := c.Pay(1+most/16, 16+most); err != nil { // the search for fences reads every line
		return nil, err
	}
	return starlark.String(cutMarkdown(text, most-len(suffix)) + suffix), nil
}

// textFence implements text.fence.
func textFence(c call.Call) (starlark.Value, error) {
	var text, lang string
	if err := c.Bind("text", &text, "lang?", &lang); err != nil {
		return nil, err
	}
	if strings.ContainsAny(lang, "`\r\n") {
		return nil, c.Fail("E0202", "lang: got %s, want one line without backticks", errtext.Quote(lang))
	}
	if err := c.Pay(1+len(text)/8, 32+3*len(text)+len(lang)); err != nil {
		return nil, err
	}
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return starlark.String(fence + lang + "\n" + text + fence), nil
}

// longestRun returns the length of the longest sequence of the byte b in s.
func longestRun(s string, b byte) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != b {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// padLeft returns how many of n padding characters go before the text, by the alignment.
var padLeft = map[string]func(n int) int{
	"left":   func(n int) int { return 0 },
	"right":  func(n int) int { return n },
	"center": func(n int) int { return n / 2 },
}

// textPad implements text.pad.
func textPad(c call.Call) (starlark.Value, error) {
	var (
		text  string
		w     int
		align = "left"
	)
	if err := c.Bind("text", &text, "width", &w, "align?", &align); err != nil {
		return nil, err
	}
	left := padLeft[align]
	if left == nil {
		return nil, c.Fail("E0202", "align: got %s, want left, right or center", errtext.Quote(align))
	}
	if w < 0 || w > textMaxWidth {
		return nil, c.Fail("E0202", "width: got %d, want 0 to %d", w, textMaxWidth)
	}
	if err := c.Pay(1+len(text)/16+w/256, 16+len(text)+2*w); err != nil {
		return nil, err
	}
	missing := max(0, w-utf8.RuneCountInString(text))
	before := left(missing)
	return starlark.String(strings.Repeat(" ", before) + text + strings.Repeat(" ", missing-before)), nil
}

// digitCount is an argument that is the number of digits after the point.
type digitCount int

// Unpack implements starlark.Unpacker.
func (d *digitCount) Unpack(v starlark.Value) error {
	var n int
	if err := starlark.AsInt(v, &n); err != nil {
		return err
	}
	if n < 0 || n > textMaxDigits {
		return fmt.Errorf("got %d, want 0 to %d", n, textMaxDigits)
	}
	*d = digitCount(n)
	return nil
}

// textFormatNumber implements text.format_number.
func textFormatNumber(c call.Call) (starlark.Value, error) {
	var (
		x      starlark.Value
		digits = digitCount(-1)
		sep    string
	)
	if err := c.Bind("x", &x, "digits??", &digits, "sep?", &sep); err != nil {
		return nil, err
	}
	size, err := decimalSize(x)
	if err != nil {
		return nil, c.Fail("E0202", "x: %v", err)
	}
	if err := c.Pay(8+size/4+size*size/4096, 2*(size+textMaxDigits+size/3*len(sep))); err != nil {
		return nil, err
	}
	return starlark.String(groupDigits(decimal(x, int(digits)), sep)), nil
}

// decimalSize returns an upper bound of the digits that x, an int or float, has before the point.
func decimalSize(x starlark.Value) (int, error) {
	switch x := x.(type) {
	case starlark.Int:
		if _, ok := x.Int64(); ok {
			return 20, nil
		}
		return x.BigInt().BitLen()/3 + 2, nil
	case starlark.Float:
		return 310, nil
	}
	return 0, fmt.Errorf("got %s, want int or float", x.Type())
}

// decimal returns the text of x, an int or float, with so many digits after the point; -1 means as many as
// the value needs.
func decimal(x starlark.Value, digits int) string {
	f, ok := x.(starlark.Float)
	switch {
	case !ok && digits > 0:
		return x.String() + "." + strings.Repeat("0", digits)
	case !ok || math.IsNaN(float64(f)) || math.IsInf(float64(f), 0):
		return x.String()
	}
	return strconv.FormatFloat(float64(f), 'f', digits, 64)
}

// groupDigits inserts sep between groups of three digits before the point.
func groupDigits(number, sep string) string {
	if sep == "" {
		return number
	}
	whole, rest, point := strings.Cut(number, ".")
	sign := whole[:len(whole)-len(strings.TrimLeft(whole, "+-"))]
	whole = whole[len(sign):]
	var out strings.Builder
	out.WriteString(sign)
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			out.WriteString(sep)
		}
		out.WriteByte(whole[i])
	}
	if point {
		out.WriteString("." + rest)
	}
	return out.String()
}
