import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import { sha256 } from "../../core/values/hash.ts";
import { innerIo } from "../../../test/cli/memory-io.ts";
import { mergeByTool } from "./merge-by-tool.ts";

const base = mkdtempSync(join(tmpdir(), "chronicle-tool-"));
vi.stubEnv("TMPDIR", base);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

const contents = new Map(["ours\n", "theirs\n", "both\n"].map((text) => [sha256(text) as string, Buffer.from(text)]));

const workspace = {
  blob: async (hash: string) => {
    const content = contents.get(hash) ?? Buffer.alloc(0);
    return {
      size: content.length,
      async *pieces() {
        yield content;
      },
    };
  },
};

function merge(command: string, path = "notes.txt"): Promise<Uint8Array> {
  const conflict = {
    ...{ path, current_kind: "file", undo_kind: "file" },
    ...{ current_hash: sha256("ours\n"), undo_hash: sha256("theirs\n"), base_hash: sha256("both\n") },
  } as unknown as ConflictShape;
  const io = innerIo([], { env: { PATH: process.env["PATH"] }, cwd: () => base });
  return mergeByTool(workspace, conflict, { command, io });
}

const nothingIsLeft = (): void => expect(readdirSync(base).filter((name) => name.startsWith("chronicle-"))).toEqual([]);

it.each([
  ["writes", 'cat "$LOCAL" "$UPSTREAM" "$BASE" > "$MERGED"', "ours\ntheirs\nboth\n"],
  ["replaces", 'cat "$UPSTREAM" > "$MERGED.new"; mv "$MERGED.new" "$MERGED"', "theirs\n"],
  ["saves unchanged", 'cat "$LOCAL" > "$MERGED"', "ours\n"],
])("takes the file that the tool %s", async (_, command, merged) => {
  expect(Buffer.from(await merge(command)).toString()).toBe(merged);
  nothingIsLeft();
});

it.each([
  ["has not touched the file", "true"],
  ["has removed the file", 'rm "$MERGED"'],
  ["has put a broken link in the file's place", 'ln -sf nowhere "$MERGED"'],
  ["has removed the folder of its files", 'rm -r "$(dirname "$MERGED")"'],
])("refuses the merge if the tool %s, and says what to do", async (_, command) => {
  await expect(merge(command)).rejects.toMatchObject({
    code: "REFUSED",
    hint: expect.stringContaining("have the tool save the result in `$MERGED`"),
  });
  nothingIsLeft();
});

it("refuses the merge if the tool has put a folder in the file's place", async () => {
  await expect(merge('rm "$MERGED"; mkdir "$MERGED"')).rejects.toMatchObject({ code: "REFUSED" });
});

it("removes no file of another folder if the tool has replaced the folder of its files with a link to it", async () => {
  const other = mkdtempSync(join(base, "other-"));
  writeFileSync(join(other, "mine"), "mine");
  const tool = `d="$(dirname "$MERGED")"; rm -r "$d"; ln -s '${other}' "$d"`;
  await expect(merge(tool)).rejects.toMatchObject({ code: "REFUSED" });
  expect(readFileSync(join(other, "mine"), "utf8")).toBe("mine");
});

it.each([
  ["a usual ending", "a.txt", ".txt"],
  ["no ending", "a", ""],
  ["an ending that is too long, which is left out", `a.${"x".repeat(250)}`, ""],
])("gives the tool files with the ending of the conflict's path: %s", async (_, path, ending) => {
  const told = join(base, "told");
  rmSync(told, { force: true });
  await merge(`printf %s "$UPSTREAM" > '${told}'; cat "$UPSTREAM" > "$MERGED"`, path);
  expect(existsSync(told)).toBe(true);
  expect(readFileSync(told, "utf8").endsWith(`/upstream${ending}`)).toBe(true);
});
