import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox, type Ran } from "../cli/sandbox.ts";

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

/** The command that a refusal names, as words. */
function named({ stderr }: Ran): string[] {
  const [, command] = /`chronicle ([^`]+ --force)`/.exec(stderr) ?? [];
  if (command === undefined) throw new Error(`no command in: ${stderr}`);
  return command.split(" ");
}

/** Two runs of which the first has made A.txt and the second B.txt; A.txt was edited since. Resolves to their ids. */
async function twoRuns(box: Sandbox): Promise<readonly [string, string]> {
  box.write("old", "o\n");
  await box.must(["init"]);
  await box.must(["run", "--", "sh", "-c", "echo A > A.txt"]);
  await box.must(["run", "--", "sh", "-c", "echo B > B.txt"]);
  box.write("A.txt", "A\nmine\n");
  const { value } = await box.json(["sessions"]);
  const runs = value as readonly { session_id: string; from_seq: number }[];
  const [first = "", second = ""] = runs.toSorted((a, b) => a.from_seq - b.from_seq).map((one) => one.session_id);
  return [first, second];
}

describe("Truth: the command that a refused undo names is about what was chosen", () => {
  it("undo ID: what it names takes back that operation and no other", async () => {
    using box = new Sandbox();
    const [first] = await twoRuns(box);
    const refused = await box.call(["undo", first.slice(0, 8)]);
    expect(refused.code).toBe(6);
    await box.must(named(refused));
    expect(read(box, "B.txt")).toBe("B\n");
    expect(() => read(box, "A.txt")).toThrow("ENOENT");
  });

  it("redo ID: what it names does that operation again and no other", async () => {
    using box = new Sandbox();
    const [first, second] = await twoRuns(box);
    await box.must(["undo", first, "--force"]);
    await box.must(["undo", second]);
    box.write("A.txt", "mine\n");
    await box.must(["snapshot"]);
    const refused = await box.call(["redo", first]);
    expect(refused.code, refused.stdout + refused.stderr).toBe(6);
    await box.must(named(refused));
    expect(() => read(box, "B.txt")).toThrow("ENOENT");
    // The redo of a forced undo brings back what that undo has taken along.
    expect(read(box, "A.txt")).toBe("A\nmine\n");
  });

  it("undo without an id names what it was about: something else may be done meanwhile", async () => {
    using box = new Sandbox();
    await twoRuns(box);
    box.write("B.txt", "B\nmine\n");
    const refused = await box.call(["undo"]);
    expect(refused.code).toBe(6);
    await box.must(["run", "--", "sh", "-c", "echo C > C.txt"]);
    await box.must(named(refused));
    expect(read(box, "C.txt")).toBe("C\n");
    expect(() => read(box, "B.txt")).toThrow("ENOENT");
  });

  it("programs and the workspace that was named get it as well", async () => {
    using box = new Sandbox();
    const [first] = await twoRuns(box);
    const { value } = await box.json(["undo", first]);
    expect((value as { error: { hint: string } }).error.hint).toContain(
      `\`chronicle undo ${first.slice(0, 8)} --force\``,
    );
    const dry = await box.json(["undo", first, "--dry-run"]);
    expect((dry.value as { error: { hint: string } }).error.hint).toContain(
      `chronicle undo ${first.slice(0, 8)} --force`,
    );
    const refused = await box.call(["-C", box.project, "undo", first], { cwd: "home" });
    expect(named(refused).slice(0, 3)).toEqual(["-C", box.project, "undo"]);
  });
});
