import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Step } from "../agents/agent-program.ts";
import { claudeProgram } from "../agents/claude-program.ts";
import { agentModules, isInstalled } from "../agents/installed-agents.ts";
import { runAgent } from "../agents/run-agent.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import type { Save } from "./desk-editor.ts";

/** So many calls of tools in a session. */
const STEPS = 10;
/** On a machine that has much else to do a session takes its time. */
const LIMIT_MS = 300_000;

/** An agent at work in a sandbox, one session after another: Claude Code, whose model follows a script; where it is not there, a script does its work. */
export class SandboxAgent {
  /** What its tools have left in files. */
  readonly saves: Save[] = [];
  /** Sessions that came to their end. */
  sessions = 0;
  /** Is it the real one? */
  readonly isReal = isInstalled(claudeProgram);
  readonly #home: string;
  readonly #folder: string;
  readonly #random: () => number;
  #number = 0;

  /** `home`: of its user. */
  constructor(home: string, folder: string, random: () => number) {
    this.#home = home;
    this.#folder = folder;
    this.#random = random;
  }

  /** Its hooks, as its user would install them. */
  install(env: NodeJS.ProcessEnv): void {
    if (!this.isReal) return;
    claudeProgram.prepare({ home: this.#home, folder: this.#folder });
    const args = [chronicleBin(), "agents", "install", "claude", "--project"];
    const ran = spawnSync(process.execPath, args, { cwd: this.#folder, env, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(ran.stderr);
  }

  async run(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      const steps = this.#script();
      if (this.isReal) await this.#session(steps, ending);
      else await this.#byScript(steps);
      this.sessions += 1;
    }
  }

  async #session(steps: readonly Step[], ending: AbortSignal): Promise<void> {
    // What a call has left is noted when the model is asked for the next one; at the end it has nothing more to do.
    const idle: Step = { shell: "true" };
    const noted = new Set<Step>();
    const noting = [...steps, idle].map((step, n) => () => {
      const before = steps[n - 1];
      // The whole script is gone through with each question.
      if (before !== undefined && !noted.has(before)) this.#note(before);
      if (before !== undefined) noted.add(before);
      return ending.aborted ? idle : step;
    });
    const where = { program: claudeProgram, nodeModules: agentModules, home: this.#home, folder: this.#folder };
    const { exitCode, stdout, stderr } = await runAgent({ ...where, steps: noting, limitMs: LIMIT_MS });
    if (exitCode !== 0) throw new Error(`the agent ended with ${exitCode}: ${stderr}${stdout.slice(-4_000)}`);
  }

  async #byScript(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if ("write" in step) {
        mkdirSync(dirname(this.#at(step.write)), { recursive: true });
        writeFileSync(this.#at(step.write), step.content);
      } else if ("edit" in step) {
        const text = readFileSync(this.#at(step.edit), "utf8");
        writeFileSync(this.#at(step.edit), text.replace(step.from, step.to));
      } else if ("shell" in step) spawnSync("sh", ["-c", step.shell], { cwd: this.#folder });
      await delay(150);
      this.#note(step);
    }
  }

  /** A file that is written and edited, and lines in files that others write to as well. */
  #script(): Step[] {
    const steps: Step[] = [];
    while (steps.length < STEPS) {
      const n = (this.#number += 1);
      const path = `src/${n % 7}/made-${n % 50}.ts`;
      const shared = `shared/${Math.floor(this.#random() * 4)}.md`;
      const line = 1 + Math.floor(this.#random() * 12);
      const body = Array.from({ length: 8 }, (_, at) => `const value${at} = ${n};`);
      steps.push(
        { write: path, content: `// agent ${n}\n${body.join("\n")}\n` },
        { edit: path, from: `const value3 = ${n};`, to: `const value3 = ${n} + 1;` },
        { shell: `mkdir -p shared; touch ${shared}; sed -i '${line}s/.*/agent ${n}/' ${shared}; sleep 0.2` },
        { shell: `echo 'agent ${n}' >> log-${n % 3}.txt` },
      );
    }
    return steps.slice(0, STEPS);
  }

  #note(step: Step): void {
    const path = pathOf(step);
    if (path === undefined) return;
    const content = contentOf(this.#at(path));
    if (content === undefined) return;
    this.saves.push({ path, hash: createHash("sha256").update(content).digest("hex"), at: performance.now() });
  }

  #at(path: string): string {
    return join(this.#folder, path);
  }
}

/** The file that a step changes. */
function pathOf(step: Step): string | undefined {
  if ("write" in step) return step.write;
  if ("edit" in step) return step.edit;
  if ("shell" in step) return /(?:>> |sed -i '[^']*' )([^ ;]+)/.exec(step.shell)?.[1];
  return undefined;
}

/** Of a file that may be gone: others delete, too. */
function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}
