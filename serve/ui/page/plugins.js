// The plugins: what they register and may do, their source with mistakes, coverage and cost.
import { action, bar, busy, el, facts, field, fill, get, notice, place, post, problems, table } from "./dom.js";
import { reachedLines, source } from "./source.js";

let current = [];
let node = null;
let coverage = null; // the last test run
let benchmarks = null; // the last measurement of handlers

export async function show(main, args) {
  current = args;
  node = main;
  if (args[0]) return showPlugin(main, args[0], args[1], Number(args[2]) || 0);
  const answer = await post("list");
  const plugins = answer.output.plugins || [];
  const most = Math.max(1, ...plugins.map((p) => p.steps));
  const search = field("Find a plugin", { type: "search" });
  const result = el("div", {});
  const draw = () => {
    const fits = plugins.filter((p) => p.name.toLowerCase().includes(search.value.toLowerCase()));
    fill(result, table("Plugins in the order in which they run", ["plugin", "version", "mode", "status", "registers", "permissions", "steps to load"],
      fits.slice(0, 300).map((p) => [el("a", { href: `#plugins/${encodeURIComponent(p.name)}` }, p.name), p.version, p.mode,
        p.error ? el("span", { class: "action deny" }, p.status) : p.status, registers(p),
        `${p.permissions.granted.length} of ${p.permissions.declared.length} granted`, bar(p.steps, most)])),
    fits.length > 300 ? el("p", {}, `${fits.length - 300} more: type a part of the name`) : "");
  };
  search.input.addEventListener("input", draw);
  draw();
  const tests = el("div", {});
  const button = el("button", { type: "button", onclick: () => busy(button, tests, runCases,
    () => fill(tests, problems(coverage), outcome(coverage.output))) }, "Run the golden cases");
  fill(main, el("h2", {}, "Plugins"), problems(answer), plugins.length ? "" : notice("info", "There are no plugins: starhost new guard writes one."), search.box, result, el("h3", {}, "Golden cases"), button, tests);
}

export async function refresh(what) {
  if (what === "plugins") await show(node, current);
}

// runCases runs the golden cases of all plugins.
export async function runCases() {
  coverage = await post("test");
  return coverage;
}

export function registers(p) {
  return ["tools", "hooks", "loaders", "templates", "commands", "skills", "models"]
    .filter((kind) => p[kind].length).map((kind) => p[kind].length === 1 ? `1 ${kind.slice(0, -1)}` : `${p[kind].length} ${kind}`).join(", ");
}

export function outcome(out) {
  const failed = (out.cases || []).filter((c) => c.status !== "passed");
  return [(out.cases || []).length ? el("p", { role: "status" }, `${out.cases.length - failed.length} passed, ${failed.length} did not`)
    : notice("info", "There are no cases: the Log view saves a record as one, and starhost docs golden describes them."),
    failed.length ? table("Cases that did not pass", ["case", "status", "reason"], failed.map((c) => [c.name, c.status,
      [c.reason, c.text ? el("pre", {}, c.text) : ""]])) : ""];
}

async function showPlugin(main, name, file, line) {
  const [all, check, logged] = await Promise.all([post("list"), post("check"), get("costs", { plugin: name })]);
  const p = (all.output.plugins || []).find((x) => x.name === name);
  if (!p) {
    fill(main, el("h2", {}, name), notice("error", "The set has no plugin of this name."), el("a", { href: "#plugins" }, "All plugins"));
    return;
  }
  const findings = [...(check.output.findings || []), ...(check.output.errors || [])].filter((f) => !f.plugin || f.plugin === name);
  const { declared, granted } = p.permissions;
  const kinds = { hooks: "hook", tools: "tool", loaders: "fragment loader", templates: "template loader", commands: "command", skills: "skill", models: "model" };
  const registered = Object.entries(kinds).flatMap(([kind, words]) => (all.output[kind] || []).filter((r) => r.plugin === name).map((r) => [
    words, [r.event || r.prefix || r.name || r.id || "", filters(r)], place(name, r.pos)]));
  fill(main, el("h2", {}, `${name} ${p.version}`), el("p", {}, el("a", { href: "#plugins" }, "All plugins")),
    facts({ path: p.path, status: p.status, mode: p.mode === "warn" ? "warn: its decisions are only logged" : p.mode }),
    problems({ output: { errors: findings } }),
    el("h3", {}, "Permissions"),
    declared.length || granted.length ? table("Declared and granted permissions", ["permission", "declared", "granted"], [
      ...declared.map((d) => [d, "yes", granted.includes(d) ? "yes" : [`no; to grant it, add to [grants] of the config: `, el("code", {}, `${name} = ${JSON.stringify([d])}`)]]),
      ...granted.filter((g) => !declared.includes(g)).map((g) => [g, "as a part", "yes"])]) : el("p", {}, "It declares none."),
    el("h3", {}, "Handlers"),
    registered.length ? table("What it registers", ["what", "name", "place"], registered) : el("p", {}, "It registers nothing."),
    ...costs(name, p, logged.costs));
  const shown = el("section", { "aria-label": "Source" });
  main.append(shown);
  await busy(null, shown, () => get("source", { plugin: name, file: inside(p, file) }), (s) => {
    const marks = { reached: reachedLines(p, s.file), missed: missedLines(p, s.file) };
    fill(shown, el("h3", {}, s.file), marks.reached.size ? el("p", { class: "facts" }, "Green: the last event of the Decide view reached the line.") : "",
      coverage ? el("p", { class: "facts" }, "A red edge: no golden case reached the line.") : "",
      source(s.file, s.text, line, marks, notesOf(findings)));
    shown.querySelector(".here")?.scrollIntoView({ block: "center" });
  });
}

