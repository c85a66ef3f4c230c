import { describe, expect, it } from "vitest";
import type { FileContent } from "../../api/file-api.ts";
import { MOST_CONTENT, shownContent } from "./connection.ts";

// A message of the gateway has a content as text or in Base64. Of a large content, it has only the beginning.

function file(bytes: Buffer, more: Partial<FileContent> = {}): FileContent {
  const pieces = async function* ({ start = 0, end = bytes.length } = {}): AsyncGenerator<Uint8Array> {
    for (let at = start; at < end; at += 100_000) yield bytes.subarray(at, Math.min(end, at + 100_000));
  };
  const shape = { path: "a/b c", kind: "file", hash: "", permissions: 0, mtime_ms: 0, iteration: 7, seq: 1 } as const;
  return { ...shape, size: bytes.length, pieces, ...more };
}

const show = (bytes: Buffer, more?: Partial<FileContent>) => shownContent("w", file(bytes, more));

describe("shownContent", () => {
  it("shows text as it is, and bytes in base64", async () => {
    expect(await show(Buffer.from("häl\0lo"))).toEqual({ encoding: "utf8", content: "häl\0lo" });
    expect(await show(Buffer.alloc(0))).toEqual({ encoding: "utf8", content: "" });
    expect(await show(Buffer.from([0xff, 0x00]))).toEqual({ encoding: "base64", content: "/wA=" });
  });

  it("shows the beginning of a large content, and says where the rest is", async () => {
    const whole = Buffer.alloc(MOST_CONTENT, "x");
    expect((await show(whole)).rest).toBeUndefined();
    const { content, rest } = await show(Buffer.alloc(MOST_CONTENT + 1, "x"));
    expect(content).toHaveLength(MOST_CONTENT);
    expect(rest).toEqual({ url: "/v1/workspaces/w/files/a/b%20c/at/7?as=iteration", range: `bytes=${MOST_CONTENT}-` });
    const exact = Buffer.from("\xff", "latin1").toString("base64");
    const strange = await show(Buffer.alloc(MOST_CONTENT + 1), { path: "\ufffd", path_b64: exact });
    expect(strange.rest?.url).toBe("/v1/workspaces/w/files/base64%3A_w%3D%3D/at/7?as=iteration");
  });

  it.each(["é", "€", "😀"])("cuts no %s in two", async (character) => {
    const length = Buffer.byteLength(character);
    for (let shift = 0; shift < length; shift += 1) {
      const bytes = Buffer.from("x".repeat(shift) + character.repeat(MOST_CONTENT / length + 2));
      const { encoding, content, rest } = await show(bytes);
      expect(encoding).toBe("utf8");
      expect(bytes.toString().startsWith(content)).toBe(true);
      expect(rest?.range).toBe(`bytes=${Buffer.byteLength(content)}-`);
      expect(MOST_CONTENT - Buffer.byteLength(content)).toBeLessThan(length);
    }
  });

  it("shows as many bytes of a large binary content as the limit allows", async () => {
    const { encoding, content, rest } = await show(Buffer.alloc(MOST_CONTENT + 9, 0xff));
    expect([encoding, Buffer.from(content, "base64").length, rest?.range]).toEqual([
      "base64",
      MOST_CONTENT,
      `bytes=${MOST_CONTENT}-`,
    ]);
  });
});
