import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ActionShape } from "../../api/action-shapes.ts";
import type { StoreApi } from "../../api/store-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { CommandContext } from "../support/context.ts";
import { MADE_UP_SESSION } from "../../daemon/last-call.ts";
import { makeEmptyFolder, removeEmptyFolder } from "../../process/user-files.ts";

export interface AgentTest {
  readonly agent: string;
  readonly ok: boolean;
  readonly detail: string;
  /** The total time of the hooks before and after the tool, in milliseconds; 0 if a hook has failed. */
  readonly took_ms: number;
}

interface Step {
  readonly event: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/**
 * Maps the name of each agent to a function that returns the name and the input of the agent's tool for writing a file.
 */
const TOOL: Readonly<Record<string, (file: string) => readonly [name: string, input: Record<string, unknown>]>> = {
  claude: (file) => ["Write", { file_path: file }],
  codex: (file) => ["apply_patch", { command: `*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch` }],
  gemini: (file) => ["write_file", { file_path: file }],
  opencode: (file) => ["write", { filePath: file }],
  cursor: (file) => ["Write", { file_path: file, content: "x" }],
  copilot: (file) => ["Write", { path: file, file_text: "x" }],
  cline: (file) => ["editor", { path: file, new_text: "x" }],
};

/** Returns the hook calls of the test session, with inputs in Cline's form. */
function clineSteps(session: string, [name, input]: readonly [name: string, input: object]): Step[] {
  const sessionContext = { rootSessionId: session };
  const call = { id: "chronicle-test", name, input };
  return [
    { event: "PreToolUse", extra: { sessionContext, tool_call: call } },
    { event: "PostToolUse", extra: { sessionContext, tool_result: { ...call, output: { success: true } } } },
    { event: "TaskComplete", extra: { sessionContext } },
  ];
}

/**
 * Returns the hook calls of the test session. The tool call names the path `file`, but no file is written at that path.
 */
function stepsFor(agent: string, session: string, file: string): Step[] {
  const [tool_name, tool_input] = TOOL[agent]?.(file) ?? [];
  if (agent === "cline" && tool_name !== undefined && tool_input !== undefined)
    return clineSteps(session, [tool_name, tool_input]);
  const ids = { tool_use_id: "chronicle-test", turn_id: "test", prompt_id: "test", generation_id: "test" };
  // The inputs of Copilot CLI have no ids of calls and turns.
  const call = { tool_name, tool_input, ...(agent === "copilot" ? {} : ids) };
  const [start, before, after, end] = EVENTS[agent] ?? ["SessionStart", "PreToolUse", "PostToolUse", "SessionEnd"];
  return [
    { event: start },
    { event: before, extra: call },
    { event: after, extra: { ...call, tool_response: {} } },
    { event: end, extra: { reason: "test" } },
  ];
}

type Events = readonly [start: string, before: string, after: string, end: string];

/** Maps the name of each agent whose events are not named as in Claude Code to the names of its events. */
const EVENTS: Readonly<Record<string, Events>> = {
  gemini: ["SessionStart", "BeforeTool", "AfterTool", "SessionEnd"],
  cursor: ["sessionStart", "preToolUse", "postToolUse", "sessionEnd"],
};

/** Returns the fields that the agent passes with every event. */
function commonTo(agent: string, folder: string, now: number): Readonly<Record<string, unknown>> {
  if (agent === "cursor") return { cursor_version: "test", workspace_roots: [folder], cwd: "" };
  const isTimed = agent === "gemini" || agent === "copilot";
  return { cwd: folder, ...(isTimed ? { timestamp: new Date(now).toISOString() } : {}) };
}

/**
 * Runs the hook's command lines for a test session with one tool call, as the agent would, and searches for the
 * recorded action. The session is in a temporary folder, which is removed afterwards. A history that was made for this
 * folder is forgotten. If a hook fails, the result has `ok: false` and the reason.
 */
export async function testAgent(context: CommandContext, agent: string, commands: HookCommands): Promise<AgentTest> {
  const session = `${MADE_UP_SESSION}${randomUUID()}`;
  const folder = makeEmptyFolder(session);
  try {
    const sent = await sendCalls(context, { agent, commands, session, folder });
    return "ok" in sent
      ? await withoutTrace(context, folder, sent)
      : await look(context, { agent, session, folder, took: sent.took });
  } finally {
    removeEmptyFolder(folder);
  }
}

/**
 * The hook's command lines, for a shell. `before` is the one for the event before a tool; `hook` is the one for all
 * other events.
 */
export interface HookCommands {
  readonly hook: string;
  readonly before: string;
}

interface Testing {
  readonly agent: string;
  readonly session: string;
  readonly folder: string;
}

async function sendCalls(
  { io }: CommandContext,
  { agent, commands, session, folder }: Testing & { readonly commands: HookCommands },
): Promise<AgentTest | { readonly took: number }> {
  let took = 0;
  for (const { event, extra } of stepsFor(agent, session, join(folder, "made-up"))) {
    const ids = { session_id: session, ...(agent === "cursor" ? { conversation_id: session } : {}) };
    const input = { ...ids, ...commonTo(agent, folder, io.now()), hook_event_name: event, ...extra };
    const command = /^([Pp]reToolUse|BeforeTool)$/.test(event) ? commands.before : commands.hook;
    const began = performance.now();
    const { code, stderr } = await runHook(command, JSON.stringify(input), io.env);
    if (/Tool/.test(event)) took += performance.now() - began;
    if (code !== 0 || stderr !== "") {
      return { agent, ok: false, detail: `${event} ended with ${code}: ${stderr || "no message"}`, took_ms: 0 };
    }
  }
  return { took: Math.round(took) };
}

async function look(
  context: CommandContext,
  { agent, session, folder, took }: Testing & { readonly took: number },
): Promise<AgentTest> {
  const store = await context.store();
  const found = await actionOf(store, folder, session);
  const isForgotten = await forgetHistory(store, folder);
  if (found === undefined)
    return { agent, ok: false, detail: "the hook ran, but it recorded no action", took_ms: took };
  // If the temporary folder is inside an existing workspace, the record of the call stays in that workspace.
  const forgotten = isForgotten ? ", and forgotten again" : "";
  const detail = `an action was recorded (${found.action_summary})${forgotten}; the hooks took ${took} ms`;
  return { agent, ok: found.state !== "open", detail, took_ms: took };
}

/**
 * Forgets the history that the hooks have made for the folder, and returns the result of the failed test. If the
 * history cannot be forgotten, the result also says this. Does not throw, because the user must learn of the hook's
 * failure.
 */
async function withoutTrace(context: CommandContext, folder: string, failed: AgentTest): Promise<AgentTest> {
  try {
    await forgetHistory(await context.store(), folder);
    return failed;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...failed, detail: `${failed.detail}; the history of ${folder} could not be forgotten: ${why}` };
  }
}

