import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox, type Ran } from "../cli/sandbox.ts";

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

/** Returns the words of the command that a refusal names. */
function named({ stderr }: Ran): string[] {
  const [, command] = /`chronicle ([^`]+ --force)`/.exec(stderr) ?? [];
  if (command === undefined) throw new Error(`no command in: ${stderr}`);
  return command.split(" ");
}

/** Makes two runs: the first makes A.txt, and the second B.txt. Then edits A.txt. Resolves to the ids of the runs. */
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

describe("Truth: the command that a refused undo or redo names", () => {
  it("undoes that operation and no other, after undo ID", async () => {
    using box = new Sandbox();
    const [first] = await twoRuns(box);
    const refused = await box.call(["undo", first.slice(0, 8), "--exact"]);
    expect(refused.code).toBe(6);
    await box.must(named(refused));
    expect(read(box, "B.txt")).toBe("B\n");
    expect(() => read(box, "A.txt")).toThrow("ENOENT");
  });

  it("redoes that operation and no other, after redo ID", async () => {
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
    // The redo of a forced undo brings back the edit that this undo has removed.
    expect(read(box, "A.txt")).toBe("A\nmine\n");
  });

  it("names the operation after undo without an id, because other work may follow meanwhile", async () => {
    using box = new Sandbox();
    await twoRuns(box);
    box.write("B.txt", "B\nmine\n");
    const refused = await box.call(["undo", "--exact"]);
    expect(refused.code).toBe(6);
    await box.must(["run", "--", "sh", "-c", "echo C > C.txt"]);
    await box.must(named(refused));
    expect(read(box, "C.txt")).toBe("C\n");
    expect(() => read(box, "B.txt")).toThrow("ENOENT");
  });

  it("is in the JSON as well, and keeps the workspace that was named", async () => {
    using box = new Sandbox();
    const [first] = await twoRuns(box);
    const { value } = await box.json(["undo", first, "--exact"]);
    expect((value as { error: { hint: string } }).error.hint).toContain(
      `\`chronicle undo ${first.slice(0, 8)} --force\``,
    );
    const dry = await box.json(["undo", first, "--exact", "--dry-run"]);
    expect((dry.value as { error: { hint: string } }).error.hint).toContain(
      `chronicle undo ${first.slice(0, 8)} --force`,
    );
    const refused = await box.call(["-C", box.project, "undo", first, "--exact"], { cwd: "home" });
    expect(named(refused).slice(0, 3)).toEqual(["-C", box.project, "undo"]);
  });
});

/**
 * Makes a file of 20 lines, and for each of `lines` a run that writes its number in words. Resolves to the ids of the
 * runs.
 */
async function runsOnLines(box: Sandbox, lines: readonly number[]): Promise<readonly string[]> {
  box.write("f", Array.from({ length: 20 }, (_, i) => `${i + 1}\n`).join(""));
  await box.must(["init"]);
  for (const line of lines) await box.must(["run", "--", "sed", "-i", `s/^${line}$/line ${line}/`, "f"]);
  const { value } = await box.json(["sessions"]);
  const runs = value as readonly { session_id: string; from_seq: number }[];
  return runs.toSorted((a, b) => a.from_seq - b.from_seq).map((one) => one.session_id.slice(0, 8));
}

/** Returns the commands that `list` offers, by the kind and the summary of what they undo. */
async function offered(box: Sandbox): Promise<Readonly<Record<string, string>>> {
  const { value } = await box.json(["list"]);
  const { items } = value as { items: readonly { kind: string; summary: string; back: string }[] };
  return Object.fromEntries(items.map(({ kind, summary, back }) => [`${kind} ${summary}`, back]));
}

describe("Truth: the list names the undo of a piece of work, which keeps later edits", () => {
  const nameOf = (line: number): string => `run sed -i 's/^${line}$/line ${line}/' f`;

  it("for a run in the middle, and an exact undo is refused and names that undo first", async () => {
    using box = new Sandbox();
    const [first = ""] = await runsOnLines(box, [5, 15]);
    const refused = await box.call(["undo", first, "--exact"]);
    expect(refused.code).toBe(6);
    const merging = `chronicle undo ${first}`;
    expect(refused.stderr).toMatch(new RegExp(`^  \`${merging}\` .*\`chronicle undo ${first} --force\``, "m"));
    expect(await offered(box)).toMatchObject({ [nameOf(5)]: merging, [nameOf(15)]: "chronicle undo" });
    await box.must(merging.split(" ").slice(1));
    expect(read(box, "f")).toMatch(/^5\n(?:.*\n)*line 15$/m);
  });

  it("for a run whose file a forced undo has changed since", async () => {
    using box = new Sandbox();
    const [first = ""] = await runsOnLines(box, [5, 15]);
    await box.must(["undo", first, "--force"]);
    expect((await offered(box))[nameOf(15)]).toBe("chronicle undo");
    await box.must(["undo"]);
  });

  it("for a run that was redone", async () => {
    using box = new Sandbox();
    await runsOnLines(box, [5]);
    await box.must(["undo"]);
    await box.must(["redo"]);
    box.write("f", `${read(box, "f")}mine\n`);
    await box.must(["snapshot"]);
    expect((await offered(box))[nameOf(5)]).toBe("chronicle undo");
    await box.must(["undo"]);
    expect(read(box, "f")).toMatch(/^5\n(?:.*\n)*mine$/m);
  });

  it("for a run after a merging undo", async () => {
    using box = new Sandbox();
    const [first = "", second = ""] = await runsOnLines(box, [5, 15]);
    await box.must(["undo", "--session", first]);
    expect((await offered(box))[nameOf(15)]).toBe("chronicle undo");
    await box.must(["undo", second]);
    expect(read(box, "f")).not.toContain("line");
  });

  it("a redo over a later edit is refused, and names only the forced one", async () => {
    using box = new Sandbox();
    await runsOnLines(box, [5]);
    await box.must(["restore", "0", "--yes"]);
    await box.must(["undo"]);
    box.write("f", "mine\n");
    const redone = await box.call(["redo"]);
    expect(redone.code).toBe(6);
    expect(redone.stderr).toMatch(/^ {2}`chronicle redo \w+ --force` overwrites these edits/m);
  });
});
