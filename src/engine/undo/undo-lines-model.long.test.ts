import fc from "fast-check";
import { it } from "vitest";
import { found } from "../../../test/model/model-expect.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../testing/sim-store.ts";

/**
 * Compares undos of random lines of two files, and undos of the rest, with a model. Two agents and a person edit the
 * files in turn, each in places of its own. In the model, each place has its original lines or those of its last edit.
 * So there are no conflicts, and the model needs no merging. An undo is about lines of one file, of both files, or about
 * lines of one and all of the other.
 */

const FILES = ["one", "two"] as const;
type File = (typeof FILES)[number];

const OWNERS = ["claude", "codex", "person"] as const;

const PLACES = 9;

/** An edit of a place of its owner: how many lines the place has then. Or the undo of lines of what Claude did. */
type Step =
  | {
      readonly what: "edit";
      readonly file: File;
      readonly owner: number;
      readonly which: number;
      readonly lines: number;
    }
  | { readonly what: "undo"; readonly parts: readonly Part[] };

/** Lines of a file, or all of it. */
interface Part {
  readonly file: File;
  readonly from: number;
  readonly count: number;
  readonly isWhole: boolean;
}

const edits = fc.record({
  what: fc.constant("edit" as const),
  file: fc.constantFrom(...FILES),
  owner: fc.nat({ max: OWNERS.length - 1 }),
  which: fc.nat({ max: PLACES / OWNERS.length - 1 }),
  lines: fc.nat({ max: 3 }),
});
const parts = fc.record({
  file: fc.constantFrom(...FILES),
  from: fc.integer({ min: 1, max: 30 }),
  count: fc.integer({ min: 1, max: 12 }),
  isWhole: fc.nat({ max: 4 }).map((one) => one === 0),
});
const undos = fc.record({
  what: fc.constant("undo" as const),
  parts: fc.array(parts, { minLength: 1, maxLength: 3 }),
});
const histories = fc.record({
  before: fc.array(edits, { minLength: 2, maxLength: 10 }),
  parts: fc.array(fc.oneof({ weight: 3, arbitrary: undos }, edits), { minLength: 1, maxLength: 8 }),
});