/** Forgets the history of a folder. Returns false if no workspace has exactly this folder. */
async function forgetHistory(store: StoreApi, folder: string): Promise<boolean> {
  const made = (await store.workspaces()).find((one) => one.path === folder);
  if (made !== undefined) await store.forget(made.id);
  return made !== undefined;
}

async function actionOf(store: StoreApi, folder: string, session: string): Promise<ActionShape | undefined> {
  try {
    const workspace = await store.open({ folder, readOnly: true });
    const actions = await workspace.list();
    await workspace.close();
    return actions.findLast((one) => one.session === session);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

function runHook(
  command: string,
  input: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly code: number; readonly stderr: string }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly code: number; readonly stderr: string }>();
  const child = spawn("/bin/sh", ["-c", command], { env: { ...env }, stdio: ["pipe", "ignore", "pipe"] });
  const words: Buffer[] = [];
  child.stderr.on("data", (piece: Buffer) => words.push(piece));
  // The error is ignored, because a hook may exit before it has read all of its input.
  child.stdin.on("error", () => undefined);
  child.on("error", (error) => resolve({ code: 127, stderr: error.message }));
  child.on("close", (code) => resolve({ code: code ?? 1, stderr: Buffer.concat(words).toString("utf8").trim() }));
  child.stdin.end(input);
  return promise;
}
