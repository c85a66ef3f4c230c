import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import { PROTOCOL_SAMPLES } from "../../testing/protocol-samples.ts";
import { decodeMessage, encodeMessage } from "./codec.ts";
import { encodeFrame, type Frame, type FramePayload, FrameReader } from "./frame.ts";
import { MAX_FRAME_BYTES, MAX_HEAD_BYTES } from "./limits.ts";
import { checkMessage, type Message, type MessageType } from "./messages.ts";

const frameOf = (message: Message, sent = 0): Buffer => encodeFrame(encodeMessage(message), sent);

function read(...pieces: Uint8Array[]): Frame[] {
  const reader = new FrameReader();
  return pieces.flatMap((piece) => [...reader.push(piece)]);
}

/** Returns a payload with any value as its head, because a hostile peer can send any value. */
const payloadOf = (head: unknown, body?: Uint8Array): FramePayload => ({
  head: Buffer.from(JSON.stringify(head)),
  body,
});

const code = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof ChronicleError) return error.code;
    throw error;
  }
  return "none";
};

const sampleOf = (type: MessageType): Message => {
  const found = PROTOCOL_SAMPLES.find((message) => message.type === type);
  if (found === undefined) throw new Error(`no sample of ${type}`);
  return found;
};

/** Returns a sample's head as JSON, with these changes. */
function changed(type: MessageType, change: object): unknown {
  const { head } = encodeMessage(sampleOf(type));
  return { ...(JSON.parse(Buffer.from(head).toString()) as object), ...change };
}

describe("messages in frames", () => {
  it.each(PROTOCOL_SAMPLES.map((message, i) => [`${i} ${message.type}`, message] as const))(
    "%s is the same after encoding and decoding",
    (_, message) => {
      const [frame, ...more] = read(frameOf(message, 77));
      expect(more).toEqual([]);
      expect(frame?.sent).toBe(77);
      expect(decodeMessage(frame as Frame)).toEqual(message);
    },
  );

  it("have samples of all 27 types", () => {
    expect([...new Set(PROTOCOL_SAMPLES.map(({ type }) => type))]).toHaveLength(27);
  });

  // The checksum was computed with Python: zlib.crc32 of the first 24 bytes and the JSON.
  it("are written as exactly these bytes", () => {
    expect(frameOf({ type: "Ack", up_to_sequence: 9 }, 258).toString("hex")).toBe(
      "43485202" +
        "01000000" +
        "00000021" +
        "00000000" +
        "0000000000000102" +
        "8be2d9c1" +
        Buffer.from('{"type":"Ack","up_to_sequence":9}').toString("hex"),
    );
  });

  it("come out of a stream, however the stream is cut", () => {
    const whole = Buffer.concat(PROTOCOL_SAMPLES.map((message) => frameOf(message)));
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 60 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const pieces = at.slice(1).map((end, i) => whole.subarray(at[i], end));
        expect(read(...pieces).map(decodeMessage)).toEqual(PROTOCOL_SAMPLES);
      }),
      { numRuns: 200 },
    );
    expect(read(...Array.from(whole, (byte) => Uint8Array.of(byte))).map(decodeMessage)).toEqual(PROTOCOL_SAMPLES);
  });

  it("are read by a reader that knows whether the stream ended between two frames", () => {
    const reader = new FrameReader();
    const frame = frameOf({ type: "Ack", up_to_sequence: 9 });
    expect([...reader.push(frame)]).toHaveLength(1);
    expect(reader.isBetween).toBe(true);
    expect([...reader.push(frame.subarray(0, 30))]).toHaveLength(0);
    expect(reader.isBetween).toBe(false);
  });

  it("are not sent if the other side would refuse them", () => {
    expect(code(() => encodeMessage({ type: "Ack", up_to_sequence: -1 }))).toBe("USAGE");
    expect(code(() => encodeMessage({ ...sampleOf("Rename"), to: { filepath: "../x" } } as Message))).toBe(
      "PATH_INVALID",
    );
    const manyRoots = Array.from({ length: 256 }, (_, i) => ({ filepath: `${i}`.padEnd(60_000, "x") }));
    const large = encodeMessage({ type: "TreeRequest", sequence: 1, since: 0, folders: manyRoots });
    expect(code(() => encodeFrame(large, 0))).toBe("LIMIT_EXCEEDED");
  });
});

