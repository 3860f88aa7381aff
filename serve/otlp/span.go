package otlp

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost/decision"
)

// These are the messages of OTLP's JSON form: ids are in hexadecimal, 64-bit integers are strings.
type (
	object = map[string]any
	span   struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Events     []spanEvent `json:"events,omitempty"`
	}
	spanEvent struct {
		Time       string      `json:"timeUnixNano"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes"`
	}
	scopeLogs struct {
		Scope   object      `json:"scope"`
		Records []logRecord `json:"logRecords"`
	}
	logRecord struct {
		Time       string      `json:"timeUnixNano"`
		Body       value       `json:"body"`
		Attributes []attribute `json:"attributes"`
	}
	logsAnswer struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedLogRecords"` // a number, or its text
		} `json:"partialSuccess"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text string `json:"stringValue,omitempty"`
		Int  string `json:"intValue,omitempty"`
	}
)

func textAttribute(key, text string) attribute { return attribute{key, value{Text: text}} }

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// us is the scope of all spans and records.
func us() object { return object{"name": "starhost"} }

// tracesOf returns the request for a batch.
func tracesOf(batch []span) object {
	return object{"resourceSpans": []object{{
		"resource":   object{"attributes": resourceOf(nil)},
		"scopeSpans": []object{{"scope": us(), "spans": batch}},
	}}}
}

// logsOf returns the request for records. Without records it has no resource either, so that a collector has
// nothing to refuse.
func logsOf(resources []attribute, batch []decision.UnsentRecord) object {
	if len(batch) == 0 {
		return object{"resourceLogs": []object{}}
	}
	records := make([]logRecord, len(batch))
	for i, r := range batch {
		records[i] = logRecord{nanos(r.Time), value{Text: string(r.JSON)}, []attribute{textAttribute("log.record.uid", r.ID)}}
	}
	return object{"resourceLogs": []object{{
		"resource": object{"attributes": resources}, "scopeLogs": []scopeLogs{{us(), records}},
	}}}
}

// rejectedIn returns how many records a collector refused though it answered with success.
func rejectedIn(answer []byte) int {
	var a logsAnswer
	if json.Unmarshal(answer, &a) != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.Trim(string(a.Partial.Rejected), `"`))
	return max(n, 0)
}
