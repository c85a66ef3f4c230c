import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sealEvents } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type EventDraft, type SealedEvent } from "../../src/core/values/event.ts";
import { encodeFile } from "../../src/core/values/file-record.ts";
import { encodeWorkspace } from "../../src/core/records/workspace-record.ts";
import { DEFAULT_LIMITS } from "../../src/core/filter/filter.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { FileEventLog } from "../../src/storage/files/file-event-log.ts";
import { MemoryBlobStore } from "../../src/storage/memory/memory-blob-store.ts";
import { MemoryIndexStore } from "../../src/storage/memory/memory-index-store.ts";
import { memoryLocks } from "../../src/storage/memory/memory-lock.ts";
import { sealCommit } from "../../src/testing/seal-commit.ts";
import { catchUp } from "../../src/engine/log/catch-up.ts";
import type { HistoryContext } from "../../src/engine/log/context.ts";
import { Project } from "../helpers/project.ts";
import { RecordFolder } from "../helpers/record-folder.ts";

/**
 * A crash can only tear the last commit. Everything else that is wrong with the log is damage. Damage is never cut
 * off, even if neither an index nor a signed head says how long the log was.
 */

const PATHS = { log: "/w/events.wal", archive: "/w/archive", quarantine: "/w/quarantine" };
const PAGE = 4096;
const TS = "2030-01-01T00:00:00.000Z";

/** Returns an engine over a log of these bytes, without a filled index or kept heads. */
function historyOf(bytes: Buffer): { readonly disk: SimDisk; readonly context: HistoryContext } {
  const disk = SimDisk.fromTree({ "/w": { folder: 0o700 }, [PATHS.log]: { content: bytes, mode: 0o600 } });
  const heads = { verifierKey: () => undefined, last: () => undefined, isDue: () => false };
  const context = {
    workspaceId: "w",
    log: new FileEventLog(disk, PATHS),
    blobs: new MemoryBlobStore({ contents: new Map() }),
    index: new MemoryIndexStore(),
    lock: memoryLocks()("lock"),
    waitMs: 0,
    heads,
    now: () => Date.parse(TS),
    newId: () => "id",
  } as unknown as HistoryContext;
  return { disk, context };
}

function fileDraft(n: number, text = ""): EventDraft {
  const record = encodeFile({ entry: undefined, iteration: 1, cause: "write", actor: `a${text}` });
  return { op: "upsert", recordId: `file:f${n}`, record };
}

const root = {
  id: null,
  folder: "",
  filter: { useGitignore: false, excludePatterns: [], excludeGlobs: [], forceInclude: [] },
};
const workspace = encodeWorkspace({
  format: 2,
  created: TS,
  roots: [{ ...root, limits: DEFAULT_LIMITS }],
  device: "0",
  inode: "0",
} as never);

/** Returns commits with the given numbers of events. */
function commitsOf(counts: readonly number[], text = ""): SealedEvent[][] {
  const commits: SealedEvent[][] = [];
  let head: Pick<SealedEvent, "seq" | "hash"> | typeof EMPTY_HEAD = EMPTY_HEAD;
  for (const count of counts) {
    const first = head.seq + 1;
    const drafts = Array.from({ length: count }, (_, i) => fileDraft(first + i, text));
    if (first === 1) drafts[0] = { op: "upsert", recordId: "workspace:w", record: workspace };
    const commit = sealCommit(head, drafts, TS);
    commits.push(commit);
    head = commit.at(-1) ?? head;
  }
  return commits;
}

const bytesOf = (events: readonly SealedEvent[]): Buffer => Buffer.from(events.map(({ line }) => `${line}\n`).join(""));