/** The places of a file. Claude's places also have what Claude wrote last, while it is undone. */
class Model {
  readonly #places = Array.from({ length: PLACES }, (_, i) => [`place ${i}`]);
  #edits = 0;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  edit(place: number, lines: number): void {
    this.#edits += 1;
    this.#places[place] = Array.from({ length: lines }, (_, i) => `${this.#name} ${this.#edits} ${"abc"[i]}`);
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

function write(disk: SimDisk, file: File, text: string): void {
  if (disk.lstat(`/proj/${file}`) !== undefined) disk.unlink(`/proj/${file}`);
  const fd = disk.open(`/proj/${file}`, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

function present(disk: SimDisk): string[] {
  return FILES.map((file) => {
    const fd = disk.open(`/proj/${file}`, "read");
    const bytes = Buffer.alloc(disk.fstat(fd).size);
    disk.read(fd, bytes, 0);
    disk.close(fd);
    return bytes.toString();
  });
}

/** For each file, the places that were set back, with the lines that they had. */
type Had = ReadonlyMap<File, ReadonlyMap<number, string[]>>;

interface Playing {
  readonly disk: SimDisk;
  readonly workspace: WorkspaceApi;
  readonly models: Readonly<Record<File, Model>>;
  /** For each undo, its id and the lines that it took back. */
  readonly undone: { readonly id: string; readonly had: Had }[];
}

async function edit(
  { disk, workspace, models, undone }: Playing,
  { file, owner, which, lines }: Extract<Step, { what: "edit" }>,
) {
  const place = which * OWNERS.length + owner;
  const actor = OWNERS[owner] ?? "person";
  const model = models[file];
  if (actor === "person") {
    model.edit(place, lines);
    write(disk, file, model.text);
    return;
  }
  // A redo of what Claude did before would be a conflict where Claude has edited the same place again.
  if (actor === "claude") undone.length = 0;
  await workspace.action({ type: "write_file", payload: { path: file }, actor }, () => {
    model.edit(place, lines);
    write(disk, file, model.text);
  });
}

/** Returns the places that an undo of the parts sets back; `undefined` if Claude's work has nothing at one of them. */
function placesOf(models: Playing["models"], given: readonly Part[]): ReadonlyMap<File, readonly number[]> | undefined {
  const found = new Map<File, readonly number[]>();
  const wholes = new Set(given.flatMap(({ file, isWhole }) => (isWhole ? [file] : [])));
  for (const { file, from, count } of given) {
    const model = models[file];
    // All of a file includes its lines.
    const places = wholes.has(file) ? model.edited : model.touched(from, from + count - 1);
    if (places.length === 0) return undefined;
    found.set(file, [...new Set([...(found.get(file) ?? []), ...places])]);
  }
  return found;
}

function resetAll(models: Playing["models"], places: ReadonlyMap<File, readonly number[]>): Had {
  return new Map([...places].map(([file, some]) => [file, models[file].reset(some)]));
}

async function undoParts(playing: Playing, given: readonly Part[]): Promise<void> {
  const { workspace, models, undone } = playing;
  const places = placesOf(models, given);
  const asked = given.map(({ file, from, count, isWhole }) =>
    isWhole ? { file } : { file, fromLine: from, toLine: from + count - 1 },
  );
  try {
    const done = await workspace.undo({ actor: "claude", parts: asked });
    found([done.unmerged, done.skipped, done.changes.map(({ path }) => path)]).toEqual([
      ...[[], []],
      FILES.filter((file) => places?.has(file) === true),
    ]);
    if (places === undefined) return;
    undone.push({ id: done.undo_id ?? "", had: resetAll(models, places) });
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    found([error.code, places]).toEqual(["NOT_FOUND", undefined]);
  }
}

async function play(playing: Playing, step: Step): Promise<void> {
  if (step.what === "edit") await edit(playing, step);
  else await undoParts(playing, step.parts);
  found(present(playing.disk)).toEqual(textsOf(playing));
}

const textsOf = ({ models }: Playing): string[] => FILES.map((file) => models[file].text);

it("undos of some hunks and an undo of the rest are the undo of the whole, and their redos bring all back", async () => {
  const property = fc.asyncProperty(histories, async ({ before, parts: steps }) => {
    const folder = { folder: 0o755 };
    const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj": folder });
    const models = { one: new Model("one"), two: new Model("two") };
    for (const file of FILES) write(disk, file, models[file].text);
    const store = await openSimStore(disk, { firstId: 0 });
    const workspace = await store.open({ folder: "/proj", create: true });
    const playing: Playing = { disk, workspace, models, undone: [] };
    await edit(playing, { what: "edit", file: "one", owner: 0, which: 0, lines: 1 });
    for (const step of [...before, ...steps]) await play(playing, step);

    const rest = await workspace.undo({ actor: "claude" });
    found([rest.unmerged, rest.skipped]).toEqual([[], []]);
    const left = new Map(FILES.map((file) => [file, models[file].edited]));
    const changed = FILES.filter((file) => left.get(file)?.length !== 0);
    const had = resetAll(models, left);
    found(rest.changes.map(({ path }) => path)).toEqual(changed);
    if (rest.undo_id !== null && changed.length > 0) playing.undone.push({ id: rest.undo_id, had });
    found(present(disk)).toEqual(textsOf(playing));
    for (const one of playing.undone.toReversed()) {
      found((await workspace.redo({ operation: one.id })).unmerged).toEqual([]);
      for (const [file, places] of one.had) models[file].bringBack(places);
      found(present(disk)).toEqual(textsOf(playing));
    }
    found((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    await store.close();
  });
  await fc.assert(property, { numRuns: 60 });
});
