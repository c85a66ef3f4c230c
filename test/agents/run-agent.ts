import { spawn } from "node:child_process";
import { dirname } from "node:path";
import type { AgentProgram, Step } from "./agent-program.ts";
import { ScriptedModel } from "./scripted-model.ts";

/** A session to run: which agent, where, and what the model tells it to do. */
export interface AgentRun {
  readonly program: AgentProgram;
  /** `node_modules` with the agents. */
  readonly nodeModules: string;
  /** Its home, prepared. */
  readonly home: string;
  readonly folder: string;
  /** Added to the environment, which holds nothing of the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the person asks. Default: `PROMPT`. */
  readonly prompt?: string;
  readonly steps: readonly (Step | ((results: readonly string[]) => Step))[];
  /** It is killed after so long. Default: a minute. */
  readonly limitMs?: number;
}

export interface AgentOutcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What each tool has answered to the model. */
  readonly results: readonly string[];
  /** The bodies of the requests that the agent has sent to the model, as JSON. */
  readonly requests: readonly string[];
}

/** What the person asks the agent. */
export const PROMPT = "Do what is to be done.";

const TIME_LIMIT_MS = 60_000;

/** The environment of a program that may know nothing of the one of the tests. */
export function cleanEnvironment(home: string): Record<string, string> {
  return {
    CHRONICLE_DIRECT: "1",
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    LC_ALL: "C.UTF-8",
    NO_COLOR: "1",
  };
}

/** Runs one scripted session of a real agent to its end. */
export async function runAgent(run: AgentRun): Promise<AgentOutcome> {
  const { program, nodeModules, home, folder, env, steps, prompt = PROMPT, limitMs = TIME_LIMIT_MS } = run;
  const script = steps.map((step) => {
    if (typeof step !== "function") return [program.toCall(step, folder)];
    return (results: readonly string[]) => [program.toCall(step(results), folder)];
  });
  await using model = await ScriptedModel.start(program.protocol, script);
  program.meet?.({ home, folder }, model.url);
  const [command = "", ...leading] = program.command(nodeModules);
  const child = spawn(command, [...leading, ...program.arguments(prompt, model.url)], {
    cwd: folder,
    env: { ...cleanEnvironment(home), ...program.environment(model.url), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  const closed = new Promise<number | null>((done, fail) => child.on("error", fail).on("close", done));
  const exitCode = await Promise.race([closed, model.failure]).finally(() => child.kill("SIGKILL"));
  await program.leave?.({ home, folder });
  return { exitCode, stdout, stderr, results: [...model.results], requests: [...model.requests] };
}
