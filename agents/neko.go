package agents

var neko = &Agent{
	Title: "N.E.K.O",
	Events: []Event{
		{Name: "startup", Ours: "session_start"},
		{Name: "shutdown", Ours: "session_end"},
	},
}
