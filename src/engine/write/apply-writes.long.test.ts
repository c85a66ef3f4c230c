import { describe, expect, it } from "vitest";
import type { SealedEvent } from "../../core/values/event.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import type { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { openIntents, settle } from "../capture/operate.ts";
import { readRange } from "../log/read-events.ts";
import { verify } from "../upkeep/verify.ts";

function save(disk: SimDisk, path: string, text: string): void {
  const fd = disk.open(path, "update", 0o644);
  disk.truncate(fd, 0);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

function contentOf(disk: SimDisk, path: string): string {
  const fd = disk.open(path, "read");
  const bytes = Buffer.alloc(disk.fstat(fd).size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return bytes.toString();
}

async function eventsAfter({ context }: WriteBackRig, seq: number): Promise<string[]> {
  const found: string[] = [];
  for await (const { recordId, record } of readRange(context, seq + 1, (await context.index.head()).seq)) {
    const what = recordId.startsWith("intent:") ? `intent ${JSON.stringify(record["state"])}` : recordId;
    found.push(`${what} ${typeof record["iteration"] === "number" ? record["iteration"] : ""}`.trim());
  }
  return found;
}

describe("a write that is alone", () => {
  it("is decided with one append, reported to the listeners of `decided`, and then put into the folder", async () => {
    await using origin = await WriteBackRig.create({ a: "one" });
    const { seq } = await origin.context.index.head();
    const told: string[] = [];
    const names = (events: readonly SealedEvent[]): string => events.map((one) => one.recordId.split(":")[0]).join(" ");
    origin.context.decided.listen(({ events }) => {
      told.push(`copies: ${names(events)}; ${contentOf(origin.disk, "/proj/a")}`);
    });
    origin.context.recorded.listen(({ events }) => {
      told.push(`all: ${names(events)}; ${contentOf(origin.disk, "/proj/a")}`);
    });
    await origin.write("a", "two");
    expect(told).toEqual(["copies: intent file; one", "all: intent file intent; two"]);
    expect(await eventsAfter(origin, seq)).toEqual(['intent "open"', "file:a 2", 'intent "done"']);
    expect(await openIntents(origin.context)).toEqual([]);
  });

  it("creates the missing folders of its path", async () => {
    await using origin = await WriteBackRig.create({});
    const { seq } = await origin.context.index.head();
    await origin.write("made/deep/a", "x");
    const files = ["file:made 1", "file:made/deep 1", "file:made/deep/a 1"];
    expect(await eventsAfter(origin, seq)).toEqual(['intent "open"', ...files, 'intent "done"']);
    expect(contentOf(origin.disk, "/proj/made/deep/a")).toBe("x");
  });

  it("is abandoned if somebody saves the file just as it is decided, and is done after that save is recorded", async () => {
    await using origin = await WriteBackRig.create({ a: "one" });
    await origin.write("a", "first");
    const { seq } = await origin.context.index.head();
    using _once = origin.context.decided.listen(() => {
      if (contentOf(origin.disk, "/proj/a") === "first") save(origin.disk, "/proj/a", "saved");
    });
    await origin.write("a", "second");
    expect(await eventsAfter(origin, seq)).toEqual([
      'intent "open"',
      "file:a 3",
      "file:a 4",
      'intent "abandoned"',
      "file:a 5",
      'intent "open"',
      "file:a 6",
      'intent "done"',
    ]);
    const texts: (string | undefined)[] = [];
    for (let at = seq + 1; at <= (await origin.context.index.head()).seq; at += 1) {
      const entry = (await origin.context.index.iterationAt(parsePath("a"), at))?.entry;
      texts.push(entry?.hash === undefined ? undefined : (await origin.context.blobs.get(entry.hash))?.toString());
    }
    expect([...new Set(texts)]).toEqual(["first", "second", "saved"]);
    expect(contentOf(origin.disk, "/proj/a")).toBe("second");
    expect((await verify(origin.context)).problems).toEqual([]);
  });

  it("leaves no event and no change if the disk is full before it is decided", async () => {
    await using origin = await WriteBackRig.create({ a: "one" });
    const { seq } = await origin.context.index.head();
    origin.disk.plan = ({ name, path }) =>
      name === "open" && /^\/proc\/.*\/0$/.test(path) ? { errno: "ENOSPC" } : "go";
    await expect(origin.write("a", "two")).rejects.toMatchObject({ code: "REFUSED" });
    expect((await origin.context.index.head()).seq).toBe(seq);
    expect(contentOf(origin.disk, "/proj/a")).toBe("one");
  });
});

it("crash sweep: reported events stay in the log, and their write is in the folder after the next start", async () => {
  const prepared = await WriteBackRig.create({ a: "one" });
  const { workspaceId } = prepared;
  const start = prepared.disk.crash("keep");
  await prepared[Symbol.asyncDispose]();
  let finished = 0;
  const result = await sweepCrashes<{ readonly seq: number; readonly hash: string }>({
    prepare: () => start,
    run: async (disk, acknowledge) => {
      await using origin = await WriteBackRig.open(disk, workspaceId);
      origin.context.decided.listen(({ events }) => events.forEach(({ seq, hash }) => acknowledge({ seq, hash })));
      await origin.write("a", "two");
    },
    check: async (disk, { acknowledged, errno }) => {
      await using origin = await WriteBackRig.open(disk, workspaceId);
      for (const { seq, hash } of acknowledged) expect((await origin.context.index.locate(seq))?.hash).toBe(hash);
      finished += (await settle(origin.context)).length;
      const isDone = contentOf(disk, "/proj/a") === "two";
      if (acknowledged.length > 0 && errno === undefined) expect(isDone).toBe(true);
      const recorded = await origin.context.index.iterationAt(parsePath("a"), (await origin.context.index.head()).seq);
      expect(recorded?.entry?.hash).toBe(sha256(isDone ? "two" : "one"));
      expect((await verify(origin.context)).problems.filter(({ kind }) => kind !== "torn-tail")).toEqual([]);
    },
  });
  expect(result.points).toBeGreaterThan(20);
  expect(finished).toBeGreaterThan(0);
});
