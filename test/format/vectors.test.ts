import { createPrivateKey } from "node:crypto";
import fs from "node:fs";
import { describe, expect, it } from "vitest";
import { type BaseEntry, type BaseRecord, decodeBase, encodeBase } from "../../src/core/log/base.ts";
import { canonicalJson, parseCanonical } from "../../src/core/values/canonical-json.ts";
import { checkLine, parseLine, sealEvents } from "../../src/core/log/chain.ts";
import { CommitFollower, markOf } from "../../src/core/log/commit-mark.ts";
import type { EntryKind } from "../../src/core/values/entry.ts";
import { decodeErase, encodeErase, ERASE } from "../../src/core/records/erase-record.ts";
import { Erasures } from "../../src/core/records/erasures.ts";
import { EMPTY_HEAD, type EventOp, type Head, type Json, type RecordBody } from "../../src/core/values/event.ts";
import { type Hash, hashToBytes, sha256 } from "../../src/core/values/hash.ts";
import { consistencyProof, inclusionProof, verifyConsistency, verifyInclusion } from "../../src/testing/log-proof.ts";
import { leafHash, LogTree } from "../../src/core/log/log-tree.ts";
import { entryLeaf, folderHash, manifestRoot, type TreeChild, workspaceRoot } from "../../src/core/tree/merkle.ts";
import { decodeName, parsePath, pathFromBytes, pathInRoot, type WorkspacePath } from "../../src/core/values/path.ts";
import { encodeHead, parseSignedHead, signHead, verifySignedHead, vkeyOf } from "../../src/core/log/signed-head.ts";

/**
 * The golden vectors. Their values never change while the version of the format is 1. `verify.py` checks the same
 * files.
 */

function vectors<T>(name: string): T {
  return JSON.parse(fs.readFileSync(new URL(`vectors/${name}.json`, import.meta.url), "utf8")) as T;
}

const code = (wanted: string) => expect.objectContaining({ code: wanted });

interface CanonicalVectors {
  accepted: { name: string; source: string; canonical: string }[];
  rejected: { name: string; text: string }[];
}

describe("canonical JSON", () => {
  const { accepted, rejected } = vectors<CanonicalVectors>("canonical-json");

  it.each(accepted)("$name", ({ source, canonical }) => {
    expect(canonicalJson(JSON.parse(source) as Json)).toBe(canonical);
    expect(canonicalJson(parseCanonical(canonical))).toBe(canonical);
  });

  it.each(rejected)("rejects $name", ({ text }) => {
    expect(() => parseCanonical(text)).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
  });
});

interface EventVectors {
  ts: string;
  drafts: { op: EventOp; record_id: string; record: RecordBody; recursion_depth: number }[];
  lines: string[];
  head: Hash;
  log_root: Hash;
  rejected: { name: string; kind: string; line: string }[];
}

describe("event", () => {
  const { ts, drafts, lines, head, log_root: logRoot, rejected } = vectors<EventVectors>("event");

  it("lines, head and log root", () => {
    const sealed = sealEvents(
      EMPTY_HEAD,
      drafts.map((one) => ({
        op: one.op,
        recordId: one.record_id,
        record: one.record,
        recursionDepth: one.recursion_depth,
      })),
      ts,
    );
    expect(sealed.map((event) => event.line)).toEqual(lines);
    expect(sealed.at(-1)?.hash).toBe(head);
    const tree = new LogTree();
    for (const line of lines) tree.append(parseLine(Buffer.from(line)).hash);
    expect(tree.root()).toBe(logRoot);
  });

  it.each(rejected)("rejects $name", ({ kind, line }) => {
    expect(checkLine(Buffer.from(line), EMPTY_HEAD)).toMatchObject({ fault: { kind } });
  });
});

interface CommitVectors {
  marks: { name: string; line: string; mark: { first: number; root: Hash | null } | null }[];
  rejected: { name: string; line: string }[];
}

describe("commit", () => {
  const { marks, rejected } = vectors<CommitVectors>("commit");

  it.each(marks)("$name", ({ line, mark }) => {
    const found = markOf(parseLine(Buffer.from(line)));
    expect(found === undefined ? null : { first: found.first, root: found.root ?? null }).toEqual(mark);
  });

  it.each(rejected)("rejects $name", ({ line }) => {
    const event = parseLine(Buffer.from(line));
    expect(markOf(event)).toBe(undefined);
    expect(new CommitFollower(4).take(event)).toMatch(/^commit/);
  });
});

