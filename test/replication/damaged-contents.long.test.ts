import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import type { ReplicaHold } from "../../src/compose/file-sync-places.ts";
import { Project } from "../helpers/project.ts";
import { pushAll, type Ends } from "../helpers/pushed.ts";
import { filesBelow, flipByte, noise, rot } from "../helpers/rot.ts";
import { storeParts } from "../helpers/store-parts.ts";

/** Contents that are damaged in an origin's store: a replica goes without them, and gets everything else. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** A content that is stored packed in a file of its own. */
const PACKED = Buffer.from(
  noise("packed", 3 * MIB)
    .toString("hex")
    .slice(0, 4.5 * MIB)
    .repeat(2),
);

const DAMAGED: readonly (readonly [how: string, content: Buffer])[] = [
  ["small enough to come with its event", noise("tiny", 2 * KIB)],
  ["in a block with others", noise("small", 100 * KIB)],
  ["in a block of its own", noise("middle", 300 * KIB)],
  ["in a block too long to be sent", noise("long", 5 * MIB)],
  ["in a file of its own", noise("raw", 9 * MIB)],
  ["packed in a file of its own", PACKED],
];

/** Changes a byte of the content in the store, whatever it is stored as. */
function damage(home: string, content: Buffer): void {
  if (content !== PACKED) return rot(home, content);
  const path = filesBelow(join(home, "blobs")).find((one) => one.endsWith(`${sha256(content)}.z`));
  if (path === undefined) throw new Error("the content is not packed");
  flipByte(path, 100 * KIB);
}

/** The origin does not look at its folder, because it might read a new file again, and so repair its content. */
const nothing = async (): Promise<void> => undefined;

describe.each([
  ["of events", false],
  ["of a base", true],
])("a replica that gets the contents %s", (_, isCompacted) => {
  it.each(DAMAGED)("goes without one that is damaged at the origin (%s), and has the others", async (_how, content) => {
    await using project = new Project();
    await using other = new Project();
    for (let i = 0; i < 20; i += 1) project.write(`before/${i}`, `before ${i}\n`);
    project.write("large", noise("large", 400 * KIB));
    const origin = await project.init();
    await origin.putFile("damaged", content);
    if (isCompacted) await origin.compact({ dropArchive: true });
    const last = await origin.putFile("last", Buffer.from("last\n"));
    damage(project.home, content);
    const here = await storeParts(project.home, project.configFolder);
    const there = await storeParts(other.home, other.configFolder);
    const ends: Ends = { here, id: origin.id, there, replica: (await other.init()).id, origin: { look: nothing } };
    const seen = async ({ mirror, context }: ReplicaHold): Promise<void> => {
      expect(mirror.head.seq).toBeGreaterThanOrEqual(last.file?.seq ?? 0);
      expect(await context.blobs.get(sha256("before 7\n"))).toBeDefined();
      expect(await context.blobs.get(sha256("last\n"))).toBeDefined();
      expect(await context.blobs.get(sha256(noise("large", 400 * KIB)))).toBeDefined();
      expect((await context.blobs.has([sha256(content)])).size).toBe(0);
    };
    const talked = await pushAll(ends, seen);
    expect(talked.ends.map(({ error }) => error)).toEqual([undefined, undefined]);
    await here.blobs.close();
    await there.blobs.close();
  });
});
