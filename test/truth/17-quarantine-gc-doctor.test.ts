import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { open } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

async function opened(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

/** Makes a log whose torn tail was moved to quarantine. Returns the path of the part in quarantine. */
async function withPart(project: Project): Promise<string> {
  project.write("a.txt", "one\n");
  let id = "";
  {
    await using workspace = await opened(project, true);
    id = workspace.id;
  }
  const folder = join(project.home, "workspaces", id);
  appendFileSync(join(folder, "events.wal"), '{"hash":"torn by a crash');
  project.write("a.txt", "two\n");
  {
    await using workspace = await opened(project);
    await workspace.snapshot();
    expect((await workspace.verify()).problems).toEqual([]);
  }
  const [name = ""] = readdirSync(join(folder, "quarantine"));
  return join(folder, "quarantine", name);
}

describe("Truth 17: quarantine is verified, gc names what stops it, doctor copes with any store", () => {
  test("verify reports a part in quarantine that was changed", async () => {
    await using project = new Project();
    const path = await withPart(project);
    const bytes = readFileSync(path);
    bytes[3] = (bytes[3] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await using workspace = await opened(project);
    const { ok, problems } = await workspace.verify();
    expect([ok, problems.map((one) => one.kind)]).toEqual([false, ["quarantine-damaged"]]);
  });

  test("verify reports a part in quarantine that was cut, and one that is gone", async () => {
    await using project = new Project();
    const path = await withPart(project);
    await using workspace = await opened(project);
    writeFileSync(path, readFileSync(path).subarray(0, 5));
    expect((await workspace.verify()).problems.map((one) => one.kind)).toEqual(["quarantine-damaged"]);
    rmSync(path);
    const { problems } = await workspace.verify();
    expect(problems).toMatchObject([{ kind: "quarantine-missing", where: expect.stringContaining("quarantine/") }]);
  });

  test("gc names the workspace that stops it, and the command to run", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    box.sh("mkdir ../other && echo two > ../other/b.txt");
    await box.must(["init"], { cwd: "other" });
    const ids = readdirSync(join(box.store, "workspaces"));
    expect(ids).toHaveLength(2);
    for (const id of ids) {
      const log = join(box.store, "workspaces", id, "events.wal");
      const sound = readFileSync(log);
      const bytes = Buffer.from(sound);
      bytes[40] = (bytes[40] ?? 0) ^ 1;
      writeFileSync(log, bytes);
      const { code, stderr } = await box.call(["gc"]);
      expect(code, stderr).not.toBe(0);
      expect(stderr).toContain(`because of workspace ${id}`);
      expect(stderr).toContain(`chronicle -w ${id} verify`);
      writeFileSync(log, sound);
    }
    expect((await box.call(["gc"])).code).toBe(0);
  });

  test("verify and doctor name damaged notes about paths off the record, which stop a snapshot", async () => {
    using box = new Sandbox();
    box.write("b", "b\n");
    await box.must(["init"]);
    expect(box.run(["run", "--otr", "--", "sh", "-c", "echo otr > b"]).code).toBe(0);
    const [id = ""] = readdirSync(join(box.store, "workspaces"));
    const notes = join(box.store, "workspaces", id, "off-record.json");
    writeFileSync(notes, "x");
    expect((await box.call(["snapshot"])).code).toBe(4);
    const { code, value } = await box.json(["verify"]);
    expect([code, value]).toMatchObject([
      4,
      { ok: false, problems: [{ kind: "file-damaged", where: "off-record.json" }] },
    ]);
    const { code: found, stdout } = await box.call(["doctor"]);
    expect([found, stdout]).toEqual([1, expect.stringContaining(`${notes} cannot be read`)]);
    rmSync(notes);
    await box.must(["verify"]);
    await box.must(["snapshot"]);
  });

  test("doctor says that the store is no folder if it is a file", async () => {
    using box = new Sandbox();
    rmSync(box.store, { recursive: true, force: true });
    writeFileSync(box.store, "no store\n");
    const { code, stdout } = await box.call(["doctor"]);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`BAD  store: ${box.store} is no folder`)]);
    const { value } = await box.json(["doctor"]);
    expect(value).toMatchObject({
      ok: false,
      checks: expect.arrayContaining([
        { name: "store", ok: false, detail: expect.any(String), hint: expect.any(String) },
      ]),
    });
    expect(existsSync(box.store)).toBe(true);
    const other = await box.call(["status"]);
    expect(other.stderr).toContain("is no folder, so it cannot hold a store");
  });
});
