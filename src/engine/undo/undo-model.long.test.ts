import fc from "fast-check";
import { it } from "vitest";
import { found } from "../../../test/model/model-expect.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import type { UndoShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { openSimStore } from "../../testing/sim-store.ts";

/**
 * Compares random histories of two agents in one folder, undone and redone in any order, with a model. In the model,
 * the content of a path is the result of the actions in force, applied in their order. Each agent edits only its own
 * places of a file, and may edit a place several times. A person edits a line of that file, too, which no undo or redo
 * may change. An action is undone alone only while no later edit of its place is in force. So there are no conflicts, and
 * the model needs no merging.
 */

const PLACES = 2;

/**
 * One step of a history: an action (which edits a place of the shared file, creates a file, or creates a folder with a
 * file), a person's edit, the undo of one action, the undo of all actions of an agent, a plain undo, or a redo.
 */
interface Step {
  readonly what: "edit" | "create" | "folder" | "mine" | "undo" | "redo" | "agent" | "last";
  readonly who: "codex" | "claude";
  readonly which: number;
}

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom("edit", "edit", "create", "folder", "mine", "mine", "undo", "last", "last", "redo", "agent"),
    who: fc.constantFrom("codex", "claude"),
    which: fc.nat({ max: 20 }),
  }),
  { minLength: 4, maxLength: 18 },
);

interface Done {
  readonly id: string;
  readonly who: string;
  readonly at: number;
  readonly what: Step["what"];
}

/** Returns the files, with their texts, that the actions in force make. `mine`: the number of a person's edits. */
function modelled(all: readonly Done[], undone: ReadonlySet<string>, mine: number): Record<string, string> {
  const lines = Array.from({ length: PLACES }, (_, i) => [`place ${i}`, `between ${i}`]);
  const files: Record<string, string> = {};
  all.forEach(({ id, at, what }, n) => {
    if (undone.has(id)) return;
    if (what === "edit") (lines[at] ?? [])[0] = `edited by ${n}`;
    if (what === "create") files[`own-${n}`] = `${n}\n`;
    if (what === "folder") files[`dir-${n}/own`] = `${n}\n`;
  });
  return {
    ...files,
    shared: [...lines, [`edited ${mine} times by a person`]]
      .flat()
      .map((line) => `${line}\n`)
      .join(""),
  };
}

function write(disk: SimDisk, path: string, text: string): void {
  if (disk.lstat(path) !== undefined) disk.unlink(path);
  const fd = disk.open(path, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

/** Returns the files of the project with their texts. */
function present(disk: SimDisk, folder = "/proj"): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name } of disk.list(folder)) {
    const path = `${folder}/${name.toString()}`;
    if (disk.lstat(path)?.kind === "dir") Object.assign(found, present(disk, path));
    else {
      const fd = disk.open(path, "read");
      const bytes = Buffer.alloc(disk.fstat(fd).size);
      disk.read(fd, bytes, 0);
      disk.close(fd);
      found[path.slice("/proj/".length)] = bytes.toString();
    }
  }
  return found;
}

/** Returns true if the action is an edit, and a later edit of the same place is in force. */
function isCovered({ id, at, what }: Done, all: readonly Done[], undone: ReadonlySet<string>): boolean {
  const later = all.slice(all.findIndex((one) => one.id === id) + 1);
  return what === "edit" && later.some((one) => one.what === "edit" && one.at === at && !undone.has(one.id));
}

/** A history that is played with the engine, and the model of it. */
class History {
  readonly #disk: SimDisk;
  readonly #workspace: WorkspaceApi;
  #mine = 0;
  readonly #done: Done[] = [];
  readonly #undone = new Set<string>();
  /**
   * For each undo that can still be redone, the ids of the actions that it inverted. The newest undo is last. After a new
   * action, no undo can be redone.
   */
  #redoable: (readonly string[])[] = [];
  /** The ids of the actions that a step of the undo stack stands for: an action, or an undo that was redone. */
  readonly #members = new Map<string, readonly string[]>();

  constructor(disk: SimDisk, workspace: WorkspaceApi) {
    this.#disk = disk;
    this.#workspace = workspace;
  }

