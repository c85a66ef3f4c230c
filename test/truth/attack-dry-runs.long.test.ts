import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { pruneNow } from "../helpers/grace.ts";

interface Told {
  readonly changes: readonly { readonly path: string; readonly change_type: string }[];
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

/** Returns the paths that a step would change or has changed, and those that it leaves. */
async function told(box: Sandbox, args: readonly string[]): Promise<{ changes: string[]; skipped: string[] }> {
  const { value } = await box.json(args);
  const { changes, skipped } = value as Told;
  return {
    changes: changes.map(({ path }) => path).toSorted(),
    skipped: skipped.map(({ path, reason }) => `${path} ${reason}`).toSorted(),
  };
}

describe("Truth: a dry run does not promise what the real run leaves", () => {
  it("names the paths whose content was pruned, and leaves them out of what would change", async () => {
    using box = new Sandbox();
    box.write("f", "first\n");
    await box.must(["init"]);
    box.write("f", "second\n");
    box.write("old", "old\n");
    await box.must(["run", "--", "sh", "-c", "echo third > f; echo new > new; rm old"]);
    await pruneNow(box, { keepLast: 1 });
    await box.must(["gc"]);
    const dry = await told(box, ["undo", "--force", "--dry-run"]);
    expect(dry).toEqual({ changes: ["new"], skipped: ["f content-missing", "old content-missing"] });
    expect((await box.call(["undo", "--dry-run"])).stderr).toContain("the earlier content of f was pruned by event");
    expect((await box.call(["undo"])).code).toBe(3);
    expect(await told(box, ["undo", "--force"])).toEqual(dry);
  });

  it("names a folder that cannot become a file again, because it holds a file that was never recorded", async () => {
    using box = new Sandbox();
    box.write(".gitignore", "*.log\n");
    box.write("p", "file\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "rm p; mkdir p; echo in > p/in"]);
    box.write("p/mine.log", "mine\n");
    for (const step of [["undo"], ["restore", "0"]]) {
      const dry = await told(box, [...step, "--force", "--dry-run"]);
      expect(dry).toEqual({ changes: ["p/in"], skipped: ["p not-empty"] });
    }
    expect((await box.call(["undo"])).code).toBe(6);
    expect(await told(box, ["undo", "--force"])).toEqual({ changes: ["p/in"], skipped: ["p not-empty"] });
  });

  it("names a path with a pipe in its place", async () => {
    using box = new Sandbox();
    box.write("p", "file\n");
    box.write("q", "1\n");
    await box.must(["init"]);
    box.write("q", "2\n");
    box.sh("rm p");
    expect(spawnSync("mkfifo", ["p"], { cwd: box.project }).status).toBe(0);
    expect(await told(box, ["restore", "0", "--dry-run"])).toEqual({
      changes: ["q"],
      skipped: ["p special"],
    });
  });

  it("makes nothing, even if the project's folder is gone", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "rm -r ../project"]);
    const dry = await told(box, ["-w", await idOf(box), "undo", "--dry-run"]);
    expect(dry).toEqual({ changes: ["a"], skipped: [] });
    expect(spawnSync("test", ["-e", box.project]).status).toBe(1);
  });
});

async function idOf(box: Sandbox): Promise<string> {
  return ((await box.json(["workspaces"])).value as { id: string }[])[0]?.id ?? "";
}
