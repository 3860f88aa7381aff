package modules

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	modAsserts(t, []struct{ name, source string }{
		{"dedent keeps relative indentation", `assert_eq(text.dedent("\n    a\n      b\n    c\n"), "\na\n  b\nc\n")`},
		{"dedent of tabs against spaces removes nothing", `assert_eq(text.dedent("\ta\n    b"), "\ta\n    b")`},
		{"dedent removes the common part", `assert_eq(text.dedent("\t  a\n\t b"), " a\nb")`},
		{"dedent empties blank lines", `assert_eq(text.dedent(" a\n   \n b"), "a\n\nb")`},
		{"dedent of nothing", `assert_eq(text.dedent(""), "")`},
		{"indent keeps line ends", `assert_eq(text.indent("a\r\nb\n", "  "), "  a\r\n  b\n")`},
		{"indent of nothing", `assert_eq(text.indent("", "  "), "")`},
		{"wrap of nothing", `assert_eq(text.wrap(" \n "), [])`},
		{"wrap joins lines", `assert_eq(text.wrap("a\nb c"), ["a b c"])`},
		{"wrap counts characters", `assert_eq(text.wrap("éé éé", 5), ["éé éé"])`},
		{"wrap cuts long words", `assert_eq(text.wrap("ab abcdefgh i", 3), ["ab", "abc", "def", "gh", "i"])`},
		{"wrap cuts a word of two widths", `assert_eq(text.wrap("abcdef", 3), ["abc", "def"])`},
		{"wrap keeps paragraphs", `assert_eq(text.wrap("\n\na\n \n\nb\n\n"), ["a", "", "b"])`},
		{"truncate counts the suffix", `assert_eq(text.truncate("é" * 10, 8), "éé…")`},
		{"truncate cuts no character", `assert_eq(text.truncate("ééé", 4, suffix = "."), "é.")`},
		{"truncate to nothing", `assert_eq(text.truncate("abc", 0, suffix = ""), "")`},
		{"fence of nothing", "assert_eq(text.fence(\"\"), \"```\\n```\")"},
		{"fence counts runs anywhere", "assert_eq(text.fence(\"a ````` b\")[:6], \"``````\")"},
		{"pad counts characters", `assert_eq(text.pad("é", 3) + "|", "é  |")`},
		{"pad leaves long text", `assert_eq(text.pad("abc", 2, align = "right"), "abc")`},
		{"format_number groups negative numbers", `assert_eq(text.format_number(-1234, sep = "."), "-1.234")`},
		{"format_number groups three digits once", `assert_eq([text.format_number(n, sep = ",") for n in [0, 999, 1000, -100]], ["0", "999", "1,000", "-100"])`},
		{"format_number of big ints", `assert_eq(text.format_number(1 << 100, 1, sep = " "), "1 267 650 600 228 229 401 496 703 205 376.0")`},
		{"format_number without exponent", `assert_eq([text.format_number(x) for x in [1e21, 1e-7, 3.0]], ["1000000000000000000000", "0.0000001", "3"])`},
		{"format_number rounds half to even", `assert_eq([text.format_number(x, 0) for x in [0.5, 1.5, 2.5, -2.5, 2.6]], ["0", "2", "2", "-2", "3"])`},
		{"format_number of the exact value", `assert_eq([text.format_number(x, 2) for x in [2.675, 0.125, 0.375]], ["2.67", "0.12", "0.38"])`},
		{"format_number digits None", `assert_eq(text.format_number(7, None), "7")`},
		{"format_number of no numbers", `assert_eq([text.format_number(float(x), 2, sep = ",") for x in ["inf", "-inf", "nan"]], ["+inf", "-inf", "nan"])`},
		{"table whose first row is the header", `assert_eq(text.markdown_table([("a", "b"), (1.5,), [True, None]]), "| a | b |\n| --- | --- |\n| 1.5 |  |\n| True |  |")`},
		{"table of dicts with different keys", `assert_eq(text.markdown_table([{"a": 1}, {"b": 2, "a": 3}]), "| a | b |\n| --- | --- |\n| 1 |  |\n| 3 | 2 |")`},
		{"table of chosen columns", `assert_eq(text.markdown_table([{"a": 1, "b": 2}], header = ["b", "c"]), "| b | c |\n| --- | --- |\n| 2 |  |")`},
		{"table of a header only", `assert_eq(text.markdown_table([], header = ["a"]), "| a |\n| --- |")`},
		{"table of nothing", `assert_eq([text.markdown_table([]), text.markdown_table([{}]), text.markdown_table([[]])], ["", "", ""])`},
		{"table cells are escaped", `assert_eq(text.markdown_table([["a|b", "c\r\nd\ne", r"\|", r"C:\x"]]), r"| a\|b | c<br>d<br>e | \\\| | C:\x |" + "\n| --- | --- | --- | --- |")`},
		{"sections of nothing", `assert_eq(text.split_sections("\n\n"), [])`},
		{"sections of plain text", `assert_eq(text.split_sections("\na\n\nb\n"), [struct(level = 0, title = "", body = "a\n\nb")])`},
		{"section titles", `assert_eq([s.title for s in text.split_sections("#\n## a ##\n   # b#\n#\tc\r\n###### d # e\n# #\n")], ["", "a", "b#", "c", "d # e", ""])`},
		{"what is no heading", `assert_eq([s.level for s in text.split_sections("#a\n####### b\n    # c\n\t# d\n\\# e\n")], [0])`},
		{"sections respect fences", "assert_eq([s.title for s in text.split_sections(\"```sh\\n# no\\n~~~\\n``\\n# no\\n````\\n# a\\n~~~ `x`\\n# no\\n~~~ x\\n# no\\n~~~~\\n# b\\n\")], [\"\", \"a\", \"b\"])"},
		{"backticks in the info open no fence", "assert_eq([s.title for s in text.split_sections(\"``` a`b\\n# a\\n\")], [\"\", \"a\"])"},
		{"an open fence runs to the end", "assert_eq([s.title for s in text.split_sections(\"# a\\n```\\n# no\\n\")], [\"a\"])"},
		{"section bodies keep their indentation", `assert_eq([s.body for s in text.split_sections("# a\n\n  - x\n    y\n\n# b")], ["  - x\n    y", ""])`},
	})
}

func TestTextErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`text.wrap("a", 0)`, `text.wrap: width: got 0, want 1 or more`},
		{`text.wrap("a", "b")`, `text.wrap: for parameter width: got string, want int`},
		{`text.truncate("abc", 2)`, `text.truncate: max_bytes: got 2, want 3 (what the suffix takes) or more`},
		{`text.truncate("abc", -1, suffix = "")`, `text.truncate: max_bytes: got -1, want 0 (what the suffix takes) or more`},
		{"text.fence(\"x\", lang = \"a\\nb\")", `text.fence: lang: got "a\nb", want one line without backticks`},
		{`text.pad("x", -1)`, `text.pad: width: got -1, want 0 to 1048576`},
		{`text.pad("x", 1 << 30)`, `text.pad: width: got 1073741824, want 0 to 1048576`},
		{`text.pad("x", 5, align = "middle")`, `text.pad: align: got "middle", want left, right or center`},
		{`text.format_number("5")`, `text.format_number: x: got string, want int or float`},
		{`text.format_number(True)`, `text.format_number: x: got bool, want int or float`},
		{`text.format_number(5, 101)`, `text.format_number: for parameter digits: got 101, want 0 to 100`},
		{`text.format_number(5, "2")`, `text.format_number: for parameter digits: got string, want int`},
		{`text.format_number(5, -1)`, `text.format_number: for parameter digits: got -1, want 0 to 100`},
		{`text.markdown_table(["ab"])`, `text.markdown_table: rows: row 1: got string, want list, tuple or dict`},
		{`text.markdown_table([["a"], ["b", "c"]])`, `text.markdown_table: rows: row 2: got 2 cells, want at most 1`},
		{`text.markdown_table([["a"], [[1]]])`, `text.markdown_table: rows: row 2: cell 1: got list, want string, number, bool or None`},
		{`text.markdown_table([[[1]]])`, `text.markdown_table: rows: row 1: cell 1: got list, want string, number, bool or None`},
		{`text.markdown_table([{"a": len}])`, `text.markdown_table: rows: row 1: "a": got builtin_function_or_method, want string, number, bool or None`},
		{`text.markdown_table([{(1,): 2}])`, `text.markdown_table: rows: row 1: key: got tuple, want string, number, bool or None`},
		{`text.markdown_table([], header = [{}])`, `text.markdown_table: header: cell 1: got dict, want string, number, bool or None`},
	})
}

