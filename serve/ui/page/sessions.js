// Stored sessions: their turns, messages, what was merged into them, and state.
import { busy, el, facts, fill, json, notice, post, pretty, problems, table, time } from "./dom.js";

export async function show(main, args) {
  if (args[0]) return showSession(main, args[0]);
  const answer = await post("sessions");
  const list = answer.output.sessions || [];
  fill(main, el("h2", {}, "Sessions"), problems(answer),
    list.length ? table("Stored sessions, the newest first", ["session", "agent", "turns", "size", "stored", "status"], list.map((s) => [
      el("a", { href: `#sessions/${encodeURIComponent(s.id)}` }, s.id), s.agent, String(s.turns), `${s.bytes} B`, time(s.stored), s.status]))
      : notice("info", "The store has no sessions. starhost run, chat and eval --session store them."),
    answer.output.more ? el("p", {}, "There are more: starhost sessions list --limit shows them.") : "");
}

function text(v) {
  return v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
}

async function showSession(main, id) {
  const answer = await post("session", { id });
  const s = answer.output;
  const messages = s.messages || [];
  const state = Object.entries(s.state || {}).flatMap(([plugin, values]) => Object.entries(values).map(([key, v]) => [plugin, key, el("code", {}, JSON.stringify(v))]));
  fill(main, el("h2", {}, `Session ${id}`), el("p", {}, el("a", { href: "#sessions" }, "All sessions"), " ",
    el("a", { href: `#log/session/${encodeURIComponent(id)}` }, "Its decisions")), problems(answer),
  s.schema ? [facts({ agent: s.agent, turns: s.turns, "stored versions": s.version, "merged fragments": s.contents, status: s.status, file: s.file }),
    s.question ? approval(main, id, s.question) : "",
    s.system ? [el("h3", {}, "System text"), json(s.system)] : "",
    el("h3", {}, "Messages"), messages.length ? el("ol", { class: "blocks" }, messages.map(message)) : el("p", {},
      s.agent === "cli" ? "The session has no messages yet: a turn stores them when it ends." : "The session has no messages: the agent stores them itself."),
    el("h3", {}, "State"), state.length ? table("Values of ctx.state", ["plugin", "key", "value"], state) : el("p", {}, "No plugin stored a value with ctx.state.")]
    : "");
}

// message shows a message, and which fragments merging added to it.
function message(m) {
  return el("li", { class: "block" },
    el("p", { class: "facts" }, el("strong", {}, m.role || ""), m.name ? ` ${m.name}` : "", m.is_error ? ", error" : "",
      m.merged?.length ? [` merged ${m.merged.length === 1 ? "fragment" : "fragments"}: `, m.merged.map((id, i) => [i ? ", " : "", el("code", {}, id)])] : ""),
    m.content ? el("pre", { tabIndex: 0 }, m.content) : "",
    (m.tool_calls || []).map((c) => el("pre", { tabIndex: 0 }, `calls ${c.name} ${text(c.arguments)}`)),
    m.attachments?.length ? el("p", { class: "facts" }, `attachments: ${m.attachments.join("; ")}`) : "");
}

// approval asks about the call for which the session's turn waits. The answer counts only for the
// question that the page shows.
function approval(main, id, q) {
  const result = el("div", { role: "status" });
  const answer = (words, word) => {
    const button = el("button", { type: "button", class: word === "no" ? "quiet" : "", onclick: () => busy(button, result, () => post("answer", { words: [id, word], question: q.digest || "" }), async (given) => {
      if (given.code) fill(result, problems(given));
      else await showSession(main, id);
    }) }, words);
    return button;
  };
  return [el("h3", {}, q.answer ? "The call has its answer" : "A call waits for an approval"), facts({ call: q.tool, reason: q.reasons.join("; "), asked: time(q.asked), answer: q.answer }),
    json(pretty(q.arguments)), q.answer ? "" : el("p", { class: "buttons" }, answer("Approve the call", "yes"), answer("Refuse the call", "no")), result,
    el("p", { class: "facts" }, "The program that goes on with the turn uses the answer once. It asks the guards again.")];
}
