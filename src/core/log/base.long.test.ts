import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BaseContent,
  type BaseEntry,
  type BaseHeader,
  type BaseRecord,
  BaseTreeCheck,
  decodeBase,
  encodeBase,
} from "./base.ts";
import type { Entry, EntryKind } from "../values/entry.ts";
import { ChronicleError } from "../values/errors.ts";
import { EMPTY_HASH, type Hash, sha256 } from "../values/hash.ts";
import { manifestRoot } from "../tree/merkle.ts";
import { comparePaths, decodeName, type WorkspacePath } from "../values/path.ts";

const refused = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });

function row(path: string, kind: EntryKind | "deleted", seq = 7): BaseEntry {
  const at = { path: path as WorkspacePath, iteration: 3, seq };
  if (kind === "deleted") return { ...at, entry: undefined };
  if (kind === "dir") {
    const entry = { path: at.path, kind, mode: 0o755, size: 0, mtimeMs: 0, hash: undefined };
    return { ...at, entry, folderHash: EMPTY_HASH };
  }
  const mode = kind === "symlink" ? 0o777 : 0o644;
  return { ...at, entry: { path: at.path, kind, mode, size: 2 ** 40, mtimeMs: -1, hash: sha256(path) } };
}

function secret(path: string): BaseEntry {
  const { entry, ...at } = row(path, "file");
  return { ...at, entry: entry && { ...entry, class: "protected" } };
}

/** Returns the content of a base with these rows, records and roots. The hashes of the folders are computed. */
function contentOf(
  rows: readonly BaseEntry[],
  records: readonly BaseRecord[] = [],
  furtherRoots: readonly string[] = [],
): BaseContent {
  const live = rows.flatMap((one) => (one.entry === undefined ? [] : [one.entry]));
  const { root, folders } = manifestRoot(live, furtherRoots);
  const entries = rows.map((one) =>
    one.entry?.kind === "dir" ? { ...one, folderHash: folders.get(one.path) as Hash } : one,
  );
  const roots = ["", ...furtherRoots].map((id) => ({
    id,
    hash: folders.get((id && `\0${id}`) as WorkspacePath) as Hash,
  }));
  return { root, roots, entries, records, counts: { entries: rows.length, records: records.length } };
}

interface Read {
  header: BaseHeader | undefined;
  entries: BaseEntry[];
  records: BaseRecord[];
}

async function read(bytes: Uint8Array, pieceSize = 1 << 20): Promise<Read> {
  const pieces = function* (): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceSize) yield bytes.subarray(at, at + pieceSize);
  };
  const all: Read = { header: undefined, entries: [], records: [] };
  for await (const { header, entries = [], records = [] } of decodeBase(pieces())) {
    all.header ??= header;
    all.entries.push(...entries);
    all.records.push(...records);
  }
  return all;
}

const write = (content: BaseContent): Buffer => Buffer.concat([...encodeBase(content)]);
const record = (recordId: string, seq: number): BaseRecord => ({
  recordId,
  seq,
  ts: "2026-01-31T09:30:00.000Z",
  op: "upsert",
  record: { n: seq },
});

const ROWS = [
  row("a", "dir"),
  row("a/sub", "dir"),
  row("a/é.txt", "file"),
  row("gone", "deleted"),
  row("gone/child", "deleted"),
  row("link", "symlink"),
  row("now-a-file", "file"),
  row("now-a-file/was-here", "deleted"),
  row(decodeName(Buffer.from([0x6e, 0xff])), "file", 2 ** 53 - 1),
  secret("z.key"),
];

