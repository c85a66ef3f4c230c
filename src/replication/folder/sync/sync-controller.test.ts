import { expect, it } from "vitest";
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
  return { syncs, begun, opened };
}

it("what was asked for and not begun when the syncs are closed is begun no more: nobody would end it", async () => {
  const { syncs, begun, opened } = slowToBegin();
  const started = syncs.start({ upstream: "unix:/run/c.sock", folder: "/desk" });
  await syncs.close();
  begun.resolve("w1");
  await expect(started).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(opened).toEqual([]);
});

it("what the system refuses has a code, and a hint", async () => {
  const { syncs, begun } = slowToBegin();
  begun.reject(Object.assign(new Error("ENOSPC: no space left on device, mkdir '/desk'"), { code: "ENOSPC" }));
  await expect(syncs.start({ upstream: "unix:/run/c.sock", folder: "/desk" })).rejects.toMatchObject({
    code: "IO",
    hint: expect.stringContaining("free some space"),
  });
  await syncs.close();
});
