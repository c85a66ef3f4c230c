import { expect } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { Selection } from "../../src/api/action-api.ts";
import type { LogEventShape, UndoShape } from "../../src/api/shapes.ts";
import { found } from "./model-expect.ts";
import { ModelHistory, sorted, UNOWNED_MS, type Asked, type KnownAction } from "./model-history.ts";
import { ModelMachine, type Crash } from "./model-machine.ts";
import { checkEverything, checkLimit, readText } from "./model-retention.ts";
import type { Begin, Happening, Scripted } from "./model-steps.ts";
import type { State, Touch } from "./model-tree.ts";
import { fit, takeBack, type Step } from "./model-undo.ts";

/** Does what a script says, and holds the engine to the model after each step. */
export class ModelPlay {
  readonly machine: ModelMachine;
  readonly history: ModelHistory;
  readonly keep: number;
  readonly refused = new Map<string, number>();
  crashes = 0;

  private constructor(machine: ModelMachine, keep: number) {
    this.machine = machine;
    this.keep = keep;
    const tree = machine.tree();
    this.history = new ModelHistory(tree);
    this.history.see(tree);
  }

  static async begin(keep: number): Promise<ModelPlay> {
    const machine = new ModelMachine({ max_snapshots: keep });
    await machine.open();
    const play = new ModelPlay(machine, keep);
    await play.#read({});
    return play;
  }

  async step({ what, crash }: Scripted): Promise<void> {
    const pid = this.machine.pid;
    if (crash === undefined) {
      await this.#perform(what);
      return;
    }
    const asked = this.#askedOf(what);
    const before = this.machine.tree();
    const crashed = await this.machine.crashing(crash, () => this.#perform(what));
    if (!crashed) return;
    this.crashes += 1;
    await this.#afterCrash(pid, { ...asked, isQuiet: isQuiet(what), before, crash });
  }

  async #afterCrash(
    pid: number,
    { isQuiet: quiet, before, ...asked }: Asked & { isQuiet: boolean; before: Map<string, string>; crash: Crash },
  ): Promise<void> {
    this.history.see(this.machine.tree());
    await this.#read(asked, pid);
    await this.machine.workspace.snapshot();
    this.history.see(this.machine.tree());
    await this.#read(withoutLate(asked));
    this.#expectRecorded();
    if (quiet && ![...this.history.transactions.values()].some((one) => one.record.pid === pid))
      found(sorted(this.machine.tree())).toEqual(sorted(before));
    found((await this.machine.workspace.verify()).problems).toEqual([]);
  }

  async #read(asked: Asked, pid = this.machine.pid): Promise<void> {
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

