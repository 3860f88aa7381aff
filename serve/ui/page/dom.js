// What all views use: elements, requests, and the pieces that several views show. Every text
// becomes a text node, so nothing that a plugin or the log says is markup.

// el makes an element. Properties that begin with "on" are listeners; class, for, role, href and
// names with "-" are attributes; the others are properties. Children are elements and texts.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (/-|^(class|for|role|href|list|scope|colspan)$/.test(name)) node.setAttribute(name, value);
    else node[name] = value;
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

// fill replaces what a node contains.
export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
}

// get asks for a path with a query.
export async function get(path, query = {}) {
  const params = new URLSearchParams(Object.entries(query).filter(([, v]) => v));
  return read(await fetch(`/api/${path}?${params}`, { headers: { Accept: "application/json" } }));
}

// post runs a command of the server's table.
export async function post(path, question = {}) {
  return read(await fetch(`/api/${path}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question),
  }));
}

async function read(response) {
  const text = await response.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(text.slice(0, 500) || `the server answered ${response.status}`);
  }
  if (value && value.error) throw new Error(value.error);
  return value;
}

// The newest question of each node that busy fills.
const newest = new WeakMap();

// busy asks the server while the button that a person pressed is off, and shows the answer, or the
// error, in a node. The answer to an older question that arrives later is not shown. A question that
// the page repeats by itself has no button: else the page would lose what a person presses meanwhile.
export async function busy(button, node, ask, show = () => {}) {
  const mine = {};
  newest.set(node, mine);
  if (button) button.disabled = true;
  node.setAttribute("aria-busy", "true");
  try {
    const answer = await ask();
    if (newest.get(node) === mine) await show(answer);
  } catch (err) {
    if (newest.get(node) === mine) fill(node, notice("error", err.message));
  } finally {
    if (button) button.disabled = false;
    if (newest.get(node) === mine) node.removeAttribute("aria-busy");
  }
}

export function notice(kind, ...text) {
  return el("p", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "note" }, text);
}

// field makes an input with its label. The caller reads field.value.
export function field(label, props = {}, tag = "input") {
  const id = `f${++fields}`;
  const input = el(tag, { id, ...props });
  const box = el("div", { class: "field" }, el("label", { for: id }, label), input);
  return { box, input, get value() { return input.value; }, set value(v) { input.value = v; } };
}
let fields = 0;

// select makes a list of choices. An option is a value, or a value and its words.
export function select(label, options, value) {
  const f = field(label, {}, "select");
  for (const o of options) {
    const [v, words] = Array.isArray(o) ? o : [o, o || "any"];
    f.input.append(el("option", { value: v, selected: v === value }, words));
  }
  return f;
}

// suggest offers values for an input that takes others, too.
export function suggest(f, values) {
  const id = `${f.input.id}-values`;
  f.input.setAttribute("list", id);
  f.box.append(el("datalist", { id }, values.map((v) => el("option", { value: v }))));
}

// table makes a table with a header. A row is a list of cells.
export function table(caption, heads, rows) {
  return el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", { class: heads.length > 3 ? "wide" : "", role: "table" }, el("caption", {}, caption),
      el("thead", {}, el("tr", { role: "row" }, heads.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, rows.map((cells) => el("tr", { role: "row" }, cells.map((c, i) => el("td", { role: "cell", "data-head": heads[i] }, c)))))));
}

// facts shows names with their values, and leaves out what is empty.
export function facts(pairs) {
  return el("dl", { class: "stats" }, Object.entries(pairs).filter(([, v]) => v !== "" && v !== null && v !== undefined)
    .map(([name, v]) => el("div", {}, el("dt", {}, name), el("dd", {}, v instanceof Node ? v : String(v)))));
}

// json shows a value.
export function json(value) {
  return el("pre", { tabIndex: 0 }, typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

// pretty returns a text with an indent if it is JSON.
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// place links to a line of a plugin: "PATH:LINE:COL".
export function place(plugin, pos) {
  if (!pos) return "";
  const text = typeof pos === "string" ? pos : `${pos.file}:${pos.line}:${pos.col}`;
  const [, file, line] = /^(.*?):(\d+)(?::\d+)?$/.exec(text) || [null, text, "1"];
  if (!plugin) return text;
  return el("a", { href: `#plugins/${encodeURIComponent(plugin)}/${encodeURIComponent(file)}/${line}` }, text);
}

// problems shows the errors and warnings of a command.
export function problems(answer) {
  const out = answer.output || {};
  const list = (out.errors || []).map((e) => notice("error",
    e.plugin ? `${e.plugin}: ` : "", e.message, " ", e.code ? `[${e.code}] ` : "", place(e.plugin, e.pos),
    e.help ? el("span", { class: "help" }, e.help) : ""));
  for (const w of out.warnings || []) {
    list.push(notice("warning", typeof w === "string" ? w : w.message || JSON.stringify(w)));
  }
  if (!list.length && answer.code && answer.diagnostics) list.push(notice("error", answer.diagnostics));
  return list;
}

// action shows what a handler said, in a colour and in words.
export function action(name) {
  return el("span", { class: `action ${/^(deny|abort)$/.test(name) ? "deny" : name}` }, name || "none");
}

// bar shows a number as a part of the largest one.
export function bar(value, most, text) {
  const inner = el("span", { class: "bar" });
  inner.style.width = `${most ? Math.round(100 * value / most) : 0}%`;
  return el("span", { class: "measure" }, inner, el("span", { class: "number" }, text ?? String(value)));
}

// time shows a moment in the local time of the browser, with the exact one as its title.
export function time(moment) {
  if (!moment) return "";
  return el("time", { dateTime: moment, title: moment }, new Date(moment).toLocaleString("sv-SE"));
}

// fold shows rarely used pieces after a click, or at once if open is true.
export function fold(words, open, ...children) {
  return el("details", { open }, el("summary", {}, words), children);
}

const pictureTypes = ["image/gif", "image/jpeg", "image/png", "image/webp"];

// attachments shows what the model gets beside texts. The server has the pictures of its last
// answers; a picture that is large or of another type is a line of text.
export function attachments(list) {
  return el("ul", { class: "pictures" }, list.map((a) => {
    const label = a.name || a.url || a.id.slice(0, 12);
    const img = !a.url && pictureTypes.includes(a.type)
      && el("img", { src: `/api/picture?id=${encodeURIComponent(a.id)}`, alt: `The attachment ${label}`, onerror: () => img.replaceWith(el("p", { class: "facts" }, "This picture is too large or broken, so the page does not show it.")) });
    const by = (a.provenance || []).filter((p) => p.plugin || p.source).map((p) => `${p.plugin || "you"} ${p.source || ""}`.trim());
    return el("li", {}, img, el("p", { class: "facts" }, el("strong", {}, label), ` ${a.type}`, a.url ? " by URL" : `, ${a.bytes} B`,
      a.width ? `, ${a.width} × ${a.height}` : "", by.length ? `, from ${by.join(", also ")}` : "",
      a.status && a.status !== "kept" ? [", ", el("strong", {}, a.status), a.reason ? `: ${a.reason}` : ""] : ""));
  }));
}
