import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { holding } from "../helpers/holding.ts";

/**
 * If a file with an erased content is found on disk again, it is not recorded. It is named as left out, and stays as it
 * is.
 */

const DAY = 24 * 60;

interface Lived {
  readonly project: ClockedProject;
  readonly workspace: WorkspaceApi;
  readonly secret: Buffer;
  readonly id: string;
}

/**
 * Snapshot 1 has the secret in `config.txt`, snapshot 2 another content. The secret was erased; its bytes are gone if
 * `days` have passed.
 */
async function lived({ days = 0, bytes = 3_000 } = {}): Promise<Lived> {
  const project = new ClockedProject();
  const secret = randomBytes(bytes);
  project.write("a.txt", "one\n");
  const workspace = await project.init();
  writeFileSync(join(project.folder, "config.txt"), secret);
  await workspace.snapshot();
  project.write("config.txt", "clean\n");
  project.write("a.txt", "two\n");
  await workspace.snapshot();
  const { id } = await workspace.erase({ what: "config.txt", reason: "it got in" });
  project.pass(days * DAY + days);
  if (days > 0) await workspace.gc();
  return { project, workspace, secret, id: id ?? "" };
}

const erased = (path: string) => ({ path, reason: "erased", detail: expect.stringMatching(/erased by event \d+/) });

