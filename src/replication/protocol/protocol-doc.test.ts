import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PROTOCOL_SAMPLES } from "../../testing/protocol-samples.ts";
import { encodeMessage } from "./codec.ts";
import { encodeFrame } from "./frame.ts";
import * as limits from "./limits.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/protocol.md"), "utf8");

function* keysOf(value: unknown): Generator<string> {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return;
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) yield key;
    yield* keysOf(inner);
  }
}

it("docs/protocol.md names every message and every field", () => {
  for (const message of PROTOCOL_SAMPLES) {
    expect(page).toContain(`\`${message.type}\` |`);
    for (const key of keysOf(message)) expect(page, `${message.type}.${key}`).toContain(`\`${key}\``);
  }
});

it("docs/protocol.md has the example's bytes", () => {
  const frame = encodeFrame(encodeMessage({ type: "Ack", up_to_sequence: 9 }), 258);
  const header = frame.subarray(0, 28).toString("hex");
  expect(page.replaceAll(" ", "")).toContain(header);
});

it("docs/protocol.md has the limits", () => {
  const mib = 1024 ** 2;
  expect(limits).toMatchObject({
    PROTOCOL_VERSION: 2,
    MAX_FRAME_BYTES: 4 * mib,
    MAX_HEAD_BYTES: mib,
    MAX_JSON_DEPTH: 64,
    MAX_JSON_PARTS: 100_000,
    INLINE_BELOW_BYTES: 4096,
    MAX_PIECE_BYTES: 2 * mib,
    MAX_LINES_BYTES: 2 * mib,
    MAX_NOTIFIED_LINE: 131_072,
    MAX_ENTRIES: 500,
    MAX_CHUNKS: 8_000,
    MAX_CHUNK_BYTES: 64 * mib,
    MAX_FOLDERS: 256,
    MAX_CHILDREN: 4_000,
    MAX_ASKED: 10_000,
    MAX_NOT_IN_BLOCKS: 4_000,
    MAX_BLOCKS_BYTES: 3.5 * mib,
    INITIAL_CREDIT_BYTES: mib,
  });
});
