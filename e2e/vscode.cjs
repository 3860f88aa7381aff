// Activates the extension for VS Code with the real client and the real server. The module vscode
// exists only inside the editor: this stub has the parts that the client calls.
const Module = require("module");
const path = require("path");

const [extension, program, folder] = process.argv.slice(2);
const shown = [];
const nothing = { dispose() {} };
const event = () => nothing;

class Disposable { dispose() {} static from() { return nothing; } }
class Uri {
  constructor(file) { this.scheme = "file"; this.fsPath = this.path = file; }
  toString() { return "file://" + this.path; }
  static parse(text) { return new Uri(text.replace("file://", "")); }
  static file(file) { return new Uri(file); }
}
class EventEmitter { constructor() { this.event = event; } fire() {} dispose() {} }
class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range {
  constructor(line, character, endLine, endCharacter) {
    this.start = new Position(line, character);
    this.end = new Position(endLine, endCharacter);
  }
}
class Diagnostic { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } }
class CancellationTokenSource {
  constructor() { this.token = { isCancellationRequested: false, onCancellationRequested: event }; }
  cancel() {}
  dispose() {}
}

const document = {
  uri: Uri.file(path.join(folder, "plugins/p.star")), languageId: "starlark", version: 1, isClosed: false,
  getText: () => "register_tol(1)\n", lineCount: 2, fileName: path.join(folder, "plugins/p.star"),
};
const workspace = {
  workspaceFolders: [{ uri: Uri.file(folder), name: "test", index: 0 }],
  textDocuments: [document],
  getConfiguration: (name) => ({ get: (key, otherwise) => (name === "starhost" && key === "path" ? program : otherwise) }),
  createFileSystemWatcher: () => ({ onDidCreate: event, onDidChange: event, onDidDelete: event, dispose() {} }),
};
const window = {
  createOutputChannel: () => ({ appendLine() {}, append() {}, show() {}, clear() {}, dispose() {} }),
  showErrorMessage: async (text) => { fail(text); }, visibleTextEditors: [], activeTextEditor: undefined,
};
const languages = {
  createDiagnosticCollection: () => ({ set: (uri, list) => shown.push([uri, list]), clear() {}, delete() {}, dispose() {}, get() {} }),
  match: () => 10,
};
// open fills the members that the client calls with events and registrations that do nothing.
const open = (known) => new Proxy(known, { get: (o, name) => (name in o ? o[name] : /^(on|register)/.test(String(name)) ? event : undefined) });
// member returns a member of a class or an enumeration of the editor.
function member(c, name) {
  if (name in c || typeof name !== "string") return c[name];
  return { value: name, append() { return this; } };
}
const classes = new Map();
const vscode = new Proxy({
  version: "1.90.0", Disposable, Uri, EventEmitter, CancellationTokenSource, Position, Range, Diagnostic,
  workspace: open(workspace), window: open(window), languages: open(languages), commands: open({ executeCommand() {} }),
  env: { language: "en", appName: "test" }, extensions: { all: [], getExtension() {} },
}, {
  get(o, name) {
    if (name in o || typeof name !== "string") return o[name];
    if (!classes.has(name)) classes.set(name, new Proxy(class {}, { get: member }));
    return classes.get(name);
  },
});

function fail(text) {
  console.error(text);
  process.exit(1);
}

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
setTimeout(() => fail("the server did not answer in time"), 20000);
(async () => {
  const { activate, deactivate } = require(path.resolve(extension));
  await activate();
  while (!shown.length) await new Promise((done) => setTimeout(done, 20));
  for (const d of shown[0][1]) console.log(`${d.range.start.line}:${d.range.start.character} ${d.message}`);
  await deactivate();
  process.exit(0);
})().catch((err) => fail(err.stack));
