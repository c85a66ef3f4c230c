import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Ran, Sandbox } from "../cli/sandbox.ts";
import { KeptHeads } from "../helpers/kept-heads.ts";

/**
 * One damaged line in the middle of a log. Once this is known, commands say so, and none says that the log is whole
 * or that something does not exist.
 */

const WAYS = /restore the log from a copy.*restore MOMENT.* --to DIR.*forget.* and .*init/s;

interface Damaged {
  readonly box: Sandbox;
  readonly kept: KeptHeads;
  /** Puts the sound log back. */
  readonly heal: () => void;
}

/**
 * Makes four snapshots, and changes one byte in the line of the second (event 5) or in an event that was recorded
 * before it (event 4).
 */
async function damaged(event: number): Promise<Damaged> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  for (const text of ["two\n", "three\n", "four\n"]) {
    box.write("a.txt", text);
    await box.must(["snapshot"]);
  }
  const kept = new KeptHeads({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const sound = readFileSync(kept.log);
  const lines = sound.toString("latin1").split("\n");
  const at = lines.slice(0, event - 1).join("\n").length + 100;
  const bytes = Buffer.from(sound);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(kept.log, bytes);
  return { box, kept, heal: () => writeFileSync(kept.log, sound) };
}

function expectDamaged({ code, stdout, stderr }: Ran, about: string): void {
  expect([about, code]).toEqual([about, 4]);
  expect(stdout + stderr).toMatch(/damaged|cannot be read/);
  expect(stderr).toMatch(WAYS);
}

async function expectKnown({ box, kept }: Damaged): Promise<void> {
  const status = await box.call(["status"]);
  expect(status.stdout).toMatch(
    /^NOT RECORDING: .*the log is damaged at event.*\nread-only .*the log is damaged at event/,
  );
  expect(status.stdout).toMatch(WAYS);
  expect(status.stdout).not.toContain("everything on disk is recorded");
  expectDamaged(await box.call(["snapshot"]), "snapshot");
  const init = await box.call(["init"]);
  expect([init.code, init.stdout + init.stderr]).toEqual([4, expect.stringMatching(/damaged|cannot be read/)]);
  expect(init.stdout).not.toMatch(/^(?:already protected|recorded)/);
  const log = await box.call(["log"]);
  expect(log.stderr).toMatch(/the log is damaged at event/);
  const before = readFileSync(kept.log);
  for (const words of [["rebuild"], ["head", "--accept", "--yes"]])
    expectDamaged(await box.call(words), words.join(" "));
  expect(readFileSync(kept.log)).toEqual(before);
}

describe("Truth 56: a damaged line in the middle of a log", { timeout: 120_000 }, () => {
  it.each([["list"], ["verify"], ["doctor"]])("is reported by status once %s has met it", async (first) => {
    const trial = await damaged(5);
    const { box, heal } = trial;
    using _box = box;
    expect((await box.call([first])).code).not.toBe(0);
    await expectKnown(trial);
    // The index keeps what it knows of later events, so contents behind the line can be read.
    expect((await box.must(["cat", "a.txt"])).stdout).toBe("four\n");
    expect((await box.must(["history", "a.txt"])).stdout).toContain("@4");
    for (const words of [["restore", "2", "--to", join(box.folder, "out")], ["list", "--snapshots"], []])
      expectDamaged(await box.call(words), words.join(" "));
    heal();
    expect((await box.must(["status"])).stdout).not.toContain("read-only");
    box.write("a.txt", "five\n");
    await box.must(["snapshot"]);
    expect((await box.must(["verify"])).stdout).toMatch(/^ok/);
  });

  it("does not keep a later state from being restored if the line is no snapshot", async () => {
    const trial = await damaged(4);
    const { box, kept } = trial;
    using _box = box;
    expect((await box.call(["verify"])).code).toBe(4);
    await expectKnown(trial);
    const out = join(box.folder, "out");
    await box.must(["restore", "2", "--to", out]);
    expect(readFileSync(join(out, "a.txt"), "utf8")).toBe("three\n");
    // This is the other way out that the hint names.
    await box.must(["forget", kept.id, "--yes"]);
    expect((await box.must(["init"])).stdout).toContain("protected");
  });

  it("that is the first one is reported without commands that cannot help", async () => {
    const { box, heal } = await damaged(1);
    using _box = box;
    for (const words of [["verify"], ["restore", "0", "--to", "../out"], ["list"]]) {
      const { code, stderr } = await box.call(words);
      expect([words, code, stderr]).toEqual([words, 4, expect.stringMatching(/from a copy.*forget.* and .*init/s)]);
      expect(stderr).not.toMatch(/chronicle (verify|restore)/);
    }
    heal();
    await box.must(["verify"]);
  });

  it("is reported by each command also if the index is gone", async () => {
    const { box, kept } = await damaged(5);
    using _box = box;
    kept.dropIndex();
    for (const words of [
      ["restore", "2", "--to", join(box.folder, "out")],
      ["show", "2"],
    ])
      expectDamaged(await box.call(words), words.join(" "));
    for (const words of [["list", "--snapshots"], [], ["sessions"], ["log"]]) {
      const { stderr } = await box.call(words);
      expect([words, stderr]).toEqual([words, expect.stringMatching(/the log is damaged at event 5/)]);
    }
    const forgotten = await box.call(["forget", kept.id, "--yes"]);
    expect(forgotten.code).toBe(0);
    expect((await box.must(["init"])).stdout).toContain("protected");
  });
});
