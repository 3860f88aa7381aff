package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
)

// quote returns a text as outputs show it. A text of one line gets quotes, except a JSON object or list. A
// longer text gets a "|" before each line.
func quote(text string) string {
	switch {
	case strings.Contains(text, "\n"):
		return barLines("", text)
	case isContainer(text):
		return text + "\n"
	}
	return strconv.Quote(text) + "\n"
}

// barLines puts indent and a "|" before each line of a text.
func barLines(indent, text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		b.WriteString(strings.TrimSuffix(indent+"| "+line, " ") + "\n")
	}
	return b.String()
}

func isContainer(text string) bool {
	return (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text))
}

// promptBlocks splits the request of a prompt into the system text, which may be "", and the messages. It
// omits the tools.
func promptBlocks(p *host.Prompt) []string {
	list := []string{""}
	if p.System != "" {
		list[0] = "[system]\n" + difftext.EndLine(p.System)
	}
	for i := range p.Messages {
		list = append(list, messageBlock(&p.Messages[i]))
	}
	return list
}

func messageBlock(m *starhost.Message) string {
	head := m.Role
	if m.ToolName != "" {
		head += " " + m.ToolName
	}
	if m.IsError {
		head += ", error"
	}
	text := "[" + head + "]\n" + difftext.EndLine(m.Content.String())
	for _, c := range m.ToolCalls {
		text += fmt.Sprintf("[call %s %s]\n", c.Name, c.Arguments)
	}
	for i := range m.Attachments {
		a := &m.Attachments[i]
		text += "[attachment" + strings.TrimRight(texttable.Align([][]string{report.AttachmentCells("", a.ID(), a)}, 4), "\n") + "]\n"
	}
	return text
}

// changedBlocks returns the blocks of now from the first block on that differs from the one in before.
func changedBlocks(before, now []string) string {
	n := 0
	for n < len(before) && n < len(now) && before[n] == now[n] {
		n++
	}
	return strings.Join(now[n:], "")
}

// replyText returns the lines that show the reply of a tool.
func replyText(asked starhost.ToolCall, r *host.ToolReply) string {
	if r.Denied != nil {
		return decisionText(*r.Denied)
	}
	var b strings.Builder
	if string(asked.Arguments) != string(r.Call.Arguments) {
		fmt.Fprintf(&b, "arguments: %s\n", r.Call.Arguments)
	}
	b.WriteString(resultText(&r.Result))
	return b.String()
}

func resultText(r *starhost.Result) string {
	text := quote(r.ForLLM)
	if r.IsError {
		text = withLabel("error", text)
	}
	if r.ForUser != "" {
		text += withLabel("for user", quote(r.ForUser))
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"silent", r.Silent}, {"handled", r.Handled}} {
		if flag.set {
			text += flag.name + "\n"
		}
	}
	return text + attachmentOffers(r.Attachments)
}

// withLabel puts a label before a text that quote returned.
func withLabel(label, quoted string) string {
	if strings.HasPrefix(quoted, "|") {
		return label + ":\n" + quoted
	}
	return label + ": " + quoted
}

// fireText returns the output of a step fire: the outcome of the event, and the lines that handlers logged.
// tool is the name of the tool that the event is about, or "".
func fireText(event, tool string, o *host.Outcome, logs []host.LogLine) string {
	text := "== fire " + event
	if tool != "" {
		text += " " + texttable.OneLine(tool)
	}
	text += "\n" + outcomeText(o)
	for _, line := range logs {
		text += logText(line)
	}
	return escapeMarkers(text)
}

// outcomeText returns the lines that show the joint decision of an event's handlers. If several handlers
// decided, each single decision follows.
func outcomeText(o *host.Outcome) string {
	var decided []starhost.Decision
	for _, d := range o.Decisions {
		if d.Action != starhost.ActionNone {
			decided = append(decided, d)
		}
	}
	var b strings.Builder
	if len(decided) == 0 {
		b.WriteString("no decision\n")
	}
	if o.Decision.Action != starhost.ActionNone {
		b.WriteString(decisionText(o.Decision))
	}
	for _, c := range o.Context() {
		b.WriteString(contextText(c))
	}
	if len(decided) > 1 {
		for _, d := range decided {
			b.WriteString(indent("  "+d.Plugin+" ", decisionText(d)))
		}
	}
	return b.String()
}

