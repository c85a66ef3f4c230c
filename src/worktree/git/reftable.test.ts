import { crc32, deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ReadBudget, Reftable, UnusableTable } from "./reftable.ts";

/** The number as git's `encode_varint` writes it. */
function number(value: number): Buffer {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest -= 1;
    bytes.unshift(0x80 | (rest & 0x7f));
  }
  return Buffer.from(bytes);
}

const text = (value: string): Buffer => Buffer.concat([number(value.length), Buffer.from(value)]);

function uint(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, Math.max(0, bytes - 6), Math.min(6, bytes));
  return buffer;
}

/** The beginning of a record: a key that shares `prefix` characters with the key before it. */
const key = (prefix: number, rest: string, type: number): Buffer =>
  Buffer.concat([number(prefix), number(rest.length * 8 + type), Buffer.from(rest, "latin1")]);

const ref = (prefix: number, rest: string): Buffer => Buffer.concat([key(prefix, rest, 0), number(0)]);

function table(blocks: Buffer, { blockBytes = 0, logAt = 0 } = {}): Reftable {
  const header = Buffer.concat([Buffer.from("REFT\x01"), uint(blockBytes, 3), Buffer.alloc(16)]);
  const footer = Buffer.concat([header, Buffer.alloc(24), uint(logAt, 8), Buffer.alloc(8)]);
  return new Reftable(Buffer.concat([header, blocks, footer, uint(crc32(footer), 4)]), 20);
}

/** A block of refs, the first of its table. `bytes` is the length that it says it has. */
function refBlock(records: readonly Buffer[], bytes?: number): Buffer {
  const all = Buffer.concat([...records, uint(0, 2)]);
  return Buffer.concat([Buffer.from("r"), uint(bytes ?? 24 + 4 + all.length, 3), all]);
}

/** A block of the reflog of refs that are named by one letter, with a message. */
function logBlock(name: string, message: string, isFirst: boolean): Buffer {
  const who = [text("n"), text("m"), number(1), Buffer.alloc(2), text(message)];
  const record = Buffer.concat([key(0, `${name}\0${"\xff".repeat(8)}`, 1), Buffer.alloc(40), ...who, uint(0, 2)]);
  const bytes = record.length + 4 + (isFirst ? 24 : 0);
  return Buffer.concat([Buffer.from("g"), uint(bytes, 3), deflateSync(record)]);
}

describe("a reftable that somebody has made", () => {
  it("has the refs and the lines that it was made with", () => {
    const made = table(refBlock([ref(0, "refs/heads/a"), ref(11, "b")]));
    expect([...made.refs().keys()]).toEqual(["refs/heads/a", "refs/heads/b"]);
    const logs = table(Buffer.concat([logBlock("a", "one", true), logBlock("b", "two", false)]));
    expect(logs.log("b")).toEqual([{ index: 0n, line: expect.stringMatching(/ n <m> 1 \+0000\ttwo$/) }]);
  });

  it("is damaged with a key that is longer than any name of a ref", () => {
    const long = "r".repeat(5_000);
    expect(() => table(refBlock([ref(0, long)])).refs()).toThrow(UnusableTable);
    expect(() => table(refBlock([ref(0, long.slice(0, 4_000)), ref(4_000, long.slice(0, 1_000))])).refs()).toThrow(
      UnusableTable,
    );
    expect(() => table(logBlock(long, "", true)).log("s")).toThrow(UnusableTable);
  });

  it("is not read if its keys are too many and too long together", () => {
    const records = Array.from({ length: 100_000 }, () => ref(4_000, ""));
    const made = table(refBlock([ref(0, "r".repeat(4_000)), ...records]));
    expect(() => made.refs()).toThrow("too large");
  });

  it("is damaged with blocks that overlap", () => {
    const records = Array.from({ length: 100 }, () => ref(0, "a"));
    expect(() => table(refBlock(records), { blockBytes: 64 }).refs()).toThrow("damaged");
    expect(table(refBlock(records), { blockBytes: 4_096 }).refs().size).toBe(1);
  });

  it("is not read if its reflogs are too large together", () => {
    const blocks = ["a", "b", "c"].map((name, n) => logBlock(name, "x".repeat(1_000_000), n === 0));
    const made = table(Buffer.concat(blocks));
    expect(made.log("c", new ReadBudget(4_000_000))).toHaveLength(1);
    expect(() => made.log("c", new ReadBudget(2_000_000))).toThrow("too large");
    const many = deflateSync(Buffer.alloc(1_000_000));
    const empty = table(Buffer.concat([Buffer.from("g"), uint(1_000_000 + 28, 3), many]));
    expect(() => empty.log("c", new ReadBudget(4_000_000))).toThrow("too large");
    const bomb = logBlock("a", "x".repeat(16_000_000), false);
    const bombs = Array.from({ length: 20 }, () => bomb);
    expect(() => table(Buffer.concat([refBlock([]), ...bombs]), { logAt: 24 + 6 }).log("c")).toThrow("too large");
  });
});
