import fc from "fast-check";
import { expect, it } from "vitest";
import { found } from "../../../test/model/model-expect.ts";
import type { RecentItem, RecentOptions } from "../../api/recent-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore, type SimMachineOptions } from "../../testing/sim-store.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { catchUp } from "../log/catch-up.ts";
import type { Context } from "../log/context.ts";
import { takeSnapshot } from "../read/snapshot.ts";
import { recentWork, type Windows } from "./recent.ts";

/**
 * One step of a history. `begin` and `end`: an action of a turn that other work can come between. `act`: an action that
 * begins and ends at once. `pause`: ten minutes in which nothing happens, after which a burst of edits is another one.
 */
interface Step {
  readonly what:
    | ("act" | "begin" | "end" | "edit" | "look" | "snapshot" | "run" | "put" | "pause" | "restore")
    | ("undo" | "redo" | "undoTurn" | "undoSome" | "transaction" | "within" | "close");
  readonly which: number;
}

const WORDS: readonly Step["what"][] = [
  ...(["act", "act", "act", "begin", "begin", "end", "end", "edit", "edit", "look", "snapshot", "run", "put"] as const),
  ...(["pause", "restore", "undo", "undo", "redo", "undoTurn", "undoSome", "transaction", "within", "close"] as const),
];

const steps = fc.array(fc.record<Step>({ what: fc.constantFrom(...WORDS), which: fc.nat({ max: 30 }) }), {
  minLength: 10,
  maxLength: 40,
});

