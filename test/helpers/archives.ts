import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { ExportOptions } from "../../src/api/archive-api.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { entryHeader, entryPadding, CONTAINER_END } from "../../src/core/log/archive-container.ts";
import { exportArchive } from "../../src/open.ts";
import type { Project } from "./project.ts";

export const SECRET = "TOKEN=for-nobody-else\n";

/** Makes a history with a run, a compaction, a deletion, a secret and a file that git ignores. */
export async function withHistory(project: Project): Promise<WorkspaceApi> {
  project.write("a.txt", "one\n");
  project.write("folder/b.txt", "two\n");
  project.write(".env", SECRET);
  project.write(".gitignore", "ignored\n");
  project.write("ignored", "kept aside\n");
  execFileSync("git", ["init", "-q"], { cwd: project.folder });
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "echo changed >> a.txt; rm folder/b.txt ignored"] });
  await workspace.snapshot({ name: "middle" });
  await workspace.compact();
  await workspace.run({ command: ["sh", "-c", "echo more >> a.txt"] });
  return workspace;
}

export async function exported(
  project: Project,
  { id }: Pick<WorkspaceApi, "id">,
  options: Partial<ExportOptions> = {},
): Promise<string> {
  const file = join(project.base, options.file ?? "history.tar");
  await exportArchive(await project.store(), id, { ...options, file });
  return file;
}

export function nothingLeft(target: Project): void {
  expect(existsSync(join(target.home, "workspaces")) ? readdirSync(join(target.home, "workspaces")) : []).toEqual([]);
  expect(existsSync(join(target.configFolder, "heads")) ? readdirSync(join(target.configFolder, "heads")) : []).toEqual(
    [],
  );
  expect(existsSync(join(target.configFolder, "key.pem"))).toBe(false);
}

export async function countContents(store: StoreApi): Promise<number> {
  return (await store.du()).blobs.count;
}

/** Splits an archive into its entries. */
export function entriesOf(bytes: Buffer): { name: string; content: Buffer }[] {
  const entries: { name: string; content: Buffer }[] = [];
  for (let at = 0; bytes[at] !== 0;) {
    const name = bytes.toString("latin1", at, bytes.indexOf(0, at));
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8);
    entries.push({ name, content: bytes.subarray(at + 512, at + 512 + size) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}

export function archiveOf(folder: string, entries: readonly { name: string; content: Buffer }[]): Buffer {
  const parts = entries.flatMap(({ name, content }) => {
    const entry = { name, size: content.length };
    return [entryHeader(folder, entry), content, entryPadding(entry)];
  });
  return Buffer.concat([...parts, CONTAINER_END]);
}
