import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** Makes a workspace of two folders. Returns the second one, which the tests remove or replace. */
async function twoRoots(box: Sandbox): Promise<string> {
  box.write("a", "a\n");
  box.write("../two/b", "b\n");
  box.write("../two/d/c", "c\n");
  await box.must(["init", ".", "../two"]);
  return join(box.folder, "two");
}

describe("Truth: a tracked folder that is not there", () => {
  it.each([
    ["a symbolic link", "mv ../two ../moved; ln -s moved ../two"],
    ["a file", "mv ../two ../moved; echo x > ../two"],
  ])(
    "because %s has stood in its place since a run: status says what is recorded, and names the way back",
    async (what, script) => {
      using box = new Sandbox();
      const two = await twoRoots(box);
      expect(box.run(["run", "--", "sh", "-c", script]).stderr).toContain("3 changes (3 deleted)");
      const status = await box.call(["status"]);
      expect(status.code).toBe(3);
      expect(status.stderr).toContain(`${two} is not there: ${what} stands in its place`);
      expect(status.stderr).not.toContain("nothing was recorded as deleted");
      expect(status.stderr).toContain("nothing is recorded in it now");
      const undo = await box.call(["undo"]);
      expect([undo.code, undo.stderr]).toEqual([1, expect.stringContaining(`${what} stands in its place`)]);
      expect(undo.stderr).toContain(`move ${what} away, and try again`);
      expect(readFileSync(join(box.folder, "moved/b"), "utf8")).toBe("b\n");
      rmSync(two);
      await box.must(["undo"]);
      expect(readFileSync(join(two, "d/c"), "utf8")).toBe("c\n");
    },
  );

  it("because a run has removed it: status does not say that nothing was recorded", async () => {
    using box = new Sandbox();
    const two = await twoRoots(box);
    box.run(["run", "--", "rm", "-rf", two]);
    const status = await box.call(["status"]);
    expect([status.code, status.stderr]).toEqual([3, expect.stringContaining("nothing is recorded in it now")]);
    await box.must(["undo"]);
    expect(readFileSync(join(two, "b"), "utf8")).toBe("b\n");
    await box.must(["status"]);
  });

  it("and is made again by undo, gets a mode for its user alone, because its mode was not recorded", async () => {
    using box = new Sandbox();
    const two = await twoRoots(box);
    chmodSync(two, 0o755);
    box.run(["run", "--", "rm", "-rf", two]);
    await box.must(["undo"]);
    expect(statSync(two).mode & 0o7777).toBe(0o700);
  });

  it("because a link has replaced it by hand: commands are refused, and nothing is recorded as deleted", async () => {
    using box = new Sandbox();
    const two = await twoRoots(box);
    renameSync(two, join(box.folder, "moved"));
    symlinkSync("moved", two);
    for (const words of [["status"], ["snapshot"], ["restore", "0"]]) {
      const ran = await box.call(words);
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("a symbolic link stands in its place")]);
      expect(ran.stderr).toContain(
        "move a symbolic link away and put the folder back; nothing was recorded as deleted",
      );
      // A further root cannot be adopted.
      expect(ran.stderr).not.toContain("--adopt");
    }
    rmSync(two);
    renameSync(join(box.folder, "moved"), two);
    expect((await box.json(["status"])).value).toMatchObject({ changes: [] });
  });

  it("because it was moved: the command in the hint adopts it, and undo works there", async () => {
    using box = new Sandbox();
    box.write("a", "a\n");
    const { workspace: id } = (await box.json(["init"])).value as { workspace: string };
    box.run(["run", "--", "sh", "-c", "echo b > a"]);
    const moved = join(box.folder, "moved");
    renameSync(box.project, moved);
    for (const words of [["status"], ["undo"], ["restore", "0"]]) {
      const ran = await box.call(["-w", id, ...words], { cwd: "." });
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining(`: chronicle init FOLDER --adopt ${id}\n`)]);
    }
    await box.must(["init", moved, "--adopt", id], { cwd: "." });
    await box.must(["-w", id, "undo"], { cwd: "." });
    expect(readFileSync(join(moved, "a"), "utf8")).toBe("a\n");
  });

  it.each([
    ["the only one", ["."], "project"],
    ["the first of two", [".", "../two"], "project"],
    ["the second of two", [".", "../two"], "two"],
  ])(
    "because it is gone for good, and is %s: the commands in the hint restore its last recorded state alone",
    async (_what, roots, missing) => {
      using box = new Sandbox();
      const files = { "project/a": "a\n", "project/sub/b": "b\n", "two/c": "c\n" };
      for (const [path, content] of Object.entries(files)) box.write(`../${path}`, content);
      const { workspace: id } = (await box.json(["init", ...roots])).value as { workspace: string };
      // The latest snapshot holds the state that the undo has removed.
      box.run(["run", "--", "sh", "-c", "rm a; echo bad > bad; echo bad > sub/b; echo bad > ../two/c"]);
      await box.must(["undo"]);
      const other = missing === "two" ? "project/a" : "two/c";
      box.write(`../${other}`, "mine\n");
      const folder = join(box.folder, missing);
      rmSync(folder, { recursive: true });
      for (const words of [["status"], ["restore", "latest"], ["explain", "none"]]) {
        const ran = await box.call(["-w", id, ...words], { cwd: "." });
        expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining(`then: chronicle -w ${id} restore seq:`)]);
      }
      expect(existsSync(folder)).toBe(false);
      const { stderr } = await box.call(["-w", id, "status"], { cwd: "." });
      const [, made, back = ""] = /gone for good: mkdir (\S+), then: chronicle (.*)$/m.exec(stderr) ?? [];
      expect(made).toBe(folder);
      mkdirSync(folder);
      await box.must([...back.split(" "), "--yes"], { cwd: "." });
      const expected = { ...files, [other]: "mine\n" };
      for (const [path, content] of Object.entries(expected))
        expect(readFileSync(join(box.folder, path), "utf8"), path).toBe(content);
      expect(existsSync(join(box.project, "bad"))).toBe(false);
      writeFileSync(join(folder, "more"), "b\n");
      await box.must(["-w", id, "snapshot"], { cwd: "." });
    },
  );
});
