import fc from "fast-check";
import { expect, it } from "vitest";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
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

/** Redoes the last undo. Returns false if it merged with nothing, and its file was edited since: then it is refused. */
async function redone(workspace: WorkspaceApi): Promise<boolean> {
  try {
    expect((await workspace.redo()).unmerged).toEqual([]);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "REFUSED", data: { edited: [{ path: "shared" }] } });
    return false;
  }
}

it("undo and redo of any actions, in any order, leave what the actions in force and a person made", async () => {
  const property = fc.asyncProperty(steps, async (all) => {
    const folder = { folder: 0o755 };
    const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj": folder });
    let mine = 0;
    write(disk, "/proj/shared", modelled([], new Set(), mine)["shared"] ?? "");
    const store = await openSimStore(disk, { firstId: 0 });
    const workspace = await store.open({ folder: "/proj", create: true });
    const done: Done[] = [];
    const undone = new Set<string>();
    /**
     * For each undo that can still be redone, the ids of the actions that it inverted. The newest undo is last. After a
     * new action, no undo can be redone.
     */
    let redoable: (readonly string[])[] = [];
    /** The ids of the actions that a step of the undo stack stands for: an action, or an undo that was redone. */
    const members = new Map<string, readonly string[]>();
    for (const { what, who, which } of all) {
      if (what === "undo" || what === "agent") {
        const chosen = done.filter((one) => !isCovered(one, done, undone));
        const of =
          what === "agent"
            ? done.filter((one) => one.who === who)
            : chosen.slice(which % Math.max(1, chosen.length)).slice(0, 1);
        const taken = of.filter((one) => !undone.has(one.id)).map((one) => one.id);
        if (what === "undo" && of[0] === undefined) continue;
        const result = await workspace.undo(what === "agent" ? { actor: who } : { action: of[0]?.id ?? "" });
        expect(result.unmerged).toEqual([]);
        expect(result.changes.length > 0).toBe(taken.length > 0);
        for (const id of taken) undone.add(id);
        if (taken.length > 0) redoable.push(taken);
        members.set(result.undo_id ?? "", taken);
      } else if (what === "last") {
        const { undoable } = await workspace.recent();
        const taken = (members.get(undoable ?? "") ?? []).filter((id) => !undone.has(id));
        const after = new Set([...undone, ...taken]);
        if (undoable === null || done.some((one) => taken.includes(one.id) && isCovered(one, done, after))) continue;
        const result = await workspace.undo();
        expect([result.unmerged, result.skipped]).toEqual([[], []]);
        for (const id of taken) undone.add(id);
        redoable.push(taken);
        members.set(result.undo_id ?? "", taken);
      } else if (what === "redo") {
        const back = redoable.pop();
        if (back === undefined) continue;
        if (await redone(workspace)) for (const id of back) undone.delete(id);
        else redoable.push(back);
      } else if (what === "mine") {
        mine += 1;
        write(disk, "/proj/shared", modelled(done, undone, mine)["shared"] ?? "");
      } else {
        // Codex has the even places, Claude the odd ones.
        const at = (which % (PLACES / 2)) * 2 + (who === "codex" ? 0 : 1);
        const n = done.length;
        const path = { edit: "shared", create: `own-${n}`, folder: `dir-${n}/own` }[what];
        const id = await workspace.action({ type: "write_file", payload: { path }, actor: who }, (action) => {
          const next = [...done, { id: action?.id ?? "", who, at, what }];
          if (what === "folder") disk.makeFolder(`/proj/dir-${n}`, 0o755);
          write(disk, `/proj/${path}`, modelled(next, undone, mine)[path] ?? "");
          return action?.id ?? "";
        });
        members.set(id, [id]);
        done.push({ id, who, at, what });
        redoable = [];
      }
      expect(present(disk)).toEqual(modelled(done, undone, mine));
      const operations = (await workspace.operations()).filter((one) => one.kind === "action");
      expect(new Set(operations.filter((one) => one.undone).map((one) => one.id))).toEqual(undone);
    }
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    await store.close();
  });
  await fc.assert(property, { numRuns: 30 });
});
