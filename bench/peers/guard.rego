# A guard as Claude Code could run it: a process for each event, a pattern for each rule.
package guard

reasons := [rule.reason |
	some rule in data.rules
	regex.match(rule.pattern, input.tool_input.command)
]