describe("Truth 18: an erased content that is found on disk again", { timeout: 600_000 }, () => {
  it.each([
    ["a small file", 3_000, 0],
    ["a small file, once the bytes are gone", 3_000, 1],
    ["a large file, once the bytes are gone", 9 * 1024 * 1024, 1],
  ])("in %s, is named, and neither recorded nor stored", async (_name, bytes, days) => {
    const { project, workspace, secret } = await lived({ bytes, days });
    await using _ = project;
    const store = join(project.base, "store");
    const before = holding(store, secret.subarray(0, 2_000));
    const at = join(project.folder, "back.txt");
    writeFileSync(at, secret);
    project.write("b.txt", "new\n");
    const taken = await workspace.snapshot({ name: "again" });
    expect(taken.coverage).toMatchObject({ complete: true, omitted: [erased("back.txt")] });
    expect((await workspace.status()).coverage.omitted).toEqual([erased("back.txt")]);
    expect((await workspace.status()).changes).toEqual([]);
    expect((await workspace.files()).files.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "config.txt"]);
    expect(await workspace.explain("back.txt")).toMatchObject({ tracked: false, omitted: { reason: "erased" } });
    expect(holding(store, secret.subarray(0, 2_000))).toEqual(before);
    expect(readFileSync(at)).toEqual(secret);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("leaves the state before recorded, and no restore or write changes its file", async () => {
    const { project, workspace, secret } = await lived({ days: 1 });
    await using _ = project;
    const at = join(project.folder, "config.txt");
    writeFileSync(at, secret);
    project.write("a.txt", "three\n");
    await workspace.snapshot();
    expect(await workspace.explain("config.txt")).toMatchObject({ recorded: true, omitted: { reason: "erased" } });
    const back = await workspace.restore("2");
    expect(back.changes.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(back.skipped).toMatchObject([{ path: "config.txt", detail: expect.stringContaining("erased") }]);
    await workspace.restore("baseline");
    expect(readFileSync(at)).toEqual(secret);
    await expect(workspace.putFile("config.txt", Buffer.from("x"), {})).rejects.toMatchObject({ code: "REFUSED" });
    expect(readFileSync(at)).toEqual(secret);
    unlinkSync(at);
    await workspace.restore("2");
    expect(project.read("config.txt")).toBe("clean\n");
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("is recorded once the erasure is withdrawn, and its file is recorded once it has another content", async () => {
    const { project, workspace, secret, id } = await lived();
    await using _ = project;
    const [one, two] = [join(project.folder, "one.txt"), join(project.folder, "two.txt")];
    writeFileSync(one, secret);
    writeFileSync(two, secret);
    await workspace.snapshot();
    writeFileSync(two, "no secret\n");
    expect((await workspace.snapshot()).coverage.omitted).toEqual([erased("one.txt")]);
    await workspace.unerase(id);
    expect((await workspace.snapshot({ name: "with" })).coverage).toMatchObject({ complete: true, omitted: [] });
    expect((await workspace.history("one.txt")).map(({ hash }) => hash)).toEqual([sha256(secret)]);
    unlinkSync(one);
    await workspace.restore("with", { paths: ["one.txt"] });
    expect(readFileSync(one)).toEqual(secret);
  });

  it("is left alone by a run that renames the file, and by an undo", async () => {
    const { project, workspace, secret } = await lived({ days: 1 });
    await using _ = project;
    const [at, to] = [join(project.folder, "back.txt"), join(project.folder, "there.txt")];
    writeFileSync(at, secret);
    await workspace.snapshot();
    await workspace.run({ command: [process.execPath, "-e", "require('fs').renameSync('back.txt', 'there.txt')"] });
    expect(existsSync(at)).toBe(false);
    expect((await workspace.status()).coverage.omitted).toEqual([erased("there.txt")]);
    await workspace.putFile("other.txt", Buffer.from("x"), {});
    await workspace.undo();
    expect(readFileSync(to)).toEqual(secret);
    renameSync(to, at);
    expect((await workspace.snapshot()).coverage.omitted).toEqual([erased("back.txt")]);
  });

  it("is left out among many files that worker threads read", async () => {
    const { project, workspace, secret } = await lived({ days: 1 });
    await using _ = project;
    for (let i = 0; i < 1_600; i += 1) project.write(`many/${i}.txt`, `file ${i}\n`);
    writeFileSync(join(project.folder, "many/0.txt"), secret);
    const taken = await workspace.snapshot();
    expect(taken.coverage.omitted).toEqual([erased("many/0.txt")]);
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
  });

  it("is recorded again if a program writes it, and is then captured in other files, too", async () => {
    const { project, workspace, secret } = await lived({ days: 1 });
    await using _ = project;
    await workspace.putFile("put.txt", secret, {});
    writeFileSync(join(project.folder, "also.txt"), secret);
    expect((await workspace.snapshot()).coverage.omitted).toEqual([]);
    await workspace.gc();
    expect((await workspace.cat("also.txt")).size).toBe(secret.length);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("is not kept aside in an ignored file of more than 64 MiB that a command sweeps away", async () => {
    await using project = new ClockedProject();
    const secret = randomBytes(64 * 1024 * 1024 + 1);
    const store = join(project.base, "store");
    project.write(".gitignore", "cache/\n");
    project.write(".git/HEAD", "ref: refs/heads/main\n");
    project.write("cache/small", "small\n");
    const workspace = await project.init();
    await workspace.putFile("config.bin", secret, {});
    await workspace.deleteFile("config.bin");
    await workspace.erase({ what: "config.bin", now: true });
    const other = Buffer.alloc(secret.length, "other\n");
    writeFileSync(join(project.folder, "cache/large"), secret);
    writeFileSync(join(project.folder, "cache/other"), other);
    const session = crypto.randomUUID();
    const payload = { command: "rm -rf cache" };
    const begun = await workspace.snapshotAction({ type: "run_command", payload, session });
    await expect(workspace.cat("config.bin", 1)).rejects.toMatchObject({ code: "ERASED" });
    rmSync(join(project.folder, "cache"), { recursive: true });
    await workspace.finishAction(begun?.id ?? "");
    expect(holding(store, secret.subarray(0, 2_000))).toEqual([]);
    await workspace.undo();
    expect(readdirSync(join(project.folder, "cache"))).toEqual(["other", "small"]);
    expect(readFileSync(join(project.folder, "cache/other")).equals(other)).toBe(true);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  });
});