interface EraseVectors {
  lines: string[];
  named: { seq: number; hash: Hash }[];
  licensed: { name: string; after: number; seqs: number[] }[];
  rejected: { name: string; line: string }[];
}

describe("erase", () => {
  const { lines, named, licensed, rejected } = vectors<EraseVectors>("erase");
  const events = lines.map((line) => parseLine(Buffer.from(line)));

  it.each(licensed)("$name", ({ after, seqs }) => {
    const erasures = new Erasures();
    for (const { recordId, seq, record } of events.slice(0, after))
      if (recordId.startsWith(ERASE)) erasures.add(recordId, seq, record);
    const gone = named.filter(({ seq, hash }) => seq <= after && erasures.license(hash, seq));
    expect(gone.map(({ seq }) => seq)).toEqual(seqs);
  });

  it("the lines form one chain, and each erase record is encoded as it stands in its line", () => {
    let head: Head = EMPTY_HEAD;
    for (const line of lines) {
      const checked = checkLine(Buffer.from(line), head);
      if (!("event" in checked)) throw new Error(checked.fault.detail);
      head = checked.event;
      const { recordId, record } = checked.event;
      if (recordId.startsWith(ERASE)) expect(encodeErase(decodeErase(record))).toEqual(record);
    }
    expect(head.seq).toBe(lines.length);
  });

  it.each(rejected)("rejects $name", ({ line }) => {
    expect(() => decodeErase(parseLine(Buffer.from(line)).record)).toThrow(code("LOG_DAMAGED"));
  });
});

interface ChildVector {
  name?: string;
  name_hex?: string;
  kind: EntryKind;
  mode: number;
  hash: Hash;
}

interface FolderVectors {
  leaves: (ChildVector & { leaf: string })[];
  folders: { name: string; children: ChildVector[]; folder: Hash }[];
  roots: { name: string; roots: { id: string; folder: Hash }[]; root: Hash }[];
}

function child({ name, name_hex: hex, kind, mode, hash }: ChildVector): TreeChild {
  return { name: hex === undefined ? (name ?? "") : decodeName(Buffer.from(hex, "hex")), kind, mode, hash };
}

describe("folder", () => {
  const { leaves, folders, roots } = vectors<FolderVectors>("folder");

  it.each(leaves)("leaf of $kind $name$name_hex, mode $mode", ({ leaf, ...one }) => {
    const { name, kind, mode, hash } = child(one);
    expect(entryLeaf(name, kind, mode, hashToBytes(hash)).toString("hex")).toBe(leaf);
  });

  it.each(folders)("folder: $name", ({ children, folder }) => {
    expect(folderHash(children.map(child))).toBe(folder);
  });

  it.each(roots)("root: $name", ({ roots: tracked, root }) => {
    const [first, ...further] = tracked as [{ folder: Hash }, ...{ id: string; folder: Hash }[]];
    expect(
      workspaceRoot(
        first.folder,
        further.map((one) => ({ id: one.id, hash: one.folder })),
      ),
    ).toBe(root);
  });
});

interface LogTreeVectors {
  events: Hash[];
  sizes: { size: number; frontier: Hash[]; root: Hash }[];
  inclusion: { index: number; size: number; proof: Hash[] }[];
  consistency: { first: number; second: number; proof: Hash[] }[];
}

describe("log tree", () => {
  const { events, sizes, inclusion, consistency } = vectors<LogTreeVectors>("log-tree");
  const leaves = events.map(leafHash);
  const rootAt = (size: number): Hash => sizes[size]?.root as Hash;

  it.each(sizes)("frontier and root of $size events", ({ size, frontier, root }) => {
    const tree = new LogTree();
    for (const event of events.slice(0, size)) tree.append(event);
    expect(tree.frontier()).toEqual(frontier);
    expect(tree.root()).toBe(root);
  });

  it.each(inclusion)("proof of leaf $index in $size", ({ index, size, proof }) => {
    expect(inclusionProof(leaves.slice(0, size), index)).toEqual(proof);
    expect(verifyInclusion({ leaf: leaves[index] as Hash, index, size, root: rootAt(size), proof })).toBe(true);
  });

  it.each(consistency)("proof that $first is a prefix of $second", ({ first, second, proof }) => {
    expect(consistencyProof(leaves.slice(0, second), first)).toEqual(proof);
    const claim = { first, firstRoot: rootAt(first), second, secondRoot: rootAt(second), proof };
    expect(verifyConsistency(claim)).toBe(true);
  });
});

