// The bridge between opencode and starhost. It runs COMMAND for each event. If starhost does not
// answer, the tool does not run, and any other event goes on.
import { spawnSync } from "node:child_process"

const COMMAND = @COMMAND@
const TIMEOUT = @TIMEOUT@ // milliseconds

export const Starhost = async ({ client, directory }) => {
  // opencode calls the tool TOOL of a server SERVER_TOOL, as it could call a tool of its own.
  const nameOf = async (tool) => {
    const late = new Promise((resolve) => setTimeout(resolve, 2000))
    const status = await Promise.race([late, Promise.resolve().then(() => client.mcp.status()).catch(() => undefined)])
    const servers = Object.keys(status?.data ?? {}).map((name) => name.replace(/[^a-zA-Z0-9_-]/g, "_"))
    const server = servers.filter((name) => tool.startsWith(name + "_")).sort((a, b) => b.length - a.length)[0]
    return server ? `mcp__${server}__${tool.slice(server.length + 1)}` : tool
  }
  const ask = (event, guards = false) => {
    const input = JSON.stringify({ cwd: directory, ...event })
    const run = spawnSync(COMMAND[0], COMMAND.slice(1), { input, encoding: "utf8", timeout: TIMEOUT, maxBuffer: 1 << 26 })
    if (run.status === 2) throw new Error(run.stderr.trim() || "refused by starhost")
    if (run.status === 0) return run.stdout.trim() ? JSON.parse(run.stdout) : {}
    if (guards) throw new Error("starhost did not answer: " + (run.error?.message ?? run.stderr.trim()))
    return {}
  }
  return {
    "chat.message": async (input, output) => {
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      const answer = ask({ event: "chat.message", session: input.sessionID, model: input.model?.modelID ?? "", prompt })
      if (answer.withhold) for (const part of texts) part.text = answer.withhold
      if (answer.context && texts.length > 0) texts[0].text = answer.context + "\n\n" + texts[0].text
    },
    "tool.execute.before": async (input, output) => {
      const tool = await nameOf(input.tool)
      const answer = ask({ event: "tool.execute.before", session: input.sessionID, call_id: input.callID, tool, args: output.args }, true)
      if (!answer.args) return
      for (const name of Object.keys(output.args)) delete output.args[name] // opencode runs this very object
      Object.assign(output.args, answer.args)
    },
    "tool.execute.after": async (input, output) => {
      const answer = ask({
        event: "tool.execute.after", session: input.sessionID, call_id: input.callID, tool: await nameOf(input.tool), args: input.args,
        output: output.output,
      })
      if (answer.output !== undefined) output.output = answer.output
    },
    "experimental.session.compacting": async (input) => {
      ask({ event: "experimental.session.compacting", session: input.sessionID })
    },
  }
}
