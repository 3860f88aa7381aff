// What a person wants to know first: the plugins, the agents, the last answers and failing cases.
import { el, fill, get, notice, post, problems, table, time } from "./dom.js";
import { records } from "./log.js";
import { outcome, registers, runCases } from "./plugins.js";

let parts = null;

export async function show(main, _args, about) {
  const part = (name, label, read) => {
    const node = el("section", { "aria-label": label });
    const draw = async () => {
      node.setAttribute("aria-busy", "true");
      try {
        fill(node, el("h3", {}, label), await read());
      } catch (err) {
        fill(node, el("h3", {}, label), notice("error", err.message));
      }
      node.removeAttribute("aria-busy");
    };
    fill(node, el("h3", {}, label), el("p", { class: "facts" }, "…"));
    return { name, node, draw };
  };
  parts = [
    part("plugins", "Plugins", plugins),
    part("log", "The last answers", () => answers(about)),
    part("waiting", "Waiting for an approval", waiting),
    part("doctor", "Agents", agents),
    part("cases", "Golden cases", async () => outcome((await runCases()).output)),
  ];
  fill(main, el("h2", {}, "Start"), el("div", { class: "columns wide-columns" }, parts.map((p) => p.node)));
  draw("plugins", "log", "waiting", "doctor", "cases"); // the view is there before their answers
}

// refresh shows what a change is about. doctor sends canaries, which the log records.
export async function refresh(what) {
  if (what === "log") await draw("log");
  else await draw("plugins", "waiting", "doctor", "cases");
}

async function draw(...names) {
  await Promise.all(parts.filter((p) => names.includes(p.name)).map((p) => p.draw()));
}

async function plugins() {
  const answer = await post("list");
  const list = answer.output.plugins || [];
  return [problems(answer), list.length ? table("Plugins in the order in which they run", ["plugin", "status", "registers"], list.slice(0, 50).map((p) => [
    el("a", { href: `#plugins/${encodeURIComponent(p.name)}` }, p.name, p.version ? ` ${p.version}` : ""),
    p.error ? el("span", { class: "action deny" }, p.status) : p.mode === "warn" ? "only warns" : p.status, registers(p)]))
    : notice("info", "There are no plugins: starhost new guard writes one."),
  list.length > 50 ? el("p", {}, el("a", { href: "#plugins" }, `${list.length - 50} more`)) : ""];
}

async function answers(about) {
  if (!about.log) return notice("info", "The decision log is off: [log] enabled = true in the config turns it on.");
  const s = await get("log", {});
  return s.rows.length ? [records(s.rows.slice(0, 8), "The newest records", ["time", "asked", "answer", "place"]), el("p", {}, el("a", { href: "#log" }, `All ${s.total} records`))]
    : notice("info", "The log has no records yet. starhost hook, run and serve write one for each event that plugins decide.");
}

async function waiting() {
  const answer = await post("sessions");
  const list = (answer.output.sessions || []).filter((s) => s.status === "waits");
  return [problems(answer), list.length ? el("ul", { class: "list" }, list.map((s) => el("li", {}, el("a", { href: `#sessions/${encodeURIComponent(s.id)}` }, s.id))))
    : el("p", {}, "No stored session waits.")];
}

// grades are those of hook doctor, with the class of an action.
const grades = { "holds": "approve", "holds unless": "approve", "can be lifted": "ask", "off": "deny" };

async function agents() {
  const answer = await post("doctor");
  const list = answer.output.agents || [];
  return [problems(answer), list.length ? table("Agents of this machine, as hook doctor finds them", ["agent", "grade", "last asked", "why"], list.map((a) => {
    const why = a.problems.length ? a.problems : [a.by, ...a.found].filter(Boolean);
    return [a.title, el("span", { class: `action ${grades[a.grade]}` }, a.grade), a.last_asked ? time(a.last_asked.time) : "",
      el("ul", { class: "list" }, why.map((text) => el("li", {}, text)))];
  })) : notice("info", "No agent of this machine has settings. starhost hook install AGENT puts the guards into one.")];
}
