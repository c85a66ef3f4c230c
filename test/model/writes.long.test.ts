import { expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { optional } from "../../src/util/optional.ts";
import { BACKEND_SETS, storageOf } from "../helpers/backend-sets.ts";
import { text } from "../helpers/content-text.ts";
import { put } from "../helpers/engine-sweep.ts";
import { expectedOf, textOf, type Held, type ModelWrite, type Tree } from "./write-model.ts";

/**
 * Random writes, one at a time and several at once, compared with a model that is a map. Checked are the result of each
 * write, its refusal, what undo and redo bring back, and that a rebuilt index has the same files. In a workspace with a
 * folder, somebody else also edits files.
 */

const RUNS = Number(process.env["MODEL_RUNS"] ?? 12);
const STEPS = 40;

/** Returns a generator of numbers that depend only on the seed. */
function randomOf(seed: number): (below: number) => number {
  let state = (seed + 1) * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return (state >>> 8) % below;
  };
}

type Random = ReturnType<typeof randomOf>;

const pick = <T>(random: Random, all: readonly T[]): T => all[random(all.length)] as T;

function pathOf(random: Random): string {
  return Array.from({ length: 1 + random(3) }, () => pick(random, ["a", "b", "c!", "d"])).join("/");
}

function writeOf(random: Random, tree: Tree): ModelWrite {
  const path = random(3) > 0 && tree.size > 0 ? pick(random, [...tree.keys()]) : pathOf(random);
  const kind = random(10);
  if (kind < 5) {
    const mode = random(3) === 0 ? { mode: pick(random, [0o600, 0o755]) } : {};
    return {
      kind: "put",
      path,
      text: pick(random, ["one", "two", "three", ""]),
      ...mode,
      ...conditionOf(random, tree),
    };
  }
  if (kind === 5) return { kind: "folder", path };
  if (kind < 8) return { kind: "delete", path, ...conditionOf(random, tree) };
  return { kind: "move", path, to: pathOf(random), overwrite: random(2) === 0 };
}

function conditionOf(random: Random, tree: Tree): { ifMatch?: string } {
  if (random(3) > 0) return {};
  const held = pick(random, [...tree.values(), undefined]);
  return { ifMatch: pick(random, ["none", "*", held?.kind === "file" ? sha256(held.text) : ""]) };
}

function ask(
  workspace: WorkspaceApi,
  write: ModelWrite,
): Promise<{ changes: readonly unknown[]; undo_id: string | null }> {
  switch (write.kind) {
    case "put": {
      const { mode, ifMatch } = write;
      return workspace.putFile(write.path, Buffer.from(write.text), {
        ...(mode === undefined ? {} : { permissions: mode }),
        ...(ifMatch === undefined ? {} : { ifMatch }),
      });
    }
    case "folder":
      return workspace.makeFolder(write.path);
    case "delete":
      return workspace.deleteFile(write.path, write.ifMatch === undefined ? {} : { ifMatch: write.ifMatch });
    case "move":
      return workspace.moveFile(write.path, write.to, { overwrite: write.overwrite });
  }
}

async function recorded(workspace: WorkspaceApi): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { path, kind, permissions } of (await workspace.files()).files) {
    const held: Held = {
      kind: kind === "dir" ? "dir" : "file",
      text: await text(await workspace.file(path)),
      mode: permissions,
    };
    found[path] = textOf(held);
  }
  return found;
}

function shown(tree: Tree): Record<string, string> {
  return Object.fromEntries([...tree].map(([path, held]) => [path, textOf(held)]));
}

/**
 * The files, and those before each write that `undo` or `redo` would bring back. An edit empties both lists, because
 * the model does not compute an undo after it.
 */
interface Played {
  tree: Tree;
  readonly before: Tree[];
  readonly undone: Tree[];
}

