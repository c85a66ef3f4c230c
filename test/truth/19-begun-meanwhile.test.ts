import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { Backends } from "../../src/store/backends.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { LateLock } from "../helpers/late-lock.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/**
 * Work that gives something up for good is refused while somebody is at work, even if they begin at the last moment.
 */

interface Lived {
  readonly store: StoreApi;
  readonly workspace: WorkspaceApi;
}

type GiveUp = (lived: Lived) => Promise<unknown>;

const WAYS: readonly (readonly [string, GiveUp])[] = [
  ["compact --drop-archive", ({ workspace }) => workspace.compact({ dropArchive: true })],
  ["erase --now", ({ workspace }) => workspace.erase({ what: "secret", now: true })],
  ["forget --now", ({ store, workspace }) => store.forget(workspace.id, { now: true })],
];

interface Beside {
  readonly project: ClockedProject;
  /** The workspace as somebody else has it open. */
  readonly other: WorkspaceApi;
  /** Called right before a lock of the workspace or of all names is taken. */
  readonly before?: () => Promise<void>;
  /** Called right before an index is opened. */
  readonly openIndex?: () => void;
}

/** Opens a workspace that somebody else has open, and does something with it. */
async function openedBeside(beside: Beside, work: (lived: Lived) => Promise<void>): Promise<void> {
  const { project, other, before, openIndex } = beside;
  const isMeant = (path: string): boolean => path.includes(other.id) || path.endsWith("store/lock.db");
  const backends = storeBackends((usual) => ({
    lock: (path) => {
      const inner = usual.lock(path);
      return before !== undefined && isMeant(path) ? new LateLock(inner, before) : inner;
    },
    openIndex: (path, tell) => {
      openIndex?.();
      return usual.openIndex(path, tell);
    },
  }));
  const late: Backends = { ...backends, now: () => project.now };
  const places = { home: join(project.base, "store"), configFolder: join(project.base, "config"), waitMs: 5_000 };
  const store = await openFileStore(places, late);
  await using _store = { [Symbol.asyncDispose]: () => store.close() };
  await using workspace = await store.open({ folder: project.folder });
  await work({ store, workspace });
}

async function recorded(project: ClockedProject): Promise<WorkspaceApi> {
  project.write("secret", "one\n");
  const workspace = await project.init();
  project.write("secret", "two\n");
  await workspace.snapshot();
  return workspace;
}

/**
 * Begins a transaction right before the work takes a lock for the nth time. Returns whether it began, and whether the
 * work was done.
 */
async function begunBefore(nth: number, giveUp: GiveUp): Promise<{ readonly begun: boolean; readonly done: boolean }> {
  await using project = new ClockedProject();
  const other = await recorded(project);
  let left = Number.POSITIVE_INFINITY;
  const before = async (): Promise<void> => {
    left -= 1;
    if (left === 0) await other.beginTransaction();
  };
  const found = { begun: false, done: true };
  await openedBeside({ project, other, before }, async (lived) => {
    left = nth;
    await giveUp(lived).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "REFUSED" });
      found.done = false;
    });
    found.begun = left <= 0;
  });
  return found;
}

describe("Truth 19: somebody begins meanwhile", { timeout: 600_000 }, () => {
  it.each(WAYS)("%s is refused, whichever lock it takes after that", async (_, work) => {
    const found: boolean[] = [];
    for (let nth = 1; ; nth += 1) {
      const { begun, done } = await begunBefore(nth, work);
      if (!begun) break;
      found.push(done);
    }
    expect(found.length).toBeGreaterThan(0);
    expect(found).toEqual(found.map(() => false));
  });

  it("forget --now is refused if it cannot be found out whether somebody is at work", async () => {
    await using project = new ClockedProject();
    const other = await recorded(project);
    await other.beginTransaction();
    for (let nth = 1, isMore = true; isMore; nth += 1) {
      let left = Number.POSITIVE_INFINITY;
      const openIndex = (): void => {
        left -= 1;
        if (left === 0) throw new ChronicleError("IO", "too many open files");
      };
      await openedBeside({ project, other, openIndex }, async ({ store }) => {
        left = nth;
        await expect(store.forget(other.id, { now: true })).rejects.toThrow(/too many open files|is at work/);
        isMore = left <= 0;
      });
    }
  });
});
