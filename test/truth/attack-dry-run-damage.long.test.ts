import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Ran, Sandbox } from "../cli/sandbox.ts";
import { noise, rot } from "../helpers/rot.ts";

/** A dry run ends as the command does, also if the history is read-only or a content that it needs is damaged. */

const endOf = ({ code, stderr }: Ran): { code: number | null; first: string | undefined } => ({
  code,
  first: stderr.split("\n")[0],
});

async function expectSame(box: Sandbox, args: readonly string[], code: number): Promise<void> {
  const dry = await box.call([...args, "--dry-run"]);
  const real = await box.call(args);
  expect([args, endOf(dry)]).toEqual([args, endOf(real)]);
  expect([args, dry.code]).toEqual([args, code]);
}

const CONTENT = noise("what an undo needs", 4_000);

describe("Truth: a dry run in a read-only or damaged history", () => {
  it("ends as the command does if an older store was put back", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 2 > a"]);
    const backup = join(box.folder, "backup");
    cpSync(box.store, backup, { recursive: true });
    const [ran] = (await box.json(["sessions"])).value as [{ session_id: string }];
    const session = ran.session_id;
    await box.must(["run", "--", "sh", "-c", "echo 3 > a"]);
    rmSync(box.store, { recursive: true });
    cpSync(backup, box.store, { recursive: true });
    for (const args of [
      ["undo"],
      ["undo", "--session", session],
      ["redo"],
      ["restore", "baseline"],
      ["restore", "baseline", "a"],
    ])
      await expectSame(box, args, 4);
    // Commands that only read still work.
    await box.must(["restore", "baseline", "--to", join(box.folder, "out"), "--dry-run"]);
    await box.must(["restore", "baseline", "--to", join(box.folder, "out")]);
  });

  it.each([
    ["undo", ["undo"]],
    ["undo of one file", ["undo", "--file", "a"]],
    ["restore", ["restore", "baseline"]],
    ["restore of one path", ["restore", "baseline", "a"]],
  ] as const)("ends as the command does if the content for an %s is damaged", async (_what, args) => {
    using box = new Sandbox();
    box.write("a", CONTENT);
    box.write("b", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 2 > a; echo 2 > b"]);
    rot(box.store, CONTENT);
    const forcedDry = await box.call([...args, "--force", "--dry-run"]);
    await expectSame(box, args, 4);
    const forced = await box.call([...args, "--force", "-y"]);
    expect(forced.code).toBe(forcedDry.code);
  });

  it("ends as the command does if the content for another folder is damaged", async () => {
    using box = new Sandbox();
    box.write("a", CONTENT);
    box.write("b", "1\n");
    await box.must(["init"]);
    rot(box.store, CONTENT);
    await expectSame(box, ["restore", "baseline", "--to", join(box.folder, "out")], 6);
  });
});