async function writes(workspace: WorkspaceApi, played: Played, random: Random): Promise<void> {
  const asked: ModelWrite[] = [];
  const expected: string[] = [];
  for (let i = 1 + (random(2) === 0 ? 0 : random(6)); i > 0; i -= 1) {
    const write = writeOf(random, played.tree);
    const result = expectedOf(played.tree, write);
    asked.push(write);
    expected.push("code" in result ? result.code : `${result.changed} changes`);
    if ("code" in result || result.changed === 0) continue;
    played.before.push(played.tree);
    played.undone.length = 0;
    played.tree = result.tree;
  }
  const outcomes = await Promise.allSettled(asked.map((write) => ask(workspace, write)));
  const met = outcomes.map((one) => {
    if (one.status === "fulfilled") return `${one.value.changes.length} changes`;
    return one.reason instanceof ChronicleError ? one.reason.code : String(one.reason);
  });
  expect(met, JSON.stringify(asked)).toEqual(expected);
}

async function step(workspace: WorkspaceApi, played: Played, random: Random): Promise<void> {
  const kind = random(8);
  const back = kind === 0 ? played.before.pop() : undefined;
  const again = kind === 1 ? played.undone.pop() : undefined;
  if (back !== undefined) {
    await workspace.undo();
    played.undone.push(played.tree);
    played.tree = back;
  } else if (again !== undefined) {
    await workspace.redo();
    played.before.push(played.tree);
    played.tree = again;
  } else await writes(workspace, played, random);
}

/** Edits a file as somebody else, or makes one. */
function edit(disk: SimDisk, played: Played, random: Random): void {
  const files = [...played.tree].filter(([, held]) => held.kind === "file").map(([path]) => path);
  const path = random(2) === 0 && files.length > 0 ? pick(random, files) : "edited";
  if (played.tree.get(path)?.kind === "dir") return;
  const content = `edited ${random(1_000)}`;
  put(disk, `/proj/${path}`, content);
  played.tree = new Map([...played.tree, [path, { kind: "file", text: content, mode: 0o644 }]]);
  played.before.length = 0;
  played.undone.length = 0;
}

const folder = { folder: 0o755 };
const seeds = Array.from({ length: RUNS }, (_, seed) => seed);

const cases = BACKEND_SETS.flatMap((set) => seeds.map((seed) => [set, seed] as const));

test.each(cases)("writes to a hosted workspace agree with the model, in %s, seed %i", async (set, seed) => {
  const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder });
  const store = await openSimStore(disk, { firstId: 0, ...optional({ storage: storageOf(set, disk) }) });
  const { workspace } = await store.create();
  const random = randomOf(seed);
  const played: Played = { tree: new Map(), before: [], undone: [] };
  for (let i = 0; i < STEPS; i += 1) {
    await step(workspace, played, random);
    expect(await recorded(workspace), `step ${i}`).toEqual(shown(played.tree));
  }
  await workspace.rebuild();
  expect(await recorded(workspace)).toEqual(shown(played.tree));
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.close();
  await store.close();
});

test.each(cases)(
  "writes beside a folder that somebody else edits agree with the model, in %s, seed %i",
  async (set, seed) => {
    const disk = SimDisk.fromTree({ "/proj": folder, "/store": folder, "/config": folder, "/root": folder });
    const store = await openSimStore(disk, { firstId: 0, ...optional({ storage: storageOf(set, disk) }) });
    const workspace = await store.open({ folder: "/proj", create: true });
    const random = randomOf(seed + 1_000);
    const played: Played = { tree: new Map(), before: [], undone: [] };
    for (let i = 0; i < STEPS; i += 1) {
      if (random(5) === 0) edit(disk, played, random);
      else await step(workspace, played, random);
      expect((await workspace.status()).changes.length, `step ${i}`).toBeLessThanOrEqual(1);
      await workspace.snapshot();
      expect(await recorded(workspace), `step ${i}`).toEqual(shown(played.tree));
    }
    expect((await workspace.status()).changes).toEqual([]);
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    await store.close();
  },
);