// decisionText returns the text that shows a decision and its place: "deny: no ticket (policy.star:3:1)".
func decisionText(d starhost.Decision) string {
	place := "(" + d.Pos.String() + ")"
	if d.Pos == (starhost.Pos{}) {
		place = "(" + d.Plugin + ")"
	}
	text := ""
	switch d.Action {
	case starhost.ActionModify: // the changes follow later
	case starhost.ActionRespond:
		text = withLabel("respond "+place, resultText(d.Result))
	case starhost.ActionContext:
		text = fmt.Sprintf("context: %d B %s\n", d.Context.Bytes(), place)
	case starhost.ActionApprove:
		text = fmt.Sprintf("approve %s\n", place)
	case starhost.ActionValue:
		text = fmt.Sprintf("value: %s %s\n", errtext.Clip(string(d.Value)), place)
	default:
		text = fmt.Sprintf("%s: %s %s\n", d.Action, texttable.OneLine(d.Reason), place)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Changes)) {
		text += withLabel("modify "+name+" "+place, changeText(d.Changes[name]))
	}
	return text
}

// answerText returns the lines that show the answer to an agent's event.
func answerText(out, stderr string, code int) string {
	text := difftext.EndLine(out)
	if out == "" {
		text = "no output\n"
	}
	for line := range strings.Lines(stderr) {
		text += "stderr: " + difftext.EndLine(line)
	}
	if code != 0 {
		text += fmt.Sprintf("exit %d\n", code)
	}
	return text
}

// changeText returns the text that shows the new value of an argument.
func changeText(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.RawMessage:
		return string(v) + "\n"
	case starhost.Result:
		return resultText(&v)
	case []string:
		return strings.Join(v, ", ") + "\n"
	case []starhost.Tool:
		text := ""
		for _, t := range v {
			text += strings.TrimSuffix(t.Name+": "+texttable.OneLine(t.Description), ": ") + "\n"
		}
		return barLines("", strings.TrimSuffix(text, "\n"))
	case *starhost.Messages:
		text := ""
		for i := range v.Items() {
			text += messageBlock(v.At(i))
		}
		return barLines("", strings.TrimSuffix(text, "\n"))
	}
	return fmt.Sprintln(v)
}

// indent puts prefix before the first line of a text, and as many spaces before each other line.
func indent(prefix, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(prefix + line)
		prefix = strings.Repeat(" ", len(prefix))
	}
	return b.String()
}

// contextText returns the lines that show context before starhost merges it, with all contents.
func contextText(c starhost.Context) string {
	cells := make([][]string, len(c.Fragments))
	for i, f := range c.Fragments {
		cells[i] = []string{
			strconv.Itoa(i + 1), f.ID().Short(), texttable.OneLine(f.Source),
			texttable.Size(len(f.Content)), texttable.OneLine(f.Title),
		}
		if f.Target == fragments.System {
			cells[i] = append(cells[i], f.Target.String())
		}
		if f.Priority != 0 {
			cells[i] = append(cells[i], fmt.Sprintf("priority %d", f.Priority))
		}
	}
	var b strings.Builder
	i := 0
	for row := range strings.Lines(texttable.Align(cells, 3)) {
		b.WriteString(row + barLines("     ", c.Fragments[i].Content))
		i++
	}
	return b.String() + attachmentOffers(c.Attachments)
}

// attachmentOffers returns the lines that show attachments before starhost merges them.
func attachmentOffers(list []fragments.Attachment) string {
	cells := make([][]string, len(list))
	for i := range list {
		cells[i] = report.AttachmentCells(strconv.Itoa(i+1), list[i].ID(), &list[i])
	}
	return texttable.Align(cells, 4)
}

// logText returns the lines that show what a handler logged.
func logText(l host.LogLine) string {
	text := fmt.Sprintf("log %s %s: %s", l.Level, l.Plugin, texttable.OneLine(l.Text))
	if len(l.Fields) > 0 {
		text += " " + string(l.Fields)
	}
	return text + "\n"
}
