import fc from "fast-check";
import { it } from "vitest";
import { found } from "../../../test/model/model-expect.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../testing/sim-store.ts";

/**
 * Compares undos of random lines of a file, and undos of the rest, with a model. Two agents and a person edit a file in
 * turn, each in places of its own. In the model, each place has its original lines or those of its last edit. So there
 * are no conflicts, and the model needs no merging.
 */

const OWNERS = ["claude", "codex", "person"] as const;

const PLACES = 9;

/** An edit of a place of its owner: how many lines the place has then. Or the undo of lines of what Claude did. */
type Step =
  | { readonly what: "edit"; readonly owner: number; readonly which: number; readonly lines: number }
  | { readonly what: "undo"; readonly from: number; readonly count: number };

const edits = fc.record({
  what: fc.constant("edit" as const),
  owner: fc.nat({ max: OWNERS.length - 1 }),
  which: fc.nat({ max: PLACES / OWNERS.length - 1 }),
  lines: fc.nat({ max: 3 }),
});
const undos = fc.record({
  what: fc.constant("undo" as const),
  from: fc.integer({ min: 1, max: 30 }),
  count: fc.integer({ min: 1, max: 12 }),
});
const histories = fc.record({
  before: fc.array(edits, { minLength: 2, maxLength: 10 }),
  parts: fc.array(fc.oneof({ weight: 3, arbitrary: undos }, edits), { minLength: 1, maxLength: 8 }),
});

/** The places of the file. Claude's places also have what Claude wrote last, while it is undone. */
class Model {
  readonly #places = Array.from({ length: PLACES }, (_, i) => [`place ${i}`]);
  #edits = 0;

  edit(place: number, lines: number): void {
    this.#edits += 1;
    this.#places[place] = Array.from({ length: lines }, (_, i) => `edit ${this.#edits} ${"abc"[i]}`);
  }

  /** Returns Claude's places that are edited and have a line, or for a place without lines its gap, in the range. */
  touched(from: number, to: number): number[] {
    let line = 1;
    return this.#places.flatMap((lines, i) => {
      const at = lines.length === 0 ? [line - 1, line] : [line, line + lines.length - 1];
      line += lines.length + 2;
      const isTouched = Math.max(1, at[0] ?? 0) <= to && from <= (at[1] ?? 0);
      return isTouched && this.isEdited(i) ? [i] : [];
    });
  }

  isEdited(place: number): boolean {
    return OWNERS[place % OWNERS.length] === "claude" && this.#places[place]?.[0] !== `place ${place}`;
  }

  get edited(): number[] {
    return this.#places.flatMap((_, i) => (this.isEdited(i) ? [i] : []));
  }

  /** Sets the places back to their original lines. Returns what they had. */
  reset(places: readonly number[]): ReadonlyMap<number, string[]> {
    const had = new Map(places.map((place) => [place, this.#places[place] ?? []]));
    for (const place of places) this.#places[place] = [`place ${place}`];
    return had;
  }

  bringBack(had: ReadonlyMap<number, string[]>): void {
    for (const [place, lines] of had) this.#places[place] = lines;
  }

  get text(): string {
    return this.#places.flatMap((lines, i) => [...lines, `between ${i}`, `and ${i}`].map((one) => `${one}\n`)).join("");
  }
}

function write(disk: SimDisk, text: string): void {
  if (disk.lstat("/proj/shared") !== undefined) disk.unlink("/proj/shared");
  const fd = disk.open("/proj/shared", "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

function present(disk: SimDisk): string {
  const fd = disk.open("/proj/shared", "read");
  const bytes = Buffer.alloc(disk.fstat(fd).size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return bytes.toString();
}

interface Playing {
  readonly disk: SimDisk;
  readonly workspace: WorkspaceApi;
  readonly model: Model;
  /** For each undo, its id and the lines that it took back. */
  readonly undone: { readonly id: string; readonly had: ReadonlyMap<number, string[]> }[];
}

async function edit(
  { disk, workspace, model, undone }: Playing,
  { owner, which, lines }: Extract<Step, { what: "edit" }>,
) {
  const place = which * OWNERS.length + owner;
  const actor = OWNERS[owner] ?? "person";
  if (actor === "person") {
    model.edit(place, lines);
    write(disk, model.text);
    return;
  }
  // A redo of what Claude did before would be a conflict where Claude has edited the same place again.
  if (actor === "claude") undone.length = 0;
  await workspace.action({ type: "write_file", payload: { path: "shared" }, actor }, () => {
    model.edit(place, lines);
    write(disk, model.text);
  });
}

async function undoLines(playing: Playing, from: number, to: number): Promise<void> {
  const { workspace, model, undone } = playing;
  const places = model.touched(from, to);
  try {
    const done = await workspace.undo({ actor: "claude", file: "shared", fromLine: from, toLine: to });
    found([done.unmerged, done.skipped, done.changes.length]).toEqual([[], [], 1]);
    undone.push({ id: done.undo_id ?? "", had: model.reset(places) });
    found(places.length > 0).toBe(true);
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    found([error.code, places]).toEqual(["NOT_FOUND", []]);
  }
}

async function play(playing: Playing, step: Step): Promise<void> {
  if (step.what === "edit") await edit(playing, step);
  else await undoLines(playing, step.from, step.from + step.count - 1);
  found(present(playing.disk)).toBe(playing.model.text);
}

it("undos of some hunks and an undo of the rest are the undo of the whole, and their redos bring all back", async () => {
  const property = fc.asyncProperty(histories, async ({ before, parts }) => {
    const folder = { folder: 0o755 };
    const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj": folder });
    const model = new Model();
    write(disk, model.text);
    const store = await openSimStore(disk, { firstId: 0 });
    const workspace = await store.open({ folder: "/proj", create: true });
    const playing: Playing = { disk, workspace, model, undone: [] };
    await edit(playing, { what: "edit", owner: 0, which: 0, lines: 1 });
    for (const step of [...before, ...parts]) await play(playing, step);

    const rest = await workspace.undo({ actor: "claude" });
    found([rest.unmerged, rest.skipped]).toEqual([[], []]);
    const had = model.reset(model.edited);
    found(rest.changes.length).toBe(had.size > 0 ? 1 : 0);
    if (rest.undo_id !== null && had.size > 0) playing.undone.push({ id: rest.undo_id, had });
    found(present(disk)).toBe(model.text);
    for (const one of playing.undone.toReversed()) {
      found((await workspace.redo({ operation: one.id })).unmerged).toEqual([]);
      model.bringBack(one.had);
      found(present(disk)).toBe(model.text);
    }
    found((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    await store.close();
  });
  await fc.assert(property, { numRuns: 60 });
});
