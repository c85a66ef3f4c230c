import { randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { text } from "../helpers/content-text.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { holding } from "../helpers/holding.ts";
import { flipByte } from "../helpers/rot.ts";
import { sha256 } from "../../src/core/values/hash.ts";

/** An erased content is not served any more and leaves the store, and the history still verifies. */

const DAY = 24 * 60;

/** Bytes that no compression changes: they can be looked for in the files of the store. */
function secretBytes(): Buffer {
  return Buffer.concat([Buffer.from("SECRET "), randomBytes(2_000)]);
}

interface Lived {
  readonly project: ClockedProject;
  readonly workspace: WorkspaceApi;
  readonly secret: Buffer;
  readonly hash: string;
}

/**
 * Snapshot 1 has the secret in `config.txt` and `copy.txt`, snapshot 2 does not have it. `live` is recorded in another
 * file, which stays.
 */
async function lived({ live }: { readonly live?: Buffer } = {}): Promise<Lived> {
  const project = new ClockedProject();
  const secret = secretBytes();
  const at = (name: string): string => join(project.folder, name);
  project.write("a.txt", "one\n");
  const workspace = await project.init();
  writeFileSync(at("config.txt"), secret);
  writeFileSync(at("copy.txt"), secret);
  if (live !== undefined) writeFileSync(at("live.bin"), live);
  await workspace.snapshot();
  project.write("a.txt", "two\n");
  project.write("config.txt", "no secret\n");
  unlinkSync(at("copy.txt"));
  await workspace.snapshot();
  return { project, workspace, secret, hash: sha256(secret) };
}

const code = (wanted: string) => expect.objectContaining({ code: wanted });

describe("Truth 18: an erased content", { timeout: 600_000 }, () => {
  it("is named by a dry run first, and not served by anything after the erasure", async () => {
    const { project, workspace, secret, hash } = await lived();
    await using _ = project;
    const seen = await workspace.erase({ what: "config.txt", dryRun: true });
    expect(seen).toMatchObject({
      dry_run: true,
      event: null,
      total: 1,
      bytes: secret.length,
      total_kept: 1,
      untracked: [],
    });
    expect(seen.contents).toEqual([
      { hash, bytes: secret.length, paths: ["config.txt", "copy.txt"], total_paths: 2, now_in: [] },
    ]);
    expect(seen.kept).toMatchObject([{ now_in: ["config.txt"] }]);
    expect(await text(await workspace.cat("a.txt", 1))).toBe("one\n");
    await workspace.cat("config.txt", 1);

    const done = await workspace.erase({ what: "config.txt", reason: "it got in" });
    expect(done).toMatchObject({ dry_run: false, event: expect.any(Number), total: 1, freed: null });
    expect(Date.parse(done.until ?? "") - project.now).toBe(DAY * 60_000);
    const lines = readFileSync(join(project.base, "store/workspaces", workspace.id, "events.wal"), "utf8");
    expect(JSON.parse(lines.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      record_id: `erase:${done.id}`,
      record: { actor: "human", asked: { path: "config.txt" }, contents: [hash], reason: "it got in", state: "erased" },
    });

    await expect(workspace.cat("config.txt", 1)).rejects.toThrow(code("ERASED"));
    await expect(workspace.cat("copy.txt", 1)).rejects.toThrow(/erased by event \d+ \(it got in\)/);
    const iterations = await workspace.history("config.txt");
    const erased = new Map(iterations.map(({ iteration, erased_by: by }) => [iteration, by]));
    expect([erased.get(1), erased.get(2)]).toEqual([done.event, undefined]);
    await expect(workspace.blob(hash)).rejects.toThrow(code("ERASED"));
    const { changes } = await workspace.diff("1", "2", { patch: true });
    expect(changes.find(({ path }) => path === "config.txt")).toMatchObject({ erased: true });
    expect(changes.find(({ path }) => path === "a.txt")?.patch).toContain("+two");
  });

  it("is named and skipped by a restore, which restores everything else", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    await workspace.erase({ what: "config.txt" });
    const dry = await workspace.restore("1", { dryRun: true });
    const done = await workspace.restore("1");
    const erased = { reason: "erased", detail: expect.stringMatching(/erased by event \d+/) };
    for (const shape of [dry, done]) {
      expect(shape.changes.map(({ path }) => path)).toEqual(["a.txt"]);
      expect(shape.skipped).toEqual([
        { path: "config.txt", ...erased },
        { path: "copy.txt", ...erased },
      ]);
    }
    expect([project.read("a.txt"), project.read("config.txt")]).toEqual(["one\n", "no secret\n"]);
    await expect(workspace.restore("1", { paths: ["config.txt"] })).rejects.toThrow(code("ERASED"));
    const to = await workspace.restore("1", { to: join(project.base, "copy") });
    expect([to.changes.map(({ path }) => path), to.skipped.map(({ path }) => path)]).toEqual([
      ["a.txt"],
      ["config.txt", "copy.txt"],
    ]);
    await workspace.undo();
    expect(project.read("a.txt")).toBe("two\n");
  });

  it("cannot be erased while another history of the store cannot be read, and the error names that history", async () => {
    const { project } = await lived();
    await using _ = project;
    const store = await project.store();
    const { workspace: other } = await store.create({ name: "other" });
    await other.putFile("b.txt", Buffer.from("b"), {});
    await other.close();
    const damage = (folder: string): void => {
      const log = join(project.base, "store", folder, other.id, "events.wal");
      flipByte(log, statSync(log).size >> 1);
    };
    const told = async (): Promise<unknown> => {
      const workspace = await project.open();
      return workspace.erase({ what: "config.txt" }).catch((error: unknown) => error);
    };
    damage("workspaces");
    const which = "it is not known which of these contents";
    expect(await told()).toMatchObject({
      message: expect.stringMatching(new RegExp(`^${which} workspace ${other.id} needs: `)),
      hint: expect.stringContaining(`chronicle -w ${other.id} verify`),
    });
    damage("workspaces");
    await store.forget(other.id);
    damage("forgotten");
    expect(await told()).toMatchObject({
      message: expect.stringMatching(new RegExp(`^${which} the forgotten history ${other.id} needs: `)),
      hint: expect.stringContaining(`chronicle unforget ${other.id}`),
    });
    damage("forgotten");
    expect(await told()).toMatchObject({ total: 1 });
  });

  it("can be brought back for a day", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    const { id } = await workspace.erase({ what: "config.txt" });
    project.pass(DAY - 1);
    await workspace.gc();
    expect(await workspace.erasures()).toMatchObject([{ id, total: 1, can_be_withdrawn: true }]);
    await workspace.unerase((id ?? "").slice(0, 8));
    expect(await workspace.erasures()).toEqual([]);
    project.pass(2 * DAY);
    await workspace.gc();
    await workspace.restore("1");
    expect(readFileSync(join(project.folder, "copy.txt"))).toEqual(secret);
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("leaves the files of the store with the first gc after a day, and verify stays ok", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    const store = join(project.base, "store");
    const { id } = await workspace.erase({ what: "config.txt" });
    expect(holding(store, secret)).not.toEqual([]);
    const before = await workspace.head();
    project.pass(DAY + 1);
    await workspace.close();
    const again = await project.open();
    await again.gc();
    expect(holding(store, secret)).toEqual([]);
    const verified = await again.verify({ expect: before.note ?? "" });
    expect(verified).toMatchObject({
      ok: true,
      problems: [],
      notes: [expect.stringContaining("1 content erased by event")],
    });
    await expect(again.cat("config.txt", 1)).rejects.toThrow(code("ERASED"));
    await expect(again.unerase(id ?? "")).rejects.toThrow(code("REFUSED"));
    expect((await again.restore("1")).changes.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(await again.rebuild()).toBeDefined();
    expect(await again.verify()).toMatchObject({ ok: true });
    await again.compact({ dropArchive: true });
    expect(await again.verify()).toMatchObject({ ok: true });
    await again.gc();
    expect(await again.verify()).toMatchObject({ ok: true });
  });

  it("is a new content if a program writes it again, and is kept", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    await workspace.erase({ what: "config.txt" });
    await workspace.putFile("new.txt", secret, {});
    await workspace.snapshot({ name: "again" });
    project.pass(DAY + 1);
    await workspace.gc();
    expect(await workspace.verify()).toMatchObject({ ok: true });
    unlinkSync(join(project.folder, "new.txt"));
    await workspace.restore("again", { paths: ["new.txt"] });
    expect(readFileSync(join(project.folder, "new.txt"))).toEqual(secret);
    // The same after the bytes had left the store.
    unlinkSync(join(project.folder, "new.txt"));
    await workspace.erase({ what: "new.txt" });
    project.pass(DAY + 1);
    await workspace.gc();
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
    await workspace.putFile("put.txt", secret, {});
    expect(await workspace.verify()).toMatchObject({ ok: true });
    await workspace.gc();
    expect((await workspace.cat("put.txt")).size).toBe(secret.length);
  });

  it("cannot be the present content of a path, unless the rules leave the path out now", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    const secret = secretBytes();
    writeFileSync(join(project.folder, "keys.txt"), secret);
    await workspace.snapshot({ name: "keys" });
    await expect(workspace.erase({ what: "keys.txt" })).rejects.toThrow(/the present content of keys.txt/);
    await expect(workspace.erase({ what: "keys.txt", dryRun: true })).rejects.toThrow(code("REFUSED"));
    await workspace.configure({ excludePatterns: ["keys.txt"] });
    expect(await workspace.erase({ match: "*.txt", dryRun: true })).toMatchObject({ untracked: ["keys.txt"] });
    expect(await workspace.erase({ what: "keys.txt" })).toMatchObject({ total: 1, untracked: ["keys.txt"] });
    expect(readFileSync(join(project.folder, "keys.txt"))).toEqual(secret);
    await workspace.snapshot();
    project.pass(DAY + 1);
    await workspace.gc();
    await workspace.snapshot();
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
    project.write("a.txt", "three\n");
    expect(await workspace.restore("keys")).toMatchObject({
      changes: [{ path: "a.txt" }],
      skipped: [{ path: "keys.txt", reason: "erased" }],
    });
    expect(readFileSync(join(project.folder, "keys.txt"))).toEqual(secret);
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("stays in the store as long as another workspace needs it, and that workspace is named", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    const store = await project.store();
    const { workspace: other } = await store.create({ name: "other" });
    await other.putFile("mine.txt", secret, {});
    expect(await workspace.erase({ what: "config.txt" })).toMatchObject({
      elsewhere: [{ workspace: other.id, contents: 1 }],
    });
    project.pass(DAY + 1);
    await store.gc();
    expect((await other.cat("mine.txt")).size).toBe(secret.length);
    await expect(workspace.cat("config.txt", 1)).rejects.toThrow(code("ERASED"));
    expect(await other.verify()).toMatchObject({ ok: true });
    await other.close();
  });

  it("leaves the store with the first gc after the other workspace that needed it is forgotten", async () => {
    // A usual collection leaves dead bytes in a pack that is mostly alive.
    const { project, workspace, secret } = await lived({ live: randomBytes(40_000) });
    await using _ = project;
    const stored = join(project.base, "store");
    const first = await project.store();
    const { workspace: other } = await first.create({ name: "other" });
    await other.putFile("mine.txt", secret, {});
    await workspace.erase({ what: "config.txt" });
    await other.close();
    await first.close();
    project.pass(DAY + 1);
    expect(await workspace.gc()).toMatchObject({ pending_blobs: 0 });
    expect(holding(stored, secret)).toHaveLength(1);
    const store = await project.store();
    await store.forget(other.id, { now: true });
    await workspace.gc();
    expect(holding(stored, secret)).toEqual([]);
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("leaves the store at once with `now`, if nobody is at work", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    const transaction = await workspace.beginTransaction({});
    await expect(workspace.erase({ what: "config.txt", now: true })).rejects.toThrow(/a transaction is at work/);
    await workspace.commitTransaction(transaction.id);
    expect(await workspace.erase({ what: "config.txt", now: true })).toMatchObject({ freed: true, not_freed: null });
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("leaves the store at once beside a content that another history needs, and that history is named", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    const token = secretBytes();
    writeFileSync(join(project.folder, "token.txt"), token);
    await workspace.snapshot();
    unlinkSync(join(project.folder, "token.txt"));
    await workspace.snapshot();
    const store = await project.store();
    const { workspace: other } = await store.create({ name: "other" });
    await other.putFile("mine.txt", secret, {});
    await other.close();
    // An open store would have the pack in use that holds all these contents.
    await store.close();
    const done = await workspace.erase({ match: "[ct]o*.txt", now: true });
    expect(done).toMatchObject({ total: 2, freed: false, not_freed: expect.stringContaining(other.id) });
    expect(holding(join(project.base, "store"), token)).toEqual([]);
    expect(holding(join(project.base, "store"), secret)).toHaveLength(1);
  });

  it("stays for the grace period of another history that has erased it, and that history is named", async () => {
    const { project, workspace, secret } = await lived();
    await using _ = project;
    const store = await project.store();
    const { workspace: other } = await store.create({ name: "other" });
    await other.putFile("mine.txt", secret, {});
    await other.deleteFile("mine.txt", {});
    await workspace.erase({ what: "config.txt" });
    const why = (await other.erase({ what: "mine.txt", now: true })).not_freed;
    expect(why).toContain(workspace.id);
    expect(why).toContain("--now");
    await other.close();
    expect(await workspace.erase({ what: "config.txt", now: true })).toMatchObject({ freed: true, not_freed: null });
    expect(holding(join(project.base, "store"), secret)).toEqual([]);
  });

  it("is selected by a hash or a pattern, and not by one that means everything or nothing", async () => {
    const { project, workspace, hash } = await lived();
    await using _ = project;
    expect(await workspace.erase({ what: hash, dryRun: true })).toMatchObject({ total: 1 });
    expect(await workspace.erase({ match: "co*.txt", dryRun: true })).toMatchObject({ total: 1 });
    await expect(workspace.erase({ what: "0".repeat(64) })).rejects.toThrow(code("NOT_FOUND"));
    await expect(workspace.erase({ what: "nowhere.txt" })).rejects.toThrow(code("NOT_FOUND"));
    await expect(workspace.erase({ match: "nowhere*" })).rejects.toThrow(code("NOT_FOUND"));
    for (const wrong of [{}, { what: "a.txt", match: "a" }, { what: "." }, { match: "" }, { match: "!a" }])
      await expect(workspace.erase(wrong)).rejects.toThrow(code("USAGE"));
    await workspace.erase({ what: hash });
    expect(await workspace.erase({ what: hash })).toMatchObject({ total: 0, already: 1, event: null });
  });

  it("cannot be erased or brought back by an agent", async () => {
    const { project, workspace } = await lived();
    await using _ = project;
    const agent = workspace.as({ role: "agent", actor: "agent" });
    await expect(agent.erase({ what: "config.txt" })).rejects.toThrow(code("FORBIDDEN"));
    await expect(agent.unerase("x")).rejects.toThrow(code("FORBIDDEN"));
    expect(await workspace.erasures()).toEqual([]);
  });
});
