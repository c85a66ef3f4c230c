import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, MAX_JSON_DEPTH } from "../values/canonical-json.ts";
import {
  checkLine,
  isTimestamp,
  type LineFault,
  MAX_LINE_BYTES,
  parseLine,
  readEventFast,
  sealEvents,
} from "./chain.ts";
import { EMPTY_HEAD, type EventDraft, type Json, type RecordBody, type SealedEvent } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";

const TS = "2026-01-31T09:30:00.000Z";
const draft = (recordId: string, record: RecordBody = {}): EventDraft => ({ op: "upsert", recordId, record });

function sealOne(one: EventDraft): SealedEvent {
  return sealEvents(EMPTY_HEAD, [one], TS)[0] as SealedEvent;
}

function faultOf(line: string | Uint8Array, prev: { seq: number; hash: string } = EMPTY_HEAD): LineFault | undefined {
  const bytes = typeof line === "string" ? Buffer.from(line) : line;
  const result = checkLine(bytes, { seq: prev.seq, hash: prev.hash as Hash });
  return "fault" in result ? result.fault : undefined;
}

/** Returns a line with a correct hash, whatever else is wrong with it. */
function forge(payload: Record<string, Json>, prev = ""): string {
  const hash = createHash("sha256")
    .update(prev + canonicalJson(payload))
    .digest("hex");
  return canonicalJson({ ...payload, hash, prev_hash: prev });
}

const PAYLOAD = { op: "upsert", record: {}, record_id: "user:a", recursion_depth: 0, seq: 1, ts: TS };

