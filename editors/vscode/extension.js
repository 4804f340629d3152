// Starts and stops `npu lsp` for assembly programs. The server does everything else.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const settings = vscode.workspace.getConfiguration("npukit");
  const target = settings.get("target");
  client = new LanguageClient(
    "npukit",
    "npukit",
    { command: settings.get("command"), args: ["lsp", ...(target ? ["--target", target] : [])] },
    {
      documentSelector: [{ language: "npu" }],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{npu.toml,*.s,*.pasm,*.tarch}") },
      initializationOptions: {
        inlayHints: { word: settings.get("inlayHints.word"), cycle: settings.get("inlayHints.cycle") },
      },
    },
  );
  try {
    await client.start();
  } catch (error) {
    const command = settings.get("command");
    vscode.window.showErrorMessage(`npukit: \`${command} lsp\` does not start (${error.message}). Set npukit.command.`);
  }
};

exports.deactivate = () => client?.stop();