describe("a base", () => {
  const content = contentOf(ROWS, [record("session:s", 2), record("user:a", 9)]);

  it.each([1, 2, 7, 1 << 20])("is read as it was written, in pieces of %d bytes", async (pieceSize) => {
    const { header, entries, records } = await read(write(content), pieceSize);
    expect(header).toEqual({ root: content.root, roots: content.roots, counts: content.counts });
    expect(entries).toEqual([...content.entries]);
    expect(records).toEqual([...content.records]);
  });

  it("may be empty", async () => {
    const { header, entries } = await read(write(contentOf([])));
    expect(header?.root).toBe(EMPTY_HASH);
    expect(entries).toEqual([]);
  });

  it("has one root if no list of roots is given", async () => {
    const { root, entries, records, counts } = content;
    expect(write({ root, entries, records, counts })).toEqual(write(content));
  });

  it("keeps several roots, empty ones too", async () => {
    const rows = [row("\0lib/d", "dir"), row("\0lib/d/x", "file"), row("\0web/y", "file"), row("a", "file")];
    const several = contentOf(rows, [], ["empty", "lib", "web"]);
    const { header, entries } = await read(write(several), 3);
    expect(entries).toEqual([...several.entries]);
    expect(header?.roots.map((root) => root.id)).toEqual(["empty", "lib", "web", ""]);
    expect(header?.root).toBe(several.root);
  });

  it("comes in pieces of at most 1 MiB, also with a long record", async () => {
    const long = { ...record("user:long", 10), record: { text: "é".repeat(2_000_000) } };
    const big = contentOf([], [long, record("user:next", 11)]);
    const pieces = [...encodeBase(big)];
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(1 << 20);
    expect((await read(Buffer.concat(pieces), 100_000)).records).toEqual([...big.records]);
  });

  it("comes in pieces of at most 1 MiB, wherever in a row of the greatest length a piece ends", () => {
    // A name of two characters has at most three bytes for each of them.
    const rows = Array.from({ length: 13_500 }, (_, i) => row(`漢${String.fromCharCode(0x4e00 + i)}`, "file"));
    const rowBytes = 75 + 6;
    for (let shift = 1; shift <= rowBytes; shift += 1) {
      const entries = [row("a".repeat(shift), "file"), ...rows];
      const counts = { entries: entries.length, records: 0 };
      for (const piece of encodeBase({ root: EMPTY_HASH, entries, records: [], counts }))
        expect(piece.length).toBeLessThanOrEqual(1 << 20);
    }
  });

  it("is read in batches of bounded length", async () => {
    const rows = Array.from({ length: 10_000 }, (_, i) => row(`f${String(i).padStart(5, "0")}`, "file"));
    let count = 0;
    for await (const { entries = [] } of decodeBase(encodeBase(contentOf(rows)))) {
      expect(entries.length).toBeLessThanOrEqual(4096);
      count += entries.length;
    }
    expect(count).toBe(10_000);
  });

  it("does not depend on the buffers that it was read from", async () => {
    const bytes = write(content);
    const shared = Buffer.alloc(16);
    const pieces = function* (): Generator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 16) yield shared.subarray(0, bytes.copy(shared, 0, at, at + 16));
    };
    const entries: BaseEntry[] = [];
    for await (const batch of decodeBase(pieces())) entries.push(...(batch.entries ?? []));
    expect(entries).toEqual([...content.entries]);
  });

  it("is the same after a round trip, whatever the tree", async () => {
    const name = fc.constantFrom("a", "b", "é", "a-b", "\udcff", "x.y");
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    const tree = fc.uniqueArray(path, { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(tree, fc.boolean(), async (leaves, deleted) => {
        const folders = new Set(leaves.flatMap((one) => one.split("/").map((_, i, all) => all.slice(0, i).join("/"))));
        folders.delete("");
        const rows = [...new Set([...leaves, ...folders])]
          .toSorted(comparePaths)
          .map((one) => row(one, deleted ? "deleted" : folders.has(one) ? "dir" : "file"));
        const whole = contentOf(rows);
        expect((await read(write(whole), 50)).entries).toEqual([...whole.entries]);
      }),
      { numRuns: 100 },
    );
  });
});