function write(disk: SimDisk, path: string, text: string): void {
  if (disk.lstat(path) !== undefined) disk.unlink(path);
  const fd = disk.open(path, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

/** A machine whose clock moves a second at each reading. */
class Machine {
  readonly disk: SimDisk;
  now = Date.parse("2030-01-01T00:00:00Z");

  constructor() {
    const folder = { folder: 0o755 };
    this.disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj": folder });
  }

  options(firstId: number): SimMachineOptions {
    const command = ([, path = ""]: readonly string[]): number => {
      write(this.disk, `/proj/${path}`, `by a command at ${this.now}`);
      return 0;
    };
    return { firstId, command, clock: () => (this.now += 1_000) };
  }
}

class Player {
  readonly #machine: Machine;
  readonly #workspace: WorkspaceApi;
  readonly #open: { readonly id: string; readonly path: string }[] = [];
  readonly #transactions: string[] = [];
  readonly #actions = { s1: 0, s2: 0 };
  #count = 0;

  constructor(machine: Machine, workspace: WorkspaceApi) {
    this.#machine = machine;
    this.#workspace = workspace;
  }

  /** Plays a step. Steps that are refused, such as an undo of nothing, leave the history as it is. */
  async play(step: Step): Promise<void> {
    try {
      await this.#play(step);
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
    }
  }

  async #play({ what, which }: Step): Promise<void> {
    const workspace = this.#workspace;
    const path = `f${which % 5}`;
    if (what === "pause") this.#machine.now += 600_000;
    else if (what === "edit") this.#write(path);
    else if (what === "look") await workspace.snapshot({ message: "a look" });
    else if (what === "snapshot") await workspace.snapshot({ name: `name-${(this.#count += 1)}` });
    else if (what === "run") await workspace.run({ command: ["make", path] });
    else if (what === "put") await workspace.putFile(path, Buffer.from(`put ${(this.#count += 1)}`));
    else if (what === "restore") await workspace.restore(`latest~${which % 3}`);
    else if (what === "undo") await workspace.undo();
    else if (what === "redo") await workspace.redo();
    else if (what === "undoTurn") await workspace.undo({ turn: this.#turnOf(which).turn });
    else if (what === "undoSome") await workspace.undo({ turn: this.#turnOf(which).turn, file: path });
    else if (what === "transaction") this.#transactions.push((await workspace.beginTransaction()).id);
    else if (what === "close") await this.#close(which);
    else if (what === "end") await this.#end();
    else await this.#begin({ what, which });
  }

  #write(path: string): void {
    this.#count += 1;
    const lines = Array.from({ length: 12 }, (_, at) => (at === this.#count % 12 ? `line ${this.#count}` : `${at}`));
    write(this.#machine.disk, `/proj/${path}`, `${lines.join("\n")}\n`);
  }

  async #begin({ what, which }: Step): Promise<void> {
    const path = `f${which % 5}`;
    const transaction = what === "within" ? this.#transactions.at(-1) : undefined;
    const request = { type: "write_file", payload: { path }, ...this.#turnOf(which, 1) };
    const about = transaction === undefined ? request : { ...request, transaction };
    const action = await this.#workspace.snapshotAction(about);
    if (action === null) return;
    this.#write(path);
    if (what === "begin") this.#open.push({ id: action.id, path });
    else await this.#workspace.finishAction(action.id);
  }

  /** Returns a turn of one of two sessions. The turns of a session follow each other: each has up to three actions. */
  #turnOf(which: number, begun = 0): { readonly actor: string; readonly session: string; readonly turn: string } {
    const [actor, session] = which % 2 === 0 ? (["claude", "s1"] as const) : (["codex", "s2"] as const);
    const actions = this.#actions[session] + begun;
    this.#actions[session] = actions;
    const back = begun === 0 ? which % 3 : 0;
    return { actor, session, turn: `${Math.max(0, Math.floor(actions / 3) - back)}-${session}-the-turn` };
  }

  async #end(): Promise<void> {
    const open = this.#open.shift();
    if (open === undefined) return;
    this.#write(open.path);
    await this.#workspace.finishAction(open.id);
  }

  async #close(which: number): Promise<void> {
    const id = this.#transactions.pop();
    if (id === undefined) return;
    await (which % 2 === 0 ? this.#workspace.commitTransaction(id) : this.#workspace.rollbackTransaction(id));
  }
}

/**
 * Checks that items read in pages are those of the whole list. A short id depends on the ids beside it, so it is
 * checked alone. An undo is named after the first action that the page reads of its turn. A page has no `changed_since` if the folder was last looked at before everything that the page reads.
 */
function areEqual(pages: readonly RecentItem[], whole: readonly RecentItem[]): void {
  const said = (item: RecentItem): unknown => {
    found(item.id.startsWith(item.short_id)).toBe(true);
    const isUndo = item.kind === "undo" || item.kind === "redo";
    return { ...item, short_id: "", changed_since: "", ...(isUndo ? { summary: "" } : {}) };
  };
  found(pages.map(said)).toEqual(whole.map(said));
  const since = pages.map(({ changed_since: time }, at) => time ?? whole[at]?.changed_since);
  found(since).toEqual(whole.map(({ changed_since: time }) => time));
}

interface Pages extends RecentOptions {
  readonly size: number;
  readonly windows?: Windows;
}

/** Returns all items, read in pages of a size. */
async function paged(context: Context, { size, windows, ...options }: Pages): Promise<RecentItem[]> {
  const items: RecentItem[] = [];
  for (let before: number | undefined; ;) {
    const page = await recentWork(context, size, before === undefined ? options : { ...options, before }, windows);
    items.push(...page.items);
    const last = page.items.at(-1);
    if (last === undefined || page.items.length < size) return items;
    before = last.to_seq;
  }
}

interface Reading {
  readonly options: RecentOptions;
  readonly size: number;
  readonly windows: Windows | undefined;
}

const OPTIONS: readonly RecentOptions[] = [{}, { actions: true }, { file: "f1" }];
const WINDOWS = [undefined, { first: 1, ofLine: 1, margin: 1 }, { first: 6, ofLine: 0, margin: 3 }] as const;

const readings = fc.record<Reading>({
  options: fc.constantFrom(...OPTIONS),
  size: fc.constantFrom(1, 2, 3, 7),
  windows: fc.constantFrom(...WINDOWS),
});

/**
 * Checks that the pages have the items of the whole list. Open work may have changed a file long after it began. A list
 * of that file does not look for the beginning, so open work is not compared there.
 */
async function isPaged(context: Context, { options, size, ...asked }: Reading): Promise<void> {
  // The list of a file reads as far as the file's last iterations and a margin, so it is not read with a tiny margin.
  const windows = options.file === undefined ? asked.windows : undefined;
  const isCompared = ({ open }: RecentItem): boolean => options.file === undefined || open !== true;
  const { items } = await recentWork(context, Number.MAX_SAFE_INTEGER, options);
  const pages = await paged(context, windows === undefined ? { size, ...options } : { size, windows, ...options });
  areEqual(pages.filter(isCompared), items.filter(isCompared));
}

it("pages of any size, with windows of any size, have the items of the whole list", async () => {
  const property = fc.asyncProperty(steps, fc.array(readings, { minLength: 3, maxLength: 3 }), async (all, ways) => {
    const machine = new Machine();
    write(machine.disk, "/proj/f0", "0");
    const store = await openSimStore(machine.disk, machine.options(0));
    const workspace = await store.open({ folder: "/proj", create: true });
    const player = new Player(machine, workspace);
    for (const step of all) await player.play(step);
    await workspace.close();
    await store.close();
    await using engine = await SimEngine.open(machine.disk, workspace.id, machine.options(1_000_000));
    await catchUp(engine.context, { recover: false, locked: false });
    for (const way of ways) await isPaged(engine.context, way);
  });
  // The same histories in each run. `RECENT_PAGES_SEED` chooses others.
  const seed = Number(process.env["RECENT_PAGES_SEED"] ?? 1);
  await fc.assert(property, { numRuns: 5, endOnFailure: true, seed });
});

it("pages of syncs have the items of the whole list, at a replica and at an origin", async () => {
  await using replica = await ReplicaRig.open({ a: "1" });
  for (let step = 1; step <= 12; step += 1) {
    const path = `f${step % 5}`;
    const changes = [await replica.change(path, await replica.file(path, `${step}`))];
    await replica.apply({ applied: step, changes });
    if (step % 4 === 0) await replica.edit(`mine-${step}`, "1");
    if (step % 6 === 0) await takeSnapshot(replica.context, {});
  }
  const kinds = (await recentWork(replica.context)).items.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "sync").length).toBeGreaterThan(2);
  for (const windows of WINDOWS) await isPaged(replica.context, { options: {}, size: 2, windows });
  await using origin = await WriteBackRig.create({});
  for (let step = 1; step <= 12; step += 1) {
    await origin.accept([await origin.entry(step, `f${step}`, `${step}`)]);
    if (step % 3 === 0) await origin.write(`mine-${step}`, "1");
    if (step % 5 === 0) await takeSnapshot(origin.context, {});
  }
  for (const windows of WINDOWS) await isPaged(origin.context, { options: {}, size: 1, windows });
});
