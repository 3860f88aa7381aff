package agents

import "time"

// dockerMCP is the gateway of MCP servers of Docker Desktop. It runs an interceptor of its command
// line before a call of a tool, with the request of the Go SDK on standard input, and takes any
// output for the call's result: pkg/interceptors/interceptors.go of docker/mcp-gateway. It runs
// interceptors after a call, too, but does not tell them the tool.
var dockerMCP = &Agent{
	Name: "docker-mcp", Title: "Docker's MCP gateway",
	// The gateway itself waits as long as the program runs; MCP clients wait for a minute unless their
	// settings say more.
	Served: true, Timeout: time.Minute,
	Missing: "refuses", Seen: "source at 2bd20fe83dd0",
	Events: []Event{
		{Name: "before", Ours: "pre_tool_call", Served: true},
		{Name: "after", Ours: "post_tool_call"},
	},
	Canary: `{"Session":{},"Params":{"name":@TOOL@,"arguments":@ARGS@},"Extra":null}`,
}
