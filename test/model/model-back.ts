import type { Selection } from "../../src/api/action-api.ts";
import type { UndoShape } from "../../src/api/shapes.ts";
import { found } from "./model-expect.ts";
import { sorted, type Asked, type KnownAction, type ModelHistory } from "./model-history.ts";
import type { ModelMachine } from "./model-machine.ts";
import { isWithin, netPaths, pickOf } from "./model-requests.ts";
import type { Happening } from "./model-steps.ts";
import type { State } from "./model-tree.ts";
import { fit, takeBack, type Step } from "./model-undo.ts";

/** A history that is played. */
interface Played {
  readonly machine: ModelMachine;
  readonly history: ModelHistory;
  /** The first event that is there still. */
  readonly begins: number;
  /** Takes in what was added to the log. */
  read(asked: Asked): Promise<void>;
  /** The same, after a look at everything. */
  whole(asked: Asked): Promise<void>;
  /** An error that may be; `undefined`. */
  refusal(error: unknown, codes: readonly string[]): undefined;
}

type Resolving = Extract<Happening, { readonly kind: "resolve" }>;

/** Everything that goes back: undos, redos, rollbacks, restores and what settles a conflict. */
export class ModelBack {
  readonly #play: Played;

  constructor(play: Played) {
    this.#play = play;
  }

  /** Does what goes back, but for plain undos and redos; `undefined` for everything else. */
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

  /** What is known before something that goes back, which may be cut off. */
  askedOf(what: Happening): Asked {
    if (what.kind === "resolve") return this.#resolving(what);
    if (what.kind === "undo") return { isStep: true };
    if (what.kind === "rollback") return this.#rollingBack(pickOf(this.#listed(), what.pick));
    if (what.kind === "restore") return { restores: () => this.#treeAt(this.#moment(what.pick)) };
    return {};
  }

  async turnBack(work: () => Promise<UndoShape>, asked: Asked = {}): Promise<UndoShape | undefined> {
    const before = this.#play.machine.tree();
    const done = await work().catch((error: unknown) => this.#play.refusal(error, ["NOT_FOUND", "REFUSED", "PRUNED"]));
    await (done === undefined ? this.#play.read(asked) : this.#play.whole(asked));
    if (done === undefined || done.undo_id === null) found(sorted(this.#play.machine.tree())).toEqual(sorted(before));
    return done;
  }

  #selection({ by, pick }: Extract<Happening, { readonly kind: "undo-of" }>): Selection | undefined {
    const action = pickOf([...this.#play.history.actions.values()], pick);
    if (by === "actor") return { actor: ["ann", "bob", "human"][pick % 3] ?? "" };
    if (by === "file")
      return { file: pickOf([...new Set(this.#play.history.steps.map((one) => one.path))], pick) ?? "shared" };
    if (by === "since") return { since: `seq:${this.#moment(pick)}` };
    if (action === undefined) return undefined;
    if (by === "action") return { action: action.id };
    const { turn = "", session = "" } = action.record;
    return by === "turn" ? { turn } : { session };
  }

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
   * A redo by id of work that is undone, or of which a part is: it is refused, or the work is not called undone after
   * it. The files are held to the log as in `whole`. (Of work that something else than an undo took back, a redo brings
   * each path that is as the last undo had left it; that is not modelled.)
   */
  async #redoOf(pick: number): Promise<void> {
    const { workspace } = this.#play.machine;
    const isAny = ({ id }: { readonly id: string }): boolean => this.#play.history.changesOf(id).taken.length > 0;
    const undone = (await workspace.operations()).filter((one) => one.undone || isAny(one));
    const operation = pickOf(undone, pick);
    if (operation === undefined) return;
    const done = await this.turnBack(() => workspace.redo({ operation: operation.id }));
    // Where it met a conflict, nothing is back; `whole` has asked what is called undone.
    if (done === undefined || done.unmerged.length > 0 || !this.#play.machine.veil.isEmpty) return;
    const after = (await workspace.operations()).find((one) => one.id === operation.id);
    found({ redone: operation.summary, undone: after?.undone ?? false }).toEqual({
      redone: operation.summary,
      undone: false,
    });
  }

  #listed(): KnownAction[] {
    return [...this.#play.history.actions.values()].filter((one) => one.record.fromSeq >= this.#play.begins - 1);
  }

  #rollingBack(action: KnownAction | undefined): Asked {
    if (action === undefined) return {};
    return {
      restores: (before) => {
        // What was taken back while it went on is nothing that it has changed: what is there now is somebody else's.
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

  /** Where something can be gone back to, by the numbers of events. */
  #moment(pick: number): number {
    const states = [...this.#listed().map((one) => one.record.fromSeq), this.#play.history.seq];
    return pickOf(states, pick) ?? 0;
  }

  #treeAt(seq: number): Map<string, string> {
    const tree = new Map(this.#play.history.recorded);
    for (const step of this.#play.history.steps.toReversed()) {
      if (step.seq <= seq) break;
      if (step.before === undefined) tree.delete(step.path);
      else tree.set(step.path, step.before);
    }
    return tree;
  }

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

  #resolving({ pick, keep }: Resolving): Asked {
    const conflict = pickOf(this.#openConflicts(), pick)?.[1];
    if (conflict === undefined || keep === "current") return {};
    // What the rollback of everybody's transaction would have there, the model does not work out.
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

function plainOf({ changes, unmerged, selection }: UndoShape): unknown {
  return {
    selection,
    changes: changes.map((one) => [one.path, one.change_type, one.before_hash, one.after_hash]),
    unmerged: unmerged.map((one) => [one.path, one.reason, one.current_hash, one.undo_hash]),
  };
}
