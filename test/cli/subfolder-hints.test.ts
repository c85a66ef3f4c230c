import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** The commands between backquotes in a text, as words. */
function commandsIn(text: string): string[][] {
  return [...text.matchAll(/`chronicle ([^`]+)`/g)].map((match) => (match[1] ?? "").split(" "));
}

it("a forced undo in a subfolder names commands that print what it overwrote, wherever they are given", async () => {
  using box = new Sandbox();
  for (const path of ["f", "src/f"]) box.write(path, `${path} old\n`);
  await box.must(["run", "--", "sh", "-c", "echo run > f; echo run > src/f"]);
  for (const path of ["f", "src/f"]) box.write(path, `${path} mine\n`);
  const here = { cwd: "project/src" };
  const refused = await box.call(["undo", "--exact"], here);
  expect(refused.stderr).toContain("because these were edited since: ../f, f\n");
  const forced = await box.must(["undo", "--force"], here);
  const found = commandsIn(forced.stdout);
  expect(found).toEqual([
    ["cat", ":/f@3"],
    ["cat", ":/src/f@3"],
  ]);
  for (const at of [here, {}]) {
    expect((await box.must(found[0] ?? [], at)).stdout).toBe("f mine\n");
    expect((await box.must(found[1] ?? [], at)).stdout).toBe("src/f mine\n");
  }
});

it("a forced undo that overwrote an edit in a second root names a command that prints it", async () => {
  using box = new Sandbox();
  box.write("../two/f", "old\n");
  await box.must(["init", ".", "../two"]);
  await box.must(["run", "--", "sh", "-c", "echo run > ../two/f"]);
  box.write("../two/f", "mine\n");
  const [command] = commandsIn((await box.must(["undo", "--force"])).stdout);
  expect((await box.must(command ?? [])).stdout).toBe("mine\n");
});

it("a path that was deleted is said to be deleted, and similar paths are written as from the current folder", async () => {
  using box = new Sandbox();
  box.write("x/1", "1\n");
  box.write("d/y/notes.txt", "1\n");
  await box.must(["init"]);
  await box.must(["rm", "-r", "x"]);
  const again = await box.call(["rm", "-r", "x"]);
  expect(again).toMatchObject({ code: 3, stderr: expect.stringContaining("x is not there any more\n") });
  expect(again.stderr).toContain("chronicle history x");
  const similar = await box.call(["history", "notes.txt"], { cwd: "project/d" });
  expect(similar.stderr).toContain("recorded (perhaps deleted):\n    y/notes.txt\n");
});
