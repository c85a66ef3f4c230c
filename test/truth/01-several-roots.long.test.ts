import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

const FILES = ["a1.txt", "in/a2.txt", "../two/b1.txt", "../two/in/deep/b2.txt", "../single/c.txt"];

/** Two tracked folders and a tracked file. Nothing in them was changed in the last hour. */
async function severalRoots(): Promise<Sandbox> {
  const box = new Sandbox();
  const longAgo = Date.now() / 1000 - 3600;
  for (const path of FILES) {
    box.write(path, `${path}\n`);
    utimesSync(join(box.project, path), longAgo, longAgo);
  }
  for (const folder of [".", "in", "../two", "../two/in", "../two/in/deep"])
    utimesSync(join(box.project, folder), longAgo, longAgo);
  await box.must(["init", ".", "../two", "../single/c.txt"]);
  return box;
}

async function changesSince(box: Sandbox, moment: string): Promise<string[]> {
  const { value } = await box.json(["diff", moment]);
  return (value as { changes: { change_type: string; path: string }[] }).changes.map(
    (one) => `${one.change_type} ${one.path}`,
  );
}

describe("Truth 1: several roots", () => {
  it("a new name in the first root's own folder deletes nothing in the others", async () => {
    using box = await severalRoots();
    const { stdout } = await box.must(["run", "--", "sh", "-c", "echo x > a5"]);
    expect(stdout).not.toContain("deleted");
    expect(await changesSince(box, "0")).toEqual(["created a5"]);
    await box.must(["undo"]);
    expect(await changesSince(box, "0")).toEqual([]);
  });

  it("a rollback of a transaction leaves the files of all roots", async () => {
    using box = await severalRoots();
    const id = (await box.must(["transaction", "begin"])).stdout.trim();
    for (const name of ["one", "two"]) {
      box.write(name, "x\n");
      await box.must(["snapshot"]);
    }
    await box.must(["transaction", "rollback", id]);
    for (const path of FILES) expect(readFileSync(join(box.project, path), "utf8")).toBe(`${path}\n`);
    expect(await changesSince(box, "0")).toEqual([]);
  });

  it("the files of a further root that is away, or not mounted, are not recorded as deleted", async () => {
    using box = await severalRoots();
    const [two, aside] = [join(box.folder, "two"), join(box.folder, "aside")];
    const elsewhere = mkdtempSync("/dev/shm/chronicle-empty-");
    try {
      // An empty folder on another device stands in for the empty mount point of a disk that is not mounted.
      expect(statSync(elsewhere).dev).not.toBe(statSync(two).dev);
      for (const isThere of [false, true]) {
        renameSync(two, aside);
        if (isThere) symlinkSync(elsewhere, two);
        box.write("new", "x\n");
        const away = await box.call(["snapshot"]);
        expect([away.code, away.stderr]).toEqual([3, expect.stringContaining(two)]);
        if (isThere) rmSync(two);
        renameSync(aside, two);
        await box.must(["snapshot"]);
        expect(await changesSince(box, "0")).toEqual(["created new"]);
      }
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it("a root within another one is refused, and so is one that is named twice", async () => {
    using box = await severalRoots();
    box.write("../other/in/a.txt", "x\n");
    for (const roots of [
      ["../other", "../other/in"],
      ["../other/in/a.txt", "../other"],
      ["../other", "../other/"],
    ]) {
      const refused = await box.call(["init", ...roots]);
      expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("is tracked already")]);
    }
    await box.must(["init", "../other/in/a.txt", "../two/b1.txt"]);
  });

  it("'.' means the first root; a command without a path is about every root", async () => {
    using box = await severalRoots();
    for (const path of FILES) box.write(path, "changed\n");
    expect(await changesSince(box, "0")).toHaveLength(FILES.length);
    const { value } = await box.json(["diff", "0", "--", "."]);
    expect((value as { changes: unknown[] }).changes).toHaveLength(2);
    await box.must(["restore", "0", "."]);
    expect(await changesSince(box, "0")).toHaveLength(3);
    const { value: listed } = await box.json(["files", "."]);
    expect((listed as { files: { path: string }[] }).files.map((one) => one.path)).toEqual([
      "a1.txt",
      "in",
      "in/a2.txt",
    ]);
    const { value: all } = await box.json(["files"]);
    expect((all as { files: unknown[] }).files).toHaveLength(8);
  });

  it("a folder that replaces a root which was a file is tracked with its contents", async () => {
    using box = await severalRoots();
    box.sh("cd ../single; rm c.txt; mkdir c.txt; echo x > c.txt/in; echo y > other");
    expect(await changesSince(box, "0")).toEqual(["modified @c-txt:c.txt", "created @c-txt:c.txt/in"]);
    for (const [path, tracked] of Object.entries({ "c.txt": true, "c.txt/in": true, other: false })) {
      const { value } = await box.json(["explain", `@c-txt:${path}`]);
      expect(value).toMatchObject({ tracked });
    }
    await box.must(["snapshot"]);
    await box.must(["restore", "0"]);
    expect(readFileSync(join(box.folder, "single/c.txt"), "utf8")).toBe("../single/c.txt\n");
    expect(readFileSync(join(box.folder, "single/other"), "utf8")).toBe("y\n");
  });
});
