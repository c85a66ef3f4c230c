import { expect, describe, test } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { flipStored } from "../../src/testing/blob-store-rig.ts";
import { putAll, someBytes } from "../../src/testing/blob-store-suite.ts";
import { MemoryJournal } from "../../src/testing/memory-journal.ts";
import { RigOrigin, RigReplica, talk } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { WriteBackRig } from "../../src/testing/write-back-rig.ts";
import { WritingOrigin, writingTalk } from "../../src/testing/writing-talk.ts";

/** Sizes that are too large to be sent along with an event. The second content is a file of its own in the store. */
const SIZES = [
  ["small", 40_000],
  ["large, in a file of its own", 9 * 1024 * 1024],
] as const;

function textOf(bytes: number): string {
  return someBytes(bytes / 2, 7).toString("hex");
}

describe("Truth 16: a side of a replication does not count a damaged content as held", () => {
  test.each(SIZES)("a replica fetches it again from its origin (%s)", async (_, size) => {
    const [clock, origin] = [new VirtualClock(), new RigOrigin()];
    const replica = await RigReplica.start(RigReplica.emptyDisk());
    const text = textOf(size);
    const [hash = sha256("")] = await putAll(replica.blobs, [Buffer.from(text)]);
    flipStored(replica.disk, storeLayout("/home").blobs, hash);
    await origin.write("a.txt", text);
    const going = talk(clock, origin, replica);
    expect(await clock.run(clock.now + 60_000, () => going.origin.acknowledged === origin.head.seq)).toBe(true);
    expect((await replica.blobs.get(hash))?.toString() === text).toBe(true);
    expect(await Array.fromAsync(replica.blobs.verify())).toEqual([]);
    going.link.cut();
  });

  test.each(SIZES)("an origin fetches it again from the replica that writes it (%s)", async (_, size) => {
    const [clock, journal] = [new VirtualClock(), new MemoryJournal()];
    await using rig = await WriteBackRig.create();
    await using origin = new WritingOrigin(rig);
    const replica = await RigReplica.start(RigReplica.emptyDisk());
    const text = textOf(size);
    await rig.write("a.txt", text);
    await rig.write("a.txt", undefined);
    flipStored(rig.disk, storeLayout("/store").blobs, sha256(text));
    // A replica holds the content that it writes.
    await putAll(replica.blobs, [Buffer.from(text)]);
    journal.write("b.txt", text);
    const going = writingTalk(clock, origin, { journal, replica });
    expect(await clock.run(clock.now + 60_000, () => journal.settledTo >= journal.head)).toBe(true);
    going.link.cut();
    await clock.run(clock.now + 100);
    expect(journal.entries.map(({ localSeq }) => journal.answers.get(localSeq))).toEqual([
      expect.not.objectContaining({ reason: expect.anything() }),
    ]);
    expect((await rig.files())["b.txt"] === text).toBe(true);
    expect(await Array.fromAsync(rig.context.blobs.verify())).toEqual([]);
  });
});
