// A guard as Claude Code runs it: a process for each event, JSON in and out, a pattern for each rule.
const fs = require("fs");

const { rules } = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const command = JSON.parse(fs.readFileSync(0, "utf8")).tool_input.command ?? "";
const reasons = rules.filter((rule) => new RegExp(rule.pattern).test(command)).map((rule) => rule.reason);
if (reasons.length > 0) {
  process.stdout.write(JSON.stringify({
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "ask", permissionDecisionReason: reasons.join("; ") },
  }));
}
