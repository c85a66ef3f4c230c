import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { StoreApi } from "../../api/store-api.ts";
import { openStore } from "../../open.ts";
import { OpenWorkspaces } from "./open-workspaces.ts";

// `OpenWorkspaces` opens each workspace at most once, and closes it when it is idle. It does not close a workspace that
// is in use, except at its own end (`close`).

class Opened implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), "chronicle-open-"));
  readonly ids: string[] = [];
  opens = 0;
  now = 1_000_000;
  gone = new Set<string>();
  settings = "as it was";
  readonly store: StoreApi;
  readonly workspaces: OpenWorkspaces;

  private constructor(store: StoreApi, base: string, most: number) {
    this.base = base;
    this.store = store;
    const counted: StoreApi = Object.create(store, {
      open: { value: store.open.bind(store) },
      openById: {
        value: (...args: Parameters<StoreApi["openById"]>) => {
          this.opens += 1;
          return store.openById(...args);
        },
      },
    });
    this.workspaces = new OpenWorkspaces(counted, {
      isThere: (id) => !this.gone.has(id),
      now: () => this.now,
      settingsOf: () => Promise.resolve(this.settings),
      most,
    });
  }

  static async with(count: number, most = 100): Promise<Opened> {
    const base = mkdtempSync(join(tmpdir(), "chronicle-open-"));
    const store = await openStore({ home: join(base, "store"), configFolder: join(base, "config") });
    const made = new Opened(store, base, most);
    for (let n = 0; n < count; n += 1) {
      const { workspace } = await store.create({ name: `w${n}` });
      made.ids.push(workspace.id);
      await workspace.close();
    }
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.workspaces.close();
    await this.store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}

const held: Opened[] = [];
async function opened(count: number, most?: number): Promise<Opened> {
  const made = await Opened.with(count, most);
  held.push(made);
  return made;
}
afterEach(async () => {
  for (const one of held.splice(0)) await one[Symbol.asyncDispose]();
});

