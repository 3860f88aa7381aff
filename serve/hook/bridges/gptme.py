"""The bridge between gptme and starhost. It runs COMMAND before each tool that gptme confirms.

If starhost does not answer, the tool does not run.
"""

import json
import subprocess
import sys

from gptme.hooks import ConfirmationResult, HookType, register_hook

COMMAND = @COMMAND@
TIMEOUT = @TIMEOUT@  # seconds
CONTENT = {"shell": "command", "tmux": "command", "ipython": "code", "patch": "patch", "morph": "edit"}


def ask_starhost(tool_use, preview=None, workspace=None):
    args = dict(tool_use.kwargs or {})
    if tool_use.content:
        args.setdefault(CONTENT.get(tool_use.tool, "content"), tool_use.content)
    if tool_use.args:
        args.setdefault("path", tool_use.args[0])
    event = {"event": "tool.confirm", "tool": tool_use.tool, "args": args, "cwd": str(workspace or "")}
    run = subprocess.run(COMMAND, input=json.dumps(event), capture_output=True, text=True, timeout=TIMEOUT)
    if run.returncode == 0:
        return None  # the next hook decides
    return ConfirmationResult.skip(run.stderr.strip() or "starhost did not answer")


def register():
    register_hook("starhost", HookType.TOOL_CONFIRM, ask_starhost, priority=sys.maxsize)
