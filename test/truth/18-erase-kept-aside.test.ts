import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { holding } from "../helpers/holding.ts";

/** Contents of ignored files that are kept aside can be erased, too, and the log does not name their hashes. */

const DAY = 24 * 60;

interface Lived {
  readonly project: ClockedProject;
  readonly workspace: WorkspaceApi;
  readonly secret: Buffer;
  readonly at: (name: string) => string;
}

/** A run has removed `.env` and `other.log`, which git ignores, and of which nothing was ever recorded. */
async function lived(): Promise<Lived> {
  const project = new ClockedProject();
  const secret = randomBytes(2_000);
  const at = (name: string): string => join(project.folder, name);
  project.write(".gitignore", ".env\n*.log\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  project.write("a.txt", "one\n");
  writeFileSync(at(".env"), secret);
  project.write("other.log", "what else was there\n");
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "rm .env other.log; echo two > a.txt"] });
  return { project, workspace, secret, at };
}

/** Returns the text of the log. */
function linesOf({ base }: ClockedProject, { id }: WorkspaceApi): string {
  return readFileSync(join(base, "store/workspaces", id, "events.wal"), "utf8");
}

describe("Truth 18: the erasure of contents kept aside", { timeout: 600_000 }, () => {
  it.each(["a path", "a hash", "a pattern"])("by %s: undo brings back every file except the erased one", async (by) => {
    const { project, workspace, secret, at } = await lived();
    await using _ = project;
    const hash = sha256(secret);
    const what = by === "a path" ? { what: ".env" } : by === "a hash" ? { what: hash } : { match: "*.env" };
    const kept = [{ path: ".env", bytes: secret.length, until: expect.any(String) }];
    expect(await workspace.erase({ ...what, dryRun: true })).toMatchObject({ total: 0, kept_aside: kept, event: null });
    const done = await workspace.erase({ ...what, reason: "a key" });
    expect(done).toMatchObject({ total: 0, kept_aside: kept, event: expect.any(Number) });
    expect(done.not_reached).toContainEqual(expect.stringContaining("command lines"));
    expect(linesOf(project, workspace)).not.toContain(hash);
    expect(await workspace.erasures()).toMatchObject([{ id: done.id, total: 0, kept_aside: 1, reason: "a key" }]);
    expect((await workspace.erase({ ...what, dryRun: true }).catch((error: unknown) => error)) as object).toMatchObject(
      {
        code: "NOT_FOUND",
      },
    );
    const undone = await workspace.undo();
    expect(undone.skipped).toMatchObject([{ path: ".env", detail: expect.stringMatching(/erased by event \d+/) }]);
    expect([existsSync(at(".env")), project.read("other.log")]).toEqual([false, "what else was there\n"]);
    expect(project.read("a.txt")).toBe("one\n");
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("a file that several runs have kept aside is listed once", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    for (const text of ["two", "three"]) {
      await workspace.undo();
      await workspace.run({ command: ["sh", "-c", `rm .env; echo ${text} > a.txt`] });
    }
    const kept = [{ path: ".env", bytes: secret.length, until: expect.any(String) }];
    const done = await workspace.erase({ what: ".env" });
    expect(done.kept_aside).toEqual(kept);
    expect(await workspace.erasures()).toMatchObject([{ id: done.id, kept_aside: 1 }]);
    expect((await workspace.unerase(done.id ?? "")).kept_aside).toBe(1);
  });

  it("the bytes of an erased file can be brought back for a day, and then leave the store", async () => {
    const { project, workspace, secret, at } = await lived();
    await using _ = project;
    const store = join(project.base, "store");
    const { id } = await workspace.erase({ what: ".env" });
    await workspace.gc();
    expect(holding(store, secret)).not.toEqual([]);
    await workspace.unerase(id ?? "");
    await workspace.undo();
    expect(readFileSync(at(".env"))).toEqual(secret);
    unlinkSync(at(".env"));
    await workspace.erase({ what: ".env" });
    project.pass(DAY + 1);
    await workspace.gc();
    expect(holding(store, secret)).toEqual([]);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
    await workspace.compact({ dropArchive: true });
    await workspace.gc();
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("also erases the same content where it is recorded, and does not keep it aside again", async () => {
    const { project, workspace, secret, at } = await lived();
    await using _ = project;
    await workspace.putFile("config.txt", secret, {});
    await expect(workspace.erase({ what: ".env" })).rejects.toThrow(/the present content of config.txt/);
    await workspace.deleteFile("config.txt");
    expect(await workspace.erase({ what: ".env", now: true })).toMatchObject({
      total: 1,
      kept_aside: [{ path: ".env" }],
      freed: true,
    });
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
    writeFileSync(at(".env"), secret);
    await workspace.run({ command: ["sh", "-c", "rm .env"] });
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });
});
