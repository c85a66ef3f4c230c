import { describe, expect, it } from "vitest";
import { CONTAINER_END, ContainerReader, entryHeader, entryPadding } from "./archive-container.ts";

/** Returns the bytes of a container. */
function containerOf(entries: readonly (readonly [name: string, content: string])[], folder = "chronicle-1"): Buffer {
  const parts = entries.flatMap(([name, content]) => {
    const bytes = Buffer.from(content);
    return [entryHeader(folder, { name, size: bytes.length }), bytes, entryPadding({ size: bytes.length })];
  });
  return Buffer.concat([...parts, CONTAINER_END]);
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(bytes: Buffer, size = 100): Promise<[string, string][]> {
  const reader = new ContainerReader(inPieces(bytes, size));
  const found: [string, string][] = [];
  for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
    found.push([entry.name, Buffer.concat(await Array.fromAsync(entry.pieces)).toString()]);
  }
  return found;
}

const ENTRIES = [
  ["empty", ""],
  ["a/b", "x".repeat(512)],
  ["c", "y".repeat(700)],
] as const;

describe("the container of an archive", () => {
  it.each([1, 7, 512, 100_000])("is read back from pieces of %i bytes", async (size) => {
    expect(await readAll(containerOf(ENTRIES), size)).toEqual(ENTRIES);
  });

  it("is refused when any byte of a header, of the padding or of its end is changed", async () => {
    const bytes = containerOf([["c", "y".repeat(700)]]);
    for (let at = 0; at < bytes.length; at += 3) {
      if (at >= 512 && at < 512 + 700) continue;
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expect(readAll(changed, 4096), `byte ${at}`).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    }
  });

  it("is refused when it is cut off anywhere, and when something follows its end", async () => {
    const bytes = containerOf(ENTRIES);
    for (let end = 0; end < bytes.length; end += 61)
      await expect(readAll(bytes.subarray(0, end), 4096)).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    await expect(readAll(Buffer.concat([bytes, Buffer.from([0])]))).rejects.toThrow("bytes behind its end");
  });

  it("is refused when it has entries in two folders", async () => {
    const first = containerOf([["a", "1"]]).subarray(0, -CONTAINER_END.length);
    await expect(readAll(Buffer.concat([first, containerOf([["b", "2"]], "other")]))).rejects.toThrow("header");
  });

  it("states sizes of 8 GiB and more", async () => {
    const header = entryHeader("f", { name: "big", size: 9 * 1024 ** 3 });
    const reader = new ContainerReader(inPieces(header, 512));
    expect(await reader.next()).toMatchObject({ name: "big", size: 9 * 1024 ** 3 });
  });

  it("does not go on before an entry is read to its end", async () => {
    const reader = new ContainerReader(inPieces(containerOf(ENTRIES), 10));
    await reader.next();
    await expect(reader.next()).rejects.toThrow("has not been read completely");
  });
});
