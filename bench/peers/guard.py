"""A guard as Claude Code runs it: a process for each event, JSON in and out."""

import json
import sys

event = json.load(sys.stdin)
command = event["tool_input"].get("command", "")
if event["hook_event_name"] == "PreToolUse" and "sudo" in command:
    json.dump({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "sudo needs a person",
        },
    }, sys.stdout)
