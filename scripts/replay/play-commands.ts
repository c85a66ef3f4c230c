import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { onDisk, givenRoot } from "../../test/model/model-roots.ts";
import { actorOf, HOW, pickOf, sessionOf } from "../../test/model/model-requests.ts";
import type { Begin, Happening } from "../../test/model/model-steps.ts";
import { MOST_BYTES, type Touch } from "../../test/model/model-tree.ts";
import type { Notes } from "./transcript.ts";
import type { World } from "./world.ts";

/**
 * The program that is played. `cli`: the path of its command line. `env`: returns the environment for the next process,
 * which has a pid and random numbers of its own, and the time of the play.
 */
export interface Program {
  env(): NodeJS.ProcessEnv;
  readonly cli: string;
}

/** The duration of a step on the play's clock, in milliseconds. */
const STEP_MS = 1_500;

/** A tool call that an agent has begun. */
interface Call {
  readonly begin: Begin;
  readonly id: string;
}

/** Plays a history with commands, each in a process of its own. The tool calls of agents are reported by the hook. */
export class CommandPlay {
  readonly #notes: Notes;
  readonly #world: World;
  readonly #program: Program;
  #calls: Call[] = [];
  #begun = 0;
  /** The number of commands so far. Every second command is run with `--json`. */
  #commands = 0;

  constructor(notes: Notes, world: World, program: Program) {
    this.#notes = notes;
    this.#world = world;
    this.#program = program;
  }

  async begin(): Promise<void> {
    await this.#ask(["init", ...this.#world.roots.map(givenRoot), "--max-file-size", String(MOST_BYTES)]);
  }

  async end(): Promise<void> {
    for (const words of [["verify"], ["log", "--limit", "0"], ["manifest"]]) await this.#json(words);
  }

  async step(what: Happening, number: number): Promise<void> {
    this.#world.now += STEP_MS;
    await this.#perform(what);
    await this.#ask(LOOKS[number % LOOKS.length] ?? []);
  }

  /** Runs a command. Notes its output, and its exit code or signal. Resolves to its output on stdout. */
  async #run(words: readonly string[], input = "", meanwhile?: () => Promise<void>): Promise<string> {
    const child = spawn(process.execPath, [this.#program.cli, ...words], {
      cwd: this.#folder,
      env: this.#program.env(),
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    const ended = new Promise<number | string>((resolve) => {
      child.once("close", (code, signal) => resolve(code ?? signal ?? ""));
    });
    const [stdout, stderr, code] = await Promise.all([
      readText(child.stdout),
      readText(child.stderr),
      ended,
      meanwhile?.(),
    ]);
    this.#notes.add(words.join(" "), { code, stdout, stderr, ...(input === "" ? {} : { input }) });
    return stdout;
  }

  get #folder(): string {
    const [first] = this.#world.roots;
    return first === undefined ? this.#world.at : first.folder;
  }

