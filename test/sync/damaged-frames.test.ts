import { crc32 } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { SyncEvent } from "../../src/replication/folder/sync/cycle-loop.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { PROTOCOL_VERSION } from "../../src/replication/protocol/limits.ts";

let rig: FolderRig;
afterEach(() => rig.close());

const withVersion = (bytes: Uint8Array): Buffer => {
  const frame = Buffer.from(bytes);
  frame[3] = PROTOCOL_VERSION + 1;
  return frame;
};

/** Writes the checksum that the frame must have. */
const sealed = (frame: Buffer): Buffer => {
  frame.writeUInt32BE(crc32(frame.subarray(28), crc32(frame.subarray(0, 24))), 24);
  return frame;
};

/** Replaces a frame by a control frame that is correct except for what it says. */
const saying =
  (head: object) =>
  (bytes: Uint8Array): Buffer => {
    const text = Buffer.from(JSON.stringify(head));
    const frame = Buffer.concat([Buffer.from(bytes).subarray(0, 28), text]);
    frame[4] = 1;
    frame.writeUInt32BE(text.length, 8);
    frame.writeUInt32BE(0, 12);
    return sealed(frame);
  };

const halts = (happened: readonly SyncEvent[]) => happened.filter(({ kind }) => kind === "halted");

it("a damaged version byte of a frame counts as a broken network: the sync tries again, and continues", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.damages.push(withVersion);
  await rig.during(rig.host.write("a", "2"));
  await rig.until(() => rig.desk.tree()["a"] === "2");
  await rig.flush();
  expect(rig.desk.damages).toEqual([]);
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  expect(halts(rig.desk.happened)).toEqual([]);
});

it("an origin of another version halts the sync, because another try would get the same", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.damages.push((bytes) => sealed(withVersion(bytes)));
  rig.desk.cut();
  rig.desk.heal();
  await rig.until(() => rig.desk.sync.shape.state === "halted");
  expect(rig.desk.sync.shape).toMatchObject({ halted: "format_unsupported" });
});

describe("a forged frame, correct except for what it says, ends the conversation and not the sync", () => {
  it.each([
    ["no message", { type: "Nonsense" }],
    ["a message without its fields", { type: "Heartbeat" }],
    ["a message that no origin sends", { type: "Ack", up_to_sequence: 1 }],
    [
      "a message that names a path outside of the workspace",
      { type: "TreeResponse", sequence: 1, folders: [{ path: "../x" }] },
    ],
    ["another version, in the middle of a conversation", undefined],
    ["an error of the origin about this side", { type: "Error", code: "USAGE", message: "what?", fatal: true }],
  ])("%s", async (_, head) => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    rig.desk.damages.push(head === undefined ? (bytes) => sealed(withVersion(bytes)) : saying(head));
    await rig.until(() => rig.desk.sync.shape.state === "offline");
    expect(rig.desk.sync.shape.reason).toMatch(head?.type === "Error" ? /the other side says: what/ : /must not: /);
    await rig.during(rig.host.write("a", "2"));
    await rig.until(() => rig.desk.tree()["a"] === "2");
    await rig.flush();
    expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
    expect(halts(rig.desk.happened)).toEqual([]);
  });

  it("an origin that forges again and again is asked more and more rarely, and works again once it stops", async () => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    const forge = saying({ type: "Nonsense" });
    const forger = rig.desk.sync.happened.listen(() => {
      if (rig.desk.sync.shape.state !== "offline" && rig.desk.damages.length === 0) rig.desk.damages.push(forge);
    });
    rig.desk.damages.push(forge);
    const from = rig.clock.now;
    await rig.pass(60_000);
    const dialled = rig.desk.dialled.map((at) => at - from);
    const early = dialled.filter((at) => at >= 0 && at < 10_000).length;
    const late = dialled.filter((at) => at >= 45_000).length;
    expect(late).toBeGreaterThan(0);
    expect(late).toBeLessThanOrEqual(3);
    expect(early).toBeGreaterThan(late);
    expect(rig.desk.sync.shape).toMatchObject({ state: "offline" });
    expect(halts(rig.desk.happened)).toEqual([]);
    forger[Symbol.dispose]();
    rig.desk.damages.length = 0;
    await rig.during(rig.host.write("a", "2"));
    await rig.flush();
    expect(rig.desk.tree()["a"]).toBe("2");
  });

  it("an error FORBIDDEN halts the sync", async () => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    rig.desk.damages.push(saying({ type: "Error", code: "FORBIDDEN", message: "go", fatal: true }));
    await rig.until(() => rig.desk.sync.shape.state === "halted");
    expect(rig.desk.sync.shape).toMatchObject({ halted: "forbidden" });
  });
});
