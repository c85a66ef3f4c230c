import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TrackedRoot, WatchHandle } from "./worktree.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../core/filter.ts";
import { watchRoots } from "./watch.ts";

describe("watchRoots", () => {
  let folder: string;
  let handle: WatchHandle | undefined;
  let hints: (readonly string[] | undefined)[];

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "watch-")));
    hints = [];
  });

  afterEach(async () => {
    await handle?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function watch(at = folder, ignored: readonly string[] = []): Promise<void> {
    const root: TrackedRoot = { id: undefined, folder: at, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    handle = await watchRoots({ roots: [root], ignored: () => ignored, onHint: ({ paths }) => hints.push(paths) });
  }

  async function until(condition: () => boolean): Promise<void> {
    const end = performance.now() + 5000;
    while (!condition() && performance.now() < end) await new Promise((done) => setTimeout(done, 10));
    expect(condition()).toBe(true);
  }

  test("hints at what changed, not at excluded folders", async () => {
    mkdirSync(join(folder, "out"));
    mkdirSync(join(folder, "src"));
    await watch(folder, [join(folder, "out")]);
    expect(handle?.degraded).toBe(false);
    writeFileSync(join(folder, "out/x"), "x");
    writeFileSync(join(folder, "src/a"), "a");
    await until(() => hints.flat().includes("src/a"));
    expect(hints.flat()).not.toContain("out/x");
  });

  test("a folder that becomes tracked is watched from then on", async () => {
    mkdirSync(join(folder, "out"));
    let ignored = [join(folder, "out")];
    const root: TrackedRoot = { id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    handle = await watchRoots({ roots: [root], ignored: () => ignored, onHint: ({ paths }) => hints.push(paths) });
    ignored = [];
    writeFileSync(join(folder, ".gitignore"), "");
    await until(() => hints.includes(undefined));
    writeFileSync(join(folder, "out/x"), "x");
    await until(() => hints.flat().includes("out/x"));
  });

  test("where watching is not possible, everything is hinted at, and it says so", async () => {
    await watch(join(folder, "missing"));
    expect(handle?.degraded).toBe(true);
    await until(() => hints.includes(undefined));
  });

  test("after very many events everything is hinted at", async () => {
    await watch();
    mkdirSync(join(folder, "many"));
    for (let i = 0; i < 2500; i += 1) writeFileSync(join(folder, `many/${i}`), "");
    await until(() => hints.includes(undefined));
  });
});
