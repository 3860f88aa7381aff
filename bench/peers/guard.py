"""A guard as Claude Code runs it: a process for each event, JSON in and out, a pattern for each rule."""

import json
import re
import sys

with open(sys.argv[1]) as f:
    rules = json.load(f)["rules"]
command = json.load(sys.stdin)["tool_input"].get("command", "")
reasons = [rule["reason"] for rule in rules if re.search(rule["pattern"], command)]
if reasons:
    json.dump({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "; ".join(reasons),
        },
    }, sys.stdout)