  #ask(words: readonly string[], input?: string): Promise<string> {
    this.#commands += 1;
    return this.#run(this.#commands % 2 === 0 ? [...words, "--json"] : words, input);
  }

  /**
   * Runs a command with `--json`. Resolves to the list that it prints, or to the field `list` of the object that it
   * prints; an empty list if it prints neither.
   */
  async #json<T>(words: readonly string[], list?: string): Promise<readonly T[]> {
    const text = await this.#run([...words, "--json"]);
    try {
      const found: unknown = JSON.parse(text);
      if (Array.isArray(found)) return found as T[];
      const inner: unknown = list === undefined ? undefined : (found as Record<string, unknown>)[list];
      return Array.isArray(inner) ? (inner as T[]) : [];
    } catch {
      return [];
    }
  }

  async #perform(what: Happening): Promise<void> {
    switch (what.kind) {
      case "touch":
        return what.touches.forEach((one) => this.#world.touch(one));
      case "begin":
        await this.#begin(what);
        return;
      case "act":
        return this.#end(await this.#begin(what.begin), { ...what, outcome: "done" });
      case "finish":
        return this.#finish(what);
      case "run":
        return this.#wrapped(what);
      case "begin-transaction": {
        const pid = what.owned ? ["--pid", String(process.ppid)] : [];
        await this.#ask(["transaction", "begin", ...(what.session ? ["--session", sessionOf(what.who)] : []), ...pid]);
        return;
      }
      case "commit":
      case "rollback-transaction": {
        const all = await this.#json<{ id: string; status: string }>(["transaction", "list"]);
        const one = pickOf(
          all.filter(({ status }) => status === "active"),
          what.pick,
        );
        const verb = what.kind === "commit" ? "commit" : "rollback";
        await this.#ask(["transaction", verb, ...(one === undefined ? [] : [one.id])]);
        return;
      }
      case "rule":
        return this.#rule(what);
      case "wait":
        this.#world.now += what.ms;
        return;
      case "undo-of":
        return this.#undoOf(what);
      case "rollback":
      case "restore":
        return this.#goBack(what);
      case "resolve":
        return this.#resolve(what);
      default:
        await this.#upkeep(what);
    }
  }

  async #upkeep(what: Happening): Promise<void> {
    const words: Partial<Record<Happening["kind"], readonly string[]>> = {
      ...{ undo: ["undo"], redo: ["redo"], snapshot: ["snapshot"], gc: ["gc"], rebuild: ["rebuild"] },
      ...{ compact: ["compact"], drop: ["compact", "--drop-archive", "--yes"], verify: ["verify"] },
    };
    const asked = words[what.kind];
    if (asked !== undefined) await this.#ask(asked);
    else if (what.kind === "redo-of") {
      const action = pickOf(await this.#actions(), what.pick);
      if (action !== undefined) await this.#ask(["redo", action.id]);
    } else if (what.kind === "prune") {
      const rules = ["--keep-last", String(what.keepLast), "--keep-hourly", String(what.hourly)];
      await this.#ask(["prune", ...rules, what.keepPinned ? "--keep-pinned" : "--drop-pinned", "--yes"]);
      await this.#ask(["gc"]);
    } else if (what.kind === "pin") {
      const action = pickOf(await this.#actions(), what.pick);
      if (action !== undefined) await this.#ask([what.pinned ? "pin" : "unpin", action.id]);
    }
  }

  /** Runs the hook for an event of a tool call, as an agent does. Resolves to its output on stdout. */
  #hook(event: string, { begin, id }: Call): Promise<string> {
    const { who, turn, depth } = begin;
    const input = {
      session_id: sessionOf(who),
      transcript_path: "/nowhere/transcript.jsonl",
      prompt_id: `t-${actorOf(who)}-${turn}`,
      hook_event_name: event,
      cwd: this.#folder,
      tool_use_id: id,
      ...(depth === 0 ? {} : { agent_id: "sub" }),
      ...this.#tool(begin),
    };
    return this.#run(["hook", "claude", "--direct"], JSON.stringify(input));
  }

  #tool({ type, path, to }: Begin): { readonly tool_name: string; readonly tool_input: Record<string, unknown> } {
    const [from, into] = [path, to].map((one) => onDisk(this.#world.roots, one));
    const command = (text: string) => ({ tool_name: "Bash", tool_input: { command: text } });
    if (type === "write_file") return { tool_name: "Write", tool_input: { file_path: from, content: "" } };
    if (type.startsWith("delete") || type === "rm") return command(`rm -rf ${from}`);
    if (type.startsWith("move")) return command(`mv ${from} ${into}`);
    if (type === "copy_file") return command(`cp ${from} ${into}`);
    if (type === "create_directory") return command(`mkdir -p ${from}`);
    if (type === "run_command") return command("make");
    return { tool_name: "SomeTool", tool_input: { path: from } };
  }

  async #begin(begin: Begin): Promise<Call> {
    this.#begun += 1;
    const call = { begin, id: `toolu_${this.#begun}` };
    await this.#hook("PreToolUse", call);
    this.#calls.push(call);
    return call;
  }

  async #finish(what: Extract<Happening, { readonly kind: "finish" }>): Promise<void> {
    const call = pickOf(this.#calls, what.pick);
    const { outcome } = what;
    if (call !== undefined && outcome !== "never") await this.#end(call, { ...what, outcome });
  }

  async #end(
    call: Call,
    what: {
      readonly outcome: "done" | "failed" | "denied";
      readonly touches: readonly Touch[];
      readonly place: number;
    },
  ): Promise<void> {
    const { outcome, touches, place } = what;
    const { type, path } = call.begin;
    this.#calls = this.#calls.filter((one) => one !== call);
    if (outcome !== "denied") {
      this.#world.touch({ how: type.startsWith("move") ? "remove" : (HOW[type] ?? "edit"), path, place });
      for (const one of touches) this.#world.touch(one);
    }
    const events = { done: "PostToolUse", failed: "PostToolUseFailure", denied: "Stop" };
    await this.#hook(events[outcome], call);
  }

  /** Runs a command in a run. The command makes no changes itself. It waits while the play makes its changes. */
  async #wrapped({ touches, code, rollback }: Extract<Happening, { readonly kind: "run" }>): Promise<void> {
    const [begun, done] = [join(this.#world.run, "begun"), join(this.#world.run, "done")];
    const text = `: > '${begun}'; while [ ! -e '${done}' ]; do sleep 0.01; done; rm '${begun}' '${done}'; exit ${code}`;
    const options = rollback ? ["--rollback-on-failure"] : [];
    let isOver = false;
    const meanwhile = async (): Promise<void> => {
      while (!existsSync(begun) && !isOver) await pause(3);
      if (isOver) return;
      for (const one of touches) this.#world.touch(one);
      writeFileSync(done, "");
    };
    const waiting = meanwhile();
    await this.#run(["run", ...options, "--", "sh", "-c", text]);
    isOver = true;
    await waiting;
  }

  async #rule({ pick, name, inOptions }: Extract<Happening, { readonly kind: "rule" }>): Promise<void> {
    const root = pickOf(this.#world.roots, pick);
    if (root === undefined) return;
    if (root.only === undefined && !inOptions) this.#world.rule(root, name);
    else await this.#ask(["config", "excludePatterns", name]);
  }

  async #actions(): Promise<
    readonly { readonly id: string; readonly from_seq: number; readonly turn: string | null }[]
  > {
    return (
      await this.#json<{ id: string; from_seq: number; turn: string | null }>(["actions"], "actions")
    ).toReversed();
  }

  async #resolve({ pick, keep }: Extract<Happening, { readonly kind: "resolve" }>): Promise<void> {
    const one = pickOf(await this.#json<{ id: string }>(["conflicts"], "conflicts"), pick);
    const merged = join(this.#world.run, "merged");
    writeFileSync(merged, "settled\n");
    const how = { current: ["--keep-current"], undo: ["--take-undo"], merged: ["--merged", merged] }[keep];
    if (one !== undefined) await this.#ask(["resolve", one.id, ...how]);
  }

  async #goBack({ kind, pick }: { readonly kind: "rollback" | "restore"; readonly pick: number }): Promise<void> {
    const action = pickOf(await this.#actions(), pick);
    const how = [...(pick % 5 === 0 ? ["--force"] : []), ...(pick % 3 === 0 ? ["--dry-run"] : []), "--yes"];
    if (kind === "restore") {
      await this.#ask(["restore", action === undefined ? "baseline" : `seq:${action.from_seq}`, ...how]);
    } else if (action !== undefined) await this.#ask(["rollback", action.id, ...how]);
  }

  async #undoOf({ by, pick, dryRun }: Extract<Happening, { readonly kind: "undo-of" }>): Promise<void> {
    const action = pickOf(await this.#actions(), pick);
    const whose: Record<typeof by, readonly string[]> = {
      action: action === undefined ? [] : ["--action", action.id],
      turn: ["--turn", action?.turn ?? "last"],
      session: ["--session", sessionOf(pick % 2)],
      actor: ["--actor", ["claude", "human"][pick % 2] ?? ""],
      file: ["--file", "shared"],
      since: ["--since", action === undefined ? "baseline" : `seq:${action.from_seq}`],
      to: ["--to", action === undefined ? "baseline" : action.id],
    };
    await this.#ask(["undo", ...whose[by], "--yes", ...(dryRun ? ["--dry-run"] : [])]);
  }
}

const LOOKS: readonly (readonly string[])[] = [
  ["status"],
  ["list"],
  ["diff", "baseline", "-p"],
  ["actions"],
  ["log"],
  ["history", "shared"],
  ["conflicts", "-p"],
  ["transaction", "list"],
  ["changes"],
  ["list", "--snapshots"],
  ["files"],
  ["cat", "shared"],
  ["sessions"],
  ["explain", "d/x", "new"],
  ["show"],
  ["config"],
  ["head"],
  ["workspaces"],
];
