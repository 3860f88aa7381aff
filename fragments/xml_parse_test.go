package fragments

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// The laws of the xml rendering need its inverse, which no program does.

var attributeUnescaper = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(swapped(attributeEscapes())...)
})

// swapped returns the pairs the other way round.
func swapped(pairs []string) []string {
	list := make([]string, 0, len(pairs))
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, pairs[i+1], pairs[i])
	}
	return list
}

// ParseXML returns the fragments of a prompt in the xml rendering, with content, source and
// title: the inverse of [Set.Render]. Documents must have consecutive numbers, from any number,
// and each content the hash that its document states. Other texts are an error that names the
// byte where reading stopped.
func ParseXML(text string) ([]Fragment, error) {
	var list []Fragment
	p := xmlParser{text: text}
	for number := 0; p.at < len(text); {
		if number > 0 {
			p.want("\n")
		}
		f, got := p.document()
		if number > 0 && got != number+1 {
			p.fail("index: got %d, want %d", got, number+1)
		}
		if p.err != nil {
			return nil, p.err
		}
		number = got
		list = append(list, f)
	}
	return list, nil
}

// An xmlParser reads text from the byte at. After a failure its results have no meaning.
type xmlParser struct {
	text string
	at   int
	err  error // the first failure
}

func (p *xmlParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("xml: byte %d: %s", p.at, fmt.Sprintf(format, args...))
	}
}

// document reads one document, and also returns its number.
func (p *xmlParser) document() (Fragment, int) {
	p.want("<")
	tag := p.upTo(" ")
	index := p.attribute(`index="`)
	number, _ := strconv.Atoi(index)
	if number < 1 || strconv.Itoa(number) != index {
		p.fail("index: got %q, want a positive number", index)
	}
	f := Fragment{Source: attributeUnescaper().Replace(p.attribute(` source="`))}
	if strings.HasPrefix(p.text[p.at:], " title") {
		f.Title = attributeUnescaper().Replace(p.attribute(` title="`))
	}
	stated := p.attribute(` sha256="`)
	p.want(">\n")
	f.Content = p.upTo(closingTag(tag))
	if id := Sum(f.Content); stated != id.String() {
		p.fail("sha256: got %q, want %s", stated, id)
	} else if want := tagFor(f.Content, id); tag != want {
		p.fail("tag: got %q, want %q", tag, want)
	}
	return f, number
}

// attribute reads open and then the text before the closing quote.
func (p *xmlParser) attribute(open string) string {
	p.want(open)
	return p.upTo(`"`)
}

// want reads exactly text.
func (p *xmlParser) want(text string) {
	rest := p.text[p.at:]
	if p.err == nil && strings.HasPrefix(rest, text) {
		p.at += len(text)
		return
	}
	p.fail("got %q, want %q", rest[:min(len(rest), len(text))], text)
}

// upTo reads to the end of the next delim, and returns the text before it.
func (p *xmlParser) upTo(delim string) string {
	before, _, ok := strings.Cut(p.text[p.at:], delim)
	if p.err != nil || !ok {
		p.fail("got no %q to the end", delim)
		return ""
	}
	p.at += len(before) + len(delim)
	return before
}