describe("Truth 14: a torn tail is the last commit, everything else is damage", () => {
  it("a flipped bit before the last commit is damage, and the log is kept, with index and heads gone", async () => {
    const commits = commitsOf([1, 3, 1, 2]);
    const sound = bytesOf(commits.flat());
    const earlier = bytesOf(commits.slice(0, -1).flat()).length;
    for (let at = 0; at < earlier * 8; at += 1) {
      const bytes = Buffer.from(sound);
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7));
      const { disk, context } = historyOf(bytes);
      const place = `bit ${at & 7} of byte ${at >> 3}`;
      await expect(catchUp(context, { recover: true }), place).rejects.toMatchObject({ code: "LOG_DAMAGED" });
      expect(disk.content(PATHS.log)?.equals(bytes), place).toBe(true);
      expect(disk.lstat(PATHS.quarantine), place).toBe(undefined);
    }
  }, 120_000);

  it("a damaged byte in the last commit moves that whole commit to quarantine, and nothing before it", async () => {
    const commits = commitsOf([1, 3, 1, 3]);
    const sound = bytesOf(commits.flat());
    const before = bytesOf(commits.slice(0, -1).flat());
    for (let at = before.length; at < sound.length; at += 1) {
      const bytes = Buffer.from(sound);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at & 7));
      const { disk, context } = historyOf(bytes);
      const { head } = await catchUp(context, { recover: true });
      expect(head.seq, `byte ${at}`).toBe(6);
      expect(disk.content(PATHS.log)?.subarray(0, before.length).equals(before)).toBe(true);
      const [kept] = disk.list(PATHS.quarantine);
      expect(disk.content(`${PATHS.quarantine}/${kept?.name.toString()}`)?.equals(bytes.subarray(before.length))).toBe(
        true,
      );
      const [recovery] = await context.index.records("recovery:");
      expect(recovery?.seq).toBe(6);
    }
  });

  it("damage to the last line that the index knows is a problem for verify, and not called torn", async () => {
    await using project = new Project();
    project.write("a", "1");
    await (await project.init()).close();
    const [folder = ""] = readdirSync(join(project.home, "workspaces"));
    const log = join(project.home, "workspaces", folder, "events.wal");
    const bytes = readFileSync(log);
    const at = bytes.length - 30;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(log, bytes);
    const workspace = await project.open();
    const { ok, problems, notes } = await workspace.verify();
    expect(ok).toBe(false);
    expect(problems.map(({ kind }) => kind)).not.toContain("log-replaced");
    expect(notes.filter((note) => note.includes("torn"))).toEqual([]);
    await expect(workspace.snapshot()).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  });

  it("whichever pages of the last append reached the disk, recovery keeps the append whole or removes it whole", async () => {
    // Lines that end within pages, and one that is longer than a page.
    const small = commitsOf([1, 2, 1], "x".repeat(700)).flat();
    const last = sealCommit(
      small.at(-1) ?? EMPTY_HEAD,
      [...[1, 2, 3, 4].map((n) => fileDraft(10 + n, "y".repeat(1_800 * n))), fileDraft(20)],
      TS,
    );
    const [old, whole] = [bytesOf(small), bytesOf([...small, ...last])];
    const first = Math.floor(old.length / PAGE);
    const pages = Math.ceil(whole.length / PAGE) - first;
    expect(pages).toBeGreaterThan(4);
    for (let durable = 0; durable < 2 ** pages; durable += 1) {
      for (let size = pages; size > 0; size -= 1) {
        const bytes = Buffer.alloc(Math.min(whole.length, (first + size) * PAGE));
        for (let page = 0; page < first + size; page += 1) {
          const isDurable = page < first || ((durable >> (page - first)) & 1) === 1;
          (isDurable ? whole : old).subarray(page * PAGE, (page + 1) * PAGE).copy(bytes, page * PAGE);
        }
        if (bytes.length < old.length) continue;
        const place = `pages ${durable.toString(2)}, ${size} of ${pages}`;
        const { disk, context } = historyOf(bytes);
        const { head } = await catchUp(context, { recover: true });
        const isThere = bytes.equals(whole);
        expect(head.seq, place).toBe(isThere ? small.length + last.length : small.length + (bytes.equals(old) ? 0 : 1));
        expect(disk.content(PATHS.log)?.subarray(0, old.length).equals(old), place).toBe(true);
        const events = (disk.content(PATHS.log) ?? Buffer.alloc(0)).toString().trimEnd().split("\n").length;
        expect(events, place).toBe(head.seq);
      }
    }
  }, 120_000);

  it("a commit without its last line is not read, and recovery removes it whole", async () => {
    const commits = commitsOf([1, 2, 4]);
    const { context } = historyOf(bytesOf(commits.flat().slice(0, -1)));
    const seen = await catchUp(context, { recover: false });
    expect([seen.damage, seen.head.seq]).toEqual([undefined, 3]);
    expect((await catchUp(context, { recover: true })).head.seq).toBe(4);
    expect(await context.index.records("recovery:")).toMatchObject([{ seq: 4 }]);
  });

  it("an end of a commit that names another beginning is damage if a commit follows", async () => {
    const [one = [], two = []] = commitsOf([1, 2]);
    const wrong = two.map((event, i) =>
      i === 1 ? { ...event, record: { ...event.record, commit: { first: 3 } } } : event,
    );
    const resealed = sealCommitWith(one.at(-1) ?? EMPTY_HEAD, wrong);
    const later = sealCommit(resealed.at(-1) ?? EMPTY_HEAD, [fileDraft(9)], TS);
    const damaged = historyOf(bytesOf([...one, ...resealed, ...later]));
    await expect(catchUp(damaged.context, { recover: true })).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  });

  it("a workspace with a flipped bit in its log, without index and keys, can be verified, and is never written", async () => {
    await using project = new Project();
    const workspaceApi = await project.init();
    for (let n = 0; n < 6; n += 1) {
      project.write("a", "x".repeat(n + 1));
      await workspaceApi.snapshot();
    }
    const { id } = workspaceApi;
    await workspaceApi.close();
    const folder = join(project.home, "workspaces", id);
    const log = join(folder, "events.wal");
    const lines = readFileSync(log, "utf8").split("\n");
    expect(lines.length).toBeGreaterThan(13);
    const bytes = readFileSync(log);
    const at = Buffer.byteLength(lines.slice(0, 4).join("\n")) + 150;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(log, bytes);
    for (const name of ["index.db", "index.db-wal", "index.db-shm"]) rmSync(join(folder, name), { force: true });
    rmSync(project.configFolder, { recursive: true, force: true });
    const again = await project.open();
    const { ok, problems } = await again.verify();
    expect([ok, problems[0]?.where]).toEqual([false, "events.wal:5"]);
    project.write("a", "later");
    await expect(again.snapshot()).rejects.toMatchObject({ code: "LOG_DAMAGED", data: { line: 5 } });
    expect(readFileSync(log).equals(bytes)).toBe(true);
    expect(readdirSync(folder)).not.toContain("quarantine");
  });

  it("a record store: a flipped bit before the last commit is damage; in the last commit, it is a torn tail", async () => {
    await using folder = new RecordFolder();
    await folder.closed(3);
    const sound = readFileSync(folder.log);
    const lines = folder.lines;
    const lastCommit = Buffer.byteLength(`${lines.slice(0, -2).join("\n")}\n`);
    for (let at = 40; at < sound.length; at += 97) {
      const bytes = Buffer.from(sound);
      bytes[at] = (bytes[at] ?? 0) ^ 2;
      folder.write("events.wal", bytes);
      folder.forgetBound();
      const store = await folder.store();
      const written = await store.upsert("next", {}).catch((error: unknown) => error);
      if (at < lastCommit) {
        expect(written, `byte ${at}`).toMatchObject({ code: "LOG_DAMAGED" });
        expect(readFileSync(folder.log).equals(bytes)).toBe(true);
      } else {
        expect(await store.all(), `byte ${at}`).toHaveLength(3);
        expect(await store.get("k3")).toBe(undefined);
      }
      await store.close();
      rmSync(folder.at("quarantine"), { recursive: true, force: true });
    }
  });
});

/** Seals events as they are. */
function sealCommitWith(
  head: Pick<SealedEvent, "seq" | "hash"> | typeof EMPTY_HEAD,
  events: readonly SealedEvent[],
): SealedEvent[] {
  return sealEvents(
    head,
    events.map(({ op, recordId, record }) => ({ op, recordId, record })),
    TS,
  );
}
