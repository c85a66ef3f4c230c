import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { VerifyShape } from "../../src/api/shapes.ts";
import { parseLine } from "../../src/core/log/chain.ts";
import { canonicalJson, parseCanonical } from "../../src/core/values/canonical-json.ts";
import type { EventDraft, RecordBody } from "../../src/core/values/event.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { sealCommit } from "../../src/testing/seal-commit.ts";
import { Project } from "../helpers/project.ts";
import { pushAll } from "../helpers/pushed.ts";
import { storeParts } from "../helpers/store-parts.ts";

/**
 * `verify` reports what the format forbids. Each rule for the lines of a history has its own vectors in
 * `test/format/history.test.ts`. The tests here verify a whole workspace, and a replica's copy of a history.
 */

const TS = "2030-01-01T00:00:00.000Z";

/** Verifies a workspace with a folder of two files, after appending commits to its log as a faulty program would. */
async function withCommits(...commits: readonly (readonly EventDraft[])[]) {
  await using project = new Project();
  project.write("d/x.txt", "x\n");
  project.write("d/e/y.txt", "y\n");
  const workspace = await project.init();
  const { id } = workspace;
  await workspace.close();
  const log = join(project.home, "workspaces", id, "events.wal");
  for (const drafts of commits) {
    const last = parseLine(Buffer.from(readFileSync(log, "utf8").trimEnd().split("\n").at(-1) ?? ""));
    const sealed = sealCommit(last, drafts, TS, id);
    appendFileSync(log, sealed.map(({ line }) => `${line}\n`).join(""));
  }
  const again = await project.open({ readOnly: true });
  return await again.verify();
}

function gone(path: string, iteration = 2): EventDraft {
  const record = { kind: "absent", iteration, cause: "write", actor: "a" };
  return { op: "upsert", recordId: `file:${path}`, record };
}

const PLACED = { kind: "file", mode: 0o644, size: 0, mtime_ms: 0, hash: sha256("") };

describe("live files beneath a path that is no folder", () => {
  it("are reported if the folder was recorded as gone without them", async () => {
    const { ok, problems } = await withCommits([gone("d")]);
    expect(ok).toBe(false);
    expect(problems).toEqual([
      expect.objectContaining({ kind: "rule-broken", where: expect.stringContaining("(file:d)") as unknown }),
    ]);
    expect(problems[0]?.detail).toContain("something beneath it is there");
  });

  it("are reported if they were recorded into a folder that is gone", async () => {
    const all = [gone("d/e/y.txt"), gone("d/e"), gone("d/x.txt"), gone("d")];
    expect((await withCommits(all)).problems).toEqual([]);
    const back = { ...PLACED, iteration: 3, cause: "write", actor: "a" };
    const { problems } = await withCommits(all, [{ op: "upsert", recordId: "file:d/x.txt", record: back }]);
    expect(problems.map(({ kind }) => kind)).toContain("rule-broken");
  });

  it("are allowed in the middle of a commit", async () => {
    expect((await withCommits([gone("d"), gone("d/e"), gone("d/x.txt"), gone("d/e/y.txt")])).problems).toEqual([]);
  });
});

describe("the Merkle root", () => {
  const user = (n: number): EventDraft => ({ op: "upsert", recordId: `user:${n}`, record: {} });

  it("is stated at least once in 1,000 events", async () => {
    // Event 3 states a root. The `commit:` event that ends the commit is not counted.
    const few = Array.from({ length: 999 }, (_, n) => user(n));
    expect((await withCommits(few)).problems).toEqual([]);
    const { problems } = await withCommits([...few, user(999)]);
    expect(problems).toEqual([expect.objectContaining({ kind: "rule-broken" })]);
    expect(problems[0]?.detail).toContain("does not state the Merkle root");
  });
});

async function anchored(change: (anchor: RecordBody) => string): Promise<readonly { kind: string; where: string }[]> {
  return (await verifiedCopy(change)).problems;
}

/**
 * Returns what `verify` says of a replica whose copy of an origin's history starts at a later event, because the
 * origin dropped the events before. `change` rewrites the anchor of the copy.
 */
async function verifiedCopy(change: (anchor: RecordBody) => string): Promise<VerifyShape> {
  await using project = new Project();
  await using other = new Project();
  project.write("a.txt", "one\n");
  const origin = await project.init();
  await origin.putFile("a.txt", Buffer.from("two\n"));
  await origin.compact({ dropArchive: true });
  const replica = await other.init();
  const here = await storeParts(project.home, project.configFolder);
  const there = await storeParts(other.home, other.configFolder);
  await pushAll({ here, there, id: origin.id, replica: replica.id });
  const upstream = join(other.home, "workspaces", replica.id, "upstream");
  const from = readdirSync(upstream).find((name) => name.startsWith("from-")) ?? "";
  const file = join(upstream, from, "anchor.json");
  const text = readFileSync(file, "utf8");
  expect((await replica.verify()).problems).toEqual([]);
  writeFileSync(file, change(parseCanonical(text.trimEnd()) as RecordBody));
  const verified = await replica.verify();
  await here.blobs.close();
  await there.blobs.close();
  return verified;
}

/** Writes the anchor with a matching checksum, as somebody would who knows of the checksum. */
function forged(anchor: RecordBody): string {
  const body = Object.fromEntries(Object.entries(anchor).filter(([key]) => key !== "checksum"));
  return `${canonicalJson({ ...body, checksum: sha256(canonicalJson(body)) })}\n`;
}

describe("the anchor of a copy", () => {
  const OTHER = sha256("other");

  it("that an earlier version wrote without a checksum is read, and verify notes that the checksum is missing", async () => {
    const { problems, notes } = await verifiedCopy(({ workspace, seq, hash, ts, root, base, frontier }) => {
      return `${JSON.stringify({ workspace, seq, hash, ts, root, base, frontier })}\n`;
    });
    expect(problems).toEqual([]);
    expect(notes.join("\n")).toContain("without a checksum");
  });

  it("whose fields were only reordered, as in an earlier version, is reported as unreadable", async () => {
    const problems = await anchored((anchor) => `${JSON.stringify({ workspace: anchor["workspace"], ...anchor })}\n`);
    expect(problems).toEqual([expect.objectContaining({ kind: "copy-unreadable" })]);
  });

  it.each<[string, (anchor: RecordBody) => RecordBody]>([
    ["frontier", ({ frontier, ...rest }) => ({ ...rest, frontier: (frontier as string[]).map(() => OTHER) })],
    ["ts", (anchor) => ({ ...anchor, ts: TS })],
    ["workspace", (anchor) => ({ ...anchor, workspace: "22222222-2222-4222-8222-222222222222" })],
    ["root", (anchor) => ({ ...anchor, root: OTHER })],
  ])("with another %s is reported as unreadable", async (_name, change) => {
    const problems = await anchored((anchor) => `${canonicalJson(change(anchor))}\n`);
    expect(problems).toEqual([expect.objectContaining({ kind: "copy-unreadable" })]);
  });

  it.each<[string, (anchor: RecordBody) => RecordBody]>([
    ["time", (anchor) => ({ ...anchor, ts: TS })],
    ["root", (anchor) => ({ ...anchor, root: OTHER })],
  ])("with another %s and a matching checksum is reported", async (_name, change) => {
    const problems = await anchored((anchor) => forged(change(anchor)));
    expect(problems.length).toBeGreaterThan(0);
    expect(problems[0]?.where).toContain("upstream/from-");
  });
});
