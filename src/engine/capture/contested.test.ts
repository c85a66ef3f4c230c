import { expect, test } from "vitest";
import { put } from "../../../test/helpers/engine-sweep.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import type { Context } from "../log/context.ts";
import { capture } from "./capture.ts";

const FOLDER = { folder: 0o755 };

/** Returns a context in which `work` runs once, after the next scan and before anything of that scan is recorded. */
function afterScan(context: Context, work: () => Promise<void>): Context {
  let waiting: (() => Promise<void>) | undefined = work;
  const scan: Context["worktree"]["scan"] = async (...given) => {
    const report = await context.worktree.scan(...given);
    const due = waiting;
    waiting = undefined;
    await due?.();
    return report;
  };
  const worktree = new Proxy(context.worktree, {
    get: (target, key) => {
      const value: unknown = key === "scan" ? scan : Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { ...context, worktree };
}

interface Race {
  /** Edits the folder as a person, before the slow process scans it. */
  readonly before: (disk: SimDisk) => void;
  /** Edits the folder as a person, after that scan. A second process records it before the slow one records its scan. */
  readonly meanwhile: (disk: SimDisk) => void;
  readonly left: readonly string[];
}

const RACES: Readonly<Record<string, Race>> = {
  "a new folder, whose own folder another process has recorded as removed": {
    before: (disk) => disk.makeFolder("/proj/d/new", 0o755),
    meanwhile: (disk) => {
      disk.removeFolder("/proj/d/new");
      disk.unlink("/proj/d/x");
      disk.removeFolder("/proj/d");
    },
    left: ["a"],
  },
  "the removal of a folder, in which another process has recorded a new file": {
    before: (disk) => {
      disk.unlink("/proj/d/x");
      disk.removeFolder("/proj/d");
    },
    meanwhile: (disk) => {
      disk.makeFolder("/proj/d", 0o755);
      put(disk, "/proj/d/y", "1");
    },
    left: ["a", "d", "d/y"],
  },
};

test.each(Object.entries(RACES))(
  "%s, is not recorded from an earlier scan",
  async (_name, { before, meanwhile, left }) => {
    const files = { "/proj/a": "1", "/proj/d/x": "1" };
    const disk = SimDisk.fromTree({ ...files, "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
    const store = await openSimStore(disk, { firstId: 0 });
    const { workspace } = await store.init({ roots: ["/proj"] });
    await using other = await SimEngine.open(disk, workspace.id, { firstId: 10_000 });
    await using slow = await SimEngine.open(disk, workspace.id, { firstId: 20_000 });
    before(disk);
    const context = afterScan(slow.context, async () => {
      meanwhile(disk);
      await capture(other.context, { cause: "capture" });
    });
    await capture(context, { cause: "capture" });
    expect((await workspace.verify()).problems).toEqual([]);
    const { files: found } = await workspace.manifest("now");
    expect(Object.keys(found)).toEqual(left);
    await workspace.close();
    await store.close();
  },
);
