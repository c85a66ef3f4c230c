import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";
import { TmuxTerminal } from "../helpers/tmux.ts";
import type { Step } from "./agent-program.ts";
import type { AgentProject } from "./agent-project.ts";
import { ScriptedModel, scriptOfPrompts } from "./scripted-model.ts";
import type { TerminalProgram } from "./terminal-program.ts";

/** How long a screen may take to become the one that is kept. Drawing takes much less. */
const DRAWING = { timeout: 15_000, interval: 100 };

/** The longest time until an agent takes input. On a machine with twenty busy processes, opencode needs over a minute. */
const STARTING_MS = 180_000;

/** A part of the screen: from the first line that matches `from` to the first one after it that matches `to`. */
export interface Part {
  readonly from: RegExp;
  readonly to: RegExp;
}

interface Parts {
  readonly shell: TmuxTerminal;
  /** Opens another terminal of the same kind. */
  readonly open: () => TmuxTerminal;
  readonly model: ScriptedModel;
  readonly kept: readonly string[];
}

/**
 * A real agent in a terminal, in which a test types as a person does. The model answers each prompt with one step. What
 * is typed and seen makes a transcript, which is compared with the kept one.
 */
export class AgentTerminal implements AsyncDisposable {
  readonly #terminal: TmuxTerminal;
  readonly #open: () => TmuxTerminal;
  readonly #model: ScriptedModel;
  readonly #kept: readonly string[];
  readonly #blocks: string[] = [];
  #at = 0;

  private constructor({ shell, open, model, kept }: Parts) {
    this.#terminal = shell;
    this.#open = open;
    this.#model = model;
    this.#kept = kept;
  }

  /** `kept`: the path of the transcript. `answers`: the step of the model for each prompt. */
  static async start(
    terminal: TerminalProgram,
    project: AgentProject,
    { kept, answers }: { readonly kept: string; readonly answers: Readonly<Record<string, Step>> },
  ): Promise<AgentTerminal> {
    const { program } = terminal;
    const calls = Object.entries(answers).map(
      ([prompt, step]) => [prompt, program.toCall(step, project.folder)] as const,
    );
    const model = await ScriptedModel.start(program.protocol, scriptOfPrompts(calls));
    const open = (): TmuxTerminal =>
      project.terminal(program, terminal.arguments(model.url), terminal.environment(model.url));
    const shell = open();
    const self = new AgentTerminal({ shell, open, model, kept: screensIn(kept) });
    try {
      await shell.prompt();
      shell.line(program.name);
      self.note(["```console", `$ ${program.name}`, "```"].join("\n"));
      await shell.untilVisible(terminal.ready, STARTING_MS);
    } catch (error) {
      await self[Symbol.asyncDispose]();
      throw error;
    }
    return self;
  }

  /** The transcript so far, in Markdown. */
  get transcript(): string {
    return `${this.#blocks.join("\n\n")}\n`;
  }

  /** The bodies of the requests for the next message of the conversation, as JSON. */
  get requests(): readonly string[] {
    return this.#model.turns;
  }

  /** Adds words to the transcript. */
  note(text: string): void {
    this.#blocks.push(text);
  }