  async play(step: Step): Promise<void> {
    if (step.what === "undo" || step.what === "agent") await this.#undoOf(step);
    else if (step.what === "last") await this.#undoLast();
    else if (step.what === "redo") await this.#redo();
    else if (step.what === "mine") this.#edit();
    else await this.#act(step.what, step);
    found(present(this.#disk)).toEqual(modelled(this.#done, this.#undone, this.#mine));
    const operations = (await this.#workspace.operations()).filter((one) => one.kind === "action");
    found(new Set(operations.filter((one) => one.undone).map((one) => one.id))).toEqual(this.#undone);
  }

  /** Undoes one action, or all actions of an agent. */
  async #undoOf({ what, who, which }: Step): Promise<void> {
    const chosen = this.#done.filter((one) => !isCovered(one, this.#done, this.#undone));
    const of =
      what === "agent"
        ? this.#done.filter((one) => one.who === who)
        : chosen.slice(which % Math.max(1, chosen.length)).slice(0, 1);
    if (what === "undo" && of[0] === undefined) return;
    if (of.length === 0) {
      const nobody = await this.#workspace.undo({ actor: who }).catch((error: unknown) => error);
      found(nobody).toMatchObject({ code: "NOT_FOUND" });
      return;
    }
    const taken = of.filter((one) => !this.#undone.has(one.id)).map((one) => one.id);
    const result = await this.#workspace.undo(what === "agent" ? { actor: who } : { action: of[0]?.id ?? "" });
    found(result.unmerged).toEqual([]);
    found(result.changes.length > 0).toBe(taken.length > 0);
    this.#took(result, taken);
  }

  /** Undoes the last operation, unless that would be a conflict with a later edit of an agent. */
  async #undoLast(): Promise<void> {
    const { undoable } = await this.#workspace.recent();
    const taken = (this.#members.get(undoable ?? "") ?? []).filter((id) => !this.#undone.has(id));
    const after = new Set([...this.#undone, ...taken]);
    const isConflict = this.#done.some((one) => taken.includes(one.id) && isCovered(one, this.#done, after));
    if (undoable === null || isConflict) return;
    const result = await this.#workspace.undo();
    found([result.unmerged, result.skipped]).toEqual([[], []]);
    this.#took(result, taken);
  }

  #took({ undo_id: id }: UndoShape, taken: readonly string[]): void {
    for (const one of taken) this.#undone.add(one);
    if (taken.length > 0) this.#redoable.push(taken);
    this.#members.set(id ?? "", taken);
  }

  /** Redoes the last undo. If that undo merged with nothing, and its file was edited since, the redo is refused. */
  async #redo(): Promise<void> {
    const back = this.#redoable.at(-1);
    if (back === undefined) return;
    try {
      found((await this.#workspace.redo()).unmerged).toEqual([]);
      for (const id of back) this.#undone.delete(id);
      this.#redoable.pop();
    } catch (error) {
      found(error).toMatchObject({ code: "REFUSED", data: { edited: [{ path: "shared" }] } });
    }
  }

  #edit(): void {
    this.#mine += 1;
    write(this.#disk, "/proj/shared", modelled(this.#done, this.#undone, this.#mine)["shared"] ?? "");
  }

  async #act(what: "edit" | "create" | "folder", { who, which }: Step): Promise<void> {
    // Codex has the even places, Claude the odd ones.
    const at = (which % (PLACES / 2)) * 2 + (who === "codex" ? 0 : 1);
    const n = this.#done.length;
    const path = { edit: "shared", create: `own-${n}`, folder: `dir-${n}/own` }[what];
    const request = { type: "write_file", payload: { path }, actor: who };
    const id = await this.#workspace.action(request, (action) => {
      const next = [...this.#done, { id: action?.id ?? "", who, at, what }];
      if (what === "folder") this.#disk.makeFolder(`/proj/dir-${n}`, 0o755);
      write(this.#disk, `/proj/${path}`, modelled(next, this.#undone, this.#mine)[path] ?? "");
      return action?.id ?? "";
    });
    this.#members.set(id, [id]);
    this.#done.push({ id, who, at, what });
    this.#redoable = [];
  }
}

it("undo and redo of any actions, in any order, leave what the actions in force and a person made", async () => {
  const property = fc.asyncProperty(steps, async (all) => {
    const folder = { folder: 0o755 };
    const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj": folder });
    write(disk, "/proj/shared", modelled([], new Set(), 0)["shared"] ?? "");
    const store = await openSimStore(disk, { firstId: 0 });
    const workspace = await store.open({ folder: "/proj", create: true });
    const history = new History(disk, workspace);
    for (const step of all) await history.play(step);
    found((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    await store.close();
  });
  await fc.assert(property, { numRuns: 30 });
});
