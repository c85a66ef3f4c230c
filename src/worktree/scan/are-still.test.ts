import { beforeEach, expect, test } from "vitest";
import type { Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath, type WorkspacePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { areStill } from "./are-still.ts";
import { HOLDS_ALL } from "../../core/tree/folder-traits.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { entryOf } from "../files/inspect.ts";
import { StatCache } from "./stat-cache.ts";

const LATER_NS = 5_000_000_000n;
/** More paths than are checked in one turn. */
const MANY = 5_000;

let ns = 0n;
let disk = new SimDisk();
let cache = new StatCache();
let looks = 0;

beforeEach(() => {
  ns = 1_700_000_000_000_000_000n;
  disk = new SimDisk({ clock: () => ns });
  for (const folder of ["/base", "/base/d"]) disk.makeFolder(folder);
  cache = new StatCache();
  looks = 0;
});

/** Makes files and puts them into the cache. `afterNs`: the time from the writing of the files to their reading. */
function remembered(count: number, afterNs = LATER_NS): Entry[] {
  return Array.from({ length: count }, (_, i) => {
    const path = parsePath(`d/${i}`);
    disk.close(disk.open(`/base/${path}`, "create", 0o644));
    const stat = disk.lstat(`/base/${path}`);
    if (stat === undefined) throw new Error("it was not made");
    const entry = entryOf(path, stat, sha256(""));
    cache.put({ entry, stat }, ns + afterNs);
    return entry;
  });
}

async function ask(entries: readonly Entry[]): Promise<boolean> {
  const limits = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };
  using fs = new ConfinedFs(disk, "/base");
  const open = { root: { id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits }, fs, traits: HOLDS_ALL };
  const rootOf = (path: WorkspacePath) => {
    looks += 1;
    return { open, inner: path };
  };
  return await areStill({ cache, roots: [open], rootOf }, entries);
}

test("each of many files is inspected once, and other tasks run meanwhile", async () => {
  const entries = remembered(MANY);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  const still = await ask(entries);
  clearInterval(timer);
  expect([still, looks]).toEqual([true, MANY]);
  expect(turns).toBeGreaterThan(0);
});

test("if a file is unknown to the cache, or racy in it, no file is inspected", async () => {
  const entries = remembered(3);
  const racy = parsePath("d/racy");
  disk.close(disk.open("/base/d/racy", "create", 0o644));
  const stat = disk.lstat("/base/d/racy");
  if (stat === undefined) throw new Error("it was not made");
  const entry = entryOf(racy, stat, sha256(""));
  expect([await ask([...entries, entry]), looks]).toEqual([false, 0]);
  cache.put({ entry, stat }, ns);
  expect([await ask([...entries, entry]), looks]).toEqual([false, 0]);
});

test("a folder that is exchanged during the check is noticed", async () => {
  const entries = remembered(MANY);
  const asked = ask(entries);
  disk.rename("/base/d", "/base/away");
  disk.makeFolder("/base/d");
  expect(await asked).toBe(false);
  expect(looks).toBeGreaterThan(0);
});
