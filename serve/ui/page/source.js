// Sources in colours, with the lines that golden cases missed and those that an event reached.
import { el, notice } from "./dom.js";

const maxColoured = 200000; // letters; longer files stay plain
const maxLines = 20000;
const kinds = ["comment", "string", "word", "number", "call"];
// One group for each of the kinds. A string that does not end goes on to the end of its line or,
// with three quotes, of the file.
const token = /(#.*)|([rb]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|\b(and|break|continue|def|elif|else|for|if|in|lambda|load|not|or|pass|return|while|None|True|False)\b|\b(\d[\w.]*)|\b([A-Za-z_]\w*)(?=\()/g;

// The files that the last event reached, each with its path and the numbers of its lines.
let reached = [];

// mark keeps the lines that an event reached, for the Plugins view, and links to them.
export function mark(files) {
  reached = files || [];
  if (!reached.length) return el("p", { class: "facts" }, "It reached no statement of a plugin's functions.");
  const words = reached.map((f) => `${f.path}: ${f.lines.length === 1 ? "1 line" : `${f.lines.length} lines`}`);
  return el("p", { class: "facts" }, `It reached ${words.join("; ")}. The Plugins view marks what it reached.`);
}

// reachedLines returns the lines of a file that the last event reached.
export function reachedLines(p, file) {
  const found = reached.find((f) => f.path === p.path || f.path === `${p.path}/${file}`);
  return new Set(found?.lines);
}

// source shows lines. here is the number of one that is shown, marks has sets of numbers, and notes
// has texts by number.
export function source(name, text, here, marks, notes) {
  const lines = name.endsWith(".star") && text.length <= maxColoured ? coloured(text) : text.split("\n");
  const titles = { missed: "No golden case reached this line", reached: "The last event of the Decide view reached this line" };
  return el("ol", { class: "source", tabIndex: 0, "aria-label": "Lines" }, lines.slice(0, maxLines).map((parts, i) => {
    const n = i + 1;
    const set = Object.keys(marks).filter((name) => marks[name].has(n));
    return el("li", { class: [n === here ? "here" : "", ...set].join(" ").trim(), ...(set.length ? { title: set.map((s) => titles[s]).join("; ") } : {}) },
      el("code", {}, parts), (notes.get(n) || []).map((text) => notice("error", text)));
  }));
}

// coloured returns a list of texts and elements for each line.
function coloured(text) {
  const lines = [[]];
  const add = (piece, kind) => piece.split("\n").forEach((part, i) => {
    if (i) lines.push([]);
    if (part) lines[lines.length - 1].push(kind ? el("span", { class: `code-${kind}` }, part) : part);
  });
  let at = 0;
  for (const match of text.matchAll(token)) {
    add(text.slice(at, match.index));
    add(match[0], kinds[match.slice(1).findIndex((group) => group !== undefined)]);
    at = match.index + match[0].length;
  }
  add(text.slice(at));
  return lines;
}
