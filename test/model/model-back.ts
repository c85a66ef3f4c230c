import type { Selection } from "../../src/api/action-api.ts";
import type { UndoShape } from "../../src/api/shapes.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { found } from "./model-expect.ts";
import { sorted, type Asked, type KnownAction, type ModelHistory } from "./model-history.ts";
import type { ModelMachine } from "./model-machine.ts";
import { isWithin, netPaths, pickOf } from "./model-requests.ts";
import type { Happening } from "./model-steps.ts";
import type { State } from "./model-tree.ts";
import { fit, takeBack, type Step } from "./model-undo.ts";

/** The part of `ModelPlay` that `ModelBack` needs. */
interface Played {
  readonly machine: ModelMachine;
  readonly history: ModelHistory;
  /** The seq of the first event that is still in the log. 0: all events are. */
  readonly begins: number;
  /** Reads the events that were added to the log, and checks them. */
  read(asked: Asked): Promise<void>;
  /** Like `read`, after an operation that captured everything: also checks that the recorded state equals the disk. */
  whole(asked: Asked): Promise<void>;
  /** Accepts an error with one of these codes, and returns `undefined`. Throws any other error again. */
  refusal(error: unknown, codes: readonly string[]): undefined;
}

type Resolving = Extract<Happening, { readonly kind: "resolve" }>;

/**
 * The steps that bring back earlier states: undos, redos, rollbacks, restores and resolutions of conflicts. Each is
 * done with the engine, and its result is compared with the model.
 */
export class ModelBack {
  readonly #play: Played;

  constructor(play: Played) {
    this.#play = play;
  }

  /**
   * Performs a step of this class, except for an `undo` or `redo` without a selection. Returns `undefined` for every
   * other step.
   */
  perform(what: Happening, asked: Asked): Promise<void> | undefined {
    switch (what.kind) {
      case "undo-of":
        return this.#undoOf(what);
      case "redo-of":
        return this.#redoOf(what.pick);
      case "rollback":
        return this.#rollback(what.pick, asked);
      case "restore":
        return this.#restore(what.pick, asked);
      case "resolve":
        return this.#resolve(what, asked);
      default:
        return undefined;
    }
  }

