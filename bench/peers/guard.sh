#!/usr/bin/env bash
# A guard as Claude Code runs it: a process for each event, JSON in and out, a pattern for each rule.
set -euo pipefail
reasons=$(jq -r --slurpfile rules "$1" '(.tool_input.command // "") as $c
	| [$rules[0].rules[] | select(.pattern as $p | $c | test($p)) | .reason] | join("; ")')
if [ -n "$reasons" ]; then
	jq -n --arg reason "$reasons" '{hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "ask", permissionDecisionReason: $reason}}'
fi