  /** Waits until the window shows it. */
  async until(shown: RegExp): Promise<void> {
    await Promise.race([this.#terminal.untilVisible(shown), this.#model.failure]);
  }

  /** Asks the agent, and waits for the last word of the model. */
  async ask(prompt: string): Promise<void> {
    this.keys(prompt);
    await this.until(new RegExp(literal(prompt)));
    await this.#enter(() => this.requests.some((request) => request.includes(prompt)));
    await this.until(new RegExp(`Done: ${literal(prompt)}`));
    this.note(`Ask: \`${prompt}\``);
  }

  /** Types a command, and presses Enter until the window shows what the command leads to. */
  async command(text: string, shown: RegExp): Promise<void> {
    this.keys(text);
    await this.until(new RegExp(literal(text)));
    await this.enter(shown);
  }

  /** Presses Enter until the window shows this. */
  async enter(shown: RegExp): Promise<void> {
    await this.#enter(() => shown.test(this.#terminal.window));
  }

  /**
   * Presses Enter, and again if it has no effect: an agent that has just started, or that takes a fast Enter for a part
   * of pasted text, ignores the key.
   */
  async #enter(isDone: () => boolean): Promise<void> {
    for (let waited = 0; !isDone(); waited += 1) {
      if (waited % 50 === 0) this.#terminal.press("Enter");
      if (waited > 600) throw new Error(`Enter does nothing on:\n${this.#terminal.window}`);
      await sleep(100);
    }
  }

  /** Types a text. */
  keys(text: string): void {
    this.#terminal.type(text);
  }

  /** Presses keys one after another. */
  press(...keys: readonly string[]): void {
    for (const key of keys) this.#terminal.press(key);
  }

  /**
   * Presses Escape twice, as fast as a person does, until the window shows it. On a busy machine, the agent may take
   * the two for single ones.
   */
  async escapeTwice(shown: RegExp): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.#terminal.press("Escape");
      await sleep(200);
      this.#terminal.press("Escape");
      try {
        await this.#terminal.untilVisible(shown, 5_000);
        return;
      } catch (error) {
        if (attempt === 5) throw error;
      }
    }
  }

  /** Waits until a part of the window is what the transcript has at this place, and adds it to the transcript. */
  async screen({ from, to }: Part): Promise<void> {
    const expected = this.#kept[this.#at];
    this.#at += 1;
    let seen = "";
    const look = (): void => {
      seen = partOf(this.#terminal.window, from, to);
      if (seen === "") throw new Error(`no ${String(from)} to ${String(to)} in:\n${this.#terminal.window}`);
      if (expected !== undefined && seen !== expected) throw new Error("another screen than the kept one");
    };
    // If it stays another one, the comparison of the whole transcript shows how.
    await vi.waitFor(look, DRAWING).catch((error: unknown) => {
      if (seen === "") throw error;
    });
    this.#blocks.push(["```text", seen, "```"].join("\n"));
  }

  /**
   * Runs `chronicle rewind last --conversation` in another terminal, then the command that it prints, and asks. Returns
   * the requests about that prompt.
   */
  async askInCopy(
    printed: RegExp,
    { prompt, words }: { readonly prompt: string; readonly words: string },
  ): Promise<string[]> {
    using other = this.#open();
    await other.prompt();
    const line = "chronicle rewind last --conversation";
    other.line(line);
    await other.until(printed, STARTING_MS);
    const [, command = ""] = printed.exec(other.screen) ?? [];
    await other.prompt();
    const id = command.split(" ").at(-1) ?? "";
    const shown = other.screen
      .slice(other.screen.indexOf(line), -1)
      .trimEnd()
      .replace(/^turn \S+/m, "turn …");
    this.note("Or have Chronicle make a copy of the conversation, without the last prompt:");
    this.note(["```console", `$ ${shown.replace(id, "ID")}`, "```"].join("\n"));
    other.line(`${command} ${words}'${prompt}'`);
    await other.untilVisible(new RegExp(`Done: ${literal(prompt)}`), STARTING_MS);
    return this.requests.filter((request) => request.includes(prompt));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#terminal[Symbol.dispose]();
    await this.#model[Symbol.asyncDispose]();
  }
}

/** Returns the screens of a kept transcript; none if there is no file. */
function screensIn(path: string): string[] {
  try {
    return [...readFileSync(path, "utf8").matchAll(/^```text\n(.*?)\n```$/gms)].map(([, screen = ""]) => screen);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** What differs from run to run, with the words for it in a transcript. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\(\d+\w ago\)/, "(just now)"],
  [/^✻ \S+ for .*/, ""],
  [/Worked for .*/, "Worked for a moment"],
  [/ · \d+(?:\.\d+)?m?s$/, ""],
  // A time at the right edge of the window. An hour of two digits takes the place of the space before a shorter one.
  [/(?: \d|\d\d):\d\d [AP]M/, " 9:41 AM"],
  [/\/tmp\/chronicle-agents-\w+\/project/, "~/project"],
];

function partOf(window: string, from: RegExp, to: RegExp): string {
  const lines = window.split("\n");
  const first = lines.findIndex((line) => from.test(line));
  const last = lines.findIndex((line, at) => at > first && to.test(line));
  if (first < 0 || last < 0) return "";
  return lines
    .slice(first, last + 1)
    .map((line) => VARYING.reduce((text, [what, words]) => text.replace(what, words), line).trimEnd())
    .filter((line) => line !== "")
    .join("\n");
}
