// Stored sessions: their turns, messages, state and what was sent.
import { el, fill, json, notice, post, problems, table } from "./dom.js";

export async function show(main, args) {
  if (args[0]) return showSession(main, args[0]);
  const answer = await post("sessions");
  const list = answer.output.sessions || [];
  fill(main, el("h2", {}, "Sessions"), problems(answer),
    list.length ? table("Stored sessions, the newest first", Object.keys(list[0]), list.map((s) =>
      Object.entries(s).map(([name, v]) => name === "id"
        ? el("a", { href: `#sessions/${encodeURIComponent(v)}` }, v) : text(v))))
      : notice("info", "The store has no sessions. starhost run, chat and eval --session store them."));
}

function text(v) {
  return v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
}

async function showSession(main, id) {
  const answer = await post("session", { id });
  const s = answer.output.session || answer.output;
  const messages = s.messages || [];
  const { messages: _, ...rest } = typeof s === "object" ? s : { value: s };
  fill(main, el("h2", {}, `Session ${id}`), el("p", {}, el("a", { href: "#sessions" }, "All sessions"), " ",
    el("a", { href: `#log/session/${encodeURIComponent(id)}` }, "Its decisions")), problems(answer),
  messages.length ? [el("h3", {}, "Messages"), el("ol", { class: "blocks" }, messages.map((m) => el("li", { class: "block" },
    el("p", { class: "facts" }, el("strong", {}, m.role || "")), el("pre", { tabIndex: 0 }, text(m.text ?? m.content ?? m)))))] : "",
  el("h3", {}, "State"), json(rest));
}
