import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape, UndoShape } from "../../src/api/shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";

const LIKE_THAT = "everything is like that already";
const AS_BEFORE = "already as it was before";

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

function run(box: Sandbox, script: string): RunShape {
  const { stderr } = box.run(["--json", "run", "--", "sh", "-c", script]);
  return JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as RunShape;
}

async function project(box: Sandbox): Promise<void> {
  box.write(".gitignore", "*.tmp\n");
  for (const name of ["w.tmp", "s.tmp", "h.tmp"]) box.write(name, "one\n");
  box.write("t", "1\n");
  await box.must(["init"]);
}

describe("Truth: what an undo says is what it did", { timeout: 300_000 }, () => {
  it("kept files that come back alone are reported once, counted, and listed for programs", async () => {
    using box = new Sandbox();
    await project(box);
    run(box, "echo two > w.tmp");
    const dry = (await box.json(["undo", "--dry-run"])).value as UndoShape;
    const { stdout } = await box.must(["undo"]);
    expect(stdout).toContain("put back: w.tmp");
    expect(stdout).toContain("taken back: 1 path that the rules leave out");
    expect(stdout).toContain("chronicle redo brings it back");
    expect(stdout).not.toContain(LIKE_THAT);
    const redone = await box.must(["redo"]);
    expect(redone.stdout).toContain("done again: 1 path that the rules leave out");
    const { value } = await box.json(["undo"]);
    for (const one of [dry, value as UndoShape])
      expect(one).toMatchObject({ changes: [], kept_aside: [{ path: "w.tmp", change_type: "modified" }] });
    expect(JSON.stringify(value)).not.toMatch(/[0-9a-f]{64}/);
    expect(read(box, "w.tmp")).toBe("one\n");
  });

  it("a file that came back is not listed among those that were left", async () => {
    using box = new Sandbox();
    box.write(".gitignore", "*.tmp\n");
    box.write("s.tmp", "one\n");
    await box.must(["init"]);
    run(box, "echo > .gitignore; echo changed > s.tmp");
    for (const args of [["undo", "--dry-run"], ["undo"]]) {
      const { code, stdout } = await box.call(args);
      expect(stdout).toContain("put back: s.tmp");
      expect([code, stdout]).toEqual([0, expect.not.stringContaining("left as they are")]);
    }
    expect(read(box, "s.tmp")).toBe("one\n");
  });

  it("an undo that leaves everything does not count as one, and says how to finish it", async () => {
    using box = new Sandbox();
    await project(box);
    const { session } = run(box, "echo two > h.tmp");
    box.write("h.tmp", "mine\n");
    for (let round = 0; round < 2; round += 1) {
      const { code, stdout } = await box.call(["undo"]);
      expect([code, stdout]).toEqual([1, expect.stringContaining("! h.tmp (changed")]);
      expect(stdout).toContain(`\`chronicle undo ${session.session_id.slice(0, 8)}\` takes them back`);
      expect(stdout).not.toContain(LIKE_THAT);
    }
    expect((await box.must(["list"])).stdout).not.toContain("undone");
    box.sh("mv h.tmp mine.tmp");
    await box.must(["undo", session.session_id.slice(0, 8)]);
    expect([read(box, "h.tmp"), read(box, "mine.tmp")]).toEqual(["one\n", "mine\n"]);
  });

  it("a file whose earlier content was erased is not said to be as it was before", async () => {
    using box = new Sandbox();
    box.write("conf.ini", "secret\n");
    await box.must(["init"]);
    run(box, "echo other > conf.ini");
    await box.must(["erase", createHash("sha256").update("secret\n").digest("hex"), "--yes"]);
    const { value } = await box.json(["sessions"]);
    const [session] = value as readonly { session_id: string }[];
    for (const more of [[], ["--dry-run"]]) {
      const left = await box.call(["undo", "--session", session?.session_id ?? "", "--force", ...more]);
      expect(left.stdout).toContain("conf.ini (erased");
      expect(left.stdout).toContain("nothing was changed");
      expect(left.stdout).not.toContain(AS_BEFORE);
    }
  });

  it("an undo that left a part names the command that undoes that part, too", async () => {
    using box = new Sandbox();
    await project(box);
    const { session } = run(box, "echo 2 > t; mkdir f; echo x > f/x; rm w.tmp; mkfifo w.tmp");
    const first = await box.call(["undo"]);
    expect([first.code, first.stdout]).toEqual([1, expect.stringContaining("! w.tmp (changed")]);
    const [, command = ""] = /`chronicle (undo [0-9a-f]{8})` takes them back/.exec(first.stdout) ?? [];
    expect(command).toBe(`undo ${session.session_id.slice(0, 8)}`);
    box.sh("rm w.tmp");
    await box.must(command.split(" "));
    expect([read(box, "w.tmp"), read(box, "t")]).toEqual(["one\n", "1\n"]);
  });

  it("an undo --force that left a part names the command that finishes it", async () => {
    using box = new Sandbox();
    await project(box);
    const { session } = run(box, "mkdir d; echo x > d/x; echo 2 > t");
    box.write("d/mine.tmp", "mine\n");
    const left = await box.call(["undo", "--force"]);
    expect([left.code, left.stdout]).toEqual([1, expect.stringContaining("! d (not-empty")]);
    const command = ["undo", session.session_id.slice(0, 8)];
    expect(left.stdout).toContain(
      `the paths that were left are not undone yet: \`chronicle ${command.join(" ")}\` takes them back`,
    );
    box.sh("rm d/mine.tmp");
    await box.must(command);
    expect(existsSync(join(box.project, "d"))).toBe(false);
    // Nothing is left, so the hint is gone.
    expect((await box.must(command)).stdout).not.toContain("were left");
  });
});
