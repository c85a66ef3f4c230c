import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { type Ran, Sandbox } from "../cli/sandbox.ts";
import { pruneNow } from "../helpers/grace.ts";

interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly data: {
      readonly forced?: { readonly changes: readonly { readonly path: string }[]; readonly total_changes: number };
    };
  };
}

/** Returns how a command ends, without the lines about `--force` that only a dry run prints. */
function endOf({ code, stderr }: Ran): { code: number | null; said: string[] } {
  return { code, said: stderr.split("\n").filter((line) => !line.startsWith("  with --force ")) };
}

/** Checks that the dry run ends as the command does, and that both change the same paths with `--force`. */
async function expectSame(box: Sandbox, args: readonly string[]): Promise<void> {
  const dry = await box.call([...args, "--dry-run"]);
  const { error } = (await box.json([...args, "--dry-run"])).value as Refusal;
  const forced = [...args.filter((one) => one !== "--exact"), "--force"];
  const forcedDry = pathsOf(await box.json([...forced, "--dry-run"]));
  const real = await box.call(args);
  expect([args, endOf(dry)]).toEqual([args, endOf(real)]);
  expect(dry.code).toBeGreaterThan(1);
  expect(dry.stderr).toContain("  with --force ");
  expect(error.data.forced?.changes.map(({ path }) => path).toSorted()).toEqual(forcedDry);
  expect(error.data.forced?.total_changes).toBe(forcedDry.length);
  expect(pathsOf(await box.json([...forced, "-y"]))).toEqual(forcedDry);
}

function pathsOf({ value }: { readonly value: unknown }): string[] {
  return (value as { changes: { path: string }[] }).changes.map(({ path }) => path).toSorted();
}

describe("Truth: a dry run refuses what the command refuses", () => {
  it("an exact undo of a file that was edited since", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    box.write("b", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 2 > a; echo 2 > b"]);
    box.write("a", "mine\n");
    await expectSame(box, ["undo", "--exact"]);
  });

  it("redo of a file that was edited since", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 2 > a"]);
    await box.must(["undo"]);
    box.write("a", "mine\n");
    await expectSame(box, ["redo"]);
  });

  it.each([["undo"], ["restore", "0"]])("%s if a folder has to stay that would become a file", async (...args) => {
    using box = new Sandbox();
    box.write(".gitignore", "*.log\n");
    box.write("p", "file\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "rm p; mkdir p; echo in > p/in"]);
    box.write("p/mine.log", "mine\n");
    await expectSame(box, args);
  });

  it("undo if a file stands in the place of a folder", async () => {
    using box = new Sandbox();
    box.write("d/a", "1\n");
    box.write("e", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "rm -r d; echo 2 > e"]);
    box.write("d", "mine\n");
    await expectSame(box, ["undo", "--exact"]);
  });

  it("rollback of an action", async () => {
    using box = new Sandbox();
    box.write(".gitignore", "*.log\n");
    box.write("p", "file\n");
    box.write("q", "1\n");
    await box.must(["init"]);
    const store = await openStore({ home: box.store, configFolder: `${box.folder}/config/chronicle` });
    const workspace = await store.open({ folder: box.project });
    const id = await workspace.action({ type: "run_command", payload: { command: "make" } }, async (action) => {
      box.sh("rm p; mkdir p; echo in > p/in; echo 2 > q");
      return action?.id ?? "";
    });
    await workspace.close();
    expect(spawnSync("mkfifo", ["p/pipe"], { cwd: box.project }).status).toBe(0);
    await expectSame(box, ["rollback", id]);
  });

  it("undo if a content was pruned", async () => {
    using box = new Sandbox();
    box.write("f", "first\n");
    await box.must(["init"]);
    box.write("f", "second\n");
    box.write("old", "old\n");
    await box.must(["run", "--", "sh", "-c", "echo third > f; echo new > new; rm old"]);
    await pruneNow(box, { keepLast: 1 });
    await box.must(["gc"]);
    const dry = await box.call(["undo", "--dry-run"]);
    expect(endOf(dry)).toEqual(endOf(await box.call(["undo"])));
    expect(dry.code).toBe(3);
    expect(dry.stderr).toContain("  with --force these would be changed: new; 2 would be left as they are");
  });

  it("restore into a folder that is not empty", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    await box.must(["init"]);
    box.sh("mkdir ../full ../empty; echo x > ../full/x");
    const args = ["restore", "0", "--to", "../full"];
    const dry = await box.call([...args, "--dry-run"]);
    expect(endOf(dry)).toEqual(endOf(await box.call(args)));
    expect(dry.code).toBe(6);
    await box.must(["restore", "0", "--to", "../empty", "--dry-run"]);
    await box.must(["restore", "0", "--to", "../none", "--dry-run"]);
    expect(spawnSync("test", ["-e", `${box.folder}/none`]).status).toBe(1);
  });

  it("each change of an archived workspace", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 2 > a"]);
    const id = ((await box.json(["workspaces"])).value as { id: string }[])[0]?.id ?? "";
    await box.must(["workspaces", "archive", id]);
    for (const args of [["undo"], ["restore", "0"], ["prune", "--keep-last", "1"]]) {
      const dry = await box.call([...args, "--dry-run"]);
      const real = await box.call(args[0] === "prune" ? [...args, "--yes"] : args);
      expect([args, endOf(dry)]).toEqual([args, endOf(real)]);
      expect(dry.code).toBe(1);
    }
  });
});

describe("Truth: a dry run that leaves paths ends as the command does", () => {
  it.each([["undo"], ["restore", "0"]])("%s", async (...args) => {
    using box = new Sandbox();
    box.write(".gitignore", "notes\n");
    box.write("notes", "mine\n");
    box.write("a", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "rm .gitignore; echo 2 > a"]);
    const dry = await box.json([...args, "--dry-run"]);
    const real = await box.json(args);
    expect(dry.code).toBe(1);
    expect(real.code).toBe(1);
    expect((dry.value as { skipped: unknown }).skipped).toEqual((real.value as { skipped: unknown }).skipped);
  });

  it("also if a pipe stands in the place of a file", async () => {
    using box = new Sandbox();
    box.write("p", "file\n");
    box.write("q", "1\n");
    await box.must(["init"]);
    box.write("q", "2\n");
    box.sh("rm p");
    expect(spawnSync("mkfifo", ["p"], { cwd: box.project }).status).toBe(0);
    const dry = await box.json(["restore", "0", "--dry-run"]);
    const real = await box.json(["restore", "0"]);
    expect([dry.code, (dry.value as { skipped: unknown }).skipped]).toEqual([
      real.code,
      (real.value as { skipped: unknown }).skipped,
    ]);
    expect(dry.code).toBe(1);
  });
});
