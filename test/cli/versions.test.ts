import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { LOST, lose, REPLICA } from "../helpers/lost-version.ts";
import { ServedStore } from "../helpers/served-store.ts";
import { Sandbox } from "./sandbox.ts";

async function prepared(): Promise<{ sandbox: Sandbox; workspace: string }> {
  const sandbox = new Sandbox();
  sandbox.write("notes.txt", "what is there\n");
  await sandbox.must(["init"]);
  expect((await sandbox.must(["versions"])).stdout).toBe("no versions: every change that a replica made was applied\n");
  const { value } = await sandbox.json(["status"]);
  const { workspace } = value as { workspace: string };
  await lose(sandbox, workspace);
  return { sandbox, workspace };
}

describe("chronicle versions", () => {
  it("lists, shows and restores a version that a replica lost, and undo undoes the restore", async () => {
    const { sandbox } = await prepared();
    using _sandbox = sandbox;
    const { stdout } = await sandbox.must(["versions", "notes.txt"]);
    expect(stdout).toMatch(/^0fd1a2b3:17  .*notes\.txt  [0-9a-f]{12}  32 B  mina \(s-42\)  lost to @1\n$/);
    expect((await sandbox.must(["versions", "--show", "0fd1a2b3:17"])).stdout).toBe(LOST);
    expect(readFileSync(join(sandbox.project, "notes.txt"), "utf8")).toBe("what is there\n");
    expect((await sandbox.must(["versions", "--restore", "0fd1:17"])).stdout).toContain(
      "notes.txt is what replica 0fd1a2b3 had made of it\n",
    );
    expect(readFileSync(join(sandbox.project, "notes.txt"), "utf8")).toBe(LOST);
    expect((await sandbox.must(["versions", "--restore", `${REPLICA}:17`])).stdout).toBe(
      "notes.txt already has this state\n",
    );
    await sandbox.must(["undo"]);
    expect(readFileSync(join(sandbox.project, "notes.txt"), "utf8")).toBe("what is there\n");
  });

  it("marks a version that is the present state", async () => {
    const { sandbox } = await prepared();
    using _sandbox = sandbox;
    sandbox.write("notes.txt", LOST);
    await sandbox.must(["snapshot"]);
    expect((await sandbox.must(["versions"])).stdout).toMatch(/is the present state\n$/);
    expect((await sandbox.json(["versions"])).value).toMatchObject([{ lost_to: { iteration: 1 }, is_present: true }]);
  });

  it("reports an unknown path, and a path without versions", async () => {
    const { sandbox } = await prepared();
    using _sandbox = sandbox;
    expect((await sandbox.call(["versions", "nosuch"])).stderr).toContain("nosuch");
    sandbox.write("other.txt", "here\n");
    await sandbox.must(["snapshot"]);
    const { stdout, stderr } = await sandbox.must(["versions", "other.txt"]);
    expect([stdout, stderr]).toEqual(["no versions: every change that a replica made was applied\n", ""]);
  });

  it("is complemented by `sessions`, `show` and `changes`, which know sessions of replicas", async () => {
    const { sandbox, workspace } = await prepared();
    using _sandbox = sandbox;
    expect((await sandbox.must(["sessions"])).stdout).toBe("");
    await lose(sandbox, workspace, { name: "taken.txt", localSeq: 18 });
    expect((await sandbox.must(["sessions"])).stdout).toMatch(/^s-42  .*at replica 0fd1a2b3  1 change  \(mina\)\n$/);
    const { value } = await sandbox.json(["sessions"]);
    const known = { kind: "replica", state: "elsewhere", replica: REPLICA, actor: "mina", changed: 1, exit_code: null };
    expect(value).toMatchObject([{ session_id: "s-42", ...known }]);
    const { stdout } = await sandbox.must(["show", "s-42"]);
    expect(stdout).toMatch(/ended     at replica 0fd1a2b3\n[^]*taken\.txt/);
    expect((await sandbox.call(["show"])).stderr).toContain("there are no sessions yet");
    expect((await sandbox.must(["changes", "--session", "s-42"])).stdout).toContain("taken.txt");
  });

  it("refuses wrong requests with a message", async () => {
    const { sandbox } = await prepared();
    using _sandbox = sandbox;
    const said = async (...words: string[]) => {
      const { code, stderr } = await sandbox.call(["versions", ...words]);
      expect(code).not.toBe(0);
      return stderr;
    };
    expect(await said("--show", "0fd1a2b3:18")).toContain("there is no version 0fd1a2b3:18");
    expect(await said("--restore", "17")).toContain('there is no version "17"');
    expect(await said("notes.txt", "--show", "0fd1a2b3:17")).toContain("do not go together");
    expect(await said("../elsewhere")).toContain("elsewhere");
  });

  it("has its functions in the client of a server, too", async () => {
    const { sandbox, workspace } = await prepared();
    using _sandbox = sandbox;
    const places = { home: sandbox.store, configFolder: join(sandbox.folder, "config", "chronicle") };
    await using served = await ServedStore.start({ places });
    const there = await served.client().store.openById(workspace);
    const [version, ...more] = await there.versions({ path: "notes.txt" });
    expect(more).toEqual([]);
    expect(version).toMatchObject({ id: `${REPLICA}:17`, hash: sha256(LOST), lost_to: { iteration: 1 } });
    expect(await there.versions({ path: "other.txt" })).toEqual([]);
    const blob = await there.blob(version?.hash ?? "");
    expect(Buffer.concat(await Array.fromAsync(blob.pieces())).toString()).toBe(LOST);
    const done = await there.restoreVersion(version?.id ?? "");
    expect(done.changes).toMatchObject([{ path: "notes.txt", change_type: "modified" }]);
    await expect(there.restoreVersion("nobody:1")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(readFileSync(join(sandbox.project, "notes.txt"), "utf8")).toBe(LOST);
  });
});
