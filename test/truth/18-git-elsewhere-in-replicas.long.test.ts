import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { FollowedOrigin } from "../helpers/followed-origin.ts";

const PATIENCE = { timeout: 60_000, interval: 50 };

function write(folder: string, path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

describe("Truth 18: git's own state in a folder of another name, beside an origin", { timeout: 120_000 }, () => {
  test("the origin writes no hook into it and gets nothing of it, and the sync's status names it", async () => {
    await using both = new FollowedOrigin("--connect");
    const { origin, replica: desk } = both;
    write(origin.project, "a", "1");
    mkdirSync(desk.folder, { recursive: true });
    execFileSync("git", ["init", "-q", "--separate-git-dir=meta", "."], { cwd: desk.folder });
    await both.start();
    expect(existsSync(join(desk.folder, "a"))).toBe(true);
    // At the origin, `meta` is a folder like any other.
    write(origin.project, "meta/hooks/pre-commit", "#!/bin/sh\n");
    write(origin.project, "b", "2");
    await both.until(() => existsSync(join(desk.folder, "b")));
    write(desk.folder, "c", "3");
    const status = await both.flush();
    await both.until(() => existsSync(join(origin.project, "c")));
    expect(status).toMatchObject({
      state: "in-sync",
      git_left_out: 1,
      git_left_out_paths: [{ path: "meta", side: "upstream" }],
    });
    expect(existsSync(join(desk.folder, "meta/hooks/pre-commit"))).toBe(false);
    expect(existsSync(join(origin.project, "meta/HEAD"))).toBe(false);
    // A folder that both sides have is still shared, even if a .git is made to point at it.
    write(desk.folder, "work/a", "1");
    await both.flush();
    for (const path of ["HEAD", "objects/x", "refs/x"]) write(desk.folder, `work/${path}`, "ref: refs/heads/x\n");
    write(desk.folder, "work/.git", "gitdir: .\n");
    write(desk.folder, "work/a", "2");
    await both.flush();
    await vi.waitFor(() => expect(readFileSync(join(origin.project, "work/a"), "utf8")).toBe("2"), PATIENCE);
    // The same holds after a restart of the replica.
    await desk.kill();
    await both.startReplica();
    await both.flush();
    expect(existsSync(join(desk.folder, "meta/hooks/pre-commit"))).toBe(false);
    expect(existsSync(join(origin.project, "meta/hooks/pre-commit"))).toBe(true);
  });
});
