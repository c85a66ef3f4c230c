import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it('an unknown path is an error that names similar paths, and not "no difference"', async () => {
  using box = new Sandbox();
  box.write("src/notes.txt", "one\n");
  box.write(".gitignore", ".env\nout/\n");
  box.write(".env", "secret\n");
  await box.must(["init"]);
  box.write("src/notes.txt", "two\n");
  box.write("fresh.txt", "not recorded yet\n");
  for (const words of [
    ["restore", "0", "nope", "--dry-run"],
    ["restore", "0", "nope", "--yes"],
    ["restore", "0", "nope", "--to", "../elsewhere"],
    ["diff", "0", "--", "nope"],
    ["diff", "0", "now", "nope"],
  ]) {
    const ran = await box.call(words);
    expect([words, ran.code, ran.stdout]).toEqual([words, 3, ""]);
    expect(ran.stderr).toContain("nope was never recorded here");
    expect(ran.stderr).not.toContain("write -- before it");
  }
  expect((await box.call(["diff", "0", "--", "src/ntoes.txt"])).stderr).toContain("src/notes.txt");
  expect((await box.call(["restore", "0", "notes.txt"])).stderr).toContain("src/notes.txt");
  for (const words of [
    ["restore", "0", ".env"],
    ["diff", "0", "--", ".env"],
  ]) {
    const ran = await box.call(words);
    expect([words, ran.code]).toEqual([words, 3]);
    expect(ran.stderr).toContain("excluded and was never recorded: gitignore .env (.gitignore:1)");
  }
  expect((await box.must(["diff", "0", "--", "fresh.txt"])).stdout).toContain("1 created");
  expect((await box.must(["diff", "0", "0", "--", "fresh.txt"])).stdout).toContain("no difference");
  expect((await box.must(["diff", "0", "--", "src", "."])).stdout).toContain("src/notes.txt");
  box.sh("rm -r src");
  expect((await box.must(["restore", "0", "src/", "--yes"])).stdout).toContain("src/notes.txt");
});

it("cat NAME@N reads a file with this whole name if no file NAME is recorded", async () => {
  using box = new Sandbox();
  box.write("f@2", "literal\n");
  box.write("d/f", "another\n");
  box.write("both", "first\n");
  box.write("both@1", "literal\n");
  await box.must(["init"]);
  expect((await box.must(["cat", "f@2"])).stdout).toBe("literal\n");
  expect((await box.must(["cat", "f@2@1"])).stdout).toBe("literal\n");
  expect((await box.must(["cat", "both@1"])).stdout).toBe("first\n");
  expect((await box.must(["cat", "both@1", "-n", "1"])).stdout).toBe("literal\n");
  expect((await box.call(["cat", "d/f@7"])).stderr).toContain("chronicle history d/f");
  expect(await box.call(["cat", "g@2"])).toMatchObject({ code: 3, stderr: expect.stringContaining("g was never") });
});
