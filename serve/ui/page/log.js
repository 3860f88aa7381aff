// The decision log: filters, counts, one record, and what the working copy would decide.
import { action, busy, el, facts, field, fill, fold, get, json, notice, place, post, problems, select, suggest, table, time } from "./dom.js";
import { record } from "./decide.js";

const saved = { since: "168h", action: "", plugin: "", tool: "", agent: "", text: "", session: "", event: "" };
const often = ["text", "since", "action"];
const rare = ["plugin", "tool", "agent", "session", "event"];
let list = null;

export async function show(main, args, about) {
  if (args[0] === "session") Object.assign(saved, { session: args[1] || "" });
  const inputs = {
    text: field("Words", { type: "search", value: saved.text, placeholder: "of a command, reason, plugin, id" }),
    since: select("Time", [["1h", "the last hour"], ["24h", "the last 24 hours"], ["168h", "the last 7 days"],
      ["720h", "the last 30 days"], ["", "any"]], saved.since),
    action: select("Answer", ["", "deny", "ask", "abort", "modify", "respond", "approve", "context", "none"], saved.action),
    plugin: field("Plugin", { value: saved.plugin }),
    tool: field("Tool, a glob or kind:shell", { value: saved.tool }),
    agent: field("Agent", { value: saved.agent }),
    session: field("Session", { value: saved.session }),
    event: field("Event", { value: saved.event }),
  };
  suggest(inputs.event, (about.events || []).map((e) => e.name));
  suggest(inputs.agent, about.agents || []);
  const result = el("section", { "aria-label": "Records" });
  const detail = el("section", { "aria-label": "One record" });
  let turn = 0;
  const draw = async () => {
    for (const [name, f] of Object.entries(inputs)) saved[name] = f.value;
    const mine = ++turn; // a later answer may arrive first
    try {
      const s = await get("log", saved);
      if (mine === turn) fill(result, summary(s, inputs, draw));
    } catch (err) {
      fill(result, notice("error", err.message));
    }
  };
  list = draw;
  let late = 0;
  const form = el("form", { class: "question", onsubmit: (e) => { e.preventDefault(); draw(); },
    oninput: () => { clearTimeout(late); late = setTimeout(draw, 150); } }, often.map((name) => inputs[name].box),
  fold("More filters", rare.some((name) => saved[name]), el("div", { class: "question" }, rare.map((name) => inputs[name].box))));
  fill(main, el("h2", {}, "Log"), about.log ? "" : notice("info", "The decision log is off: [log] enabled = true in the config turns it on."),
    form, detail, result, replay());
  if (args[0] === "show" && args[1]) {
    detail.addEventListener("keydown", (e) => { if (e.key === "Escape") location.hash = "#log"; });
    await showRecord(detail, args[1]);
    detail.scrollIntoView();
  }
  await draw();
}

export async function refresh(what) {
  if (what === "log" && list) await list();
}

function summary(s, inputs, draw) {
  const choose = (input, name) => el("button", { type: "button", class: "link", onclick: () => { input.value = name; draw(); } }, name || "none");
  const counts = (caption, groups, input) => !groups.length ? "" : table(caption, [caption === "Answers" ? "answer" : caption.slice(0, -1).toLowerCase(), "records"], groups.map((g) => [
    input ? choose(input, g.name) : g.name, String(g.count)]));
  return [
    s.problem ? notice("error", s.problem) : "",
    el("p", { class: "facts", role: "status" }, `${s.matched} of ${s.total} records${s.whole ? "" : "; the log is still being read"}`),
    s.older ? notice("info", `${s.older} older records are not on this page: starhost log and starhost replay read them.`) : "",
    s.total || !s.whole ? "" : notice("info", "The log has no records yet. starhost hook, run and serve write one for each event that plugins decide."),
    s.rows.length ? records(s.rows, "The newest records") : "",
    s.unlisted ? el("p", {}, `${s.unlisted} older records: narrow the filter`) : "",
    chart(s),
    el("div", { class: "columns" }, counts("Answers", s.actions, inputs.action), counts("Plugins", s.plugins, inputs.plugin),
      counts("Reasons", s.reasons, inputs.text), counts("Agents", s.agents, inputs.agent))];
}

// The columns of a list of records, each with what it shows of one.
const columns = {
  time: (r) => time(r.time),
  asked: (r) => el("a", { class: "asked", title: r.asked, href: `#log/show/${encodeURIComponent(r.id)}` }, r.tool || r.event, r.asked ? ` ${r.asked}` : ""),
  answer: (r) => action(r.answered),
  place: (r) => r.plugin && place(r.plugin, r.pos),
  reason: (r) => r.reason,
  event: (r) => r.event,
  agent: (r) => r.agent,
  record: (r) => r.id.slice(-8),
};