// costs shows what handlers cost: in the records of the log, and measured with an invented event.
function costs(name, p, logged) {
  const most = Math.max(1, ...logged.map((c) => c.most));
  const measured = el("div", {});
  const button = el("button", { type: "button", onclick: () => busy(button, measured, () => post("bench"), (answer) => {
    benchmarks = answer;
    draw();
  }) }, "Measure the hooks");
  const draw = () => {
    const list = (benchmarks.output.benchmarks || []).filter((b) => b.plugin === name);
    const skipped = (benchmarks.output.warnings || []).filter((w) => w.pos && p.hooks.some((h) => h.pos === `${w.pos.file}:${w.pos.line}:${w.pos.col}`));
    fill(measured, problems({ output: { errors: benchmarks.output.errors } }),
      list.length ? table("Measured with an invented event", ["what", "about", "place", "steps", "bytes", "time, median", "time, 99 %"],
        list.map((b) => [b.kind, b.subject, place(name, b.pos), String(b.steps), String(b.alloc_bytes),
          micros(b.samples[0]?.p50_ns), micros(b.samples[0]?.p99_ns)])) : el("p", {}, "Nothing of this plugin was measured."),
      skipped.map((w) => notice("warning", `line ${w.pos.line}: ${w.message}`)));
  };
  if (benchmarks) draw();
  return [el("h3", {}, "Cost"),
    logged.length ? table("In the decision log, by the place of the answer", ["event", "place", "said", "calls", "steps, mean", "steps, most", "failures"],
      logged.map((c) => [c.event, place(name, c.pos), action(c.action), String(c.calls), String(Math.round(c.steps / c.calls)),
        bar(c.most, most), String(c.failed)])) : el("p", {}, "The decision log has no call of its handlers."),
    el("p", { class: "facts" }, `${p.steps} steps to load it`), button, measured];
}

function micros(ns) {
  return ns === undefined ? "" : `${(ns / 1000).toFixed(1)} µs`;
}

// filters says for which calls a hook runs, and in which order.
function filters(h) {
  return [h.match?.length ? `, match ${h.match.join(", ")}` : "", h.kind?.length ? `, kind ${h.kind.join(", ")}` : "",
    h.priority ? `, priority ${h.priority}` : ""].join("");
}

// inside returns the path of a file within the plugin's folder.
function inside(p, file) {
  if (!file || file === p.path) return "";
  for (const folder of [p.path, p.name]) { // the log names files relative to the folder of plugins
    if (file.startsWith(`${folder}/`)) return file.slice(folder.length + 1);
  }
  return file.split("/").pop();
}

// missedLines returns the lines that no golden case reached, if the cases ran.
function missedLines(p, file) {
  const files = coverage?.output?.coverage?.files || [];
  const found = files.find((f) => f.path === `${p.path}/${file}` || f.path === p.path);
  return new Set((found?.lines || []).filter((l) => !l.count).map((l) => l.line));
}

// notesOf returns the mistakes by their lines.
function notesOf(findings) {
  const notes = new Map();
  for (const f of findings) {
    if (f.pos?.line) notes.set(f.pos.line, [...(notes.get(f.pos.line) || []), `${f.message} [${f.code}]`]);
  }
  return notes;
}