describe("sealEvents", () => {
  it("follows the formula of the format", () => {
    const [first, second] = sealEvents(EMPTY_HEAD, [draft("workspace:w"), draft("user:a", { z: 1, a: [1.5] })], TS);
    const payload =
      '{"op":"upsert","record":{"a":[1.5],"z":1},"record_id":"user:a","recursion_depth":0,"seq":2,"ts":"' + TS + '"}';
    expect(second?.prevHash).toBe(first?.hash);
    expect(second?.hash).toBe(createHash("sha256").update(`${first?.hash}${payload}`).digest("hex"));
    expect(first?.prevHash).toBe("");
    expect(first?.line).toBe(
      `{"hash":"${first?.hash}","op":"upsert","prev_hash":"","record":{},"record_id":"workspace:w","recursion_depth":0,"seq":1,"ts":"${TS}"}`,
    );
  });

  it("continues from a head", () => {
    const head = { seq: 41, hash: "ab".repeat(32) as Hash };
    const [event] = sealEvents(head, [{ op: "delete", recordId: "user:a", record: {}, recursionDepth: 3 }], TS);
    expect(event).toMatchObject({ seq: 42, prevHash: head.hash, recursionDepth: 3, op: "delete" });
  });

  it.each([
    ["a fraction in its own record", draft("file:a", { size: 1.5 })],
    ["an empty record id", draft("")],
    ["a lone surrogate in the record id", draft("user:\ud800")],
    ["a lone surrogate in the record", draft("user:a", { "\ud800": 1 })],
    ["a delete with a record", { op: "delete", recordId: "user:a", record: { a: 1 } }],
    ["an unknown op", { op: "merge", recordId: "user:a", record: {} }],
    ["a negative depth", { op: "upsert", recordId: "user:a", record: {}, recursionDepth: -1 }],
    ["an array as record", { op: "upsert", recordId: "user:a", record: [] }],
  ] as unknown as [string, EventDraft][])("refuses %s", (_name, one) => {
    expect(() => sealOne(one)).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
  });

  it("refuses a head whose hash does not fit its seq, and a time of another form", () => {
    expect(() => sealEvents({ seq: 1, hash: "" }, [], TS)).toThrow("head at seq 1");
    expect(() => sealEvents({ seq: 0, hash: "ab".repeat(32) as Hash }, [], TS)).toThrow("head at seq 0");
    for (const ts of ["2026-01-31T09:30:00Z", "2026-13-31T09:30:00.000Z", "2026-01-31 09:30:00.000Z", "", `${TS}\n`]) {
      expect(isTimestamp(ts)).toBe(false);
      expect(() => sealEvents(EMPTY_HEAD, [], ts)).toThrow("not a time");
    }
  });

  it("refuses a record that is nested deeper than readers accept", () => {
    const nested = (depth: number): RecordBody =>
      JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`) as RecordBody;
    const deepest = sealOne(draft("user:a", nested(MAX_JSON_DEPTH - 1)));
    expect(parseLine(Buffer.from(deepest.line)).hash).toBe(deepest.hash);
    expect(() => sealOne(draft("user:a", nested(MAX_JSON_DEPTH)))).toThrow("nested deeper");
  });

  it("refuses a line over 64 MiB", () => {
    const huge = draft("user:a", { text: "x".repeat(MAX_LINE_BYTES) });
    expect(() => sealOne(huge)).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED" }));
  });
});

describe("reading a line", () => {
  it("gives back every event that was sealed", () => {
    const record = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" }));
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), (records) => {
        const events = sealEvents(
          EMPTY_HEAD,
          records.map((one, i) => draft(`user:${i}`, one as RecordBody)),
          TS,
        );
        let prev: { seq: number; hash: Hash | "" } = EMPTY_HEAD;
        for (const { line, ...event } of events) {
          const bytes = Buffer.from(line);
          expect(canonicalJson(parseLine(bytes) as unknown as Json)).toBe(canonicalJson(event as unknown as Json));
          expect(readEventFast(bytes)).toEqual(parseLine(bytes));
          expect(checkLine(bytes, prev)).toHaveProperty("event.hash", event.hash);
          prev = event;
        }
      }),
      { numRuns: 100 },
    );
  });

  it("reads a line longer than its scratch space", () => {
    const event = sealOne(draft("user:a", { text: "é".repeat(100_000) }));
    expect(parseLine(Buffer.from(event.line)).hash).toBe(event.hash);
  });

  it("notices every changed byte", () => {
    const { line } = sealOne(draft("user:a", { text: "café", n: 12 }));
    const bytes = Buffer.from(line);
    for (let at = 0; at < bytes.length; at += 1) {
      for (const flip of [0x01, 0x20, 0x80]) {
        const bad = Buffer.from(bytes);
        bad[at] = (bad[at] as number) ^ flip;
        expect(faultOf(bad), `byte ${at}`).toBeDefined();
      }
      expect(faultOf(bytes.subarray(0, at)), `cut at ${at}`).toBeDefined();
    }
    expect(faultOf(bytes)).toBeUndefined();
  });

  it.each([
    ["not-json", "not JSON", "{"],
    ["not-json", "an empty line", ""],
    ["not-json", "an array", "[]"],
    ["not-json", "a byte order mark", `\ufeff${forge(PAYLOAD)}`],
    ["not-json", "not UTF-8", Buffer.concat([Buffer.from(forge(PAYLOAD)), Buffer.from([0xff])])],
    ["not-canonical", "a space at the end", `${forge(PAYLOAD)} `],
    ["not-canonical", "a carriage return", `${forge(PAYLOAD)}\r`],
    ["not-canonical", "a duplicate field", forge(PAYLOAD).replace('"seq":1', '"seq":1,"seq":1')],
    [
      "not-canonical",
      "a duplicate key in the record",
      forge({ ...PAYLOAD, record: { a: 1 } }).replace('{"a":1}', '{"a":0,"a":1}'),
    ],
    [
      "not-canonical",
      "fields in another order",
      forge(PAYLOAD).replace('"record_id":"user:a","recursion_depth":0', '"recursion_depth":0,"record_id":"user:a"'),
    ],
    ["bad-field", "a field too many", forge({ ...PAYLOAD, extra: 1 })],
    ["bad-field", "a field too few", forge({ op: "upsert", record: {}, record_id: "user:a", seq: 1, ts: TS })],
    ["bad-field", "a record that is an array", forge({ ...PAYLOAD, record: [] })],
    ["bad-field", "a record that is null", forge({ ...PAYLOAD, record: null })],
    ["bad-field", "an unknown op", forge({ ...PAYLOAD, op: "drop" })],
    ["bad-field", "an empty record id", forge({ ...PAYLOAD, record_id: "" })],
    ["bad-field", "a seq that is text", forge({ ...PAYLOAD, seq: "1" })],
    ["bad-field", "seq 0", forge({ ...PAYLOAD, seq: 0 })],
    [
      "bad-field",
      "a seq that is deeply nested",
      `{"hash":"","op":"upsert","prev_hash":"","record":{},"record_id":"user:a","recursion_depth":0,"seq":${"[".repeat(50_000)}${"]".repeat(50_000)},"ts":"${TS}"}`,
    ],
    ["bad-field", "a recursion depth that is a fraction", forge({ ...PAYLOAD, recursion_depth: 0.5 })],
    ["bad-field", "a time without milliseconds", forge({ ...PAYLOAD, ts: "2026-01-31T09:30:00Z" })],
    ["bad-field", "a delete with a record", forge({ ...PAYLOAD, op: "delete", record: { a: 1 } })],
    [
      "bad-field",
      "a fraction in Chronicle's own record",
      forge({ ...PAYLOAD, record_id: "file:a", record: { a: 0.5 } }),
    ],
    ["bad-field", "an empty prev_hash after seq 1", forge({ ...PAYLOAD, seq: 2 })],
    ["bad-field", "a prev_hash at seq 1", forge(PAYLOAD, "ab".repeat(32))],
    ["bad-field", "a prev_hash in upper case", forge({ ...PAYLOAD, seq: 2 }, "AB".repeat(32))],
    [
      "bad-field",
      "a hash in upper case",
      forge(PAYLOAD).replace(/"hash":"([^"]+)"/, (_all, hex: string) => `"hash":"${hex.toUpperCase()}"`),
    ],
    ["bad-hash", "another record", forge({ ...PAYLOAD, record: { a: 1 } }).replace('"a":1', '"a":2')],
  ] as const)("reports %s for %s", (kind, _name, line) => {
    expect(faultOf(line)?.kind).toBe(kind);
    const bytes = typeof line === "string" ? Buffer.from(line) : line;
    expect(() => parseLine(bytes)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED", data: { kind } }));
  });

  it("refuses a framing that could stand for two payloads (prev ‖ payload)", () => {
    // SHA-256("" ‖ "ab…{…}") equals SHA-256("ab…" ‖ "{…}"): only an empty prev_hash at seq 1 keeps them apart.
    const prev = "ab".repeat(32);
    const honest = forge({ ...PAYLOAD, seq: 2 }, prev);
    expect(faultOf(honest, { seq: 1, hash: prev })).toBeUndefined();
    expect(faultOf(honest.replace(prev, ""))?.kind).toBe("bad-field");
  });

  it("refuses a line over 64 MiB without reading it", () => {
    expect(faultOf(Buffer.alloc(MAX_LINE_BYTES + 1, 0x20))?.detail).toContain("longer");
  });

  it("takes any finite number in user records", () => {
    expect(faultOf(forge({ ...PAYLOAD, record: { a: [0.1, 1e21, -5e-324, 2 ** 53] } }))).toBeUndefined();
  });

  it("readEventFast refuses text that is no event", () => {
    for (const line of ["{", "1", '{"seq":1}']) {
      expect(() => readEventFast(Buffer.from(line))).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
    }
  });
});

describe("checkLine", () => {
  const events = sealEvents(EMPTY_HEAD, [draft("workspace:w"), draft("user:a"), draft("user:b")], TS);
  const [first, second, third] = events as [SealedEvent, SealedEvent, SealedEvent];

  it("notices a gap and a repetition, and gives the event together with the fault", () => {
    expect(faultOf(third.line, first)).toMatchObject({ kind: "bad-seq", detail: "seq is 3, expected 2" });
    expect(faultOf(second.line, second)?.kind).toBe("bad-seq");
    expect(faultOf(third.line, first)?.event?.hash).toBe(third.hash);
  });

  it("notices a line of another chain", () => {
    const [other] = sealEvents(EMPTY_HEAD, [draft("workspace:other")], TS);
    expect(faultOf(second.line, other as SealedEvent)?.kind).toBe("bad-prev");
  });
});
