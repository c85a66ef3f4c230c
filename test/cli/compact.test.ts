import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** The command `chronicle compact`. */

async function lived(box: Sandbox): Promise<void> {
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
}

describe("compact", () => {
  it("moves the log into the archive; old snapshots can still be restored, and heads verified", async () => {
    using box = new Sandbox();
    await lived(box);
    const head = (await box.must(["head"])).stdout;
    expect((await box.must(["compact"])).stdout).toMatch(
      /^5 events moved into the archive; the log goes on with event 6\n/,
    );
    expect((await box.must(["compact"])).stdout).toMatch(/^there was nothing to move/);
    expect((await box.must(["cat", "a.txt@1"])).stdout).toBe("one\n");
    expect((await box.must(["verify", "--expect", "-"], { input: head })).stdout).not.toContain("note:");
    await box.must(["restore", "0"]);
    expect((await box.must(["history", "a.txt", "--json"])).stdout).toContain('"iteration":3');
  });

  it("--drop-archive needs --yes, and reports the removed events", async () => {
    using box = new Sandbox();
    await lived(box);
    const head = (await box.must(["head"])).stdout;
    const refused = await box.call(["compact", "--drop-archive"]);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("--drop-archive --yes")]);
    const done = await box.must(["compact", "--drop-archive", "--yes"]);
    expect(done.stdout).toContain("5 events removed for good: the history begins at event 6");
    const gone = await box.call(["restore", "0"]);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining("compacted away by event 6")]);
    expect((await box.must(["list", "--snapshots"])).stdout).toMatch(/0 .*\(compacted away by event 6\)/);
    expect((await box.must(["restore", "1"])).stdout).not.toBe("");
    const verified = await box.must(["verify", "--expect", "-"], { input: head });
    expect(verified.stdout).toContain("note: events 1..5 were compacted away by event 6");
    const shape = await box.json(["compact", "--drop-archive", "--yes"]);
    expect(shape.value).toMatchObject({ events_archived: 0, seq: 6, archive: null, dropped: 0 });
  });
});
