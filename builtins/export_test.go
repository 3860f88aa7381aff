package builtins

// ArgumentValue is what handlers get for an argument of an event.
var ArgumentValue = argumentValue

// MaxMemo is the most bytes of a memo.
const MaxMemo = maxMemo

// AppendKey makes the key of a call.
var AppendKey = appendKey

// Hits returns how often a result was given again.
func (m *Memo) Hits() int64 { return m.hits.Load() }

// Size returns what is remembered.
func (m *Memo) Size() (bytes, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes, len(m.calls)
}
