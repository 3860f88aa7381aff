package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// Since protocol version 2026-07-28 a server sends no requests. To ask a person, it answers a call
// with the question and a request state, and the client repeats the call with the answer and the
// state. The state is the server's only memory of the question, and it passes through the client.
// So the server authenticates it, binds it to the call and the question, and accepts it once.

// statelessVersion is the first protocol version without sessions and requests of the server.
const statelessVersion = "2026-07-28"

// approvalInput is the name of the question in an input request.
const approvalInput = "approval"

// These limits bound request states.
const (
	maxState      = 4 << 10 // in bytes; a state of this server is much smaller
	maxUsedStates = 10_000  // states that were used and have not expired
)

// A requestState describes a question about one call.
type requestState struct {
	Nonce    string         `json:"nonce"`
	Expires  time.Time      `json:"expires"`
	Call     fragments.Hash `json:"call"`     // the tool and its arguments
	Question fragments.Hash `json:"question"` // the text that the person saw
}

// requestStates seals and opens the request states of one process. The zero value is ready.
type requestStates struct {
	mu   sync.Mutex
	key  []byte               // drawn at the first use, so states end with the process
	used map[string]time.Time // the expiry of each used state, by nonce
}

// seal returns a state as an opaque text.
func (s *requestStates) seal(state requestState) string {
	data, _ := json.Marshal(state) // plain data
	return base64.RawURLEncoding.EncodeToString(append(s.sign(data), data...))
}

// sign returns the MAC of a state.
func (s *requestStates) sign(data []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil {
		s.key = make([]byte, sha256.Size)
		_, _ = rand.Read(s.key) // it never fails
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write(data)
	return mac.Sum(nil)
}

// open checks a state for a call and marks it as used.
func (s *requestStates) open(text string, call fragments.Hash, now time.Time) (requestState, error) {
	var state requestState
	if len(text) > maxState {
		return state, fmt.Errorf("requestState: got %d bytes, want at most %d", len(text), maxState)
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < sha256.Size {
		return state, errForeignState
	}
	mac, data := sealed[:sha256.Size], sealed[sha256.Size:]
	if !hmac.Equal(mac, s.sign(data)) || json.Unmarshal(data, &state) != nil {
		return state, errForeignState
	}
	switch {
	case state.Call != call:
		return state, errors.New("requestState: it belongs to a call of another tool or with other arguments")
	case !now.Before(state.Expires):
		return state, errors.New("requestState: it has expired: repeat the call without it")
	}
	return state, s.use(state, now)
}

// errForeignState refuses a state that this process did not seal.
var errForeignState = errors.New("requestState: it is not of this server: repeat the call without it")

// use marks a state as used until it expires.
func (s *requestStates) use(state requestState, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.used[state.Nonce]; again {
		return errors.New("requestState: it was used before: repeat the call without it")
	}
	if len(s.used) >= maxUsedStates {
		for nonce, expires := range s.used {
			if !now.Before(expires) {
				delete(s.used, nonce)
			}
		}
	}
	if len(s.used) >= maxUsedStates {
		return fmt.Errorf("requestState: %d were used in the last %v, want fewer", maxUsedStates, approvalTimeout)
	}
	if s.used == nil {
		s.used = map[string]time.Time{}
	}
	s.used[state.Nonce] = state.Expires
	return nil
}

// A round is one request of a client that answers questions by repeating its call. The zero value
// is a request that cannot ask.
type round struct {
	states   *requestStates
	call     starhost.ToolCall
	canAsk   bool           // the client shows questions to a person
	answered fragments.Hash // the question that the person answered, zero for none
	accepted bool           // the answer
	question string         // the question that the result must ask, "" for none
}

// isStateless reports whether a request is of a protocol version whose servers send no requests.
func isStateless(r interface{ ProtocolVersion() string }) bool {
	return r.ProtocolVersion() >= statelessVersion
}

// newRound checks the state and the answer of a call. It returns nil for a client that can be asked
// during the call.
func (s *Server) newRound(r *sdk.CallToolRequest, call starhost.ToolCall) (*round, error) {
	if !isStateless(r) {
		return nil, nil
	}
	capabilities := r.ClientCapabilities()
	asked := &round{states: &s.states, call: call, canAsk: capabilities != nil && capabilities.Elicitation != nil}
	answer, ok := r.Params.InputResponses[approvalInput].(*sdk.ElicitResult)
	if r.Params.RequestState == "" || !ok || answer == nil {
		return asked, nil // the server asks, perhaps again
	}
	state, err := s.states.open(r.Params.RequestState, callDigest(call), time.Now())
	if err != nil {
		return nil, invalidParams(err.Error())
	}
	asked.answered, asked.accepted = state.Question, answer.Action == "accept"
	return asked, nil
}

// callDigest returns the digest of a tool's name and arguments.
func callDigest(call starhost.ToolCall) fragments.Hash {
	data, _ := json.Marshal([]string{call.Name, string(call.Arguments)}) // strings
	return fragments.Sum(string(data))
}

// invalidParams returns the protocol's error for parameters.
func invalidParams(why string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: why}
}

// approve returns the person's answer to a question, or writes down the question for the result.
// Only the client's own call can ask: a repeated call runs from its start, so a question in the
// middle would repeat the effects before it.
func (r *round) approve(question string, call *starhost.ToolCall) (bool, error) {
	switch {
	case r.states == nil:
		return false, errors.New("with protocol version " + statelessVersion + " a command cannot ask")
	case call.ID != r.call.ID:
		return false, errors.New("with protocol version " + statelessVersion + " a call inside another call cannot ask")
	case !r.canAsk:
		return false, errors.New("client does not support elicitation")
	case r.answered == fragments.Sum(question):
		return r.accepted, nil
	}
	r.question = question
	return false, errors.New("the client must ask")
}

// inputRequired returns the result that asks the question, nil if there is none.
func (r *round) inputRequired(now time.Time) *sdk.CallToolResult {
	if r == nil || r.question == "" {
		return nil
	}
	state := requestState{
		Nonce: rand.Text(), Expires: now.Add(approvalTimeout),
		Call: callDigest(r.call), Question: fragments.Sum(r.question),
	}
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{approvalInput: askParams(r.question)}, RequestState: r.states.seal(state),
	}
}

// askParams returns the parameters of a question that a person answers by yes or no.
func askParams(question string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: question, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

// completeRead returns the result of resources/read. It comes from JSON, because the SDK has no
// other way to mark a result as complete, which protocol version 2026-07-28 requires.
func completeRead(r interface{ ProtocolVersion() string }, contents []*sdk.ResourceContents) *sdk.ReadResourceResult {
	result := &sdk.ReadResourceResult{}
	if isStateless(r) {
		_ = json.Unmarshal([]byte(`{"resultType":"complete"}`), result) // a constant
	}
	result.Contents, result.CacheScope = contents, cacheScope
	return result
}
