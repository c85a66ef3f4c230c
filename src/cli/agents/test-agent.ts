import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { CommandContext } from "../context.ts";

export interface AgentTest {
  readonly agent: string;
  readonly ok: boolean;
  readonly detail: string;
  /** How long the hook before and the one after took together, in milliseconds. */
  readonly took_ms: number;
}

interface Step {
  readonly event: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

const TOOL = { claude: "Write", codex: "apply_patch", gemini: "write_file" } as const;

/** A made-up session with one tool call that writes a file which does not come to be. */
function stepsFor(agent: string, file: string): Step[] {
  const input =
    agent === "codex" ? { command: `*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch` } : { file_path: file };
  const tool_name = agent === "codex" ? TOOL.codex : agent === "gemini" ? TOOL.gemini : TOOL.claude;
  const call = { tool_name, tool_input: input, tool_use_id: "chronicle-test", turn_id: "test", prompt_id: "test" };
  const [start, before, after, end] =
    agent === "gemini"
      ? ["SessionStart", "BeforeTool", "AfterTool", "SessionEnd"]
      : ["SessionStart", "PreToolUse", "PostToolUse", "SessionEnd"];
  return [
    { event: start ?? "" },
    { event: before ?? "", extra: call },
    { event: after ?? "", extra: { ...call, tool_response: {} } },
    { event: end ?? "", extra: { reason: "test" } },
  ];
}

/** Sends a made-up tool call through a hook's command line, as the agent would, and looks for its action. */
export async function testAgent(context: CommandContext, agent: string, command: string): Promise<AgentTest> {
  const { io } = context;
  const session = `test-${randomUUID()}`;
  const cwd = io.cwd();
  const file = join(cwd, ".chronicle-agents-test");
  const times: number[] = [];
  for (const { event, extra } of stepsFor(agent, file)) {
    const input = {
      session_id: session,
      cwd,
      hook_event_name: event,
      timestamp: new Date(io.now()).toISOString(),
      ...extra,
    };
    const began = performance.now();
    const { code, stderr } = await runHook(command, JSON.stringify(input), io.env);
    times.push(performance.now() - began);
    if (code !== 0 || stderr !== "") {
      return { agent, ok: false, detail: `${event} ended with ${code}: ${stderr || "no message"}`, took_ms: 0 };
    }
  }
  const took = Math.round((times[1] ?? 0) + (times[2] ?? 0));
  const workspace = await context.reading();
  const found = (await workspace.list()).findLast((one) => one.session === session);
  if (found === undefined)
    return { agent, ok: false, detail: "the hook ran, and there is no action of it", took_ms: took };
  const detail = `action ${found.id.slice(0, 8)} was recorded (${found.action_summary}); the hooks took ${took} ms`;
  return { agent, ok: found.state !== "open", detail, took_ms: took };
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
  // A hook that has read enough may be gone before all is written.
  child.stdin.on("error", () => undefined);
  child.on("error", (error) => resolve({ code: 127, stderr: error.message }));
  child.on("close", (code) => resolve({ code: code ?? 1, stderr: Buffer.concat(words).toString("utf8").trim() }));
  child.stdin.end(input);
  return promise;
}