  /** A content that an undo has made, and something else has replaced before it was seen on disk. */
  async #fetch({ record_id: id, record }: LogEventShape): Promise<void> {
    const { hash, intent, iteration, mode } = record as Record<string, unknown>;
    if (!id.startsWith("file:") || intent === undefined || typeof hash !== "string" || this.history.knows(hash)) return;
    const text = await readText(() => this.machine.workspace.cat(id.slice("file:".length), Number(iteration)), true);
    this.history.see(new Map([["made", `${Number(mode).toString(8)} ${text}`]]));
  }

  /** What is on disk is what was recorded. */
  #expectRecorded(within: (path: string) => boolean = () => true): void {
    const only = (tree: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
      new Map([...tree].filter(([path]) => within(path)));
    found(sorted(only(this.history.recorded))).toEqual(sorted(only(this.machine.tree())));
  }

  /** What is known before a step that may be cut off. */
  #askedOf(what: Happening): Asked {
    if (what.kind === "resolve") return this.#resolving(what);
    if (what.kind === "undo") return { isStep: true };
    if (what.kind === "rollback") return this.#rollingBack(pickOf(this.#listed(), what.pick));
    if (what.kind === "restore") return { restores: () => this.#treeAt(this.#moment(what.pick)) };
    if (what.kind === "finish") return this.#lateOf(pickOf(this.#unfinished(), what.pick));
    return {};
  }

  async #perform(what: Happening): Promise<void> {
    const before = this.machine.tree();
    const asked = this.#askedOf(what);
    const { workspace } = this.machine;
    switch (what.kind) {
      case "touch":
        what.touches.forEach((one) => this.#touch(one));
        return;
      case "wait":
        this.machine.ms += what.ms;
        return;
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
        await this.#turnBack(() => workspace.undo(), asked);
        return;
      case "redo":
        await this.#turnBack(() => workspace.redo());
        return;
      case "undo-of":
        return this.#undoOf(what);
      case "reopen":
        await this.machine.close();
        await this.machine.open();
        break;
      case "restart":
        await this.machine.restart();
        await this.machine.workspace.snapshot();
        return this.#whole(asked);
      case "begin-transaction":
        return this.#beginTransaction(what);
      case "commit":
      case "rollback-transaction":
        return this.#endTransaction(what);
      case "rollback":
        return this.#rollback(what.pick, asked);
      case "restore":
        return this.#restore(what.pick, asked);
      case "resolve":
        return this.#resolve(what, asked);
      case "drop":
        return this.#drop();
      case "snapshot":
        await workspace.snapshot();
        await this.#whole({});
        break;
      default:
        await this.#upkeep(what);
    }
    await this.#read({});
    found(sorted(this.machine.tree())).toEqual(sorted(before));
  }

  async #upkeep(
    what: Extract<
      Happening,
      {
        readonly kind:
          | "gc"
          | "verify"
          | "rebuild"
          | "compact"
          | "prune"
          | "pin"
          | "undo"
          | "redo"
          | "drop"
          | "reopen"
          | "restart"
          | "snapshot";
      }
    >,
  ): Promise<void> {
    const { workspace } = this.machine;
    if (what.kind === "gc") await workspace.gc();
    else if (what.kind === "verify") await checkEverything(this);
    else if (what.kind === "rebuild") await workspace.rebuild();
    else if (what.kind === "compact") await workspace.compact();
    else if (what.kind === "prune") {
      const { keepLast, hourly, keepPinned } = what;
      const before = new Set((await workspace.list()).map((one) => one.id));
      await workspace.prune({ keepLast, keepHourly: hourly, keepPinned });
      await this.#read({});
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
      await this.#read({});
      found(this.history.actions.get(action.id)?.record.pinned).toBe(what.pinned);
    }
  }

  #touch(one: Touch): void {
    this.machine.touch(one);
    this.history.see(this.machine.tree());
  }

  /** After a look at everything. */
  async #whole(asked: Asked): Promise<void> {
    await this.#read(asked);
    this.#expectRecorded();
  }

  async #act({ begin, touches, place }: Extract<Happening, { readonly kind: "act" }>): Promise<void> {
    const id = await this.#begin(begin);
    const action = id === undefined ? undefined : this.history.actions.get(id);
    if (action !== undefined) await this.#end(action, { outcome: "done", touches, place }, {});
  }

  /** Begins an action; its id, if there was something to keep. */
  async #begin(what: Begin): Promise<string | undefined> {
    const before = this.machine.tree();
    const action = await this.machine.workspace.snapshotAction(requestOf(what));
    await this.#read({});
    found(sorted(this.machine.tree())).toEqual(sorted(before));
    if (action === null) return undefined;
    const known = this.history.actions.get(action.id);
    const { scope, paths } = targetsOf(what);
    found(known?.record.scope).toBe(scope);
    // What a link leads to is touched as well.
    found(known?.record.paths).toEqual(expect.arrayContaining([...paths]));
    this.#expectRecorded(scope === "workspace" ? undefined : (path) => paths.some((one) => isWithin(path, one)));
    await checkLimit(this);
    return action.id;
  }

  #unfinished(): KnownAction[] {
    const all = [...this.history.actions.values()];
    return all.filter(({ record }) => record.state === "open" || record.state === "abandoned");
  }

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
      .catch((error: unknown) => this.#refusal(error, ["NOT_FOUND"]));
    await this.#read(asked);
    if (ended === undefined) return;
    const known = this.history.actions.get(action.id);
    found(known?.record.state).toBe(what.outcome);
    const own = this.history.steps.filter((step) => step.record.action === action.id);
    const net = netPaths(own);
    found({ id: action.id, changes: ended.changes.map((one) => one.path).sort() }).toEqual({
      id: action.id,
      changes: net,
    });
    if (what.outcome === "denied") return;
    const { scope, paths } = action.record;
    this.#expectRecorded(scope === "workspace" ? undefined : (path) => paths.some((one) => isWithin(path, one)));
  }

  /** What the tool does, and others meanwhile. */
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
    await this.#whole({});
  }

  /** An error that may be; `undefined`. */
  #refusal(error: unknown, codes: readonly string[]): undefined {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!codes.includes(code)) throw error;
    if (code === "PRUNED") found(this.history.prunings.length + this.begins).toBeGreaterThan(0);
    const key = `${code}: ${error instanceof Error ? error.message.replace(/[0-9a-f-]{20,}|\d+/g, "N") : ""}`;
    this.refused.set(key, (this.refused.get(key) ?? 0) + 1);
    return undefined;
  }

  /** The first event that is there still. */
  begins = 0;

  async #turnBack(work: () => Promise<UndoShape>, asked: Asked = {}): Promise<UndoShape | undefined> {
    const before = this.machine.tree();
    const done = await work().catch((error: unknown) => this.#refusal(error, ["NOT_FOUND", "REFUSED", "PRUNED"]));
    await (done === undefined ? this.#read(asked) : this.#whole(asked));
    if (done === undefined || done.undo_id === null) found(sorted(this.machine.tree())).toEqual(sorted(before));
    return done;
  }

  #selection({ by, pick }: Extract<Happening, { readonly kind: "undo-of" }>): Selection | undefined {
    const action = pickOf([...this.history.actions.values()], pick);
    if (by === "actor") return { actor: ["ann", "bob", "human"][pick % 3] ?? "" };
    if (by === "file")
      return { file: pickOf([...new Set(this.history.steps.map((one) => one.path))], pick) ?? "shared" };
    if (by === "since") return { since: `seq:${this.#moment(pick)}` };
    if (action === undefined) return undefined;
    if (by === "action") return { action: action.id };
    const { turn = "", session = "" } = action.record;
    return by === "turn" ? { turn } : { session };
  }

  async #undoOf(what: Extract<Happening, { readonly kind: "undo-of" }>): Promise<void> {
    const selection = this.#selection(what);
    if (selection === undefined) return;
    const { workspace } = this.machine;
    const head = this.history.seq;
    const dry = what.dryRun
      ? await workspace.undo({ ...selection, dryRun: true }).catch((error: unknown) => this.#refusal(error, ALL))
      : undefined;
    if (what.dryRun) found((await workspace.head()).seq).toBe(head);
    const done = await this.#turnBack(() => workspace.undo(selection));
    if (done === undefined) return;
    if (dry !== undefined) found(plainOf(dry)).toEqual(plainOf(done));
    if (done.undo_id !== null) return;
    const isOwn = this.history.ownOf(done.selection ?? "");
    if (isOwn === undefined) return;
    const wanted = takeBack(this.history.steps, isOwn, this.machine.tree());
    found({ ...sorted(wanted.tree), unmerged: [...wanted.unmerged] }).toEqual({
      ...sorted(this.machine.tree()),
      unmerged: [],
    });
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
    await this.#whole({});
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
    const done = await work.catch((error: unknown) => this.#refusal(error, ["REFUSED"]));
    if (done === undefined) return this.#read({});
    await this.#whole({});
    found(this.history.transactions.get(one.id)?.record.status).toBe(kind === "commit" ? "committed" : "rolled_back");
  }

  #listed(): KnownAction[] {
    return [...this.history.actions.values()].filter((one) => one.record.fromSeq >= this.begins - 1);
  }

  #rollingBack(action: KnownAction | undefined): Asked {
    if (action === undefined) return {};
    return {
      restores: (before) => {
        const own = netPaths(this.history.steps.filter((step) => step.record.action === action.id));
        const isMeant = (path: string): boolean =>
          own.includes(path) || action.record.paths.some((one) => isWithin(path, one));
        const wanted = new Map<string, State>();
        for (const path of [...before.keys(), ...action.tree.keys()])
          if (isMeant(path) && before.get(path) !== action.tree.get(path)) wanted.set(path, action.tree.get(path));
        return fit(before, wanted).tree;
      },
    };
  }

  async #rollback(pick: number, asked: Asked): Promise<void> {
    const action = pickOf(this.#listed(), pick);
    if (action === undefined) return;
    const isListed = (await this.machine.workspace.list()).some((one) => one.id === action.id);
    await this.machine.workspace
      .rollback(action.id)
      .catch((error: unknown) => this.#refusal(error, isListed ? ["REFUSED"] : ["PRUNED", "REFUSED", "NOT_FOUND"]));
    await this.#read(asked);
  }

  /** Where something can be gone back to, by the numbers of events. */
  #moment(pick: number): number {
    const states = [...this.#listed().map((one) => one.record.fromSeq), this.history.seq];
    return pickOf(states, pick) ?? 0;
  }

  #treeAt(seq: number): Map<string, string> {
    const tree = new Map(this.history.recorded);
    for (const step of this.history.steps.toReversed()) {
      if (step.seq <= seq) break;
      if (step.before === undefined) tree.delete(step.path);
      else tree.set(step.path, step.before);
    }
    return tree;
  }

  async #restore(pick: number, asked: Asked): Promise<void> {
    const seq = this.#moment(pick);
    const { workspace } = this.machine;
    const isKept = (await workspace.list()).some((one) => one.from_seq === seq);
    const wanted = this.#treeAt(seq);
    const done = await workspace
      .restore(`seq:${seq}`)
      .catch((error: unknown) => this.#refusal(error, isKept ? [] : ["PRUNED"]));
    if (done === undefined) return this.#read(asked);
    await this.#whole(asked);
    found(sorted(this.machine.tree())).toEqual(sorted(wanted));
  }

  #openConflicts(): [string, ReturnType<ModelHistory["conflicts"]["get"]> & object][] {
    return [...this.history.conflicts].filter(([, one]) => one.state === "open");
  }

  #resolving({ pick, keep }: Extract<Happening, { readonly kind: "resolve" }>): Asked {
    const conflict = pickOf(this.#openConflicts(), pick)?.[1];
    if (conflict === undefined || keep === "current") return {};
    // What the rollback of everybody's transaction would have there, the model does not work out.
    if (![conflict.current, conflict.wanted].every((entry) => this.history.knows(entry?.hash))) return {};
    const [current, wanted] = [conflict.current, conflict.wanted].map((entry) => this.history.stateOf({ entry }));
    const { path } = conflict;
    if (keep === "undo") {
      const step: Step = { path, seq: 0, before: wanted, after: current };
      return { restores: (before) => takeBack([step], () => true, before).tree };
    }
    return {
      restores: (before) => {
        const known = [before.get(path), current, wanted].find((one) => /^\d/.test(one ?? ""));
        return fit(before, new Map([[path, `${/^\d+/.exec(known ?? "")?.[0] ?? "644"} ${MERGED}`]])).tree;
      },
    };
  }

  async #resolve({ pick, keep }: Extract<Happening, { readonly kind: "resolve" }>, asked: Asked): Promise<void> {
    const [id] = pickOf(this.#openConflicts(), pick) ?? [];
    if (id === undefined) return;
    const done = await this.machine.workspace
      .resolve(id, { keep, content: Buffer.from(MERGED) })
      .catch((error: unknown) => this.#refusal(error, ["REFUSED"]));
    if (done === undefined) return this.#read(asked);
    await this.#whole(asked);
    found(this.history.conflicts.get(id)?.settled).toBe(keep);
  }

  async #drop(): Promise<void> {
    const before = this.machine.tree();
    const { workspace } = this.machine;
    await workspace.snapshot();
    await this.#read({});
    // Where nothing but an agent that does nothing any more is in the way, a day later it is not.
    if (!(await this.#dropped())) {
      this.machine.ms += UNOWNED_MS;
      await this.#dropped();
    }
    await this.#read({});
    found(sorted(this.machine.tree())).toEqual(sorted(before));
    this.#expectRecorded();
  }

  /** Drops the archive, unless something is going on. */
  async #dropped(): Promise<boolean> {
    const { workspace, pid, ms: now } = this.machine;
    const isBusy = this.history.isBusy({ pid, now });
    const dropped = await workspace
      .compact({ dropArchive: true })
      .catch((error: unknown) => this.#refusal(error, isBusy ? ["REFUSED"] : []));
    found(dropped === undefined).toBe(isBusy);
    await this.#read({});
    return dropped !== undefined;
  }
}

