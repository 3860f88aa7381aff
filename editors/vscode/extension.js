// Starts starhost lsp for plugins and golden cases.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = function () {
  const command = vscode.workspace.getConfiguration("starhost").get("path");
  client = new LanguageClient(
    "starhost",
    "starhost",
    { command, args: ["lsp"] },
    {
      documentSelector: [
        { scheme: "file", language: "starlark" },
        { scheme: "file", pattern: "**/golden/*.txtar" },
      ],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.star,starhost.toml}") },
    },
  );
  return client.start();
};

exports.deactivate = function () {
  return client && client.stop();
};
