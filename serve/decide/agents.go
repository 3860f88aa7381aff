package decide

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/starhost/starhost/serve/hook"
)

// hooksPath is the path of the agents' HTTP hooks, before the agent's name.
const hooksPath = "/hooks/"

// HooksURL returns the URL for an agent's HTTP hooks on a server at an address HOST:PORT.
func HooksURL(address, agent string) string { return "http://" + address + hooksPath + agent }

// Hooks returns the handler for agents' HTTP hooks and for programs that fire events.
func (s *Server) Hooks() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+hooksPath+"{agent}", s.answerAgent)
	mux.HandleFunc("POST "+firePath+"{event}", s.answerFire)
	return mux
}

// answerAgent answers an event of an agent.
func (s *Server) answerAgent(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("agent")
	agent := hook.AgentOf(name)
	if agent == nil || !agent.HTTP {
		http.Error(w, fmt.Sprintf("%s%s: want one of %s: other agents run the program: starhost hook AGENT",
			hooksPath, name, strings.Join(AgentNames(), ", ")), http.StatusNotFound)
		return
	}
	reply := s.desk.Answer(context.WithoutCancel(r.Context()), agent, time.Now(), func() ([]byte, error) { return io.ReadAll(r.Body) })
	s.writeAnswer(w, agent, reply.Answer)
}

// load returns the plugins in use, for one event.
func (s *Server) load(_ context.Context, e *hook.Event) hook.Plugins {
	release, err := s.take()
	if err != nil {
		return hook.Plugins{Host: hook.Refusing(err, false, nil)}
	}
	return hook.Plugins{Host: s.Host(), Options: s.options(), Close: release, Finish: func(e *hook.Event, _ *hook.Answer, err error) {
		if err != nil {
			s.Warn(e.AgentName() + ": " + err.Error())
		}
	}}
}

// AgentNames returns the names of the agents with HTTP hooks.
func AgentNames() (names []string) {
	for _, a := range hook.Agents {
		if a.HTTP {
			names = append(names, a.Name)
		}
	}
	return names
}

// refuseAgent answers an event that starhost cannot read.
func (s *Server) refuseAgent(w http.ResponseWriter, agent *hook.Agent, payload []byte, reason string) {
	_, answer, err := agent.Refuse(payload, "starhost: "+reason)
	if err != nil {
		s.Warn(agent.Name + ": " + err.Error())
	}
	s.writeAnswer(w, agent, answer)
}

// writeAnswer writes an answer to an agent. The agents read JSON at status 200 only: for any other
// status they let the call pass. So a refusal has status 200, too.
func (s *Server) writeAnswer(w http.ResponseWriter, agent *hook.Agent, a hook.Answer) {
	if a.Err != "" && !a.Blocks { // a decision that the agent cannot express
		s.Warn(agent.Name + ": " + strings.TrimSpace(a.Err))
	}
	if a.Out != "" {
		writeJSON(w, http.StatusOK, a.Out)
	}
}

// Refuse answers a request that the front refuses. Agents and gateways get a refusal in their own
// form, because they take an error for a permission, or can be set to.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	name, _ := strings.CutPrefix(r.URL.Path, hooksPath)
	switch agent, gateway := hook.AgentOf(name), guardrails[r.URL.Path]; {
	case r.Method == http.MethodPost && agent != nil && agent.HTTP:
		s.refuseAgent(w, agent, nil, reason)
	case r.Method == http.MethodPost && gateway != nil:
		s.writeObject(w, http.StatusOK, gateway.refuse("starhost: "+reason))
	default:
		http.Error(w, reason, status)
	}
}
