import { crc32 } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../testing/folder-rig.ts";

let rig: FolderRig;
afterEach(() => rig.close());

const withVersion = (bytes: Uint8Array): Buffer => {
  const frame = Buffer.from(bytes);
  frame[3] = 2;
  return frame;
};

it("a damaged byte of a frame's version is a broken network: it is tried again, and goes on", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.damages.push(withVersion);
  await rig.during(rig.host.write("a", "2"));
  await rig.until(() => rig.desk.tree()["a"] === "2");
  await rig.flush();
  expect(rig.desk.damages).toEqual([]);
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  expect(rig.desk.happened.filter(({ kind }) => kind === "halted")).toEqual([]);
});

it("a frame of another version, whole, halts it: whoever tries again gets the same", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.damages.push((bytes) => {
    const frame = withVersion(bytes);
    frame.writeUInt32BE(crc32(frame.subarray(28), crc32(frame.subarray(0, 24))), 24);
    return frame;
  });
  await rig.until(() => rig.desk.sync.shape.state === "halted");
  expect(rig.desk.sync.shape).toMatchObject({ halted: "format_unsupported" });
});
