import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** A run that changes line 2, deletes lines 5 and 6, and adds a line at the end of `a.txt`. */
async function afterRun(): Promise<Sandbox> {
  const box = new Sandbox();
  box.write("sub/a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
  await box.call(["init"]);
  await box.call(["run", "--", "sed", "-i", "-e", "s/2/two/;5,6d;$a nine", "sub/a.txt"]);
  return box;
}

const textOf = (box: Sandbox, path = "sub/a.txt"): string => readFileSync(join(box.project, path), "utf8");

it("undo FILE:LINES shows and takes back the hunks at these lines; then undo takes the rest, and redo brings back", async () => {
  using box = await afterRun();
  expect(textOf(box)).toBe("1\ntwo\n3\n4\n7\n8\nnine\n");
  const dry = await box.call(["undo", "a.txt:1-2", "--dry-run"], { cwd: "project/sub" });
  expect([dry.code, dry.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^run: sed .* in sub\/a\.txt:1-2 {2}\(.*\)\n {2}~ a\.txt.*\ndiff --git [^]*\n-two\n\+2\n [^]*\nwould be taken back: 1 modified\n$/,
    ),
  ]);
  expect(dry.stdout).not.toContain("-nine");
  expect((await box.call(["undo", "sub/a.txt:4"])).stdout).toContain("taken back: 1 modified\nchronicle redo");
  expect(textOf(box)).toBe("1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n");
  const json = JSON.parse((await box.call(["undo", "sub/a.txt:2", "--dry-run", "--json"])).stdout) as unknown;
  expect(json).toMatchObject({ changes: [{ path: "sub/a.txt", patch: expect.stringContaining("-two\n+2\n") }] });
  expect((await box.call(["undo"])).stdout).toContain("taken back: 1 modified");
  expect(textOf(box)).toBe("1\n2\n3\n4\n5\n6\n7\n8\n");
  await box.call(["redo"]);
  await box.call(["redo"]);
  expect(textOf(box)).toBe("1\ntwo\n3\n4\n7\n8\nnine\n");
});

it("lines without a hunk, and what is not lines, are refused with the next step", async () => {
  using box = await afterRun();
  const none = await box.call(["undo", "sub/a.txt:1"]);
  expect([none.code, none.stderr]).toEqual([
    3,
    expect.stringMatching(
      /nothing to take back at 1 of sub\/a\.txt\n {2}its changes of this file are at 2, 4-5, 7; `chronicle blame/,
    ),
  ]);
  for (const argument of ["sub/a.txt:0", "sub/a.txt:3-2"])
    expect([argument, (await box.call(["undo", argument])).code]).toEqual([argument, 2]);
  expect((await box.call(["undo", "sub/a.txt:2", "--file", "sub/a.txt"])).code).toBe(2);
  expect((await box.call(["undo", "sub:2"])).stderr).toContain("it is a folder");
  expect((await box.call(["undo", "nowhere:2"])).code).toBe(3);
  expect((await box.call(["undo", "4b62:zz"])).stderr).toContain("no operation");
  expect((await box.call(["redo", "sub/a.txt:2"])).stderr).toContain("no operation");
});

it("a file whose name ends like lines is meant itself, and its own lines are reached", async () => {
  using box = new Sandbox();
  for (const path of ["notes", "notes:2"]) box.write(path, "1\n2\n3\n");
  await box.call(["init"]);
  await box.call(["run", "--", "sed", "-i", "s/2/two/", "notes", "notes:2"]);
  const told = await box.call(["undo", "notes:2"]);
  expect([told.code, told.stderr]).toEqual([2, expect.stringContaining("`chronicle undo notes:2:1-9`")]);
  expect((await box.call(["undo", "notes:2:2"])).code).toBe(0);
  expect([textOf(box, "notes"), textOf(box, "notes:2")]).toEqual(["1\ntwo\n3\n", "1\n2\n3\n"]);
});

it("several files, each with or without its lines, are taken back at once", async () => {
  using box = await afterRun();
  box.write("b.txt", "1\n2\n3\n");
  box.write("c.txt", "c\n");
  box.write("sub/odd:2", "x\n");
  await box.must(["run", "--", "sh", "-c", "sed -i 's/[13]/new/' b.txt sub/a.txt; echo C > c.txt; echo y > sub/odd:2"]);
  const args = ["undo", "a.txt:1", "../b.txt:3", "../c.txt"];
  const dry = await box.must([...args, "--dry-run"], { cwd: "project/sub" });
  expect(dry.stdout).toMatch(/ in 3 places: sub\/a\.txt:1, b\.txt:3, c\.txt {2}\(/);
  expect(dry.stdout.match(/^\+\w$/gm)).toEqual(["+3", "+c", "+1"]);
  expect((await box.must(args, { cwd: "project/sub" })).stdout).toContain("taken back: 3 modified\nchronicle redo");
  expect([textOf(box, "b.txt"), textOf(box, "c.txt")]).toEqual(["new\n2\n3\n", "c\n"]);
  const odd = await box.call(["undo", "sub/odd:2", "b.txt:1"]);
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining("is the name of a recorded file")]);
  for (const more of [["nowhere.txt"], ["4b62"], ["b.txt:9"]])
    expect([more, (await box.call(["undo", "b.txt:1", ...more])).code]).toEqual([more, 3]);
  expect(textOf(box, "b.txt")).toBe("new\n2\n3\n");
});

it("-i without a terminal, and in JSON, says how hunks are named", async () => {
  using box = await afterRun();
  for (const args of [
    ["undo", "-i"],
    ["undo", "-i", "--json"],
  ]) {
    const { code, stderr, stdout } = await box.call(args);
    expect([code, stderr + stdout]).toEqual([2, expect.stringMatching(/--dry-run.*chronicle undo FILE:10-20/s)]);
  }
  expect(textOf(box)).toContain("two");
});
