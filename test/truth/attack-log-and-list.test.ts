import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

async function seqs(box: Sandbox, ...words: string[]): Promise<number[]> {
  return ((await box.json(["log", ...words])).value as { seq: number }[]).map(({ seq }) => seq);
}

describe("Truth: log --limit gives the newest", () => {
  it("in the order of the log, as text and as JSON; with --from the first from there on", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    for (const text of ["1", "2", "3"]) {
      box.write("a", text);
      await box.must(["snapshot"]);
    }
    const all = await seqs(box);
    const [first, second, third] = all;
    expect(await seqs(box, "--limit", "2")).toEqual(all.slice(-2));
    expect(await seqs(box, "--limit", "2", "--reverse")).toEqual(all.slice(-2).toReversed());
    expect(await seqs(box, "--limit", "2", "--to", String(third))).toEqual([second, third]);
    expect(await seqs(box, "--limit", "2", "--from", String(first))).toEqual([first, second]);
    expect(await seqs(box, "--limit", "1", "--prefix", "file:a")).toEqual(
      (await seqs(box, "--prefix", "file:a")).slice(-1),
    );
    expect(await seqs(box, "--limit", "0")).toEqual(all);
    const lines = (await box.must(["log", "--limit", "2"])).stdout.trimEnd().split("\n");
    expect(lines.map((line) => Number.parseInt(line.trim(), 10))).toEqual(all.slice(-2));
  });
});

describe("Truth: list offers undo only where something can be undone", () => {
  it("not after init alone, nor where all was undone", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    const offers = async (): Promise<boolean> =>
      (await box.must(["list"])).stdout.includes("chronicle undo takes back");
    expect([await offers(), (await box.call(["undo"])).code]).toEqual([false, 3]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > a"]);
    expect(await offers()).toBe(true);
    await box.must(["undo"]);
    expect([await offers(), (await box.call(["undo"])).code]).toEqual([false, 3]);
    await box.must(["redo"]);
    expect(await offers()).toBe(true);
  });
});