describe("a workspace that several ask for", () => {
  it("is opened once, by its id or its name, also if all ask at the same time", async () => {
    const { workspaces, ids, ...rest } = await opened(1);
    const leases = await Promise.all(Array.from({ length: 20 }, () => workspaces.openKey("w0")));
    expect(new Set(leases.map(({ workspace }) => workspace)).size).toBe(1);
    using byId = await workspaces.openKey(ids[0] ?? "");
    expect(byId.workspace).toBe(leases[0]?.workspace);
    for (const lease of leases) lease[Symbol.dispose]();
    expect(rest.opens).toBeLessThanOrEqual(1);
  });

  it("is not found by a part of its name or id", async () => {
    const { workspaces, ids } = await opened(1);
    for (const key of ["w", "w00", (ids[0] ?? "").slice(0, 8), ""]) {
      await expect(workspaces.openKey(key)).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
  });
});

describe("an idle workspace", () => {
  it("is closed, and one in use is not", async () => {
    const made = await opened(2);
    const { workspaces } = made;
    const kept = await workspaces.openKey("w0");
    (await workspaces.openKey("w1"))[Symbol.dispose]();
    made.now += 1_000;
    expect(await workspaces.closeIdle(500)).toBe(1);
    expect((await kept.workspace.head()).seq).toBe(3);
    kept[Symbol.dispose]();
    made.now += 1_000;
    expect(await workspaces.closeIdle(500)).toBe(0);
    await expect(kept.workspace.head()).rejects.toMatchObject({ code: "USAGE" });
  });

  it("is closed if too many are open, and the ones that were used longest ago are closed first", async () => {
    const made = await opened(6, 3);
    const using_ = await made.workspaces.openKey("w0");
    for (let n = 1; n < 6; n += 1) {
      made.now += 10_000;
      (await made.workspaces.openKey(`w${n}`))[Symbol.dispose]();
    }
    expect(await made.workspaces.closeIdle(Number.MAX_SAFE_INTEGER)).toBe(3);
    const before = made.opens;
    for (const key of ["w0", "w4", "w5"]) (await made.workspaces.openKey(key))[Symbol.dispose]();
    expect(made.opens).toBe(before);
    (await made.workspaces.openKey("w1"))[Symbol.dispose]();
    expect(made.opens).toBe(before + 1);
    using_[Symbol.dispose]();
  });
});

it("a workspace that fails to close does not keep the others open", async () => {
  const { workspaces } = await opened(3);
  const leases = await Promise.all(["w0", "w1", "w2"].map((key) => workspaces.openKey(key)));
  const [first] = leases;
  if (first === undefined) throw new Error("nothing is open");
  const close = first.workspace.close.bind(first.workspace);
  Object.defineProperty(first.workspace, "close", {
    value: () => close().then(() => Promise.reject(new Error("the disk is sick"))),
  });
  await expect(workspaces.close()).rejects.toThrow("the disk is sick");
  for (const { workspace } of leases) await expect(workspace.head()).rejects.toMatchObject({ code: "USAGE" });
});

describe("the workspace that was used longest ago", () => {
  it("is closed by `closeOldest`, but never one in use or the last one used", async () => {
    const made = await opened(3);
    const { workspaces } = made;
    const inUse = await workspaces.openKey("w0");
    for (const key of ["w1", "w2"]) {
      made.now += 10_000;
      (await workspaces.openKey(key))[Symbol.dispose]();
    }
    made.now += 10_000;
    expect(await workspaces.closeOldest()).toBe(true);
    expect(["w0", "w1", "w2"].map((key) => workspaces.isOpen(key))).toEqual([true, false, true]);
    expect(await workspaces.closeOldest()).toBe(false);
    expect(workspaces.size).toBe(2);
    inUse[Symbol.dispose]();
  });

  it("is not closed right after it was used", async () => {
    const made = await opened(2);
    for (const key of ["w0", "w1"]) {
      made.now += 100;
      (await made.workspaces.openKey(key))[Symbol.dispose]();
    }
    expect(await made.workspaces.closeOldest()).toBe(false);
  });
});

describe("a workspace that is changed by others", () => {
  it("is opened anew, and a caller that still has the old one may finish", async () => {
    const made = await opened(1);
    const old = await made.workspaces.openKey("w0");
    made.settings = "otherwise";
    made.now += 2_000;
    using fresh = await made.workspaces.openKey("w0");
    expect(fresh.workspace).not.toBe(old.workspace);
    expect((await old.workspace.head()).seq).toBe(3);
    old[Symbol.dispose]();
    await expect
      .poll(() =>
        old.workspace.head().then(
          () => "open",
          () => "closed",
        ),
      )
      .toBe("closed");
  });

  it("is opened anew at once after `lookAgain`", async () => {
    const made = await opened(1);
    (await made.workspaces.openKey("w0"))[Symbol.dispose]();
    made.settings = "otherwise";
    (await made.workspaces.openKey("w0"))[Symbol.dispose]();
    expect(made.opens).toBe(1);
    made.workspaces.lookAgain(made.ids[0] ?? "");
    (await made.workspaces.openKey("w0"))[Symbol.dispose]();
    expect(made.opens).toBe(2);
  });

  it("is released before its removal: its followers are told, and its users are waited for", async () => {
    const made = await opened(1);
    const id = made.ids[0] ?? "";
    const lease = await made.workspaces.openKey("w0");
    let isReleased = false;
    const releasing = made.workspaces.release(id).then(() => (isReleased = true));
    expect(lease.gone.aborted).toBe(true);
    await new Promise((done) => setTimeout(done, 60));
    expect(isReleased).toBe(false);
    lease[Symbol.dispose]();
    await releasing;
    await expect(lease.workspace.head()).rejects.toMatchObject({ code: "USAGE" });
    await made.store.forget(id);
    await expect(made.workspaces.openKey("w0")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("is not found once somebody else has removed it", async () => {
    const made = await opened(1);
    (await made.workspaces.openKey("w0"))[Symbol.dispose]();
    made.gone.add(made.ids[0] ?? "");
    await made.store.forget(made.ids[0] ?? "");
    await expect(made.workspaces.openKey("w0")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("is closed after somebody else has removed it, when a folder is opened", async () => {
    const made = await opened(1);
    const lease = await made.workspaces.openKey("w0");
    lease[Symbol.dispose]();
    made.gone.add(made.ids[0] ?? "");
    const folder = join(made.base, "project");
    mkdirSync(folder);
    (await made.workspaces.openFolder(folder, true))[Symbol.dispose]();
    await expect.poll(() => lease.workspace.head().catch((error: unknown) => error)).toMatchObject({ code: "USAGE" });
  });

  it("is never handed out closed, however an opening and a release coincide", async () => {
    const made = await opened(1);
    const id = made.ids[0] ?? "";
    (await made.workspaces.openKey(id))[Symbol.dispose]();
    for (let turns = 0; turns < 30; turns += 1) {
      made.now += 10_000;
      const opening = made.workspaces.openKey(id);
      for (let i = 0; i < turns; i += 1) await Promise.resolve();
      const releasing = made.workspaces.release(id);
      using lease = await opening;
      await lease.workspace.head();
      lease[Symbol.dispose]();
      await releasing;
    }
  });
});
