import { describe, expect, test } from "vitest";
import type { WriteBackEntry } from "../../src/core/records/write-back.ts";
import { WriteBackRig } from "../../src/testing/write-back-rig.ts";

const FILES = {
  ".gitignore": ".env\nbuild/\n*.log\n",
  ".env": "KEY=secret\n",
  ".git/config": "[core]\n",
  "build/out.js": "secret\n",
  "src/a.txt": "a\n",
  "src/.env": "KEY=secret\n",
};

/** Paths that the rules leave out, as a replica may name them. */
const BAIT: readonly (readonly [string, string, string | undefined])[] = [
  ["an ignored file", ".env", "bait"],
  ["the deletion of an ignored file", ".env", undefined],
  ["an ignored file in a recorded folder", "src/.env", "bait"],
  ["a file of an ignored folder", "build/out.js", "bait"],
  ["a file in place of an ignored folder", "build", "bait"],
  ["an ignored folder", "build", "/"],
  ["the deletion of an ignored folder", "build", undefined],
  ["a file in git's folder", ".git/config", "bait"],
  ["git's folder", ".git", "/"],
];

describe("Truth 18: a replica's writes to paths that the rules leave out", () => {
  test.each(BAIT)("%s is refused, and nothing is recorded", async (_, path, content) => {
    await using origin = await WriteBackRig.create(FILES);
    const before = await recorded(origin);
    const answer = await origin.accept([await entryOf(origin, path, content)]);
    expect(answer).toEqual({ accepted: [], rejected: [{ localSeq: 1, reason: "path" }] });
    expect(await recorded(origin)).toEqual(before);
    for (const [at, text] of Object.entries(FILES)) expect(origin.disk.content(`/proj/${at}`)?.toString()).toBe(text);
  });

  test("the deletion or replacement of a folder with an ignored file is refused, and the ignored file stays", async () => {
    for (const content of [undefined, "a file now"]) {
      await using origin = await WriteBackRig.create(FILES);
      const before = await recorded(origin);
      const [src, a] = [await origin.seqOf("src"), await origin.seqOf("src/a.txt")];
      const answer = await origin.accept([
        await origin.entry(1, "src/a.txt", undefined, { seen: a }),
        await origin.entry(2, "src", content, { seen: src }),
      ]);
      expect(answer.accepted).toMatchObject([{ localSeq: 1 }]);
      expect(answer.rejected).toMatchObject([{ localSeq: 2, reason: "path" }]);
      expect(await recorded(origin)).toEqual([...before, "file:src/a.txt"]);
      expect(origin.disk.content("/proj/src/.env")?.toString()).toBe("KEY=secret\n");
    }
  });

  test("a path that does not exist, and one that the replica has written itself, is written all the same", async () => {
    await using origin = await WriteBackRig.create(FILES);
    await origin.accept([await origin.entry(1, "x.log", "one"), await origin.entry(2, "build/new.js", "one")]);
    const seen = [await origin.seqOf("x.log"), await origin.seqOf("build/new.js")] as const;
    expect(Math.min(...seen)).toBeGreaterThan(0);
    const answer = await origin.accept([
      await origin.entry(3, "x.log", "two", { seen: seen[0] }),
      await origin.entry(4, "build/new.js", undefined, { seen: seen[1] }),
    ]);
    expect(answer.rejected).toEqual([]);
    expect(origin.disk.content("/proj/x.log")?.toString()).toBe("two");
    expect(origin.disk.lstat("/proj/build/new.js")).toBeUndefined();
  });
});

async function entryOf(origin: WriteBackRig, path: string, content: string | undefined): Promise<WriteBackEntry> {
  return content === "/" ? origin.entry(1, path, "", { kind: "dir" }) : origin.entry(1, path, content);
}

async function recorded(origin: WriteBackRig): Promise<string[]> {
  return (await origin.events("file")).map(({ recordId }) => recordId);
}
