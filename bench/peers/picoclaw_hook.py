"""A hook that adds context to the user's last message, as PicoClaw runs it.

The loop is that of PicoClaw's own example of a hook.
"""

import json
import sys


def before_llm(params):
    messages, tools = params.get("messages", []), params.get("tools", [])
    roles = ",".join([m["role"] for m in messages])
    names = ",".join([t["function"]["name"] for t in tools])
    for message in reversed(messages):
        if message["role"] == "user":
            message["content"] = "roles " + roles + "; tools " + names + "\n" + message["content"]
            break
    return {"action": "modify", "request": params}


for raw in sys.stdin:
    line = raw.strip()
    if not line:
        continue
    try:
        message = json.loads(line)
    except json.JSONDecodeError:
        continue
    result = before_llm(message.get("params") or {})
    payload = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    sys.stdout.write(json.dumps(payload, ensure_ascii=True) + "\n")
    sys.stdout.flush()
