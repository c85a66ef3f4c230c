import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sealEvents } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type EventDraft } from "../../src/core/values/event.ts";
import { openRecordStore } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";
import { RecordFolder } from "../helpers/record-folder.ts";

/** A store of another format, older or newer, is refused with a plain sentence and never touched. */

type Line = { op: "upsert"; record_id: string; record: Record<string, never>; ts: string };

/** Returns the log in another format. Format 1 has no ends of commits. */
function inFormat(log: string, format: number): string {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  const drafts = lines.map((line, i): EventDraft => {
    const { op, record_id: recordId, record } = JSON.parse(line) as Line;
    const { commit, ...rest } = record as Record<string, never>;
    const body = format === 1 || commit === undefined ? rest : { ...rest, commit };
    return { op, recordId, record: i === 0 ? { ...body, format } : body };
  });
  const sealed = sealEvents(EMPTY_HEAD, drafts, "2026-01-31T09:30:00.000Z");
  return sealed.map(({ line }) => `${line}\n`).join("");
}

/** Returns the files of a folder that are not derived data, with their bytes in base64. */
function kept(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const isDerived = /(^|\/)(index\.db|lock\.db|gc\.db|stat\.cache|cache)/.test(name);
    if (isDerived || statSync(join(folder, name)).isDirectory()) continue;
    files[name] = readFileSync(join(folder, name)).toString("base64");
  }
  return files;
}

const sentence = (format: number) => ({
  code: "FORMAT_UNSUPPORTED",
  message: expect.stringContaining(`has format ${format}, but this version of Chronicle reads only format 2`),
  hint: expect.stringContaining(
    format > 2 ? "a newer version of Chronicle wrote it" : "an older version of Chronicle wrote it",
  ),
});

describe("Truth 14: stores of other formats", () => {
  it.each([
    ["older", 1, true],
    ["older (its workspace.json is gone)", 1, false],
    ["newer", 3, true],
    ["newer (its workspace.json is gone)", 3, false],
  ])("a workspace whose format is %s is refused and not touched", async (_name, format, hasFile) => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    project.write("a", "2");
    await workspace.snapshot();
    const { id } = workspace;
    await workspace.close();
    await (await project.store()).close();
    const folder = join(project.home, "workspaces", id);
    writeFileSync(join(folder, "events.wal"), inFormat(join(folder, "events.wal"), format));
    if (hasFile) writeFileSync(join(folder, "workspace.json"), `${JSON.stringify({ format, id })}\n`);
    else rmSync(join(folder, "workspace.json"));
    for (const name of ["index.db", "index.db-wal", "index.db-shm"]) rmSync(join(folder, name), { force: true });
    rmSync(project.configFolder, { recursive: true, force: true });
    for (const isListed of [true, false]) {
      if (!isListed) rmSync(join(project.home, "cache"), { recursive: true, force: true });
      const before = kept(project.home);
      const store = await project.store();
      for (const call of [
        () => project.open(),
        () => project.open({ readOnly: true }),
        () => store.init({ roots: [project.folder] }),
        () => store.gc(),
      ]) {
        await expect(call()).rejects.toMatchObject(sentence(format));
        expect(kept(project.home)).toEqual(before);
      }
      await store.close();
    }
  });

  it.each([
    ["older", 1],
    ["newer", 3],
  ])("a record store whose format is %s is refused and not touched", async (_name, format) => {
    await using folder = new RecordFolder();
    await folder.closed(3);
    folder.forgetBound();
    folder.write("events.wal", inFormat(folder.log, format));
    const before = kept(folder.folder);
    await expect(openRecordStore({ folder: folder.folder })).rejects.toMatchObject(sentence(format));
    await expect(openRecordStore({ folder: folder.folder, readOnly: true })).rejects.toMatchObject(sentence(format));
    expect(kept(folder.folder)).toEqual(before);
  });
});
