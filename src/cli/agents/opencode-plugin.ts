import type { ConfigFile } from "./agent-config.ts";
import { ownFile } from "./own-file.ts";

// opencode has no hooks that run a command. Its plugins are JavaScript files in a folder, and opencode calls their
// functions. This module writes Chronicle's plugin, which runs the same hook's script as the hooks of other agents.

const TITLE =
  "// Chronicle's plugin for opencode. `chronicle agents install opencode` makes this file, and overwrites it.";

/**
 * The text of the plugin without its first lines. The plugin reports events in the form of the inputs of Claude Code's
 * hooks.
 *
 * - All calls of the hook run one after another, in the order of the events that they report. opencode waits for the
 *   calls before and after a tool, and for the call at a prompt. `dispose` waits for all calls that have not ended.
 * - opencode does not call `tool.execute.after` if a tool fails. The part of the message then has the state `error`.
 * - A sub-agent works in a separate session with a `parentID`. The plugin reports the sub-agent as an agent within the
 *   outermost session.
 */
const PROGRAM = `
const TEN_MINUTES = 600_000;

function run(command, input) {
  return new Promise((done) => {
    const failed = command.includes(" --strict") ? 2 : 1;
    const end = (code, stderr) => done({ code, stdout, stderr });
    let [stdout, stderr] = ["", ""];
    try {
      // The shell gets its own process group, so that a signal ends its child processes, too.
      const child = spawn("/bin/sh", ["-c", command], { cwd: input.cwd, detached: true, stdio: "pipe" });
      const timer = setTimeout(() => {
        end(failed, "its hook took longer than ten minutes");
        try {
          process.kill(-child.pid, "SIGKILL");
        } catch {} // The process has ended meanwhile.
      }, TEN_MINUTES);
      child.stdout.on("data", (chunk) => (stdout += chunk));
      child.stderr.on("data", (chunk) => (stderr += chunk));
      child.stdin.on("error", () => undefined); // The hook may end before it has read its input.
      child.on("error", (error) => end(failed, String(error)));
      child.on("close", (code) => {
        clearTimeout(timer);
        end(code ?? failed, stderr.trim());
      });
      child.stdin.end(JSON.stringify(input));
    } catch (error) {
      end(failed, String(error));
    }
  });
}

function answerIn(stdout) {
  try {
    return JSON.parse(stdout);
  } catch {
    return {};
  }
}

export const Chronicle = async ({ client, directory }) => {
  const sessions = new Map(); // Maps each session to its outermost session.
  const parents = new Map(); // Maps each session to the session that began it, or to undefined.
  const turns = new Map(); // Maps each outermost session that was reported to the id of its latest message.
  const begun = new Set(); // The tool calls that were reported and have not ended.
  let last = Promise.resolve();

  async function rootOf(id) {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    if (!parents.has(id)) {
      // An earlier process began this session, so opencode is asked for its parent. opencode may be waiting for this
      // function, and can then not answer. The time limit ends this.
      const asked = client.session.get({ path: { id } }).catch(() => ({}));
      const { data } = await Promise.race([asked, new Promise((done) => setTimeout(done, 5_000, {}))]);
      parents.set(id, data?.parentID);
    }
    const parent = parents.get(id);
    const root = parent ? await rootOf(parent) : id;
    sessions.set(id, root);
    return root;
  }

  function tell(message) {
    if (process.argv.includes("run") || !process.stderr.isTTY) console.error(message);
    client.tui.showToast({ body: { message, variant: "warning" } }).catch(() => undefined);
  }

  // Returns the reason why a tool must not run.
  async function call(event, id, more) {
    const root = await rootOf(id);
    if (!turns.has(root)) {
      turns.set(root, undefined);
      await send("SessionStart", root, { source: "startup" });
    }
    if (more.prompt_id !== undefined) turns.set(root, more.prompt_id);
    return send(event, root, { prompt_id: turns.get(root), ...(id === root ? {} : { agent_id: id }), ...more });
  }

  async function send(event, root, more) {
    const input = { hook_event_name: event, session_id: root, cwd: directory, ...more };
    const isBefore = event === "PreToolUse";
    const { code, stdout, stderr } = await run(isBefore ? HOOK_BEFORE : HOOK, input);
    const answer = answerIn(stdout);
    const decision = answer.hookSpecificOutput ?? {};
    if (isBefore && decision.permissionDecision === "deny") return decision.permissionDecisionReason;
    if (isBefore && code === 2) return stderr || "Chronicle: its hook could not be run";
    if (answer.systemMessage) tell(answer.systemMessage);
    else if (code !== 0) tell("Chronicle: this step is not recorded: " + (stderr || "its hook ended with " + code));
    return undefined;
  }

  function queue(event, id, more = {}) {
    // A failed call stops only the tool of this call. Later calls still run.
    last = last.catch(() => undefined).then(() => call(event, id, more));
    return last;
  }

  function ended(id, callID, tool, args, error) {
    if (!begun.delete(id + " " + callID)) return undefined;
    const about = { tool_name: tool, tool_input: args, tool_use_id: callID };
    return error === undefined ? queue("PostToolUse", id, about) : queue("PostToolUseFailure", id, { ...about, error });
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if ((await rootOf(sessionID)) !== sessionID) return;
      const texts = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text);
      await queue("UserPromptSubmit", sessionID, { prompt_id: message.id, prompt: texts.join("\\n") });
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const refused = await queue("PreToolUse", sessionID, { tool_name: tool, tool_input: args, tool_use_id: callID });
      if (refused !== undefined) throw new Error(refused);
      begun.add(sessionID + " " + callID);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const exit = output?.metadata?.exit;
      await ended(sessionID, callID, tool, args, exit ? "exit code " + exit : undefined);
    },
    event: async ({ event: { type, properties } }) => {
      if (type === "session.created") parents.set(properties.info.id, properties.info.parentID);
      if (type === "message.part.updated" && properties.part.type === "tool" && properties.part.state.status === "error") {
        const { sessionID, callID, tool, state } = properties.part;
        await ended(sessionID, callID, tool, state.input, state.error || "it failed");
      }
      if (type === "session.idle" && turns.has(properties.sessionID)) await queue("Stop", properties.sessionID);
      if (type === "session.deleted" && turns.has(properties.info.id)) {
        await queue("SessionEnd", properties.info.id);
        turns.delete(properties.info.id);
      }
    },
    dispose: async () => {
      for (const id of turns.keys()) await queue("SessionEnd", id);
      await last;
    },
  };
};
`;

/** Returns the command lines in the text of a plugin. */
function commandsIn(text: string): string[] {
  const found = [...text.matchAll(/^const HOOK(?:_BEFORE)? = (".*");$/gm)].map(([, json = '""']) => JSON.parse(json));
  return [...new Set(found.map(String))];
}

/** Returns the file of Chronicle's plugin. The whole file belongs to Chronicle. */
export function pluginFile(path: string, foldersAbove: number): ConfigFile {
  return ownFile({
    path,
    foldersAbove,
    head: TITLE,
    comment: "//",
    called: "Chronicle's plugin",
    body: ({ hook, hookBefore }) => {
      const constants = [`const HOOK = ${JSON.stringify(hook)};`, `const HOOK_BEFORE = ${JSON.stringify(hookBefore)};`];
      return ['import { spawn } from "node:child_process";', "", ...constants, PROGRAM].join("\n");
    },
    commandsIn,
  });
}