// Law: no line is wider than the width, no word is lost, and each line is as full as possible.
func FuzzTextWrap(f *testing.F) {
	f.Add("check the queue, then page", 10)
	f.Add("a\n\n\nb  c\td", 1)
	f.Add("éé\xffé \u2028 x", 2)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 1 {
			return
		}
		lines := wrapText(text, width)
		for i, line := range lines {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("line %d: got %d characters, want %d at most", i, n, width)
			}
			if i == 0 || line == "" || lines[i-1] == "" {
				continue
			}
			if word := strings.Fields(line)[0]; utf8.RuneCountInString(lines[i-1]+" "+word) <= width {
				t.Errorf("line %d: %q would fit behind %q", i, word, lines[i-1])
			}
		}
		got, want := strings.Join(lines, ""), strings.Join(strings.Fields(text), "")
		if strings.ReplaceAll(got, " ", "") != want {
			t.Errorf("got words %q, want %q", got, want)
		}
		if bound := min(len(text), 2*(len(text)/width+strings.Count(text, "\n"))) + 2; len(lines) > bound {
			t.Errorf("got %d lines, paid for %d", len(lines), bound)
		}
	})
}

// Law: a fenced block ends at its own fence and not before, so that readers get the same text.
func FuzzTextFence(f *testing.F) {
	f.Add("x = 1", "python")
	f.Add("```\n````\n", "")
	f.Add("\n", "a b")
	f.Fuzz(func(t *testing.T, text, lang string) {
		v, err := modEval(&modRuntime{}, "text.fence(x, y)", starlark.String(text), starlark.String(lang))
		if err != nil {
			return
		}
		block := string(v.(starlark.String))
		first, rest, _ := strings.Cut(block, "\n")
		fence := first[:len(first)-len(lang)]
		body, found := strings.CutSuffix(rest, fence)
		if !found || strings.Trim(fence, "`") != "" || strings.Contains(body, fence) {
			t.Fatalf("fence %q of %q", fence, block)
		}
		if body != text && body != text+"\n" {
			t.Errorf("got body %q, want %q", body, text)
		}
		open := ""
		for line := range strings.Lines(block + "\n# after\n") {
			if open = nextFence(open, line); strings.HasPrefix(line, "# after") && open != "" {
				t.Errorf("%q is still open behind its end", block)
			}
		}
	})
}

// Law: a truncated text fits, begins like the text, and ends with the suffix.
func TestTextTruncateLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		most := rapid.IntRange(3, 40).Draw(t, "most")
		v, err := modEval(&modRuntime{}, "text.truncate(x, y)", starlark.String(text), starlark.MakeInt(most))
		if err != nil {
			t.Fatal(err)
		}
		got := string(v.(starlark.String))
		if got == text {
			return
		}
		kept, found := strings.CutSuffix(got, "…")
		fits := found && len(got) <= most && len(got) > most-utf8.UTFMax
		if !fits || !strings.HasPrefix(text, kept) || !utf8.ValidString(got) {
			t.Fatalf("got %q", got)
		}
	})
}