  /**
   * Returns what the model must know about a step of this class before the step starts. It is computed beforehand
   * because a power loss may interrupt the step.
   */
  askedOf(what: Happening): Asked {
    if (what.kind === "resolve") return this.#resolving(what);
    if (what.kind === "undo") return { isStep: true };
    if (what.kind === "rollback") return this.#rollingBack(pickOf(this.#listed(), what.pick));
    if (what.kind === "restore") return { restores: () => this.#treeAt(this.#moment(what.pick)) };
    return {};
  }

  /**
   * Runs an undo or redo, and returns its answer, or `undefined` if it was refused. Checks the log afterwards. If the
   * undo or redo was refused or had nothing to do, checks that the files are unchanged.
   */
  async turnBack(work: () => Promise<UndoShape>, asked: Asked = {}): Promise<UndoShape | undefined> {
    const before = this.#play.machine.tree();
    const done = await work().catch((error: unknown) => this.#play.refusal(error, ["NOT_FOUND", "REFUSED", "PRUNED"]));
    await (done === undefined ? this.#play.read(asked) : this.#play.whole(asked));
    if (done === undefined || done.undo_id === null) found(sorted(this.#play.machine.tree())).toEqual(sorted(before));
    return done;
  }

  /**
   * Undoes the last operation. It is not refused because a path was edited since, except if it is the settling of a
   * conflict, or an undo or redo of something that is not recorded any more.
   */
  async undo(asked: Asked): Promise<void> {
    const { workspace } = this.#play.machine;
    const { undoable } = await workspace.recent();
    const kind = (await workspace.operations()).find((one) => one.id === undoable)?.kind;
    const mayRefuse = kind === "resolve" || kind === "undo" || kind === "redo";
    const undo = (): Promise<UndoShape> =>
      workspace.undo().catch((error: unknown) => {
        if (error instanceof ChronicleError && !mayRefuse) found(error.data["edited"]).toBe(undefined);
        throw error;
      });
    await this.turnBack(undo, asked);
  }

  /** Returns the selection of an `undo-of` step. `undefined` if it needs an action and there is none. */
  #selection({ by, pick }: Extract<Happening, { readonly kind: "undo-of" }>): Selection | undefined {
    const action = pickOf([...this.#play.history.actions.values()], pick);
    if (by === "actor") return { actor: ["ann", "bob", "human"][pick % 3] ?? "" };
    if (by === "file")
      return { file: pickOf([...new Set(this.#play.history.steps.map((one) => one.path))], pick) ?? "shared" };
    if (by === "since" || by === "to") return { [by]: `seq:${this.#moment(pick)}` };
    if (action === undefined) return undefined;
    if (by === "action") return { action: action.id };
    const { turn = "", session = "" } = action.record;
    return by === "turn" ? { turn } : { session };
  }

  /**
   * Undoes selected work. A dry run before it must append nothing, and must announce the same changes as the undo. If
   * the undo has nothing to do, the model must find nothing to do either. Both comparisons are skipped if paths are
   * hidden.
   */
  async #undoOf(what: Extract<Happening, { readonly kind: "undo-of" }>): Promise<void> {
    const selection = this.#selection(what);
    if (selection === undefined) return;
    const { workspace } = this.#play.machine;
    const head = this.#play.history.seq;
    const dry = what.dryRun
      ? await workspace.undo({ ...selection, dryRun: true }).catch((error: unknown) => this.#play.refusal(error, ALL))
      : undefined;
    if (what.dryRun) found((await workspace.head()).seq).toBe(head);
    const done = await this.turnBack(() => workspace.undo(selection));
    if (done === undefined) return;
    if (!this.#play.machine.veil.isEmpty) return;
    if (dry !== undefined) found(plainOf(dry)).toEqual(plainOf(done));
    if (done.undo_id !== null) return;
    const own = this.#play.history.ownOf(done.selection ?? "");
    if (own === undefined) return;
    const wanted = takeBack(this.#play.history.steps, own, this.#play.machine.tree());
    found({ ...sorted(wanted.tree), unmerged: [...wanted.unmerged] }).toEqual({
      ...sorted(this.#play.machine.tree()),
      unmerged: [],
    });
  }

  /**
   * Redoes an operation by its id, of which at least a part is undone. Either the redo is refused, or the operation no
   * longer counts as undone afterwards. As after every such step, `whole` compares the files with the log.
   *
   * One case is not modelled: if something other than an undo reversed the work, a redo brings back each path that is
   * still as the last undo left it.
   */
  async #redoOf(pick: number): Promise<void> {
    const { workspace } = this.#play.machine;
    const isAny = ({ id }: { readonly id: string }): boolean => this.#play.history.changesOf(id).taken.length > 0;
    const undone = (await workspace.operations()).filter((one) => one.undone || isAny(one));
    const operation = pickOf(undone, pick);
    if (operation === undefined) return;
    const done = await this.turnBack(() => workspace.redo({ operation: operation.id }));
    // If the redo met a conflict, the operation may still count as undone. `whole` has already checked what counts as
    // undone.
    if (done === undefined || done.unmerged.length > 0 || !this.#play.machine.veil.isEmpty) return;
    const after = (await workspace.operations()).find((one) => one.id === operation.id);
    found({ redone: operation.summary, undone: after?.undone ?? false }).toEqual({
      redone: operation.summary,
      undone: false,
    });
  }

  /** Returns the actions that are not from a dropped archive. */
  #listed(): KnownAction[] {
    return [...this.#play.history.actions.values()].filter((one) => one.record.fromSeq >= this.#play.begins - 1);
  }

  /**
   * Returns what the rollback of an action must leave: the state at the start of the action for all paths that it
   * declared or that it has changed, and the present state for all other paths.
   */
  #rollingBack(action: KnownAction | undefined): Asked {
    if (action === undefined) return {};
    return {
      restores: (before) => {
        // A change that was undone while the action was open is not a net change of the action, so the present state of
        // that path is somebody else's. It is kept.
        const { history } = this.#play;
        const own = netPaths(
          history.steps.filter(
            (step) => step.record.action === action.id && !history.isTaken(step, action.record.toSeq),
          ),
        );
        const isMeant = (path: string): boolean =>
          own.includes(path) || action.record.paths.some((one) => isWithin(path, one));
        const wanted = new Map<string, State>();
        for (const path of [...before.keys(), ...action.tree.keys()])
          if (isMeant(path) && before.get(path) !== action.tree.get(path)) wanted.set(path, action.tree.get(path));
        return fit(before, wanted).tree;
      },
    };
  }

  /** Rolls an action back. `PRUNED` and `NOT_FOUND` are accepted only if the engine no longer lists the action. */
  async #rollback(pick: number, asked: Asked): Promise<void> {
    const action = pickOf(this.#listed(), pick);
    if (action === undefined) return;
    const isListed = (await this.#play.machine.workspace.list()).some((one) => one.id === action.id);
    await this.#play.machine.workspace
      .rollback(action.id)
      .catch((error: unknown) =>
        this.#play.refusal(error, isListed ? ["REFUSED"] : ["PRUNED", "REFUSED", "NOT_FOUND"]),
      );
    await this.#play.read(asked);
  }

  /** Chooses the seq of a state to go back to: the start of an action, or the present. */
  #moment(pick: number): number {
    const states = [...this.#listed().map((one) => one.record.fromSeq), this.#play.history.seq];
    return pickOf(states, pick) ?? 0;
  }

  /** Returns the recorded files as of a seq: the present files, without the later steps. */
  #treeAt(seq: number): Map<string, string> {
    const tree = new Map(this.#play.history.recorded);
    for (const step of this.#play.history.steps.toReversed()) {
      if (step.seq <= seq) break;
      if (step.before === undefined) tree.delete(step.path);
      else tree.set(step.path, step.before);
    }
    return tree;
  }

  /**
   * Restores an earlier state. The files must then equal the state that `#treeAt` computes. `PRUNED` is accepted only
   * if no listed action starts at the state, and `REFUSED` only if paths are hidden.
   */
  async #restore(pick: number, asked: Asked): Promise<void> {
    const seq = this.#moment(pick);
    const { workspace, veil } = this.#play.machine;
    const isKept = (await workspace.list()).some((one) => one.from_seq === seq);
    const wanted = this.#treeAt(seq);
    const done = await workspace
      .restore(`seq:${seq}`)
      .catch((error: unknown) =>
        this.#play.refusal(error, [...(isKept ? [] : ["PRUNED"]), ...(veil.isEmpty ? [] : ["REFUSED"])]),
      );
    if (done === undefined) return this.#play.read(asked);
    await this.#play.whole(asked);
    const tree = this.#play.machine.tree();
    found(sorted(veil.clear(tree))).toEqual(sorted(veil.clear(wanted)));
  }

  #openConflicts(): [string, ReturnType<ModelHistory["conflicts"]["get"]> & object][] {
    return [...this.#play.history.conflicts].filter(([, one]) => one.state === "open");
  }

  /**
   * Returns what the resolution of a conflict must leave. Returns nothing to check if the present state is kept, or if
   * the model does not know one of the two contents.
   */
  #resolving({ pick, keep }: Resolving): Asked {
    const conflict = pickOf(this.#openConflicts(), pick)?.[1];
    if (conflict === undefined || keep === "current") return {};
    // The model does not compute the contents that the rollback of a transaction without a session would write. It
    // cannot check the resolution of a conflict with such a content.
    if (![conflict.current, conflict.wanted].every((entry) => this.#play.history.knows(entry?.hash))) return {};
    const [current, wanted] = [conflict.current, conflict.wanted].map((entry) => this.#play.history.stateOf({ entry }));
    const { path } = conflict;
    if (keep === "undo") {
      const step: Step = { path, seq: 0, before: wanted, after: current };
      return { restores: (before) => takeBack([step], { isMeant: () => true, undos: [] }, before).tree };
    }
    return {
      restores: (before) => {
        const known = [before.get(path), current, wanted].find((one) => /^\d/.test(one ?? ""));
        return fit(before, new Map([[path, `${/^\d+/.exec(known ?? "")?.[0] ?? "644"} ${MERGED}`]])).tree;
      },
    };
  }

  /** Resolves an open conflict. The engine refuses, or the conflict is recorded as settled in this way. */
  async #resolve({ pick, keep }: Resolving, asked: Asked): Promise<void> {
    const [id] = pickOf(this.#openConflicts(), pick) ?? [];
    if (id === undefined) return;
    const done = await this.#play.machine.workspace
      .resolve(id, { keep, content: Buffer.from(MERGED) })
      .catch((error: unknown) => this.#play.refusal(error, ["REFUSED"]));
    if (done === undefined) return this.#play.read(asked);
    await this.#play.whole(asked);
    found(this.#play.history.conflicts.get(id)?.settled).toBe(keep);
  }
}

const ALL = ["NOT_FOUND", "REFUSED", "PRUNED"];
const MERGED = "settled\n";

/** Returns the part of an answer that a dry run and the undo itself have in common. */
function plainOf({ changes, unmerged, selection }: UndoShape): unknown {
  return {
    selection,
    changes: changes.map((one) => [one.path, one.change_type, one.before_hash, one.after_hash]),
    unmerged: unmerged.map((one) => [one.path, one.reason, one.current_hash, one.undo_hash]),
  };
}
