// What handlers decide about an event: one of starhost's, or one that an agent sends.
import { action, busy, el, field, fill, json, place, post, problems, select, table } from "./dom.js";

const saved = { event: "pre_tool_call", args: '{"tool": "Bash", "arguments": {"command": "ls"}}', agent: "claude-code", json: "" };
let again = null;

export async function show(main, _args, about) {
  const event = field("Event", { value: saved.event, required: true });
  const args = field("Arguments, JSON", { rows: 4, value: saved.args, spellcheck: false }, "textarea");
  const agent = select("Agent", about.agents || [], saved.agent);
  const text = field("What the agent sends, JSON", { rows: 6, value: saved.json, spellcheck: false }, "textarea");
  const result = el("section", { "aria-label": "The decision" });
  const fire = el("button", { type: "submit" }, "Fire the event");
  const send = el("button", { type: "submit" }, "Send to hook");
  const runFire = () => busy(fire, result, async () => {
    Object.assign(saved, { event: event.value, args: args.value });
    const [answer, all] = await Promise.all([post("fire", { event: saved.event, args: saved.args }), post("list")]);
    fill(result, problems(answer), decision(answer.output), handlers(answer.output.hooks || [], all.output.hooks || [], saved.event));
  });
  const runHook = () => busy(send, result, async () => {
    Object.assign(saved, { agent: agent.value, json: text.value });
    const answer = await post("hook", { agent: saved.agent, event: saved.json });
    fill(result, el("h3", {}, "Answer to the agent"),
      el("p", {}, `exit code ${answer.code}`), answer.out ? json(answer.out) : "", answer.stderr ? json(answer.stderr) : "",
      answer.records.map(record));
  });
  const forms = el("div", { class: "columns" },
    el("form", { onsubmit: (e) => { e.preventDefault(); again = runFire; runFire(); } }, el("h3", {}, "An event of starhost"), event.box, args.box, fire),
    el("form", { onsubmit: (e) => { e.preventDefault(); again = runHook; runHook(); } }, el("h3", {}, "An event of an agent"), agent.box, text.box, send));
  again = null;
  fill(main, el("h2", {}, "Decide"), forms, result);
}

export async function refresh(what) {
  if (what === "plugins" && again) await again();
}

function decision(out) {
  if (!out.fire) return "";
  const d = out.fire.decision;
  return [el("h3", {}, "Decision"), el("p", {}, action(d.action), " ", d.reason),
    Object.keys(d.changes || {}).length ? json(d.changes) : "", d.result ? json(d.result) : "",
    out.fire.context?.length ? [el("h4", {}, "Context"), json(out.fire.context)] : ""];
}

// handlers shows those that ran, and those of the same event that did not match.
function handlers(ran, all, event) {
  const places = new Set(ran.filter((h) => h.event === event).map((h) => h.pos));
  const others = all.filter((h) => h.event === event && !places.has(h.pos));
  return [
    table("Handlers that ran", ["event", "plugin", "place", "said", "steps"], ran.map((h) => [
      h.event, h.plugin, place(h.plugin, h.pos), [action(h.action), " ", h.detail], String(h.steps)])),
    table("Handlers that did not run", ["plugin", "place", "why"], others.map((h) => [
      h.plugin, place(h.plugin, h.pos), why(h)]))];
}

function why(h) {
  const wants = [];
  if (h.match?.length) wants.push(`match ${h.match.join(", ")}`);
  if (h.kind?.length) wants.push(`kind ${h.kind.join(", ")}`);
  return wants.length ? `the event does not fit its ${wants.join(" or its ")}` : "a decision stood before its turn";
}

// record shows one record of the decision log.
export function record(r) {
  return el("section", { class: "record" },
    el("h3", {}, `${r.event} ${r.tool || ""}`), el("p", {}, action(r.decision.action), " ", r.decision.reason || "", " ",
      r.decision.plugin ? place(r.decision.plugin, r.decision.pos) : ""),
    table("Handlers", ["plugin", "place", "said", "steps"], (r.handlers || []).map((h) => [
      h.plugin, place(h.plugin, h.pos), [action(h.action), " ", h.reason || ""], String(h.steps ?? "")])),
    el("details", {}, el("summary", {}, "The whole record"), json(r)));
}
