import { expect } from "vitest";
import type { LogEventShape } from "../../src/api/shapes.ts";
import { keptAside } from "./model-aside.ts";
import { ModelBack } from "./model-back.ts";
import { found } from "./model-expect.ts";
import {
  ModelHistory,
  sorted,
  UNOWNED_MS,
  type Asked,
  type KnownAction,
  type KnownTransaction,
} from "./model-history.ts";
import { pathOfRecordId } from "../../src/core/values/file-record.ts";
import { shown } from "./model-roots.ts";
import { ModelMachine, type Crash, type MachineOptions } from "./model-machine.ts";
import {
  actorOf,
  HOW,
  isWithin,
  netPaths,
  pickOf,
  realPath,
  requestOf,
  sessionOf,
  targetsOf,
} from "./model-requests.ts";
import { checkEverything, checkLimit, readText } from "./model-retention.ts";
import type { Begin, Happening, Scripted } from "./model-steps.ts";
import { isTorn, type Touch } from "./model-tree.ts";
import { pruneSoon } from "../helpers/grace.ts";

export interface PlayOptions extends MachineOptions {
  /** If true, the store is opened again before each step, because each hook of an agent is a process of its own. */
  readonly hooks: boolean;
}

/**
 * Performs a script with the engine, and compares the engine with the model after each step. It checks three things:
 *
 * - `history`: the log, event by event (see `ModelHistory`).
 * - The disk: after a capture, the recorded files equal the files on disk, except for hidden paths.
 * - Nothing is lost: a state that was never recorded stays on disk, or an operation has kept it aside.
 */
export class ModelPlay {
  readonly machine: ModelMachine;
  readonly history: ModelHistory;
  /** How many snapshots of actions are kept. 0: no limit. */
  readonly keep: number;
  /** How often each error was accepted, for the output. */
  readonly refused = new Map<string, number>();
  crashes = 0;
  readonly #hooks: boolean;
  /** The seq of the first event that is still in the log. 0: all events are. */
  begins = 0;
  readonly #back: ModelBack = new ModelBack(this);

  private constructor(machine: ModelMachine, keep: number, hooks: boolean) {
    this.#hooks = hooks;
    this.machine = machine;
    this.keep = keep;
    const tree = machine.tree();
    this.history = new ModelHistory(tree, machine.veil);
    this.history.see(tree);
  }

  static async begin(keep: number, options: PlayOptions): Promise<ModelPlay> {
    const machine = new ModelMachine({ max_snapshots: keep }, options);
    await machine.open();
    const play = new ModelPlay(machine, keep, options.hooks);
    await play.read({});
    return play;
  }

  /**
   * Performs one step. If the power is lost in it, checks the state after the restart. A torn text is hidden from then
   * on, because the model does not compute how it merges.
   */
  async step({ what, crash }: Scripted): Promise<void> {
    if (this.#hooks) {
      await this.machine.close();
      await this.machine.open();
    }
    await this.#endOrphans();
    const pid = this.machine.pid;
    if (crash === undefined) {
      await this.#safely(() => this.#perform(what));
      return;
    }
    const asked = this.#askedOf(what);
    const before = this.machine.tree();
    const crashed = await this.machine.crashing(crash, () => this.#perform(what));
    if (!crashed) return;
    this.crashes += 1;
    for (const [path, state] of this.machine.tree())
      if (before.get(path) !== state && isTorn(state)) this.machine.veil.addPath(path);
    await this.#afterCrash(pid, { ...asked, isQuiet: isQuiet(what), before, crash });
  }

  /**
   * Every operation that changes something first tries to roll back the transactions that a dead process left open.
   * Earlier attempts may have failed because something was in the place of a file. Takes a snapshot to trigger this, so
   * that the step itself is judged separately.
   */
  async #endOrphans(): Promise<void> {
    const isLeft = ({ record: { status, pid } }: KnownTransaction): boolean =>
      status === "active" && pid !== null && pid !== this.machine.pid;
    if (![...this.history.transactions.values()].some(isLeft)) return;
    await this.machine.workspace.snapshot();
    await this.read({});
  }

