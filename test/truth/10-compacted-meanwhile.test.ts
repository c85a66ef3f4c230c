import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { openContext } from "../../src/compose/open-context.ts";
import { openParts } from "../../src/compose/open-parts.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import type { EventLog } from "../../src/storage/event-log.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { LateLock } from "../helpers/late-lock.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** A history that is compacted while gc or verify reads it is sound, and they do not say otherwise. */

async function lived(project: ClockedProject): Promise<WorkspaceApi> {
  const workspace = await project.init();
  for (const text of ["1", "2", "3"]) {
    project.write("a", text);
    await workspace.snapshot();
  }
  return workspace;
}

function placesOf({ base }: ClockedProject): { home: string; configFolder: string; waitMs: number } {
  return { home: join(base, "store"), configFolder: join(base, "config"), waitMs: 5_000 };
}

/** Returns the log with `after` done once, right after the first read of the archive. */
function lateLog(log: EventLog, after: () => Promise<unknown>): EventLog {
  let isDone = false;
  const archived: EventLog["archived"] = async () => {
    const found = await log.archived();
    if (!isDone) await after();
    isDone = true;
    return found;
  };
  return new Proxy(log, {
    get: (target, key) => {
      const value: unknown = key === "archived" ? archived : Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("Truth 10: compacted meanwhile", { timeout: 600_000 }, () => {
  it("gc succeeds although the archive was dropped while gc waited", async () => {
    await using project = new ClockedProject();
    const other = await lived(project);
    let isWaiting = false;
    const backends = storeBackends(({ lock }) => ({
      lock: (path) =>
        new LateLock(lock(path), async () => {
          if (!isWaiting || !path.endsWith("gc.db")) return;
          isWaiting = false;
          project.write("a", "4");
          await other.compact({ dropArchive: true });
        }),
    }));
    const store = await openFileStore(placesOf(project), { ...backends, now: () => project.now });
    isWaiting = true;
    await store.gc();
    expect(isWaiting).toBe(false);
    await store.close();
    expect((await other.verify()).problems).toEqual([]);
  });

  it("verify finds no problem in a base that was made while verify began", async () => {
    await using project = new ClockedProject();
    const other = await lived(project);
    const parts = await openParts(placesOf(project), { ...storeBackends(), now: () => project.now });
    const { context, close } = await openContext(parts, other.id, { tasks: storeTasks(parts, other.id) });
    const log = lateLog(context.log, () => other.compact());
    expect(await verify({ ...context, log })).toMatchObject({ ok: true, problems: [] });
    await close();
    expect((await other.verify()).problems).toEqual([]);
  });
});
