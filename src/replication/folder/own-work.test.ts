import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../testing/folder-rig.ts";

/** What a folder wrote, and the origin has changed again before the folder heard that it was taken. */

let rig: FolderRig;
afterEach(() => rig.close());

const TELLING = new Set(["Events", "Notification", "WriteBackResult"]);

function typeOf(bytes: Uint8Array): string {
  const frame = Buffer.from(bytes);
  return (JSON.parse(frame.subarray(28, 28 + frame.readUInt32BE(8)).toString()) as { type: string }).type;
}

/** The desk's edit is at the origin, and the desk does not know. */
async function writtenUnheard(): Promise<void> {
  rig = await FolderRig.start({ f: "0", other: "0" });
  await rig.flush();
  const { host, desk } = rig;
  // The wire breaks as soon as the origin has something to tell of it.
  for (let i = 0; i < 50; i += 1) desk.damages.push((frame) => (TELLING.has(typeOf(frame)) ? breaking() : frame));
  const breaking = (): Uint8Array => {
    desk.damages.length = 0;
    desk.cut();
    return new Uint8Array();
  };
  desk.edit("f", "mine");
  for (let i = 0; i < 200 && (await rig.during(host.tree()))["f"] !== "mine"; i += 1) await rig.pass(5);
  expect((await rig.during(host.tree()))["f"]).toBe("mine");
  desk.cut();
}

it("is what the origin has made of it: nothing is disputed", async () => {
  await writtenUnheard();
  const { host, desk } = rig;
  await rig.during(host.write("f", "theirs, made of mine"));
  // So much that it comes in one piece.
  for (let i = 0; i < 40; i += 1) await rig.during(host.write("other", String(i)));
  desk.heal();
  await rig.flush();
  expect(desk.tree()).toMatchObject({ f: "theirs, made of mine" });
  expect(await rig.during(host.tree())).toMatchObject({ f: "theirs, made of mine" });
  expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
});