// A cut inside a fenced code block closes the block or omits it.
func TestTextTruncateFences(t *testing.T) {
	const block = "Run:\n```sh\nmake all\nmake test\n```\nDone."
	tests := []struct {
		text string
		most int
		want string
	}{
		{block, len(block), block},
		{block, len(block) - 1, "Run:\n```sh\nmake all\nmake test\n```\nD…"},
		{block, 27, "Run:\n```sh\nmake all\n```\n…"},
		{block, 24, "Run:\n```sh\nmake \n```\n…"},
		{block, 18, "Run:\n…"},
		{block, 10, "Run:\n``…"},
		{block, 7, "Run:…"},
		{"~~~~\n```\n~~~\nabcdefghijkl\n~~~~\n", 28, "~~~~\n```\n~~~\nabcdef\n~~~~\n…"},
		{"- item\n    ```\n    abcdefgh\n    ```\n", 33, "- item\n    ```\n    ab\n    ```\n…"},
		{"```\r\none\r\n```\r\nafter the block", 22, "```\r\none\r\n```\r\nafte…"},
		{"``` no `fence` here, but text", 20, "``` no `fence` he…"},
		{"```\na\n```\n```\nbcdefghijk\n```", 24, "```\na\n```\n```\nbc\n```\n…"},
	}
	for _, tt := range tests {
		v, err := modEval(&modRuntime{}, "text.truncate(x, y)", starlark.String(tt.text), starlark.MakeInt(tt.most))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(v.(starlark.String)); got != tt.want || len(got) > tt.most {
			t.Errorf("%q at %d: got %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// Law: a truncated text of fences and lines fits, and no block is open at its end.
func TestTextTruncateFencesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"```", "````", "~~~", "~~~~", "\n", "\n", "\n", "  ", "\t", "a", "é", "py", "\r\n"}))
		text := strings.Join(parts.Draw(t, "parts"), "")
		most := rapid.IntRange(3, 60).Draw(t, "most")
		v, err := modEval(&modRuntime{}, "text.truncate(x, y)", starlark.String(text), starlark.MakeInt(most))
		if err != nil {
			t.Fatal(err)
		}
		got := string(v.(starlark.String))
		cut, found := strings.CutSuffix(got, "…")
		if got == text {
			return
		}
		if _, open := openFence(cut); !found || open || len(got) > most || !utf8.ValidString(got) {
			t.Fatalf("got %q", got)
		}
	})
}

// Law: all lines of a table have the same number of unescaped "|".
func TestTextMarkdownTableLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a|\\\n\r ]{0,6}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 1, 4).Draw(t, "rows")
		var list []starlark.Value
		for _, row := range rows {
			cells := starlark.Tuple{starlark.String(row[0]), starlark.String(row[1]), starlark.String(row[2])}
			list = append(list, cells)
		}
		v, err := modEval(&modRuntime{}, "text.markdown_table(x)", starlark.NewList(list))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(v.(starlark.String)), "\n")
		if len(lines) != len(rows)+1 {
			t.Fatalf("got %d lines for %d rows: %q", len(lines), len(rows), lines)
		}
		for _, line := range lines {
			if n := countBars(line); n != 4 {
				t.Fatalf("got %d cell borders in %q, want 4", n, line)
			}
		}
	})
}

// countBars counts the "|" without a backslash in front.
func countBars(line string) int {
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			n++
		}
	}
	return n
}

// Law: titles and bodies together contain the whole text without white space and hashes.
func FuzzTextSplitSections(f *testing.F) {
	f.Add("intro\n# Fix\nRestart it.\n```\n# no\n```\n## Verify ##\n")
	f.Fuzz(func(t *testing.T, text string) {
		var got strings.Builder
		for s := range sections(text) {
			if s.level > 6 || !strings.Contains(text, s.body) || !strings.Contains(text, s.title) {
				t.Errorf("section %d %q %q is not in the text", s.level, s.title, s.body)
			}
			got.WriteString(s.title + s.body)
		}
		if got, want := lettersOf(got.String()), lettersOf(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// lettersOf returns s without white space and hashes.
func lettersOf(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), ""), "#", "")
}

// Law: a float that is formatted without digits parses as the same float.
func TestTextFormatNumberRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "x")
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return
		}
		got, err := modEval(&modRuntime{}, "float(text.format_number(x))", starlark.Float(f))
		if err != nil || got != starlark.Float(f) {
			t.Fatalf("got %v, %v, want %v", got, err, f)
		}
	})
}
