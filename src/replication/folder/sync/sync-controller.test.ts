import { expect, it } from "vitest";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { SyncController } from "./sync-controller.ts";
import type { SyncPlaces } from "./sync-places.ts";

/** Returns a store in which beginning a folder takes time. */
function slowToBegin() {
  const begun = Promise.withResolvers<string>();
  const opened: string[] = [];
  const places: SyncPlaces = {
    list: async () => [],
    begin: () => begun.promise,
    open: async (id) => {
      opened.push(id);
      throw new Error("nothing is to be opened");
    },
    keepToken: () => undefined,
    find: async () => undefined,
    tokenOf: () => undefined,
    dial: async () => {
      throw new ChronicleError("UNAVAILABLE", "nobody is there");
    },
    connect: async () => {
      throw new Error("nobody is to be asked");
    },
  };
  const onError = (error: unknown): void => {
    throw error;
  };
  const syncs = new SyncController({ places, now: () => 0, random: () => 0.5, onError });
  return { syncs, begun, opened, places };
}

it("a sync that is still being started when the controller is closed is not opened", async () => {
  const { syncs, begun, opened } = slowToBegin();
  const started = syncs.start({ upstream: "unix:/run/c.sock", folder: "/desk" });
  await syncs.close();
  begun.resolve("w1");
  await expect(started).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(opened).toEqual([]);
});

it("a sync that could not be continued says why, and is tried again", async () => {
  const record: ReplicaRecord = {
    ...{ origin: "o", sandboxId: "s", url: "unix:/run/c.sock", applied: 3, settled: 3 },
    ...{ mode: "two-way-safe", filterTo: [], filterFrom: [] },
  };
  const { places } = slowToBegin();
  const noted: unknown[] = [];
  const failure = new ChronicleError("IO", "the disk is gone", { hint: "mount it" });
  let refusal: Error = failure;
  const timers: (() => void)[] = [];
  const syncs = new SyncController({
    places: {
      ...places,
      list: async () => [{ id: "w1", folder: "/desk", record, conflicts: [] }],
      open: () => Promise.reject(refusal),
    },
    ...{ now: () => 0, random: () => 0.5, onError: (error) => noted.push(error) },
    timers: {
      now: 0,
      after: (_ms, run) => {
        timers.push(run);
        return { [Symbol.dispose]: () => undefined };
      },
    },
  });
  await syncs.takeUp();
  const [told] = await syncs.list();
  expect(told).toMatchObject({
    state: "offline",
    reason: expect.stringContaining("the disk is gone"),
    hint: "mount it",
  });
  expect(told).not.toHaveProperty("elsewhere");
  expect([noted, timers.length]).toEqual([[failure], 1]);

  // The same failure is reported only once.
  await syncs.takeUp();
  expect(noted).toEqual([failure]);
  refusal = new ChronicleError("LOCKED", "another one has it");
  await syncs.takeUp();
  expect(await syncs.list()).toMatchObject([{ elsewhere: true, reason: "another process runs it" }]);
  await syncs.close();
});

it("an error of the system gets a code and a hint", async () => {
  const { syncs, begun } = slowToBegin();
  begun.reject(Object.assign(new Error("ENOSPC: no space left on device, mkdir '/desk'"), { code: "ENOSPC" }));
  await expect(syncs.start({ upstream: "unix:/run/c.sock", folder: "/desk" })).rejects.toMatchObject({
    code: "IO",
    hint: expect.stringContaining("free some space"),
  });
  await syncs.close();
});
