import { describe, expect, it } from "vitest";
import { ChronicleError } from "../core/values/errors.ts";
import { syncBridge } from "./sync-bridge.ts";
import type { SyncApi, SyncShape, SyncStart } from "./sync-api.ts";

/**
 * Tests which calls the functions for a desktop client make. A sync itself is tested in
 * `test/server/sync-command.long.test.ts`.
 */

const UPSTREAM = "https://files.example.org";

/** Records the calls that it gets, and keeps one sync for each call of `start`. */
class Ledger implements Pick<SyncApi, "start" | "stop" | "status" | "list" | "resolve"> {
  readonly asked: unknown[] = [];
  readonly #all: SyncShape[] = [];

  async start(options: SyncStart): Promise<SyncShape> {
    this.asked.push(options);
    const { folder, upstream, workspace = "" } = options;
    const counts = { lag: 2, pending: 3, conflicts: 1, applied: 5, head: 7 };
    const id = `replica-${this.#all.length + 1}`;
    const shape: SyncShape = {
      ...{ id, folder, upstream, workspace: `id of ${workspace}`, asked: workspace },
      ...{ mode: "two-way-safe", state: "syncing", peer: upstream, ...counts },
    };
    this.#all.push(shape);
    return shape;
  }

  async stop(id: string): Promise<SyncShape> {
    const found = this.#all.find((one) => one.id === id);
    if (found === undefined) throw new Error("none");
    found.state = "stopped";
    return found;
  }

  async status(folder: string): Promise<SyncShape> {
    const found = this.#all.find((one) => one.folder === folder.replace(/\/$/, ""));
    if (found === undefined) throw new ChronicleError("NOT_FOUND", `there is no sync ${folder}`);
    return found;
  }

  async list(): Promise<SyncShape[]> {
    return this.#all;
  }

  async resolve(...asked: Parameters<SyncApi["resolve"]>): ReturnType<SyncApi["resolve"]> {
    this.asked.push(asked);
    const [id, path, { keep }] = asked;
    return { id, path, kept: keep, conflicts: 0 };
  }
}

function bridgeTo(ledger: Ledger) {
  // The ledger lacks only methods that a bridge never calls.
  return syncBridge({ syncs: ledger as unknown as SyncApi, upstream: `${UPSTREAM}/`, token: "t" });
}

describe("a bridge", () => {
  it.each([
    ["https://FILES.example.org:443", UPSTREAM],
    ["https://files.example.org//", UPSTREAM],
    ["unix:/run/c.sock/", "unix:/run/c.sock/"],
  ])("finds a session again, however the origin's address is spelled (%s)", async (upstream, kept) => {
    const ledger = new Ledger();
    const bridge = syncBridge({ syncs: ledger as unknown as SyncApi, upstream });
    await bridge.start_sync("session-1", "/home/me/one");
    for (const one of await ledger.list()) one.upstream = kept;
    expect(await bridge.sync_status("session-1")).toMatchObject({ state: "syncing" });
    await expect(bridge.start_sync("session-1", "/home/me/two")).rejects.toMatchObject({ code: "REFUSED" });
  });

  it("starts, reports and stops the sync of a session, and finds it by the session's name or the workspace's id", async () => {
    const ledger = new Ledger();
    const { start_sync, sync_status, stop_sync } = bridgeTo(ledger);
    await start_sync("session-1", "/home/me/one");
    expect(ledger.asked).toEqual([
      { upstream: `${UPSTREAM}/`, token: "t", workspace: "session-1", folder: "/home/me/one" },
    ]);
    // The store keeps the address without the slash at the end.
    for (const one of await ledger.list()) one.upstream = UPSTREAM;
    const status = { state: "syncing", peer: `${UPSTREAM}/`, lag: 2, pending: 3, conflicts: 1 };
    expect(await sync_status("session-1")).toEqual(status);
    expect(await sync_status("id of session-1")).toEqual(status);
    await stop_sync("session-1");
    expect(await sync_status("session-1")).toMatchObject({ state: "stopped" });
  });

  it("resolves a conflict in the folder that is synced now, if the session was synced to another folder before", async () => {
    const ledger = new Ledger();
    const bridge = bridgeTo(ledger);
    await bridge.start_sync("session-1", "/home/me/one");
    for (const one of await ledger.list()) one.upstream = UPSTREAM;
    await ledger.stop("replica-1");
    await bridge.start_sync("session-1", "/home/me/two");
    for (const one of await ledger.list()) one.upstream = UPSTREAM;
    await bridge.resolve_conflict("session-1", "a.txt", "keep_local");
    expect(ledger.asked.at(-1)).toEqual(["replica-2", "a.txt", { keep: "local" }]);
  });

  it("refuses a second folder for a session while the first one is synced", async () => {
    const ledger = new Ledger();
    const bridge = bridgeTo(ledger);
    await bridge.start_sync("session-1", "/home/me/one");
    for (const one of await ledger.list()) one.upstream = UPSTREAM;
    await expect(bridge.start_sync("session-1", "/home/me/two")).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("/home/me/one"),
    });
    expect(ledger.asked).toHaveLength(1);
    await bridge.start_sync("session-1", "/home/me/one/");
    await bridge.start_sync("session-2", "/home/me/two");
    expect(ledger.asked).toHaveLength(3);
  });

  it("resolves conflicts by the client's words, and refuses any other word", async () => {
    const ledger = new Ledger();
    const bridge = bridgeTo(ledger);
    await bridge.start_sync("s", "/home/me/one");
    for (const one of await ledger.list()) one.upstream = UPSTREAM;
    await bridge.resolve_conflict("s", "a", "accept_upstream");
    await bridge.resolve_conflict("s", "b", "merge");
    expect(ledger.asked.slice(1)).toEqual([
      ["replica-1", "a", { keep: "upstream" }],
      ["replica-1", "b", { keep: "merge" }],
    ]);
    const wrong = bridge.resolve_conflict("s", "c", "toString" as "merge");
    await expect(wrong).rejects.toMatchObject({ code: "USAGE" });
    await expect(bridge.sync_status("another")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