/** Each of these frames is refused with the given code, and has no other effect. */
describe("hostile frames", () => {
  const good = frameOf({ type: "Ack", up_to_sequence: 9 });
  const patched = (patch: (frame: Buffer) => void): Buffer => {
    const frame = Buffer.from(good);
    patch(frame);
    return frame;
  };
  const sealed = (frame: Buffer): Buffer => {
    frame.writeUInt32BE(crc32(frame.subarray(28), crc32(frame.subarray(0, 24))), 24);
    return frame;
  };

  it.each<[string, string, Uint8Array]>([
    ["HTTP", "INTEGRITY_VIOLATION", Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n")],
    ["another version", "FORMAT_UNSUPPORTED", sealed(patched((frame) => frame.writeUInt8(3, 3)))],
    ["a damaged version", "INTEGRITY_VIOLATION", patched((frame) => frame.writeUInt8(3, 3))],
    ["an unknown kind", "INTEGRITY_VIOLATION", patched((frame) => frame.writeUInt8(3, 4))],
    ["bits that are not used", "INTEGRITY_VIOLATION", patched((frame) => frame.writeUInt8(1, 6))],
    ["a head of 4 GiB", "LIMIT_EXCEEDED", patched((frame) => frame.writeUInt32BE(0xffff_ffff, 8))],
    ["a head over its cap", "LIMIT_EXCEEDED", patched((frame) => frame.writeUInt32BE(MAX_HEAD_BYTES + 1, 8))],
    ["a body of 4 GiB", "LIMIT_EXCEEDED", patched((frame) => frame.writeUInt32BE(0xffff_ffff, 12))],
    ["a frame over its cap", "LIMIT_EXCEEDED", patched((frame) => frame.writeUInt32BE(MAX_FRAME_BYTES - 28, 12))],
    ["a control frame with a body", "INTEGRITY_VIOLATION", patched((frame) => frame.writeUInt32BE(1, 12))],
    ["a count of 2^64-1", "INTEGRITY_VIOLATION", patched((frame) => frame.fill(0xff, 16, 24))],
    ["a flipped bit", "INTEGRITY_VIOLATION", patched((frame) => frame.writeUInt8((frame[40] ?? 0) ^ 1, 40))],
    ["a wrong checksum", "INTEGRITY_VIOLATION", patched((frame) => frame.writeUInt32BE(0, 24))],
  ])("%s: %s", (_, expected, bytes) => {
    expect(code(() => read(bytes))).toBe(expected);
    const reader = new FrameReader();
    const byByte = () => Array.from(bytes, (byte) => [...reader.push(Uint8Array.of(byte))]);
    expect(code(byByte)).toBe(expected);
    expect(
      code(() => [...reader.push(good)]),
      "and nothing after it",
    ).toBe(expected);
  });

  it("take no memory for bytes that are only announced", () => {
    const header = patched((frame) => {
      frame.writeUInt32BE(MAX_HEAD_BYTES, 8);
      frame.writeUInt8(2, 4);
      frame.writeUInt32BE(MAX_FRAME_BYTES - MAX_HEAD_BYTES - 28, 12);
    }).subarray(0, 28);
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 500 }, () => new FrameReader());
    for (const reader of readers) expect([...reader.push(header), ...reader.push(Buffer.alloc(10))]).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 ** 2);
  });

  it("cause no error but a ChronicleError, whatever their bytes are", () => {
    const whole = Buffer.concat(PROTOCOL_SAMPLES.map((message) => frameOf(message)));
    const flips = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 400 }), flips), (given) => {
        const bytes = given instanceof Uint8Array ? given : Buffer.from(whole);
        if (!(given instanceof Uint8Array)) for (const [at, byte] of given) bytes[at] = byte;
        code(() => read(bytes).map(decodeMessage));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("hostile messages", () => {
  const notification = (change: object) => payloadOf(changed("Notification", { inline_content: undefined, ...change }));

  it.each([
    "../x",
    "/etc/x",
    "a/../../x",
    "C:\\x",
    "c:/x",
    "\\\\server\\share",
    "a\0b",
    ".chronicle/..",
    "a//b",
    "a/",
    "./a",
    "x".repeat(70_000),
    "x".repeat(100_000),
    "\ud800",
  ])("with the path %j are refused", (filepath) => {
    expect(code(() => decodeMessage(notification({ filepath })))).toBe("PATH_INVALID");
  });
  it.each<[string, object]>([
    ["none", { filepath: undefined }],
    ["two", { filepath_b64: "YQ==" }],
    ["in Base64 though it is text", { filepath: undefined, filepath_b64: "YQ==" }],
    [
      "in Base64 that leaves",
      { filepath: undefined, filepath_b64: Buffer.from([0x2e, 0x2e, 0x2f, 0xff]).toString("base64") },
    ],
    ["in other Base64", { filepath: undefined, filepath_b64: " Yf8=" }],
    ["with a root that is none", { root: "../r" }],
  ])("with a wrong path are refused: %s", (_, change) => {
    expect(code(() => decodeMessage(notification(change)))).toBe("PATH_INVALID");
  });
  it.each<[string, unknown]>([
    ["the root", { filepath: "" }],
    ["a number", { filepath: 5 }],
  ])("with a path that is %s are refused", (_, change) => {
    expect(code(() => decodeMessage(notification(change as object)))).toBe("USAGE");
  });

  it("of deep JSON or many parts are refused, but not those with similar characters in strings", () => {
    const nested = (depth: number) => ({ head: Buffer.from("[".repeat(depth) + "]".repeat(depth)), body: undefined });
    expect(code(() => decodeMessage(nested(65)))).toBe("LIMIT_EXCEEDED");
    expect(code(() => decodeMessage(nested(100_000)))).toBe("LIMIT_EXCEEDED");
    expect(code(() => decodeMessage(nested(64)))).toBe("USAGE");
    const many = Buffer.from(`[${"1,".repeat(200_000)}1]`);
    expect(code(() => decodeMessage({ head: many, body: undefined }))).toBe("LIMIT_EXCEEDED");
    const message: Message = { type: "Error", code: "IO", message: '[{"\\'.repeat(300), fatal: false };
    expect(decodeMessage(encodeMessage(message))).toEqual(message);
  });
  it.each([0, 31, 33, 10_001 * 32])("that ask for contents with hashes of %i bytes are refused", (length) => {
    const asked = payloadOf({ type: "BlocksRequest", hashes: length }, Buffer.alloc(length));
    expect(code(() => decodeMessage(asked))).toBe("USAGE");
  });
  it.each<[string, object, number]>([
    ["that are too long together", {}, 3_670_017],
    ["and a hash that is invalid", { absent: ["abc"] }, 0],
    ["and more hashes than fit in one message", { apart: Array(4_001).fill(sha256("")) }, 0],
  ])("with blocks %s are refused", (_, change, length) => {
    const message = { type: "BlocksResponse", blocks: length, absent: [], apart: [], ...change };
    expect(code(() => decodeMessage(payloadOf(message, Buffer.alloc(length))))).toBe("USAGE");
  });
  it.each([-1, 1.5, 1e308, "5", null, 2 ** 53, [], {}])("with the number %j are refused", (size) => {
    expect(code(() => decodeMessage(notification({ size })))).toBe("USAGE");
    expect(code(() => decodeMessage(payloadOf({ type: "Ack", up_to_sequence: size })))).toBe("USAGE");
    expect(
      code(() => decodeMessage(payloadOf(changed("Notification", { inline_content: size }), Buffer.from("content")))),
    ).toBe("USAGE");
  });
  it.each([
    "NaN",
    "Infinity",
    "1e999",
    "{",
    "",
    '{"type":"Ack","up_to_sequence":1}x',
    "\uFEFF{}",
    "null",
    "[]",
    '"a"',
    "5",
  ])("with the JSON %j are refused", (text) => {
    const head = Buffer.from(
      text.startsWith("{") || text.length < 3 ? text : `{"type":"Ack","up_to_sequence":${text}}`,
    );
    expect(code(() => decodeMessage({ head, body: undefined }))).toBe("USAGE");
  });
  it("with a head that is not UTF-8 are refused", () => {
    const head = Buffer.from('{"type":"Ack","up_to_sequence":1,"a":"\xff"}', "latin1");
    expect(code(() => decodeMessage({ head, body: undefined }))).toBe("USAGE");
  });
  it("with an unknown key or an unknown type are refused", () => {
    expect(code(() => decodeMessage(payloadOf({ type: "Ack", up_to_sequence: 1, more: 1 })))).toBe("USAGE");
    const proto = Buffer.from('{"type":"Ack","up_to_sequence":1,"__proto__":{"polluted":1}}');
    code(() => decodeMessage({ head: proto, body: undefined }));
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    for (const type of ["constructor", "__proto__", "toString", "Nonsense", 5, null, undefined]) {
      expect(code(() => decodeMessage(payloadOf({ type })))).toBe("USAGE");
    }
  });
  it("with too many entries or folders, or with entries out of order, are refused", () => {
    const writeBack = sampleOf("WriteBack");
    if (writeBack.type !== "WriteBack") throw new Error("another sample");
    const [entry] = writeBack.entries;
    const entries = Array.from({ length: 501 }, (_, i) => ({ ...entry, local_seq: i + 1, inline_content: undefined }));
    expect(code(() => decodeMessage(payloadOf({ ...writeBack, entries })))).toBe("USAGE");
    expect(code(() => decodeMessage(payloadOf({ ...writeBack, entries: entries.slice(1).reverse() })))).toBe("USAGE");
    const folders = Array.from({ length: 257 }, () => ({ filepath: "a" }));
    expect(code(() => decodeMessage(payloadOf({ type: "TreeRequest", sequence: 1, since: 0, folders })))).toBe("USAGE");
  });

  it("whose body has another length than announced are refused", () => {
    const body = Buffer.from("content");
    const head = changed("Notification", {}) as { inline_content: number };
    expect(code(() => decodeMessage(payloadOf(head, body)))).toBe("none");
    for (const inline_content of [6, 8, 0, 4096]) {
      expect(code(() => decodeMessage(payloadOf({ ...head, inline_content }, body)))).toBe("USAGE");
    }
    expect(code(() => decodeMessage(payloadOf(head)))).toBe("USAGE");
    expect(code(() => decodeMessage(payloadOf({ ...head, inline_content: undefined }, body)))).toBe("USAGE");
    expect(code(() => decodeMessage(payloadOf({ type: "Ack", up_to_sequence: 1 }, body)))).toBe("USAGE");
    expect(code(() => decodeMessage(payloadOf(changed("WriteBack", { entries: 5 }), body)))).toBe("USAGE");
  });

  it("with a state that contradicts itself are refused", () => {
    for (const change of [
      { is_deletion: true },
      { kind: "absent" },
      { kind: "dir" },
      { content_hash: null },
      { content_hash: "A".repeat(64) },
      { permissions: 0o10000 },
      { size: 8, inline_content: 7 },
    ]) {
      const payload = payloadOf(changed("Notification", change), Buffer.from("content"));
      expect(
        code(() => decodeMessage(payload)),
        JSON.stringify(change),
      ).toBe("USAGE");
    }
  });

  it("with a manifest whose chunks do not make up the content are refused", () => {
    const response = sampleOf("ContentFetchResponse");
    const hash = "content_hash" in response ? response.content_hash : null;
    const chunks = [
      { hash, offset: 0, size: 6 },
      { hash, offset: 6, size: 4 },
    ];
    const with_ = (chunk_manifest: object, size = 10) =>
      payloadOf(changed("ContentFetchResponse", { content: 0, size, chunk_manifest }), Buffer.alloc(0));
    const good = { total_size: 10, chunk_size: 6, chunks };
    expect(code(() => decodeMessage(with_(good)))).toBe("none");
    expect(code(() => decodeMessage(with_({ ...good, chunks: chunks.slice(1) })))).toBe("USAGE");
    expect(code(() => decodeMessage(with_({ ...good, chunk_size: 5 })))).toBe("USAGE");
    expect(code(() => decodeMessage(with_({ ...good, chunks: chunks.toReversed() })))).toBe("USAGE");
    expect(code(() => decodeMessage(with_(good, 11)))).toBe("USAGE");
  });

  it("cause no error but a ChronicleError, whatever value a field has", () => {
    const any = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>(-1, 0, 7, "", "..", true, null));
    const samples = fc.constantFrom(...PROTOCOL_SAMPLES);
    fc.assert(
      fc.property(samples, fc.nat(20), any, fc.boolean(), (sample, which, value, isDeep) => {
        const { head, body } = encodeMessage(sample);
        const parsed = JSON.parse(Buffer.from(head).toString()) as Record<string, unknown>;
        const list = Object.values(parsed).find(Array.isArray) as unknown[] | undefined;
        const inner = isDeep ? list?.[0] : undefined;
        const target = (inner !== null && typeof inner === "object" ? inner : parsed) as Record<string, unknown>;
        const keys = Object.keys(target);
        target[keys[which % keys.length] ?? ""] = value;
        code(() => checkMessage(decodeMessage(payloadOf(parsed, body))));
      }),
      { numRuns: 3000 },
    );
  });
});
