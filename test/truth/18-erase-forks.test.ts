import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { text } from "../helpers/content-text.ts";

/** A fork can be made of a state with an erased content, and the content is erased in the fork, too. */

const DAY = 24 * 60;

interface Forked {
  readonly project: ClockedProject;
  readonly store: StoreApi;
  readonly source: WorkspaceApi;
  readonly fork: WorkspaceApi;
  readonly secret: Buffer;
  readonly erasure: string;
}

/** Snapshot 1 has the secret in `config.txt` and `copy.txt`; the fork begins there, after the erasure. */
async function forked(): Promise<Forked> {
  const project = new ClockedProject();
  const secret = randomBytes(300);
  const store = await project.store();
  const { workspace: source } = await store.create({ name: "source" });
  for (const path of ["config.txt", "copy.txt"]) await source.putFile(path, secret, {});
  await source.putFile("a.txt", Buffer.from("one\n"), {});
  await source.snapshot({ name: "with" });
  for (const path of ["config.txt", "copy.txt"]) await source.putFile(path, Buffer.from("clean\n"), {});
  const { id } = await source.erase({ what: "config.txt", reason: "it got in" });
  const { workspace: fork } = await store.create({ name: "fork", from: { workspace: source.id, moment: "with" } });
  return { project, store, source, fork, secret, erasure: id ?? "" };
}

async function done({ project, source, fork }: Forked): Promise<void> {
  await fork.close();
  await source.close();
  await project[Symbol.asyncDispose]();
}

const code = (wanted: string) => expect.objectContaining({ code: wanted });

describe("Truth 18: a fork of a state with erased contents", { timeout: 600_000 }, () => {
  it("lists every file, and serves only the contents that are not erased", async () => {
    const lived = await forked();
    const { fork, erasure, secret } = lived;
    expect((await fork.files()).files.map(({ path }) => path)).toEqual(["a.txt", "config.txt", "copy.txt"]);
    expect(await text(await fork.cat("a.txt"))).toBe("one\n");
    await expect(fork.cat("config.txt")).rejects.toThrow(/erased by event \d+ \(it got in\)/);
    await expect(fork.cat("copy.txt")).rejects.toThrow(code("ERASED"));
    await expect(fork.blob(sha256(secret))).rejects.toThrow(code("ERASED"));
    expect(await fork.erasures()).toMatchObject([{ id: erasure, total: 1, reason: "it got in" }]);
    expect(await fork.verify()).toMatchObject({ ok: true, problems: [] });
    await done(lived);
  });

  it("does not name events of the original history", async () => {
    await using project = new ClockedProject();
    project.write("keys.txt", "a token that got in\n");
    project.write("a.txt", "one\n");
    const source = await project.init();
    await source.snapshot({ name: "with" });
    await source.configure({ excludeGlobs: ["keys*"] });
    expect(await source.erase({ what: "keys.txt" })).toMatchObject({ untracked: ["keys.txt"] });
    const store = await project.store();
    const { workspace: fork } = await store.create({ name: "fork", from: { workspace: source.id, moment: "with" } });
    expect(await fork.erasures()).toMatchObject([{ total: 1 }]);
    const lines = readFileSync(join(project.base, "store", "workspaces", fork.id, "events.wal"), "utf8");
    expect(lines).toContain('"record_id":"erase:');
    expect(lines).not.toContain('"untracked"');
    await fork.close();
  });

  it("stays sound after the bytes are gone, and can be written to, compacted and forked again", async () => {
    const lived = await forked();
    const { project, store, fork } = lived;
    project.pass(DAY + 1);
    await store.gc();
    expect(await fork.verify()).toMatchObject({ ok: true, problems: [] });
    await fork.putFile("config.txt", Buffer.from("new\n"), {});
    expect(await text(await fork.cat("config.txt"))).toBe("new\n");
    await fork.compact({ dropArchive: true });
    await store.gc();
    expect(await fork.verify()).toMatchObject({ ok: true, problems: [] });
    const { workspace: again } = await store.create({ name: "again", from: { workspace: fork.id } });
    expect(await text(await again.cat("config.txt"))).toBe("new\n");
    await expect(again.cat("copy.txt")).rejects.toThrow(code("ERASED"));
    expect(await again.verify()).toMatchObject({ ok: true, problems: [] });
    await again.close();
    await done(lived);
  });

  it("serves a content again after unerase in the fork, though it stays erased in the original history", async () => {
    const lived = await forked();
    const { project, store, source, fork, secret, erasure } = lived;
    await fork.unerase(erasure);
    project.pass(DAY + 1);
    await store.gc();
    expect((await fork.cat("copy.txt")).size).toBe(secret.length);
    await expect(source.cat("copy.txt", 1)).rejects.toThrow(code("ERASED"));
    for (const one of [source, fork]) expect(await one.verify()).toMatchObject({ ok: true, problems: [] });
    await done(lived);
  });
});