function withoutLate({ late: _late, ...asked }: Asked): Asked {
  return asked;
}

const ALL = ["NOT_FOUND", "REFUSED", "PRUNED"];
const MERGED = "settled\n";

const HOW: Readonly<Record<string, Touch["how"]>> = {
  delete_file: "remove",
  delete_directory: "remove",
  create_directory: "folder",
};

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

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

/** Paths that are not as they were before the first of these changes. */
function netPaths(steps: readonly Step[]): string[] {
  const paths = [...new Set(steps.map((step) => step.path))];
  return paths
    .filter((path) => {
      const own = steps.filter((step) => step.path === path);
      return own[0]?.before !== own.at(-1)?.after;
    })
    .sort();
}

function plainOf({ changes, unmerged, selection }: UndoShape): unknown {
  return {
    selection,
    changes: changes.map((one) => [one.path, one.change_type, one.before_hash, one.after_hash]),
    unmerged: unmerged.map((one) => [one.path, one.reason, one.current_hash, one.undo_hash]),
  };
}

function pickOf<T>(all: readonly T[], pick: number): T | undefined {
  return all[all.length - 1 - (pick % Math.max(1, all.length))];
}

function actorOf(who: number): string {
  return who === 0 ? "ann" : "bob";
}

function sessionOf(who: number): string {
  return `s-${actorOf(who)}`;
}

function requestOf(what: Begin): ActionRequest {
  const { type, path, to, who, turn, depth, owned } = what;
  const isCommand = type === "run_command" || type === "rm";
  const command = type === "rm" ? `rm -rf ${path}` : "make";
  const several = type.startsWith("move") || type === "copy_file";
  return {
    type: isCommand ? "run_command" : type,
    payload: isCommand ? { command } : several ? { source: path, destination: to } : { path },
    actor: actorOf(who),
    session: sessionOf(who),
    turn: `t-${actorOf(who)}-${turn}`,
    depth,
    ...(owned ? {} : { pid: null }),
  };
}

/** What such a request declares. */
function targetsOf({ type, path, to }: Begin): {
  readonly scope: "paths" | "workspace";
  readonly paths: readonly string[];
} {
  if (type === "run_command") return { scope: "workspace", paths: [] };
  if (type === "rm" || type === "some_tool") return { scope: "workspace", paths: [path] };
  if (type === "copy_file") return { scope: "paths", paths: [to] };
  return { scope: "paths", paths: type.startsWith("move") ? [path, to] : [path] };
}