describe("writing a base refuses", () => {
  it.each([
    ["a row without its folder", [row("a/b", "file")]],
    ["rows out of order", [row("b", "file"), row("a", "file")]],
    ["a path twice", [row("a", "file"), row("a", "deleted")]],
    ["a live row beneath a deleted one", [row("a", "deleted"), row("a/b", "file")]],
    ["a live row beneath a file", [row("a", "file"), row("a/b", "file")]],
    ["a row of an unknown root", [row("\0lib/a", "file")]],
    ["a further root's row after the first root's", [row("a", "file"), row("\0lib/a", "file")]],
    ["a root's own row", [row("", "deleted")]],
    ["a folder without its hash", [{ ...row("a", "dir"), folderHash: undefined } as unknown as BaseEntry]],
    ["an iteration that is no count", [{ ...row("a", "deleted"), iteration: -1 }]],
    [
      "a time in half milliseconds",
      [{ ...row("a", "file"), entry: { ...(row("a", "file").entry as Entry), mtimeMs: 0.5 } }],
    ],
    ["an entry of another path", [{ ...row("a", "file"), path: "b" as WorkspacePath }]],
  ])("%s", (_name, rows) => {
    const content = { root: EMPTY_HASH, entries: rows, records: [], counts: { entries: rows.length, records: 0 } };
    expect(() => write(content)).toThrow(refused);
  });

  it("wrong counts, and records out of order", () => {
    const content = contentOf(ROWS);
    expect(() => write({ ...content, counts: { entries: 1, records: 0 } })).toThrow("entries, not 1");
    expect(() => write({ ...content, counts: { ...content.counts, records: 1 } })).toThrow("0 records, not 1");
    expect(() => write(contentOf([], [record("user:b", 2), record("user:a", 2)]))).toThrow(refused);
    expect(() => write({ ...content, roots: [] })).toThrow("0 roots with an empty id");
  });
});

