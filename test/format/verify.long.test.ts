import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { encodeBase } from "../../src/core/log/base.ts";
import { sealEvents } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type EventDraft, type SealedEvent } from "../../src/core/values/event.ts";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import { LogTree } from "../../src/core/log/log-tree.ts";
import { manifestRoot } from "../../src/core/tree/merkle.ts";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { encodeHead, generateKey, signHead, vkeyOf } from "../../src/core/log/signed-head.ts";

/** `verify.py` was written from docs/format.md alone. What it accepts and refuses shows that the page is complete. */

const SCRIPT = fileURLToPath(new URL("verify.py", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chronicle-format-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

interface Answer {
  readonly code: number | null;
  readonly report: unknown;
  readonly problem: string;
}

function verify(...args: string[]): Answer {
  const { status, stdout, stderr } = spawnSync("python3", [SCRIPT, ...args], { encoding: "utf8" });
  return { code: status, report: status === 0 ? JSON.parse(stdout) : undefined, problem: stderr };
}

function file(name: string, content: string | Uint8Array): string {
  const full = path.join(folder, name);
  fs.writeFileSync(full, content);
  return full;
}

const lines = (events: readonly SealedEvent[]): string => events.map((event) => `${event.line}\n`).join("");

const drafts: EventDraft[] = Array.from({ length: 50 }, (_, i) => ({
  op: "upsert",
  recordId: i === 0 ? "workspace:w" : i % 3 === 0 ? `user:${i}` : `file:src/ünï-${i}.ts`,
  record: i % 3 === 0 && i > 0 ? { 10: i / 7, 9: 1e21 * i, text: "\u2028 \u{1f600}" } : { kind: "file", size: i },
}));
/** Returns the draft as the last event of a commit. */
const ending = (draft: EventDraft | undefined, first: number): EventDraft => {
  return { op: "upsert", recordId: "", ...draft, record: { ...draft?.record, commit: { first } } };
};
const commits = drafts.with(19, ending(drafts[19], 1)).with(49, ending(drafts[49], 21));
const events = sealEvents(EMPTY_HEAD, commits, "2026-01-31T09:30:00.000Z");
const tree = new LogTree();
for (const event of events) tree.append(event.hash);
const last = events.at(-1) as SealedEvent;
const head = { seq: 50, hash: last.hash, log_root: tree.root(), frontier: tree.frontier() };

describe.skipIf(!hasPython)("a verifier written from docs/format.md (needs python3)", () => {
  it("accepts every golden vector, and refuses those that are wrong", () => {
    const folderOfVectors = fileURLToPath(new URL("vectors", import.meta.url));
    expect(verify("vectors", folderOfVectors)).toMatchObject({ code: 0, problem: "" });
  });

  it("computes the head and the log root of a log", () => {
    expect(verify("log", file("events.wal", lines(events)))).toEqual({ code: 0, report: head, problem: "" });
  });

  it("follows a log across a compaction, with the archive or from the sentinel alone", () => {
    const before = events.slice(0, 20);
    const cut = new LogTree();
    for (const event of before) cut.append(event.hash);
    const at = before.at(-1) as SealedEvent;
    const record = {
      base: sha256("base"),
      frontier: cut.frontier(),
      head: at.hash,
      range: [1, 20],
      root: sha256("r"),
      size: 20,
      commit: { first: 21, root: sha256("r") },
    };
    const sentinel: EventDraft = { op: "compact", recordId: "workspace:w", record };
    const after = sealEvents(at, [sentinel, ...drafts.slice(1, 8), ending(drafts[8], 22)], "2026-01-31T09:30:00.000Z");
    for (const event of after) cut.append(event.hash);
    const report = { seq: 29, hash: after.at(-1)?.hash, log_root: cut.root(), frontier: cut.frontier() };
    const [archived, current] = [file("1-20.wal", lines(before)), file("after.wal", lines(after))];
    expect(verify("log", archived, current)).toMatchObject({ code: 0, report });
    expect(verify("log", current)).toMatchObject({ code: 0, report });
    const forged = sealEvents(at, [{ ...sentinel, record: { ...record, size: 19 } }], "2026-01-31T09:30:00.000Z");
    expect(verify("log", file("forged.wal", lines(forged))).problem).toContain("line 1: the sentinel's size");
  });

  it.each([
    ["a changed record", lines(events).replace('"size":7', '"size":8'), "line 8: wrong hash"],
    ["a missing line", lines(events.toSpliced(9, 1)), "line 10: seq is 11, expected 10"],
    ["a repeated line", lines(events.toSpliced(9, 0, events[8] as SealedEvent)), "line 10: seq is 9, expected 10"],
    ["a torn tail", lines(events).slice(0, -40), "line 50: torn"],
    ["a commit without its end", lines(events.slice(0, 49)), "the commit that begins at event 21 has no end"],
    [
      "an end of another commit",
      lines(sealEvents(EMPTY_HEAD, commits.with(49, ending(drafts[49], 20)), last.ts)),
      "line 50: it does not end the commit that began at event 21",
    ],
    [
      "a line of another chain",
      lines(events.with(1, sealEvents({ seq: 1, hash: sha256("x") }, drafts.slice(1, 2), last.ts)[0] as SealedEvent)),
      "line 2: prev_hash",
    ],
    ["an added space", lines(events).replace('"op":', '"op": '), "line 1: not canonical"],
    ["a cut beginning", lines(events.slice(1)), "without a sentinel"],
  ])("names %s", (_name, text, problem) => {
    const answer = verify("log", file("damaged.wal", text));
    expect(answer.code).toBe(1);
    expect(answer.problem).toContain(problem);
  });

  it("recomputes a base, and names the folder that is wrong", () => {
    const entry = (name: string, kind: "file" | "dir") => ({
      path: name as WorkspacePath,
      kind,
      mode: 0o755,
      size: 0,
      mtimeMs: 0,
      hash: kind === "dir" ? undefined : sha256(name),
    });
    const entries = [entry("d", "dir"), entry("d/x", "file"), entry("e", "file")];
    const { root, folders } = manifestRoot(entries);
    const base = (folderHash: Hash): Buffer =>
      Buffer.concat([
        ...encodeBase({
          root,
          counts: { entries: 3, records: 0 },
          records: [],
          entries: entries.map((one) => ({
            path: one.path,
            iteration: 1,
            seq: 1,
            entry: one,
            ...(one.kind === "dir" ? { folderHash } : {}),
          })),
        }),
      ]);
    const honest = base(folders.get("d" as WorkspacePath) as Hash);
    const report = { sha256: sha256(honest), root, entries: 3, records: 0 };
    expect(verify("base", file("base", honest))).toEqual({ code: 0, report, problem: "" });
    expect(verify("base", file("lying", base(sha256("lie")))).problem).toContain("folder hash of b'd'");
  });

  it("checks a signed head", () => {
    const { privateKeyPem, publicKeyPem } = generateKey();
    const content = { workspace: "w", seq: 50, hash: last.hash, logRoot: tree.root(), root: sha256("files") };
    const note = file("note", signHead(encodeHead(content), privateKeyPem, "chronicle/w"));
    const { logRoot, ...rest } = content;
    expect(verify("note", note, vkeyOf(publicKeyPem, "chronicle/w")).report).toEqual({ ...rest, log_root: logRoot });
    const other = vkeyOf(generateKey().publicKeyPem, "chronicle/w");
    expect(verify("note", note, other).problem).toContain("not signed by this key");
  });
});
