import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, writeSim } from "../../../testing/folder-rig.ts";
import { capture } from "../../../engine/capture/capture.ts";
import { historyOf } from "../../../engine/read/history.ts";
import { longestWaitMs } from "../../../engine/capture/quiet-paths.ts";
import { FOLDER } from "../../../testing/sync-machine.ts";
import { FsWatcher } from "./fs-watcher.ts";

/** A folder whose watcher has received all hints of the past: from then on, only hinted paths are scanned. */

let rig: FolderRig;

afterEach(() => rig.close());

async function watched(begin: Readonly<Record<string, string>>): Promise<FolderRig> {
  rig = await FolderRig.start(begin);
  rig.desk.isOrdered = true;
  await rig.flush();
  return rig;
}

describe("a folder that is watched", () => {
  it("has an edit recorded that is made while a scan of everything is planned or under way", async () => {
    const { desk } = await watched({ a: "1", b: "1" });
    await rig.during(desk.sync.pause());
    // Each scan rereads files that were written a moment ago.
    await rig.pass(10_000);
    await rig.during(capture(desk.context, { cause: "capture", paranoid: true }));
    const { context } = desk;
    const turn = Promise.withResolvers<void>();
    const watcher = new FsWatcher({
      ...{ context, debounceMs: 50, timers: rig.clock, onLooked: () => undefined },
      inTurn: (work) => turn.promise.then(work),
    });
    desk.hintEverywhere();
    await watcher.start();
    desk.lookedMs = 300;
    const looking = watcher.look();
    // This edit comes before the scan begins, so another scan is planned.
    desk.edit("a", "2");
    turn.resolve();
    await rig.pass(100);
    desk.edit("b", "2");
    await rig.during(looking);
    await rig.pass(1_000);
    const recorded = await rig.during(historyOf(context, "b"));
    expect(recorded).toHaveLength(2);
    await rig.during(watcher.stop());
  });

  it("is scanned for a waiting caller after the scan of another caller failed", async () => {
    const { desk } = await watched({ a: "1" });
    await rig.during(desk.sync.pause());
    const { context } = desk;
    const watcher = new FsWatcher({
      ...{ context, debounceMs: 50, timers: rig.clock, onLooked: () => undefined },
      inTurn: (work) => rig.clock.wait(100).then(work),
    });
    await watcher.start();
    desk.edit("a", "2");
    desk.machine.plan(({ name, path }) => (name === "write" && path.startsWith("/store") ? { errno: "ENOSPC" } : "go"));
    const failing = watcher.look().catch((error: unknown) => {
      desk.machine.plan(undefined);
      return error;
    });
    const looking = watcher.look();
    expect(await rig.during(failing)).toMatchObject({ code: "IO" });
    await rig.during(looking);
    expect(await rig.during(historyOf(context, "a"))).toHaveLength(2);
    await rig.during(watcher.stop());
  });

  it("has an edit at the origin after a flush, even if the hint of the edit is late", async () => {
    const { desk } = await watched({ a: "1" });
    writeSim(desk.disk, `${FOLDER}/a`, "2");
    desk.hintLate("a");
    await rig.flush();
    expect(await rig.during(rig.host.tree())).toEqual({ a: "2" });
  });

  it("has an edit at the origin after a flush, even without any hint (written by a hard link or a memory map)", async () => {
    const { desk } = await watched({ a: "1" });
    await rig.pass(10_000);
    writeSim(desk.disk, `${FOLDER}/a`, "2");
    await rig.pass(10_000);
    expect(await rig.during(rig.host.tree())).toEqual({ a: "1" });
    await rig.flush();
    expect(await rig.during(rig.host.tree())).toEqual({ a: "2" });
  });

  it("is scanned completely now and then, without a request", async () => {
    const { desk } = await watched({ a: "1" });
    await rig.pass(10_000);
    writeSim(desk.disk, `${FOLDER}/a`, "2");
    await rig.pass(16 * 60_000);
    expect(await rig.during(rig.host.tree())).toEqual({ a: "2" });
  });

  it.each([50, 1_000])(
    "is recorded once a file was quiet for the debounce of %i ms, and not before",
    async (debounceMs) => {
      const { desk } = await watched({ log: "0" });
      await rig.during(desk.sync.pause());
      const { context } = desk;
      const options = { context, debounceMs, timers: rig.clock, onLooked: () => undefined };
      const watcher = new FsWatcher({ ...options, inTurn: (work) => work() });
      await rig.during(watcher.start());
      const recorded = async (): Promise<number> => (await rig.during(historyOf(context, "log"))).length;
      for (let piece = 1; piece <= 200; piece += 1) {
        desk.edit("log", `${piece}`);
        await rig.pass(10);
      }
      expect(await recorded()).toBe(1);
      await rig.pass(debounceMs + 100);
      expect(await recorded()).toBe(2);
      // A path that is never quiet is still recorded now and then.
      const longest = longestWaitMs(debounceMs);
      for (let at = 0; at < longest + 200; at += 20) {
        desk.edit("log", `again ${at}`);
        await rig.pass(20);
      }
      expect(await recorded()).toBe(3);
      await rig.during(watcher.stop());
    },
  );
});