describe("reading a base refuses", () => {
  const content = contentOf(ROWS, [record("user:a", 2), record("user:b", 3)]);
  const whole = write(content);
  const HEADER = 62 + 33;

  it("a base that is cut off anywhere, and bytes after the end", async () => {
    for (let at = 0; at < whole.length; at += 1) await expect(read(whole.subarray(0, at))).rejects.toThrow(refused);
    await expect(read(Buffer.concat([whole, Buffer.from([0])]))).rejects.toThrow(refused);
    await expect(read(Buffer.concat([whole, Buffer.from([0])]), whole.length)).rejects.toThrow(refused);
  });

  it("another magic and a version that it does not know", async () => {
    await expect(read(Buffer.concat([Buffer.from("X"), whole]))).rejects.toThrow(refused);
    const newer = Buffer.from(whole);
    newer.writeUInt32BE(3, 8);
    await expect(read(newer)).rejects.toThrow(expect.objectContaining({ code: "FORMAT_UNSUPPORTED" }));
  });

  /** Returns the bytes with some of them replaced. */
  function patched(at: number, bytes: string | readonly number[]): Buffer {
    const copy = Buffer.from(whole);
    copy.set(Buffer.from(bytes as string), at);
    return copy;
  }

  const firstRow = HEADER + 1;
  // The third row is `a/é.txt`, after `a` and `a/sub`; its name is at offset 5 in it.
  const thirdRow = firstRow + (5 + 1 + 16 + 34) + (5 + 3 + 16 + 34);

  it.each([
    ["a root that does not fit the list of roots", patched(12, [0, 0, 0, 0])],
    ["too many entries announced", patched(44, [0, 0, 0, 0, 0, 0, 0, 11])],
    ["too few entries announced", patched(44, [0, 0, 0, 0, 0, 0, 0, 8])],
    ["a count that no number holds", patched(44, [255])],
    ["too many records announced", patched(52, [0, 0, 0, 0, 0, 0, 0, 3])],
    ["too few records announced", patched(52, [0, 0, 0, 0, 0, 0, 0, 1])],
    ["no roots", patched(60, [0, 0])],
    ["a row instead of a section", patched(HEADER, "f")],
    ["a second section", patched(firstRow, "R")],
    ["an unknown kind", patched(firstRow, "z")],
    ["a depth of 0", patched(firstRow + 1, [0, 0])],
    ["a row without its folder", patched(firstRow + 1, [0, 2])],
    ["a name that is empty", patched(firstRow + 3, [0, 0])],
    ["the name .", patched(firstRow + 5, ".")],
    ["a name with a slash", patched(firstRow + 5, "/")],
    ["a name with a NUL", patched(firstRow + 5, "\0")],
    ["names out of order", patched(firstRow + 5, "z")],
    ["an iteration that no number holds", patched(firstRow + 6, [255])],
    ["an impossible mode", patched(firstRow + 22, [0xff, 0xff])],
    ["a row beneath a file", patched(firstRow, "f")],
  ])("%s", async (_name, bytes) => {
    await expect(read(bytes)).rejects.toThrow(refused);
  });

  it("the name ..", async () => {
    const dots = write(contentOf([row("ab", "file")]));
    dots.write("..", HEADER + 1 + 5, "latin1");
    await expect(read(dots)).rejects.toThrow('".." is not a name');
  });

  it.each([
    ["a record that is not canonical", '{"n":2}', '{"n": }'],
    ["a record with another field", '"ts":', '"tz":'],
    ["an unknown op", "upsert", "upsurt"],
    ["a record twice", "user:b", "user:a"],
    ["records out of order", '"seq":3', '"seq":2'],
    ["a time of another form", "2026-01-31", "2026-01-41"],
  ])("%s", async (_name, from, to) => {
    const at = whole.indexOf(from, 200);
    expect(at).toBeGreaterThan(0);
    await expect(read(patched(at, to))).rejects.toThrow(refused);
  });

  it("changed bytes, or reads them in such a way that writing them again gives the same bytes", async () => {
    let taken = 0;
    for (let at = 0; at < whole.length; at += 1) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] as number) ^ flip;
        const again = await read(bytes).catch((error: unknown) => error);
        if (again instanceof Error) {
          if (!(again instanceof ChronicleError)) throw again;
          continue;
        }
        const { header, entries, records } = again as Read;
        const { root, roots, counts } = header as BaseHeader;
        if (!write({ root, roots, counts, entries, records }).equals(bytes))
          throw new Error(`byte ${at} is read loosely`);
        taken += 1;
      }
    }
    // Hashes, times and numbers may take any value.
    expect(taken).toBeGreaterThan(500);
  });

  it("roots out of order or with odd ids", async () => {
    const rows = [row("\0aa/x", "file"), row("\0bb/x", "file")];
    const bytes = write(contentOf(rows, [], ["aa", "bb"]));
    const odd = Buffer.from(bytes);
    odd.write("cc", 63, "latin1");
    await expect(read(odd)).rejects.toThrow("out of order");
    odd.write("A/", 63, "latin1");
    await expect(read(odd)).rejects.toThrow("not a root id");
  });

  it("a name whose bytes hide a slash", async () => {
    expect(whole.toString("latin1", thirdRow + 5, thirdRow + 7)).toBe("Ã©");
    const split = patched(thirdRow + 5, [0xc3, 0x2f]);
    await expect(read(split)).rejects.toThrow(refused);
  });
});

describe("BaseTreeCheck", () => {
  async function faultsOf(content: BaseContent): Promise<readonly { path: string }[]> {
    const { header, entries } = await read(write(content));
    const check = new BaseTreeCheck(header as BaseHeader);
    check.add(entries);
    return check.finish();
  }

  it("finds no fault in a valid base, also with several roots", async () => {
    expect(await faultsOf(contentOf(ROWS))).toEqual([]);
    expect(await faultsOf(contentOf([row("\0lib/a", "file"), row("b", "file")], [], ["lib", "none"]))).toEqual([]);
  });

  it("names the folder whose hash is wrong, and the folders above a content that was changed", async () => {
    const content = contentOf(ROWS);
    const wrong = [...content.entries].map((one) => (one.path === "a/sub" ? { ...one, folderHash: sha256("x") } : one));
    expect((await faultsOf({ ...content, entries: wrong })).map((one) => one.path)).toEqual(["a/sub"]);
    const other = [...content.entries].map((one) =>
      one.path === "a/é.txt" ? { ...one, entry: { ...(one.entry as Entry), hash: sha256("x") } } : one,
    );
    expect((await faultsOf({ ...content, entries: other })).map((one) => one.path)).toEqual(["a", ""]);
  });
});