interface BaseRowVector {
  root?: string;
  path?: string;
  path_hex?: string;
  iteration: number;
  seq: number;
  kind: EntryKind | "absent";
  mode?: number;
  hash?: Hash;
  folder?: Hash;
  size?: number;
  mtime_ms?: number;
  mtime_ns?: number;
  class?: "protected";
}

interface BaseVector {
  name: string;
  /** 1: as earlier versions wrote it. Chronicle reads this version but does not write it. */
  version: 1 | 2;
  root: Hash;
  further_roots: string[];
  entries: BaseRowVector[];
  records: { op: EventOp; record: RecordBody; record_id: string; recursion_depth?: number; seq: number; ts: string }[];
  sha256: Hash;
  bytes: string;
}

function baseEntry(row: BaseRowVector): BaseEntry {
  const inner =
    row.path_hex === undefined ? parsePath(row.path ?? "") : pathFromBytes(Buffer.from(row.path_hex, "hex"));
  const path = pathInRoot(row.root, inner);
  const at = { path, iteration: row.iteration, seq: row.seq };
  if (row.kind === "absent") return { ...at, entry: undefined };
  const { kind, mode = 0, size = 0, mtime_ms: mtimeMs = 0, mtime_ns: mtimeRestNs, hash, folder, class: is } = row;
  const entry = { path, kind, mode, size, mtimeMs, mtimeRestNs, hash, ...(is && { class: is }) };
  return { ...at, entry, ...(folder && { folderHash: folder }) };
}

describe("base", () => {
  const { bases, rejected } = vectors<{ bases: BaseVector[]; rejected: { name: string; bytes: string }[] }>("base");

  it.each(bases)("$name, version $version", async ({ root, further_roots: further, bytes, version, ...vector }) => {
    const entries = vector.entries.map(baseEntry);
    const records: BaseRecord[] = vector.records.map(
      ({ record_id: recordId, recursion_depth: recursionDepth, ...rest }) => {
        return { recordId, ...rest, ...(recursionDepth === undefined ? {} : { recursionDepth }) };
      },
    );
    const live = entries.flatMap((one) => (one.entry === undefined ? [] : [one.entry]));
    const tree = manifestRoot(live, further);
    expect(tree.root).toBe(root);
    const roots = ["", ...further].map((id) => ({
      id,
      hash: tree.folders.get((id && `\0${id}`) as WorkspacePath) as Hash,
    }));
    const counts = { entries: entries.length, records: records.length };
    const written = Buffer.concat([...encodeBase({ root, roots, counts, entries, records })]);
    const given = Buffer.from(bytes, "hex");
    if (version === 2) expect(written.toString("hex")).toBe(bytes);
    expect(sha256(given)).toBe(vector.sha256);
    const read: { entries: BaseEntry[]; records: BaseRecord[] } = { entries: [], records: [] };
    for await (const batch of decodeBase([given])) {
      read.entries.push(...(batch.entries ?? []));
      read.records.push(...(batch.records ?? []));
    }
    expect(read).toEqual({ entries, records });
  });

  // The decoder does not check stored folder hashes. `BaseTreeCheck` does.
  it.each(rejected.filter((one) => one.name !== "a wrong folder hash"))("rejects $name", async ({ bytes }) => {
    const read = async (): Promise<void> => {
      for await (const batch of decodeBase([Buffer.from(bytes, "hex")])) expect(batch).toBeDefined();
    };
    await expect(read()).rejects.toThrow(/base|version/);
  });
});

interface HeadVectors {
  private_key_seed: string;
  key_name: string;
  verifier_key: string;
  content: { workspace: string; seq: number; log_root: Hash; hash: Hash; root: Hash };
  note: string;
  rejected: { name: string; note: string }[];
}

describe("signed head", () => {
  const { content, note, key_name: name, verifier_key: vkey, rejected, ...rest } = vectors<HeadVectors>("signed-head");
  const { log_root: logRoot, ...head } = content;
  const pkcs8 = Buffer.from(`302e020100300506032b657004220420${rest.private_key_seed}`, "hex");
  const pem = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" })
    .export({ type: "pkcs8", format: "pem" })
    .toString();

  it("note and verifier key", () => {
    expect(signHead(encodeHead({ ...head, logRoot }), pem, name)).toBe(note);
    expect(vkeyOf(pem, name)).toBe(vkey);
    expect(parseSignedHead(note).content).toEqual({ ...head, logRoot });
    expect(verifySignedHead(note, vkey)).toBe(true);
  });

  it.each(rejected)("rejects $name", ({ note: bad }) => {
    expect(verifySignedHead(bad, vkey)).toBe(false);
  });
});
