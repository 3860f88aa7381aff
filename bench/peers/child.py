"""The standard hook as a child that speaks PicoClaw's protocol: JSON-RPC, a line each.

The loop and the reply are those of PicoClaw's own example of a plugin.
"""

import json
import sys


def before_llm(params):
    messages, tools = params.get("messages", []), params.get("tools", [])
    roles = ",".join([m["role"] for m in messages])
    names = ",".join([t["name"] for t in tools])
    messages.append({"role": "user", "content": "roles " + roles + "; tools " + names})
    return {
        "action": "modify",
        "request": {"model": params.get("model"), "messages": messages, "tools": tools, "options": params.get("options", {})},
    }


for raw in sys.stdin:
    message = json.loads(raw)
    result = before_llm(message.get("params") or {})
    payload = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    sys.stdout.write(json.dumps(payload, ensure_ascii=True) + "\n")
    sys.stdout.flush()