  /**
   * Performs a step, and checks that no state was lost: each state that was never recorded is still on disk, unless the
   * step touched its path, or an operation of the step kept it aside.
   */
  async #safely(work: () => Promise<void>): Promise<void> {
    const before = this.machine.tree();
    const { seq } = this.history;
    this.machine.touched = new Set();
    await work();
    const after = this.machine.tree();
    const touched = [...this.machine.touched];
    const isTouched = (path: string): boolean => touched.some((one) => isWithin(path, one) || isWithin(one, path));
    const lost = [...before].filter(
      ([path, state]) =>
        state !== "dir" && after.get(path) !== state && !isTouched(path) && !this.history.wasRecorded(path, state),
    );
    if (lost.length === 0) return;
    const events = await this.machine.workspace.log({ from: Math.max(seq + 1, this.begins) });
    const kept = await keptAside(() => this.machine.openBlobs(), events);
    for (const [path, state] of lost)
      if (!kept.has(`${path}\0${state}`)) found([path, after.get(path)]).toEqual([path, state]);
  }

  /**
   * Checks the state after a loss of power and a restart: the log, the recorded files after a snapshot, and `verify`.
   * If the step changes no files (`isQuiet`) and the dead process had no transaction, the files must be as before the
   * step.
   */
  async #afterCrash(
    pid: number,
    { isQuiet: quiet, before, ...asked }: Asked & { isQuiet: boolean; before: Map<string, string>; crash: Crash },
  ): Promise<void> {
    this.history.see(this.machine.tree());
    // `pid` is that of the new process. The events before the loss of power were recorded by the process before it.
    await this.read(asked, this.machine.pid - 1);
    await this.machine.workspace.snapshot();
    this.history.see(this.machine.tree());
    await this.read(withoutLate(asked));
    this.#expectRecorded();
    if (quiet && ![...this.history.transactions.values()].some((one) => one.record.pid === pid))
      found(sorted(this.machine.tree())).toEqual(sorted(before));
    found((await this.machine.workspace.verify()).problems).toEqual([]);
  }

  /** Reads the events that were added to the log, and checks them. Notes first whether an archive was dropped. */
  async read(asked: Asked, pid = this.machine.pid): Promise<void> {
    this.history.see(this.machine.tree());
    const [first] = await this.machine.workspace.log({ limit: 1 });
    if (first !== undefined && first.seq > Math.max(1, this.begins)) {
      this.begins = first.seq;
      this.history.drop(first);
    }
    const events = await this.machine.workspace.log({ from: this.history.seq + 1 });
    for (const event of events) await this.#fetch(event);
    this.history.read(events, pid, asked);
  }

  /**
   * Lets the model see a content that an undo wrote by a merge, and that was replaced before the model could see it on
   * disk.
   */
  async #fetch({ record_id: id, record }: LogEventShape): Promise<void> {
    const { hash, intent, iteration, mode } = record as Record<string, unknown>;
    const path = pathOfRecordId(id);
    if (path === undefined || intent === undefined || typeof hash !== "string" || this.history.knows(hash)) return;
    const text = await readText(() => this.machine.workspace.cat(shown(path), Number(iteration)), true);
    this.history.see(new Map([["made", `${Number(mode).toString(8)} ${text}`]]));
  }

  /**
   * Checks that the recorded files equal the files on disk, except for hidden paths. `within`: which paths are
   * compared.
   */
  #expectRecorded(within: (path: string) => boolean = () => true): void {
    const only = (tree: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
      new Map([...tree].filter(([path]) => within(path)));
    const [recorded, tree] = [this.history.recorded, this.machine.tree()];
    const { veil } = this.machine;
    found(sorted(only(veil.clear(recorded)))).toEqual(sorted(only(veil.clear(tree))));
  }

  /** Returns what the model must know about a step before it starts, because a loss of power may interrupt it. */
  #askedOf(what: Happening): Asked {
    if (what.kind === "finish") return this.#lateOf(pickOf(this.#unfinished(), what.pick));
    return this.#back.askedOf(what);
  }

  async #perform(what: Happening): Promise<void> {
    const before = this.machine.tree();
    const asked = this.#askedOf(what);
    const { workspace } = this.machine;
    const back = this.#back.perform(what, asked);
    if (back !== undefined) return back;
    switch (what.kind) {
      case "touch":
        what.touches.forEach((one) => this.#touch(one));
        return;
      case "rule":
        return this.#rule(what);
      case "begin":
        await this.#begin(what);
        return;
      case "act":
        return this.#act(what);
      case "finish":
        return this.#finish(what, asked);
      case "run":
        return this.#run(what);
      case "undo":
        await this.#back.undo(asked);
        return;
      case "redo":
        await this.#back.turnBack(() => workspace.redo());
        return;
      case "reopen":
        await this.machine.close();
        await this.machine.open();
        break;
      case "restart":
        await this.machine.restart();
        await this.machine.workspace.snapshot();
        return this.whole(asked);
      case "begin-transaction":
        return this.#beginTransaction(what);
      case "commit":
      case "rollback-transaction":
        return this.#endTransaction(what);
      case "drop":
        return this.#drop();
      case "snapshot":
        await workspace.snapshot();
        await this.whole({});
        break;
      default:
        await this.#upkeep(what);
    }
    await this.read({});
    found(sorted(this.machine.tree())).toEqual(sorted(before));
  }

  async #upkeep(what: Happening): Promise<void> {
    const { workspace } = this.machine;
    if (what.kind === "wait") this.machine.ms += what.ms;
    else if (what.kind === "gc") await workspace.gc();
    else if (what.kind === "verify") await checkEverything(this);
    else if (what.kind === "rebuild") await workspace.rebuild();
    else if (what.kind === "compact") await workspace.compact();
    else if (what.kind === "prune") {
      const { keepLast, hourly, keepPinned } = what;
      const before = new Set((await workspace.list()).map((one) => one.id));
      await pruneSoon(workspace, { keepLast, keepHourly: hourly, keepPinned });
      await this.read({});
      const listed = await workspace.list();
      const ids = new Set(listed.map((one) => one.id));
      const must = [...this.history.actions.values()].filter(({ record }) => {
        const transaction = this.history.transactions.get(record.transaction ?? "");
        if (record.fromSeq < this.begins - 1) return false;
        return record.state === "open" || transaction?.record.status === "active" || (keepPinned && record.pinned);
      });
      found(must.filter((one) => before.has(one.id) && !ids.has(one.id)).map((one) => one.id)).toEqual([]);
      await workspace.gc();
      await checkEverything(this);
    } else if (what.kind === "pin") {
      const action = pickOf(await workspace.list(), what.pick);
      if (action === undefined) return;
      await workspace.pin(action.id, what.pinned);
      await this.read({});
      found(this.history.actions.get(action.id)?.record.pinned).toBe(what.pinned);
    }
  }

  #touch(one: Touch): void {
    this.machine.touch(one);
    this.history.see(this.machine.tree());
  }

  /**
   * Like `read`, after an operation that captured everything. Also checks that the recorded files equal the disk, and
   * that the engine's list of operations shows each as undone exactly if the model says so.
   */
  async whole(asked: Asked): Promise<void> {
    await this.read(asked);
    this.#expectRecorded();
    if (!this.machine.veil.isEmpty) return;
    for (const { id, kind, summary, undone } of await this.machine.workspace.operations()) {
      if (kind === "undo" || kind === "redo") continue;
      const { left, taken } = this.history.changesOf(id);
      // A folder that must stay, because others have put something into it, does not count as a change of the operation
      // any more.
      const files = left.filter((step) => step.before !== "dir" && step.after !== "dir");
      if (undone) found({ undone: summary, left: files }).toEqual({ undone: summary, left: [] });
      // The converse is checked only if there were no conflicts: an operation with one counts as undone only once all
      // its conflicts are settled.
      else if (left.length === 0 && this.history.conflicts.size === 0)
        found({ done: summary, taken }).toEqual({ done: summary, taken: [] });
    }
  }

  /**
   * Adds a rule for a name, either in the `.gitignore` of a root, or in the options of the workspace. The options apply
   * from the next opening on.
   */
  async #rule({ pick, name, inOptions }: Extract<Happening, { readonly kind: "rule" }>): Promise<void> {
    const root = pickOf(this.machine.roots, pick);
    if (root === undefined) return;
    this.machine.veil.addName(name);
    if (root.only === undefined && !inOptions) this.machine.rule(root, name);
    else await this.machine.workspace.configure({ excludePatterns: [name] });
    await this.read({});
  }

  async #act({ begin, touches, place }: Extract<Happening, { readonly kind: "act" }>): Promise<void> {
    const id = await this.#begin(begin);
    const action = id === undefined ? undefined : this.history.actions.get(id);
    if (action !== undefined) await this.#end(action, { outcome: "done", touches, place }, {});
  }

  /**
   * Begins an action, and checks its declared paths and that the files are unchanged. Returns its id. Returns
   * `undefined` if the engine refused, or if there was nothing to record.
   */
  async #begin(what: Begin): Promise<string | undefined> {
    const before = this.machine.tree();
    const request = requestOf(this.machine.roots, what);
    const onFailure = what.who === 1 ? ("warn" as const) : ("block" as const);
    const { veil } = this.machine;
    const isHidden = targetsOf(what).paths.some((path) => veil.hides(path) || veil.isAbove(path));
    const action = await this.machine.workspace
      .snapshotAction(veil.isEmpty ? request : { ...request, onFailure })
      .catch((error: unknown) => this.refusal(error, isHidden ? ["REFUSED"] : []));
    await this.read({});
    if (action === undefined) {
      found(sorted(this.machine.tree())).toEqual(sorted(before));
      return undefined;
    }
    found(sorted(this.machine.tree())).toEqual(sorted(before));
    if (action === null) return undefined;
    const known = this.history.actions.get(action.id);
    const { scope, paths: given } = targetsOf(what);
    const paths = given.map((path) => realPath(before, path));
    found(known?.record.scope).toBe(scope);
    // The targets of links are declared as well, so there may be more paths than the model knows.
    found(known?.record.paths).toEqual(expect.arrayContaining([...paths]));
    this.#expectRecorded(scope === "workspace" ? undefined : (path) => paths.some((one) => isWithin(path, one)));
    await checkLimit(this);
    return action.id;
  }

  #unfinished(): KnownAction[] {
    const all = [...this.history.actions.values()];
    return all.filter(({ record }) => record.state === "open" || record.state === "abandoned");
  }

  /** Returns the id of an action that the engine already counts as abandoned when it is finished. */
  #lateOf(action: KnownAction | undefined): Asked {
    if (action === undefined) return {};
    const { pid, ms: now } = this.machine;
    return this.history.isGoingOn(action, { pid, now }) ? {} : { late: action.id };
  }

  async #finish(what: Extract<Happening, { readonly kind: "finish" }>, asked: Asked): Promise<void> {
    const action = pickOf(this.#unfinished(), what.pick);
    const { outcome, touches, place } = what;
    if (action !== undefined && outcome !== "never") await this.#end(action, { outcome, touches, place }, asked);
  }

  /**
   * Does the work of an action, and finishes it. The changes that the engine reports must be the net changes of the
   * action. Afterwards the recorded files must equal the disk, at least at its declared paths.
   */
  async #end(
    action: KnownAction,
    what: {
      readonly outcome: "done" | "failed" | "denied";
      readonly touches: readonly Touch[];
      readonly place: number;
    },
    asked: Asked,
  ): Promise<void> {
    if (what.outcome !== "denied") this.#work(action, what);
    const ended = await this.machine.workspace
      .finishAction(action.id, { outcome: what.outcome })
      .catch((error: unknown) => this.refusal(error, ["NOT_FOUND"]));
    await this.read(asked);
    if (ended === undefined) return;
    const known = this.history.actions.get(action.id);
    found(known?.record.state).toBe(what.outcome);
    // Changes that were undone while the action was open are not among its net changes.
    const own = this.history.steps.filter((step) => step.record.action === action.id && !this.history.isTaken(step));
    const net = netPaths(own);
    found({ id: action.id, changes: ended.changes.map((one) => one.path).sort() }).toEqual({
      id: action.id,
      changes: net,
    });
    if (what.outcome === "denied") return;
    const { scope, paths } = action.record;
    this.#expectRecorded(scope === "workspace" ? undefined : (path) => paths.some((one) => isWithin(path, one)));
  }

  /** Changes the declared paths as the tool does, and then the paths of `touches`, as others do in the meantime. */
  #work(
    { record }: KnownAction,
    { touches, place }: { readonly touches: readonly Touch[]; readonly place: number },
  ): void {
    const how = HOW[record.type] ?? "edit";
    for (const path of record.paths) {
      const isSource = record.type.startsWith("move") && path === record.paths[0];
      this.#touch({ how: isSource ? "remove" : how, path, place });
    }
    for (const one of touches) this.#touch(one);
  }

  async #run({ touches, code, rollback }: Extract<Happening, { readonly kind: "run" }>): Promise<void> {
    this.machine.command = () => {
      touches.forEach((one) => this.#touch(one));
      return code;
    };
    await this.machine.workspace.run({ command: ["make"], rollbackOnFailure: rollback });
    await this.whole({});
  }

  /** Accepts an error with one of these codes, counts it, and returns `undefined`. Throws any other error again. */
  refusal(error: unknown, codes: readonly string[]): undefined {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // While paths are hidden, `REFUSED` is also accepted, because an operation is refused if it would overwrite a state
    // that was never recorded.
    const isOfVeil = code === "REFUSED" && !this.machine.veil.isEmpty && codes.length > 0;
    if (!codes.includes(code) && !isOfVeil) throw error;
    if (code === "PRUNED") found(this.history.prunings.length + this.begins).toBeGreaterThan(0);
    const key = `${code}: ${error instanceof Error ? error.message.replace(/[0-9a-f-]{20,}|\d+/g, "N") : ""}`;
    this.refused.set(key, (this.refused.get(key) ?? 0) + 1);
    return undefined;
  }

  async #beginTransaction({
    session,
    who,
    owned,
  }: Extract<Happening, { readonly kind: "begin-transaction" }>): Promise<void> {
    await this.machine.workspace.beginTransaction({
      ...(session ? { session: sessionOf(who), actor: actorOf(who) } : {}),
      ...(owned ? {} : { pid: null }),
    });
    await this.whole({});
  }

  async #endTransaction({
    kind,
    pick,
  }: {
    readonly kind: "commit" | "rollback-transaction";
    readonly pick: number;
  }): Promise<void> {
    const active = [...this.history.transactions.values()].filter((one) => one.record.status === "active");
    const one = pickOf(active, pick);
    if (one === undefined) return;
    const { workspace } = this.machine;
    const work = kind === "commit" ? workspace.commitTransaction(one.id) : workspace.rollbackTransaction(one.id);
    const done = await work.catch((error: unknown) => this.refusal(error, ["REFUSED"]));
    if (done === undefined) return this.read({});
    await this.whole({});
    found(this.history.transactions.get(one.id)?.record.status).toBe(kind === "commit" ? "committed" : "rolled_back");
  }

  /** Drops the archive. The files must be unchanged. */
  async #drop(): Promise<void> {
    const before = this.machine.tree();
    const { workspace } = this.machine;
    await workspace.snapshot();
    await this.read({});
    // If only an idle session of an agent is in the way, the archive can be dropped a day later.
    if (!(await this.#dropped())) {
      this.machine.ms += UNOWNED_MS;
      await this.#dropped();
    }
    await this.read({});
    found(sorted(this.machine.tree())).toEqual(sorted(before));
    this.#expectRecorded();
  }

  /**
   * Drops the archive. The engine must refuse exactly if work is in progress. Returns whether the archive was dropped.
   */
  async #dropped(): Promise<boolean> {
    const { workspace, pid, ms: now } = this.machine;
    const isBusy = this.history.isBusy({ pid, now });
    const dropped = await workspace
      .compact({ dropArchive: true })
      .catch((error: unknown) => this.refusal(error, isBusy ? ["REFUSED"] : []));
    found(dropped === undefined).toBe(isBusy);
    await this.read({});
    return dropped !== undefined;
  }
}

function withoutLate({ late: _late, ...asked }: Asked): Asked {
  return asked;
}

/** True for steps that change no files of the project. */
function isQuiet({ kind }: Happening): boolean {
  return [
    "begin",
    "snapshot",
    "gc",
    "rebuild",
    "compact",
    "drop",
    "prune",
    "pin",
    "commit",
    "begin-transaction",
  ].includes(kind);
}
