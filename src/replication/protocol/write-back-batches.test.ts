import { describe, expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { encodeMessage } from "./codec.ts";
import { encodeFrame } from "./frame.ts";
import { writeBacksOf, type WriteBackEntry } from "./write-back-batches.ts";

function entry(local_seq: number, filepath: string, size: number, hasContent = false): WriteBackEntry {
  const inline = hasContent ? { inline_content: Buffer.alloc(size) } : {};
  const state = {
    filepath,
    kind: "file",
    content_hash: sha256("a"),
    size,
    permissions: 0o644,
    is_deletion: false,
  } as const;
  return { local_seq, ...state, ...inline, mtime_ms: 1, master_rowid_seen: 0, actor: "agent" };
}

const many = (count: number, make: (n: number) => WriteBackEntry) =>
  Array.from({ length: count }, (_, i) => make(i + 1));

describe("writeBacksOf", () => {
  it.each<[string, readonly WriteBackEntry[], number]>([
    ["nothing", [], 0],
    ["small entries", many(1001, (n) => entry(n, `f${n}`, 5)), 3],
    ["contents", many(1000, (n) => entry(n, `f${n}`, 4095, true)), 2],
    ["long paths", many(100, (n) => entry(n, `${n}`.padEnd(60_000, "x"), 5)), 6],
    ["paths that JSON makes longer", many(100, (n) => entry(n, `${n}`.padEnd(60_000, "\u0001"), 5)), 50],
  ])("%s: all of them, in order, in messages that fit into frames", (_, entries, count) => {
    const batches = [...writeBacksOf("s", entries)];
    expect(batches).toHaveLength(count);
    expect(batches.flatMap((batch) => batch.entries)).toEqual(entries);
    for (const batch of batches) expect(() => encodeFrame(encodeMessage(batch), 0)).not.toThrow();
  });
});