// records shows rows of the log. What was asked is cut to the width of its cell.
export function records(rows, caption, names = Object.keys(columns)) {
  return table(caption, names, rows.map((r) => names.map((name) => columns[name](r))));
}

// span shows seconds in the largest unit that suits.
function span(seconds) {
  const [n, unit] = seconds < 120 ? [seconds, "s"] : seconds < 7200 ? [seconds / 60, "min"] : [seconds / 3600, "h"];
  return `${Math.round(n)} ${unit}`;
}

// chart draws the records over time. The table of answers has the same numbers for readers.
function chart(s) {
  if (!s.chart.length) return "";
  const ns = "http://www.w3.org/2000/svg";
  const make = (tag, attrs) => {
    const node = document.createElementNS(ns, tag);
    for (const [k, v] of Object.entries(attrs)) node.setAttribute(k, v);
    return node;
  };
  const most = Math.max(...s.chart.map((b) => b.all));
  const svg = make("svg", { viewBox: `0 0 ${s.chart.length * 10} 60`, class: "chart", role: "img",
    "aria-label": `Records from ${s.chart[0].time} on, at most ${most} in ${span(s.seconds)}`, preserveAspectRatio: "none" });
  s.chart.forEach((b, i) => {
    for (const [n, kind] of [[b.all, "all"], [b.denied, "denied"]]) {
      if (!n) continue;
      const h = Math.max(1, 58 * n / most);
      svg.append(make("rect", { x: i * 10 + 1, y: 60 - h, width: 8, height: h, class: kind }));
    }
  });
  const last = s.chart[s.chart.length - 1];
  const end = new Date(Date.parse(last.time) + 1000 * s.seconds).toISOString();
  return el("figure", {}, svg, el("figcaption", {}, el("span", {}, time(s.chart[0].time)),
    el("span", {}, `Records over time, at most ${most} in ${span(s.seconds)}; refused or asked in red`), el("span", {}, time(end))));
}

async function showRecord(node, id) {
  await busy(null, node, () => get("record", { id }), (r) => {
    const plugin = field("Plugin", { value: r.decision.plugin || r.handlers?.[0]?.plugin || "" });
    const name = field("Name of the case", { value: `incident_${id.slice(-6).toLowerCase()}` });
    const result = el("p", { role: "status" });
    const save = el("button", { type: "submit" }, "Save as golden case");
    fill(node, record(r), facts({
      time: time(r.time), agent: r.agent, session: el("a", { href: `#log/session/${encodeURIComponent(r.session)}` }, r.session),
      folder: r.cwd, answered: r.answered, record: r.id }), el("p", {}, el("a", { href: "#log" }, "Close the record")),
    el("form", { class: "question", onsubmit: (e) => {
      e.preventDefault();
      busy(save, result, () => post("golden", { id, plugin: plugin.value, name: name.value }),
        (answer) => fill(result, answer.code ? problems(answer) : `written: ${answer.file}`));
    } }, plugin.box, name.box, save), result);
  });
}

// differences shows what replay found.
function differences(r) {
  const changed = (r.groups || []).filter((g) => g.outcome !== "cannot tell").length;
  return [facts({ events: r.events, sessions: r.sessions, same: r.same + r.same_masked, "now denied": r.now_denied, "now passed": r.now_pass,
    "now asked": r.ask_more, "decided otherwise": r.now_differ, "other context": r.other_context, "cannot tell": r.cannot_tell }),
  r.groups?.length ? table("Differences, and what replay cannot tell", ["outcome", "plugin", "place", "reason", "events", "example"], r.groups.map((g) => [
    g.outcome, g.plugin, g.pos && place(g.plugin, g.pos), g.reason, String(g.count),
    g.example ? el("a", { href: `#log/show/${encodeURIComponent(g.example)}` }, g.example.slice(-8)) : ""])) : "",
  changed || !r.events ? "" : el("p", {}, "No decision would change."),
  r.events ? "" : notice("info", "The log has no records of this time and these tools.")];
}

// replay asks the plugins on the disk about the records of a time.
function replay() {
  const since = field("Records of the last, such as 12h or 7d", { value: "7d" });
  const only = field("Tools, a glob or kind:shell", {});
  const result = el("div", {});
  const button = el("button", { type: "submit" }, "Replay with the working copy");
  return fold("What would the plugins on the disk decide?", false,
    el("form", { class: "question", onsubmit: (e) => {
      e.preventDefault();
      busy(button, result, () => post("replay", { since: since.value, only: only.value }),
        (answer) => fill(result, problems(answer), answer.output.schema ? differences(answer.output) : json(answer.output)));
    } }, since.box, only.box, button), result);
}
